//! From raw text messages to a classifier: with the default text encoding, an averaged perceptron must classify 98 % of
//! held-out SMS messages correctly.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test fails by panicking, and says what it skipped

use std::path::Path;

use crate::common::real_data;
use wstar::data::{
    Applied, Cells, Column, Dataset, Preparation, Raw, Table, Target, Texts, prepare, prepare_with, split_raw,
};

fn messages(path: &Path) -> Table {
    let file = std::fs::read_to_string(path).unwrap();
    let (mut texts, mut codes) = (Texts::default(), Vec::new());
    for line in file.lines() {
        let (label, text) = line.split_once('\t').unwrap();
        codes.push(u32::from(label == "spam"));
        texts.push(text);
    }
    let column = |name: &str, cells| Column {
        name: name.into(),
        cells,
        first_missing: None,
    };
    Table {
        source: "SMSSpamCollection".into(),
        rows: codes.len(),
        columns: vec![
            column("text", Cells::Texts(texts)),
            column(
                "label",
                Cells::Categories {
                    codes,
                    levels: vec!["ham".into(), "spam".into()],
                },
            ),
        ],
    }
}

fn codes(data: &Dataset) -> &[u32] {
    match data.target() {
        Target::Classes { codes, .. } => codes,
        other => panic!("{other:?}"),
    }
}

/// An averaged perceptron; the intercept is the last weight.
fn averaged_perceptron(data: &Dataset, epochs: usize) -> Vec<f64> {
    let d = data.features();
    let (mut w, mut sums) = (vec![0.0; d + 1], vec![0.0; d + 1]);
    let mut step = 0.0;
    for _ in 0..epochs {
        for (row, &code) in data.design().iter().zip(codes(data)) {
            step += 1.0;
            let y = if code == 1 { 1.0 } else { -1.0 };
            if y * (row.dot(&w[..d]) + w[d]) <= 0.0 {
                row.add_to(y, &mut w[..d]);
                row.add_to(y * step, &mut sums[..d]);
                w[d] += y;
                sums[d] += y * step;
            }
        }
    }
    w.iter()
        .zip(&sums)
        .map(|(w, sum)| w - sum / (step + 1.0))
        .collect()
}

#[test]
fn default_tf_idf_reaches_98_percent() {
    let Some(path) = real_data("sms_spam/SMSSpamCollection") else {
        return;
    };
    let how = Preparation {
        target: Some("label".into()),
        ..Preparation::default()
    };
    for seed in 0..5 {
        let table = messages(&path);
        assert_eq!(table.rows, 5574);
        let (train, test) = split_raw(Raw::Table(table), &how, 0.2, seed).unwrap();
        assert_eq!(test.rows(), 1115);
        let train = prepare(train, &how).unwrap();
        let applied = Applied {
            with_target: true,
            ..Applied::default()
        };
        let test = prepare_with(test, train.schema(), train.classes(), &applied).unwrap();
        assert!(train.design().is_sparse() && test.design().is_sparse());
        let w = averaged_perceptron(&train, 10);
        let d = train.features();
        let right = test
            .design()
            .iter()
            .zip(codes(&test))
            .filter(|(row, code)| u32::from(row.dot(&w[..d]) + w[d] > 0.0) == **code)
            .count();
        let accuracy = right as f64 / test.rows() as f64;
        println!("seed {seed}: {d} features, accuracy {accuracy:.4}");
        assert!(accuracy >= 0.98, "seed {seed}: {accuracy}");
    }
}
