//! From raw columns to a data set, and the same encoding of new rows: encodings, missing values, unseen categories,
//! targets, weights.

#![allow(clippy::unwrap_used)] // a test fails by panicking, in its helpers too

use proptest::prelude::*;
use wstar::data::DatasetNote;
use wstar::data::error::Position;
use wstar::data::error::{Error, ErrorKind};
use wstar::data::{
    Applied, Cells, Column, ColumnSource, Dataset, Design, Encoding, Matrix, Missing, Numbers, Preparation,
    Raw, Schema, Table, Target, TextOptions, Texts, Unseen, Weighting, prepare, prepare_with,
};

fn column(name: &str, cells: Cells) -> Column {
    Column {
        name: name.into(),
        cells,
        first_missing: None,
    }
}

fn numbers(name: &str, values: &[f64]) -> Column {
    column(name, Cells::Numbers(values.iter().copied().collect()))
}

/// A categorical column; an empty string is a missing value.
fn categories(name: &str, values: &[&str]) -> Column {
    let mut levels: Vec<String> = values
        .iter()
        .filter(|v| !v.is_empty())
        .map(|v| (*v).to_owned())
        .collect();
    levels.sort();
    levels.dedup();
    let code = |value: &&str| {
        levels
            .iter()
            .position(|level| level == value)
            .map_or(Cells::MISSING, |k| k as u32)
    };
    let codes = values.iter().map(code).collect();
    column(name, Cells::Categories { codes, levels })
}

fn texts(name: &str, values: &[&str]) -> Column {
    let mut texts = Texts::default();
    values.iter().for_each(|text| texts.push(text));
    column(name, Cells::Texts(texts))
}

fn table(rows: usize, columns: Vec<Column>) -> Raw {
    Raw::Table(Table {
        source: "t.csv".into(),
        columns,
        rows,
    })
}

fn dense_rows(data: &Dataset) -> Vec<Vec<f64>> {
    data.design()
        .iter()
        .map(|row| row.to_dense(data.features()))
        .collect()
}

fn codes(data: &Dataset) -> Vec<u32> {
    match data.target() {
        Target::Classes { codes, .. } => codes.clone(),
        other => panic!("{other:?}"),
    }
}

fn how() -> Preparation {
    Preparation::default()
}

fn with_target() -> Applied {
    Applied {
        with_target: true,
        ..Applied::default()
    }
}

fn refused<T: std::fmt::Debug>(result: Result<T, Error>, parts: &[&str]) -> Error {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
    error
}

#[test]
fn categories_become_one_hot_and_two_levels_one_column() {
    let raw = table(
        3,
        vec![
            categories("student", &["Yes", "No", "Yes"]),
            categories("colour", &["red", "blue", "green"]),
            numbers("balance", &[1.5, -2.0, 0.0]),
            categories("default", &["no", "yes", "no"]),
        ],
    );
    let data = prepare(raw, &how()).unwrap();
    let names: Vec<String> = data.schema().feature_names().collect();
    assert_eq!(
        names,
        [
            "student=Yes",
            "colour=blue",
            "colour=green",
            "colour=red",
            "balance"
        ]
    );
    assert_eq!(
        dense_rows(&data),
        [
            [1.0, 0.0, 0.0, 1.0, 1.5],
            [0.0, 1.0, 0.0, 0.0, -2.0],
            [1.0, 0.0, 1.0, 0.0, 0.0]
        ]
    );
    assert!(matches!(data.design(), Design::Dense32(_)));
    assert_eq!(codes(&data), [0, 1, 0]);
    assert_eq!(data.schema().target.as_deref(), Some("default"));
}

