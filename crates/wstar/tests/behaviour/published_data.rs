//! Published files are read as their publishers describe them: rows, features, entries, classes.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::PathBuf;

use crate::common::real_data;
use wstar::data::read::{ReadOptions, Source, read};
use wstar::data::{Cells, ColumnSource, Design, Matrix, Raw, Table};

fn matrix(path: PathBuf, options: &ReadOptions) -> Matrix {
    match read(&Source::Path(path), options).unwrap() {
        Raw::Matrix(matrix) => matrix,
        Raw::Table(_) => panic!("a matrix was expected"),
    }
}

fn table(path: PathBuf, options: &ReadOptions) -> Table {
    match read(&Source::Path(path), options).unwrap() {
        Raw::Table(table) => table,
        Raw::Matrix(_) => panic!("a table was expected"),
    }
}

fn count(labels: &Option<Vec<f64>>, wanted: f64) -> usize {
    labels.iter().flatten().filter(|&&label| label == wanted).count()
}

fn level_counts(table: &Table, name: &str) -> Vec<(String, usize)> {
    let Cells::Categories { codes, levels } = &table.column(name).unwrap().cells else {
        panic!("{name} is a category");
    };
    let count = |k: usize| codes.iter().filter(|&&code| code as usize == k).count();
    levels
        .iter()
        .enumerate()
        .map(|(k, level)| (level.clone(), count(k)))
        .collect()
}

#[test]
fn a9a() {
    let Some(path) = real_data("a9a/a9a") else { return };
    let train = matrix(path, &ReadOptions::default());
    assert_eq!((train.design.rows(), train.design.features()), (32_561, 123));
    assert_eq!(train.design.stored(), 451_592);
    assert_eq!(count(&train.labels, 1.0), 7841);
    assert!(matches!(train.design, Design::Sparse32(_)));
    assert_eq!(train.origin, ColumnSource::Indexed { base: 1 });
    let Some(path) = real_data("a9a/a9a.t") else {
        return;
    };
    let test = matrix(path, &ReadOptions::default());
    assert_eq!((test.design.rows(), test.design.features()), (16_281, 122));
}

#[test]
fn newsgroups() {
    let Some(path) = real_data("20news/20news_tfidf.test.svm.gz") else {
        return;
    };
    let test = matrix(path, &ReadOptions::default());
    assert_eq!(test.design.rows(), 7528);
    assert!(test.design.features() <= 73_712);
    for row in test.design.iter().filter(|row| row.stored() > 0) {
        assert!((row.squared_norm() - 1.0).abs() < 1e-12, "rows have length 1");
    }
}

#[test]
fn covtype() {
    let Some(path) = real_data("covtype/covtype.csv.gz") else {
        return;
    };
    let covtype = table(path, &ReadOptions::default());
    assert_eq!((covtype.rows, covtype.columns.len()), (581_012, 55));
    let Cells::Numbers(cover) = &covtype.column("Cover_Type").unwrap().cells else {
        panic!("numbers");
    };
    assert_eq!(cover.iter().filter(|&class| class == 2.0).count(), 283_301);
    let Cells::Numbers(elevation) = &covtype.column("Elevation").unwrap().cells else {
        panic!("numbers");
    };
    assert_eq!(elevation.iter().fold(f64::MAX, f64::min), 1859.0);
    assert_eq!(elevation.iter().fold(f64::MIN, f64::max), 3858.0);
}

#[test]
fn spam() {
    let Some(path) = real_data("sms_spam/SMSSpamCollection") else {
        return;
    };
    let options = ReadOptions {
        text: vec!["x2".into()],
        ..Default::default()
    };
    let spam = table(path, &options);
    assert_eq!(
        level_counts(&spam, "x1"),
        [("ham".to_owned(), 4827), ("spam".to_owned(), 747)]
    );
    let Cells::Texts(texts) = &spam.column("x2").unwrap().cells else {
        panic!("texts");
    };
    assert_eq!(texts.len(), 5574);
    assert!(texts.get(1).starts_with("Ok lar... Joking"));
}

#[test]
fn default_of_credit_cards() {
    let Some(path) = real_data("islr/Default.csv") else {
        return;
    };
    let cards = table(path, &ReadOptions::default());
    assert_eq!(cards.rows, 10_000);
    assert_eq!(
        level_counts(&cards, "default"),
        [("No".to_owned(), 9667), ("Yes".to_owned(), 333)]
    );
    assert!(matches!(
        cards.column("balance").unwrap().cells,
        Cells::Numbers(_)
    ));
}

#[test]
fn mnist() {
    let Some(images) = real_data("mnist/t10k-images-idx3-ubyte.gz") else {
        return;
    };
    let options = ReadOptions {
        labels: real_data("mnist/t10k-labels-idx1-ubyte.gz"),
        ..Default::default()
    };
    let mnist = matrix(images, &options);
    assert_eq!((mnist.design.rows(), mnist.design.features()), (10_000, 784));
    assert_eq!(
        mnist.origin,
        ColumnSource::Pixels {
            height: 28,
            width: 28
        }
    );
    assert_eq!(count(&mnist.labels, 0.0), 980);
    assert_eq!(count(&mnist.labels, 1.0), 1135);
}
