//! Which rows a model accepts: encoded and scaled as in training, or raw numbers, which it scales itself.
#![allow(clippy::unwrap_used)]

use wstar::data::read::{ReadOptions, read_bytes};
use wstar::data::{Design, Missing, Preparation, prepare};
use wstar::model::Judgement;
use wstar::prelude::*;

/// Columns of very different units, so that raw rows without scaling would have other labels.
const ROWS: [[f64; 2]; 6] = [
    [1000.0, 0.01],
    [1010.0, 0.02],
    [1020.0, 0.05],
    [1000.0, 0.07],
    [1010.0, 0.08],
    [1020.0, 0.09],
];
const LABELS: [&str; 6] = ["low", "low", "low", "high", "high", "high"];

fn table(standardize: bool) -> Dataset {
    let mut text = "height,share,class\n".to_string();
    for ([height, share], label) in ROWS.iter().zip(LABELS) {
        text += &format!("{height},{share},{label}\n");
    }
    let raw = read_bytes("rows.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
    let how = Preparation {
        standardize,
        ..Preparation::default()
    };
    prepare(raw, &how).unwrap()
}

fn error(model: &Model, data: &Dataset) -> f64 {
    match model.evaluate(data).unwrap() {
        Judgement::Classes(found) => found.error(),
        _ => unreachable!("the target has classes"),
    }
}

#[test]
fn a_model_of_standardised_rows_scales_raw_rows_itself() {
    let trained = table(true);
    let model = Logistic::l2().c(10.0).fit(&trained).unwrap();
    let scores = model.scores(&trained).unwrap();
    let labelled = Dataset::labelled(&ROWS, &LABELS).unwrap();
    let unlabelled = Dataset::unlabelled(&ROWS).unwrap();
    let design = Dataset::unlabelled(Design::from_rows(&ROWS).unwrap()).unwrap();
    assert_eq!(model.labels(&trained).unwrap(), LABELS);
    for rows in [&table(false), &labelled, &unlabelled, &design] {
        assert_eq!(model.scores(rows).unwrap(), scores);
        assert_eq!(model.labels(rows).unwrap(), LABELS);
        assert_eq!(model.classify(rows).unwrap(), model.classify(&trained).unwrap());
        assert_eq!(
            model.probabilities(rows).unwrap(),
            model.probabilities(&trained).unwrap()
        );
    }
    for rows in [&trained, &table(false), &labelled] {
        assert_eq!(error(&model, rows), 0.0);
        assert!(model.verify(rows).unwrap().holds());
    }
}

#[test]
fn points_and_support_vectors_do_not_depend_on_the_scaling_of_the_rows() {
    let model = Svm::l2().fit(&table(true)).unwrap();
    let points = model.raw_points(&table(false)).unwrap();
    for ((x, y), row) in points.into_iter().zip(ROWS) {
        assert!((x - row[0]).abs() < 1e-9 && (y - row[1]).abs() < 1e-9);
    }
    let support = |data: &Dataset| wstar::model::support_vectors(&model, data).unwrap();
    assert_eq!(support(&table(false)), support(&table(true)));
}

#[test]
fn rows_of_another_width_scaling_or_encoding_are_refused() {
    let model = Logistic::l2().fit(&table(true)).unwrap();
    let refused = |model: &Model, rows: &Dataset| {
        let error = model.scores(rows).unwrap_err();
        assert!(error.what_to_do().is_some(), "{error}");
        assert!(model.predict(rows).is_err() && model.labels(rows).is_err());
        assert!(model.probabilities(rows).is_err() && model.classify(rows).is_err());
        assert!(model.evaluate(rows).is_err() && model.verify(rows).is_err());
        error.to_string()
    };
    let wide = Dataset::labelled(&[[0.0; 3], [1.0; 3]], &["low", "high"]).unwrap();
    assert!(refused(&model, &wide).contains("3 features"));
    let narrow = Dataset::labelled(&[[0.0], [1.0]], &["low", "high"]).unwrap();
    assert!(refused(&model, &narrow).contains("1 features"));
    // Standardised, but with the means of two of the rows.
    let two = table(false).select(&[0, 5]);
    let scaling = wstar::data::Scaling::learn(two.design(), None);
    let mut schema = two.schema().clone();
    let design = scaling.apply(two.design().clone()).unwrap();
    schema.scaling = Some(scaling);
    let other = Dataset::new(design, two.target().clone(), schema).unwrap();
    assert!(refused(&model, &other).contains("other means"));
    // Standardised rows for a model of raw rows.
    let raw = Logistic::l2().fit(&table(false)).unwrap();
    assert!(refused(&raw, &table(true)).contains("are standardised"));
    // Other names.
    let renamed = Dataset::labelled(&ROWS, &LABELS)
        .unwrap()
        .with_columns(["share", "height"])
        .unwrap();
    assert!(refused(&model, &renamed).contains("column share"));
}

#[test]
fn categories_are_encoded_by_the_model() {
    let read = |text: &str| {
        let raw = read_bytes("rows.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
        let how = Preparation {
            missing: Missing::Mean,
            ..Preparation::default()
        };
        prepare(raw, &how).unwrap()
    };
    let trained = read("colour,y\nred,a\nblue,b\nred,a\ngreen,b\n");
    let model = Logistic::l2().fit(&trained).unwrap();
    assert_eq!(model.labels(&trained).unwrap(), ["a", "b", "a", "b"]);
    // The same number of columns, but of other levels.
    let other = read("colour,y\nred,a\nblue,b\nred,a\nyellow,b\n");
    assert!(model.predict(&other).is_err());
    // Numbers are not categories.
    assert!(
        model
            .predict(&Dataset::unlabelled(&[[0.0, 0.0, 1.0]]).unwrap())
            .is_err()
    );
}

#[test]
fn classes_are_matched_by_name() {
    let rows = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]];
    let data = Dataset::labelled(&rows, &["a", "a", "b", "b", "c", "c"]).unwrap();
    let model = Softmax::l2().c(100.0).fit(&data).unwrap();
    assert_eq!(error(&model, &data), 0.0);
    // Without class a, the data number b and c from 0.
    let some = Dataset::labelled(&rows[2..], &["b", "b", "c", "c"]).unwrap();
    assert_eq!(error(&model, &some), 0.0);
    let unknown = Dataset::labelled(&rows[2..], &["b", "b", "c", "d"]).unwrap();
    let message = model.evaluate(&unknown).unwrap_err().to_string();
    assert!(message.contains("no class \"d\""), "{message}");
}
