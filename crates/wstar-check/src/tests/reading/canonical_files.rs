use crate::canonical_rows::{read, write};
use crate::design::Design;
use crate::sha256::sha256;
use crate::training_rows::TrainingRows;

use crate::tests::reading::{model, source};

/// Two rows of three columns, as `docs/certificate-format.md` writes them.
fn example() -> Vec<u8> {
    let rows = TrainingRows {
        design: Design {
            features: 3,
            starts: vec![0, 2, 3],
            columns: vec![0, 2, 1],
            values: vec![1.0, -2.5, 4.0],
        },
        targets: vec![1.0, 0.0],
        weights: Some(vec![1.0, 0.5]),
        left_out: 0,
    };
    write(&rows, &["no".into(), "yes".into()])
}

#[test]
fn the_bytes_are_those_of_the_specification() {
    let mut expected =
        b"wstarrow\x01\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\x02\0\0\0\x02\0\0\0no\x03\0\0\0yes".to_vec();
    for (target, weight, entries) in [
        (1.0f64, 1.0f64, &[(0u32, 1.0f64), (2, -2.5)][..]),
        (0.0, 0.5, &[(1, 4.0)]),
    ] {
        expected.extend(target.to_le_bytes());
        expected.extend(weight.to_le_bytes());
        expected.extend((entries.len() as u32).to_le_bytes());
        for (column, value) in entries {
            expected.extend(column.to_le_bytes());
            expected.extend(value.to_le_bytes());
        }
    }
    assert_eq!(example(), expected);
    assert_eq!(
        sha256(&expected),
        "d0227751f77ca320445e1fa2640d97a291ec407d5b594d228c472bc537661990"
    );
}

#[test]
fn rows_round_trip() {
    for (name, data, drop_missing) in [
        ("flowers-softmax.json", "flowers.csv", false),
        ("prices-ridge.json", "prices.csv", false),
        ("prices-lad.json", "prices.csv", true),
        ("sparse-svm.json", "sparse.svm", false),
    ] {
        let model = model(name);
        let rows = source(&model, data, drop_missing).unwrap().rows;
        let bytes = write(&rows, &model.schema.classes);
        let again = read(&bytes).unwrap();
        assert_eq!(again.classes, model.schema.classes);
        assert_eq!(
            (&again.rows.targets, &again.rows.weights),
            (&rows.targets, &rows.weights)
        );
        assert!(again.rows.design.is_well_formed());
        assert_eq!(write(&again.rows, &again.classes), bytes, "{name}");
    }
}

#[test]
fn the_same_rows_have_only_one_sequence_of_bytes() {
    let bytes = example();
    let changed = |offset: usize, new: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[offset..offset + new.len()].copy_from_slice(new);
        read(&bytes).map(|_| ()).map_err(|error| error.to_string())
    };
    // The names end at byte 41; the first row has its target there, its entries from byte 61 on.
    assert!(read(&bytes).is_ok());
    assert!(changed(0, b"W").is_err());
    assert!(changed(8, &[2]).unwrap_err().starts_with("version 2"));
    assert!(changed(12, &[3]).is_err(), "a row too many");
    assert!(changed(12, &[1]).unwrap_err().starts_with("bytes follow"));
    assert!(changed(12, &[0xff; 8]).unwrap_err().starts_with("the file ends"));
    assert!(changed(20, &[2]).is_err(), "a column too few");
    assert!(changed(24, &[0xff; 4]).is_err(), "too many classes");
    assert!(changed(41, &2.0f64.to_le_bytes()).is_err(), "no such class");
    assert!(changed(41, &0.5f64.to_le_bytes()).is_err(), "no class");
    assert!(changed(41, &(-0.0f64).to_le_bytes()).is_err(), "−0");
    assert!(
        changed(49, &(-1.0f64).to_le_bytes()).is_err(),
        "a negative weight"
    );
    assert!(changed(49, &f64::NAN.to_le_bytes()).is_err());
    assert!(changed(61, &2u32.to_le_bytes()).is_err(), "a repeated column");
    assert!(changed(65, &0.0f64.to_le_bytes()).is_err(), "a zero entry");
    assert!(changed(65, &f64::INFINITY.to_le_bytes()).is_err());
}