#[test]
fn wide_categories_are_sparse_and_narrow_ones_dense() {
    let of_levels = |count: usize| {
        let names: Vec<String> = (0..count).map(|i| format!("level {i:03}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let labels: Vec<&str> = (0..count).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        let zeros = vec![0.0; count];
        let raw = table(
            count,
            vec![
                categories("c", &names),
                numbers("x", &zeros),
                categories("y", &labels),
            ],
        );
        prepare(raw, &how()).unwrap()
    };
    assert!(!of_levels(63).design().is_sparse());
    let wide = of_levels(64);
    assert!(wide.design().is_sparse());
    assert_eq!(wide.design().stored(), 64, "a zero is not stored");
    for (i, row) in dense_rows(&wide).iter().enumerate() {
        let expected: Vec<f64> = (0..65).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
        assert_eq!(*row, expected);
    }
}

#[test]
fn storage_is_f64_only_where_a_value_needs_it() {
    let with = |value: f64| {
        let raw = table(
            2,
            vec![
                numbers("a", &[1.0, 2.0]),
                numbers("b", &[3.0, value]),
                numbers("y", &[0.0, 1.0]),
            ],
        );
        prepare(raw, &how()).unwrap().into_parts().0
    };
    assert!(matches!(with(0.5), Design::Dense32(_)));
    assert!(matches!(with(0.1), Design::Dense64(_)));
    // Storage in f64 alone does not make the design `Dense64`.
    let raw = table(
        2,
        vec![
            column("a", Cells::Numbers(Numbers::F64(vec![1.0, 2.0]))),
            numbers("y", &[0.0, 1.0]),
        ],
    );
    assert!(matches!(
        prepare(raw, &how()).unwrap().design(),
        Design::Dense32(_)
    ));
}

#[test]
fn columns_are_found_by_name_in_any_order() {
    let columns = || {
        vec![
            categories("c", &["u", "v", "w", "u"]),
            numbers("x", &[1.0, 0.1, 3.0, 4.0]),
            texts("t", &["one two", "two", "", "three two"]),
            categories("y", &["a", "b", "a", "b"]),
        ]
    };
    let how = Preparation {
        target: Some("y".into()),
        standardize: true,
        ..how()
    };
    let data = prepare(table(4, columns()), &how).unwrap();
    let mut permuted = columns();
    permuted.rotate_left(2);
    permuted.swap(0, 1);
    permuted.insert(1, numbers("not asked for", &[f64::NAN; 4]));
    let again = prepare_with(table(4, permuted), data.schema(), data.classes(), &with_target()).unwrap();
    assert_eq!(again.design(), data.design());
    assert_eq!(again.target(), data.target());
    assert!(again.design().is_sparse());

    let unlabelled = columns().into_iter().take(3).collect();
    let again = prepare_with(
        table(4, unlabelled),
        data.schema(),
        data.classes(),
        &with_target(),
    )
    .unwrap();
    assert_eq!(again.target(), &Target::Unknown);

    let mut mistyped = columns();
    mistyped[1].name = "xx".into();
    refused(
        prepare_with(table(4, mistyped), data.schema(), None, &Applied::default()),
        &[
            "t.csv: there is no column x, which the model needs",
            "did you mean xx?",
        ],
    );
}

#[test]
fn cells_that_look_different_in_a_small_file_are_read_as_in_training() {
    let raw = table(
        3,
        vec![
            categories("c", &["1", "2", "x"]),
            numbers("n", &[1.0, 2.0, 3.0]),
            texts("t", &["7", "b", "c"]),
            categories("y", &["1", "0", "1"]),
        ],
    );
    let data = prepare(raw, &how()).unwrap();
    let small = table(
        1,
        vec![
            numbers("c", &[2.0]),
            categories("n", &["2.50"]),
            numbers("t", &[7.0]),
            numbers("y", &[1.0]),
        ],
    );
    let new = prepare_with(small, data.schema(), data.classes(), &with_target()).unwrap();
    let row = &dense_rows(&new)[0];
    assert_eq!(row[..4], [0.0, 1.0, 0.0, 2.5]);
    assert_eq!(new.schema().feature_name(4), "t:7");
    assert_eq!(row[4], 1.0, "the only term of a row of length 1");
    assert_eq!(codes(&new), [1]);

    let not_a_number = table(
        2,
        vec![
            categories("c", &["1", "1"]),
            categories("n", &["3", "many"]),
            texts("t", &["", ""]),
        ],
    );
    refused(
        prepare_with(not_a_number, data.schema(), None, &Applied::default()),
        &["\"many\" is not a number in column n (row 1)"],
    );
}

#[test]
fn an_unseen_category_is_refused_or_counts_for_nothing() {
    for levels in [&["blue", "red"][..], &["blue", "green", "red"]] {
        let labels: Vec<f64> = (0..levels.len()).map(|i| (i % 2) as f64).collect();
        let data = prepare(
            table(levels.len(), vec![categories("c", levels), numbers("y", &labels)]),
            &how(),
        )
        .unwrap();
        let new = || table(2, vec![categories("c", &["red", "purple"])]);
        refused(
            prepare_with(new(), data.schema(), None, &Applied::default()),
            &["t.csv: \"purple\" in column c (row 1)", "use unseen = ignore"],
        );
        let ignore = Applied {
            unseen: Unseen::Ignore,
            ..Applied::default()
        };
        let new = prepare_with(new(), data.schema(), None, &ignore).unwrap();
        let rows = dense_rows(&new);
        assert_eq!(rows[0].iter().sum::<f64>(), 1.0);
        assert!(rows[1].iter().all(|&v| v == 0.0));
        assert_eq!(new.notes().len(), 1);
    }
}

fn with_gaps() -> Vec<Column> {
    let mut x = numbers("x", &[1.0, f64::NAN, 3.0, 8.0]);
    x.first_missing = Some(Position { line: 3, column: 5 });
    vec![
        x,
        categories("c", &["v", "u", "v", ""]),
        numbers("y", &[0.0, 1.0, 0.0, 1.0]),
    ]
}

#[test]
fn missing_values_are_refused_with_their_position() {
    let error = prepare(table(4, with_gaps()), &how()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.csv:3:5: a missing value in column x (use missing = mean|drop, or drop = x)"
    );
    assert_eq!(error.kind(), ErrorKind::Data);
    let without_x = Preparation {
        drop: vec!["x".into()],
        ..how()
    };
    refused(
        prepare(table(4, with_gaps()), &without_x),
        &["column c (row 3)", "drop = c"],
    );
}

#[test]
fn missing_values_are_filled_with_the_values_of_training() {
    let mean = Preparation {
        missing: Missing::Mean,
        ..how()
    };
    let data = prepare(table(4, with_gaps()), &mean).unwrap();
    assert_eq!(
        dense_rows(&data),
        [[1.0, 1.0], [4.0, 0.0], [3.0, 1.0], [8.0, 1.0]]
    );
    assert_eq!(
        data.schema().columns[0].encoding,
        Encoding::Number { fill: Some(4.0) }
    );
    let new = table(1, vec![numbers("x", &[f64::NAN]), categories("c", &[""])]);
    let new = prepare_with(new, data.schema(), None, &Applied::default()).unwrap();
    assert_eq!(dense_rows(&new), [[4.0, 1.0]]);

    // A mean that is not exact in f32 makes the whole design `Dense64`.
    let raw = table(
        4,
        vec![
            numbers("x", &[1.0, 0.0, 0.0, f64::NAN]),
            numbers("y", &[0.0, 1.0, 0.0, 1.0]),
        ],
    );
    let data = prepare(raw, &mean).unwrap();
    assert!(matches!(data.design(), Design::Dense64(_)));
    assert_eq!(dense_rows(&data)[3], [1.0 / 3.0]);
}

#[test]
fn rows_with_missing_values_are_left_out() {
    let drop = Preparation {
        missing: Missing::Drop,
        ..how()
    };
    let mut columns = with_gaps();
    columns.push(numbers("w", &[1.0, 2.0, 3.0, 4.0]));
    let weighted = Preparation {
        sample_weight: Some("w".into()),
        ..drop.clone()
    };
    let data = prepare(table(4, columns), &weighted).unwrap();
    assert_eq!(
        dense_rows(&data),
        [[1.0, 1.0], [3.0, 1.0]],
        "the level u is gone with its row"
    );
    assert_eq!(codes(&data), [0, 0]);
    assert_eq!(data.weights(), Some(&[1.0, 3.0][..]));
    assert_eq!(data.notes(), [DatasetNote::IncompleteRows { rows: 2 }]);

    // Prediction must answer every row, so it leaves none out.
    let new = || {
        table(
            2,
            vec![numbers("x", &[f64::NAN, 2.0]), categories("c", &["v", "v"])],
        )
    };
    refused(
        prepare_with(new(), data.schema(), None, &Applied::default()),
        &["a missing value in column x (row 0)"],
    );
    let dropping = Applied {
        drop_missing: true,
        ..Applied::default()
    };
    let kept = prepare_with(new(), data.schema(), None, &dropping).unwrap();
    assert_eq!(dense_rows(&kept), [[2.0, 1.0]]);

    let unlabelled = || {
        table(
            3,
            vec![
                numbers("x", &[1.0, 2.0, 3.0]),
                numbers("y", &[0.0, f64::NAN, 1.0]),
            ],
        )
    };
    assert_eq!(prepare(unlabelled(), &drop).unwrap().rows(), 2);
    refused(
        prepare(unlabelled(), &how()),
        &["column y (row 1)", "missing = drop"],
    );
    let nothing_left = table(
        2,
        vec![numbers("x", &[1.0, f64::NAN]), numbers("y", &[f64::NAN, 1.0])],
    );
    refused(prepare(nothing_left, &drop), &["no row is left"]);
}

#[test]
fn columns_without_any_value_are_refused() {
    for missing in [Missing::Refuse, Missing::Mean, Missing::Drop] {
        let how = Preparation { missing, ..how() };
        for gap in [numbers("g", &[f64::NAN; 2]), categories("g", &["", ""])] {
            let raw = table(2, vec![numbers("x", &[1.0, 2.0]), gap, numbers("y", &[0.0, 1.0])]);
            assert!(prepare(raw, &how).is_err());
        }
    }
}

#[test]
fn target_weight_and_dropped_columns_are_found_or_refused() {
    let columns = || {
        vec![
            numbers("x", &[1.0, 2.0, 3.0]),
            numbers("weight", &[1.0, 0.5, 0.0]),
            numbers("label", &[1.0, 0.0, 1.0]),
        ]
    };
    let weighted = Preparation {
        sample_weight: Some("weight".into()),
        ..how()
    };
    let data = prepare(table(3, columns()), &weighted).unwrap();
    assert_eq!(data.features(), 1);
    assert_eq!(data.weights(), Some(&[1.0, 0.5, 0.0][..]));
    let applied = Applied {
        with_weights: true,
        ..with_target()
    };
    let again = prepare_with(table(3, columns()), data.schema(), data.classes(), &applied).unwrap();
    assert_eq!(again.weights(), data.weights());
    let again = prepare_with(table(3, columns()), data.schema(), data.classes(), &with_target()).unwrap();
    assert_eq!(again.weights(), None);

    let named = |target: &str| Preparation {
        target: Some(target.into()),
        ..how()
    };
    refused(
        prepare(table(3, columns()), &named("lable")),
        &["no target column lable", "did you mean label?"],
    );
    assert_eq!(
        prepare(table(3, columns()), &named("x"))
            .unwrap()
            .schema()
            .target
            .as_deref(),
        Some("x")
    );
    let dropping = |names: &[&str]| Preparation {
        drop: names.iter().map(|&name| name.into()).collect(),
        ..how()
    };
    assert_eq!(
        prepare(table(3, columns()), &dropping(&["weight"]))
            .unwrap()
            .features(),
        1
    );
    let last = prepare(table(3, columns()), &dropping(&["label"])).unwrap();
    assert_eq!(
        last.schema().target.as_deref(),
        Some("weight"),
        "the last remaining column"
    );
    refused(
        prepare(table(3, columns()), &dropping(&["x", "weight"])),
        &["no column is left to learn from"],
    );
    refused(
        prepare(table(3, columns()), &dropping(&["wait"])),
        &["no column wait"],
    );
    let both = Preparation {
        drop: vec!["label".into()],
        ..named("label")
    };
    assert_eq!(
        prepare(table(3, columns()), &both).unwrap_err().kind(),
        ErrorKind::Settings
    );

    for (bad, part) in [(-1.0, "row 2"), (f64::NAN, "row 2"), (f64::INFINITY, "row 2")] {
        let mut columns = columns();
        columns[1] = numbers("weight", &[1.0, 1.0, bad]);
        refused(prepare(table(3, columns), &weighted), &["column weight", part]);
    }
    let mut zeros = columns();
    zeros[1] = numbers("weight", &[0.0; 3]);
    refused(prepare(table(3, zeros), &weighted), &["every sample weight"]);
    let mut twice = columns();
    twice[1].name = "x".into();
    refused(prepare(table(3, twice), &how()), &["two columns are called x"]);
    refused(
        prepare(table(0, Vec::new()), &how()),
        &["t.csv: there are no rows"],
    );
    let mut infinite = columns();
    infinite[0] = numbers("x", &[1.0, 2.0, f64::NEG_INFINITY]);
    refused(prepare(table(3, infinite), &how()), &["column x", "row 2"]);
    let ragged = table(3, vec![numbers("x", &[1.0]), numbers("y", &[0.0, 1.0, 0.0])]);
    assert!(prepare(ragged, &how()).is_err());
}

#[test]
fn a_positive_value_stays_positive_for_new_rows() {
    let raw = |y: &[f64]| {
        table(
            y.len(),
            vec![numbers("x", &vec![1.0; y.len()]), numbers("digit", y)],
        )
    };
    let nine = Preparation {
        positive: Some("9".into()),
        ..how()
    };
    let data = prepare(raw(&[9.0, 3.0, 1.0, 9.0]), &nine).unwrap();
    assert_eq!(data.classes().unwrap().names(), ["rest", "9"]);
    assert_eq!(codes(&data), [1, 0, 0, 1]);
    let json = serde_json::to_string(data.schema()).unwrap();
    let schema: Schema = serde_json::from_str(&json).unwrap();
    let new = prepare_with(raw(&[4.0, 9.0]), &schema, data.classes(), &with_target()).unwrap();
    assert_eq!(
        codes(&new),
        [0, 1],
        "a digit that training never saw is one of the rest"
    );

    let plain = prepare(raw(&[9.0, 3.0, 3.0, 9.0]), &how()).unwrap();
    refused(
        prepare_with(raw(&[9.0, 4.0]), plain.schema(), plain.classes(), &with_target()),
        &["\"4\" in column digit (row 1) is not a class of the model"],
    );
    let unasked = prepare_with(
        raw(&[9.0, 4.0]),
        plain.schema(),
        plain.classes(),
        &Applied::default(),
    )
    .unwrap();
    assert_eq!(unasked.target(), &Target::Unknown);
    let elsewhere = Applied {
        target: Some("x".into()),
        ..with_target()
    };
    let error = prepare_with(raw(&[9.0]), plain.schema(), plain.classes(), &elsewhere).unwrap_err();
    assert!(error.to_string().contains("column x"), "{error}");
}

fn matrix(base: u32, rows: &[&[(u32, f64)]], labels: &[f64]) -> Raw {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        indices.extend(row.iter().map(|(index, _)| index - base));
        values.extend(row.iter().map(|(_, value)| value));
        starts.push(indices.len());
    }
    let features = indices.iter().max().map_or(0, |&last| last as usize + 1);
    Raw::Matrix(Matrix {
        source: "t.svm".into(),
        design: Design::from_csr(starts, indices, values, features).unwrap(),
        labels: Some(labels.to_vec()),
        origin: ColumnSource::Indexed { base },
    })
}

#[test]
fn numbered_features_are_found_by_number() {
    let raw = matrix(1, &[&[(1, 5.0), (3, 1.0)], &[(2, 1.0)]], &[1.0, -1.0]);
    let data = prepare(raw, &how()).unwrap();
    assert_eq!(data.classes().unwrap().names(), ["-1", "1"]);
    let apply = |raw| prepare_with(raw, data.schema(), data.classes(), &with_target());

    let narrow = apply(matrix(1, &[&[(2, 7.0)]], &[1.0])).unwrap();
    assert_eq!(dense_rows(&narrow), [[0.0, 7.0, 0.0]]);
    let wide = apply(matrix(1, &[&[(2, 7.0), (4, 1.0)], &[(9, 1.0)]], &[1.0, -1.0])).unwrap();
    assert_eq!(dense_rows(&wide), [[0.0, 7.0, 0.0], [0.0; 3]]);
    assert_eq!(wide.design().stored(), 1);
    assert!(
        matches!(wide.notes()[0], DatasetNote::UnseenFeatures { entries: 2, .. }),
        "{:?}",
        wide.notes()
    );
    let from_zero = apply(matrix(0, &[&[(2, 7.0), (3, 8.0)]], &[1.0])).unwrap();
    assert_eq!(
        dense_rows(&from_zero),
        [[0.0, 7.0, 8.0]],
        "feature 2 is feature 2, whatever the base"
    );
    refused(
        apply(matrix(0, &[&[(0, 7.0)]], &[1.0])),
        &["feature 0", "numbered from 1"],
    );
    refused(
        apply(matrix(1, &[&[(1, 7.0)]], &[3.0])),
        &["\"3\" in the label (row 0)"],
    );

    let zero_based = prepare(
        matrix(0, &[&[(0, 1.0), (2, 1.0)], &[(1, 1.0)]], &[0.0, 1.0]),
        &how(),
    )
    .unwrap();
    let shifted = prepare_with(
        matrix(1, &[&[(1, 7.0)]], &[0.0]),
        zero_based.schema(),
        None,
        &Applied::default(),
    );
    assert_eq!(dense_rows(&shifted.unwrap()), [[0.0, 7.0, 0.0]]);

    refused(
        apply(table(1, vec![numbers("x", &[1.0])])),
        &["trained on numbered features"],
    );
    let named = Preparation {
        target: Some("y".into()),
        ..how()
    };
    assert!(prepare(matrix(1, &[&[(1, 1.0)]], &[1.0]), &named).is_err());
}

#[test]
fn images_must_have_the_size_of_training() {
    let images = |height, width| {
        Raw::Matrix(Matrix {
            source: "t.idx".into(),
            design: Design::from_dense(vec![1.0; 2 * height * width], 2, height * width).unwrap(),
            labels: Some(vec![0.0, 1.0]),
            origin: ColumnSource::Pixels { height, width },
        })
    };
    let data = prepare(images(2, 3), &how()).unwrap();
    let apply = |raw| prepare_with(raw, data.schema(), data.classes(), &with_target());
    assert_eq!(apply(images(2, 3)).unwrap().design(), data.design());
    refused(
        apply(images(3, 2)),
        &["images of 3×2 pixels", "images of 2×3 pixels"],
    );
}

#[test]
fn a_text_next_to_numbers_makes_sparse_rows_with_increasing_columns() {
    let raw = table(
        3,
        vec![
            numbers("x", &[0.0, 2.0, 3.0]),
            texts("t", &["b a b", "", "c"]),
            categories("c", &["u", "v", "u"]),
            numbers("y", &[0.0, 1.0, 0.0]),
        ],
    );
    let counts = Preparation {
        text: TextOptions {
            weighting: Weighting::Counts,
            ngrams: 1,
            ..TextOptions::default()
        },
        ..how()
    };
    let data = prepare(raw, &counts).unwrap();
    assert!(matches!(data.design(), Design::Sparse32(_)));
    assert_eq!(
        dense_rows(&data),
        [
            [0.0, 1.0, 2.0, 0.0, 0.0],
            [2.0, 0.0, 0.0, 0.0, 1.0],
            [3.0, 0.0, 0.0, 1.0, 0.0]
        ]
    );
    assert_eq!(data.design().stored(), 6);
    let wordless = table(2, vec![texts("t", &["", "!"]), numbers("y", &[0.0, 1.0])]);
    refused(prepare(wordless, &how()), &["column t", "drop = t"]);
}

proptest! {
    /// The blockwise transpose equals the direct one, and new rows are scaled as in training.
    #[test]
    fn rows_are_the_transposed_columns(
        rows in 1usize..2500,
        width in 1usize..40,
        standardize in any::<bool>(),
    ) {
        let value = |i: usize, j: usize| ((i * 31 + j * 17) % 101) as f64 - 50.0;
        let columns = || {
            let mut columns: Vec<Column> = (0..width)
                .map(|j| numbers(&format!("x{}", j + 1), &(0..rows).map(|i| value(i, j)).collect::<Vec<_>>()))
                .collect();
            columns.push(numbers("y", &(0..rows).map(|i| (i % 2) as f64).collect::<Vec<_>>()));
            columns
        };
        let how = Preparation { standardize, ..how() };
        let data = prepare(table(rows, columns()), &how).unwrap();
        for i in 0..rows {
            let row = data.design().row(i).to_dense(width);
            for (j, &v) in row.iter().enumerate() {
                match &data.schema().scaling {
                    None => prop_assert_eq!(v, value(i, j)),
                    Some(scaling) => prop_assert_eq!(v, (value(i, j) - scaling.shifts()[j]) * scaling.factors()[j]),
                }
            }
        }
        let again = prepare_with(table(rows, columns()), data.schema(), data.classes(), &with_target()).unwrap();
        prop_assert_eq!(again.design(), data.design());
        prop_assert_eq!(again.target(), data.target());
    }
}
