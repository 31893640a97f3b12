//! Holding rows out: seeded, and stratified by class, so that both parts have each class in the same
//! proportion.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::data::missing::{complete_rows, refuse_missing};
use crate::data::prepare::Roles;
use crate::data::raw::select_columns;
use crate::data::target;
use crate::data::{Cells, Dataset, Matrix, Missing, Numbers, Preparation, Raw, Table, Target};
use crate::error::{Error, Result};

/// Splits a prepared data set into training and test rows, both in their old order.
///
/// Levels, vocabularies and scaling were then learnt on all rows, the test rows included; where that
/// matters, use [`split_raw`] first.
pub fn holdout(data: &Dataset, fraction: f64, seed: u64) -> Result<(Dataset, Dataset)> {
    let (train, test) = stratified(&strata(&data.target, data.rows()), fraction, seed)
        .map_err(|error| error.in_file(&data.source))?;
    Ok((data.select(&train), data.select(&test)))
}

/// Splits raw rows into training and test rows, both in their old order, so that all that is learnt
/// is learnt from the training rows alone. Rows that `how` would leave out are in neither part.
pub fn split_raw(raw: Raw, how: &Preparation, fraction: f64, seed: u64) -> Result<(Raw, Raw)> {
    let split = || {
        raw.check()?;
        let (target, kept) = match &raw {
            Raw::Table(table) => table_target(table, how)?,
            Raw::Matrix(Matrix { labels, .. }) => match labels {
                Some(labels) => {
                    let cells = Cells::Numbers(Numbers::F64(labels.clone()));
                    (target::learn(&cells, "the label", how)?, None)
                }
                None => (Target::Unknown, None),
            },
        };
        let rows = kept.as_ref().map_or(raw.rows(), Vec::len);
        let (mut train, mut test) = stratified(&strata(&target, rows), fraction, seed)?;
        if let Some(kept) = kept {
            train
                .iter_mut()
                .chain(&mut test)
                .for_each(|row| *row = kept[*row]);
        }
        Ok((raw.select(&train), raw.select(&test)))
    };
    split().map_err(|error: Error| error.in_file(raw.source()))
}

/// The target of the rows that training would look at, and which these are unless they are all.
fn table_target(table: &Table, how: &Preparation) -> Result<(Target, Option<Vec<usize>>)> {
    let roles = Roles::of(table, how)?;
    let column = &table.columns[roles.target];
    let what = format!("column {}", column.name);
    if how.missing == Missing::Drop
        && let Some(kept) = complete_rows(roles.used().map(|place| &table.columns[place]), table.rows)?
    {
        let complete = select_columns(std::slice::from_ref(column), &kept);
        return Ok((target::learn(&complete[0].cells, &what, how)?, Some(kept)));
    }
    refuse_missing(column, "use --missing drop to leave such rows out")?;
    Ok((target::learn(&column.cells, &what, how)?, None))
}

/// What each row is counted under: its class, or all alike.
fn strata(target: &Target, rows: usize) -> Vec<u32> {
    match target {
        Target::Classes { codes, .. } => codes.clone(),
        Target::Real(_) | Target::Unknown => vec![0; rows],
    }
}

/// Training and test rows, each in increasing order: of every stratum nearly `fraction` of the rows
/// are test rows, and at least one is a training row.
fn stratified(strata: &[u32], fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    if !(fraction > 0.0 && fraction < 1.0) {
        return Err(Error::settings(format!(
            "the fraction of rows to hold out must lie between 0 and 1, not at {fraction}"
        )));
    }
    let count = strata.iter().max().map_or(0, |&last| last as usize + 1);
    let mut members = vec![Vec::new(); count];
    for (i, &stratum) in strata.iter().enumerate() {
        members[stratum as usize].push(i);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    // Rounding the running total, not every stratum, makes the whole come out right as well.
    let (mut seen, mut held) = (0, 0);
    for mut rows in members.into_iter().filter(|rows| !rows.is_empty()) {
        rows.shuffle(&mut random);
        seen += rows.len();
        let due = (fraction * seen as f64).round() as usize;
        let here = due.saturating_sub(held).min(rows.len() - 1);
        held = due;
        test.extend_from_slice(&rows[..here]);
        train.extend_from_slice(&rows[here..]);
    }
    if test.is_empty() || train.is_empty() {
        return Err(Error::data(format!(
            "holding out {fraction} of {} rows leaves no {} rows",
            strata.len(),
            if train.is_empty() { "training" } else { "test" }
        ))
        .hint("use another fraction, or more rows"));
    }
    train.sort_unstable();
    test.sort_unstable();
    Ok((train, test))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Column;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_split_is_disjoint_complete_stratified_and_seeded(
            strata in prop::collection::vec(0u32..5, 20..300),
            fraction in 0.1..0.9f64,
            seed in any::<u64>(),
        ) {
            let (train, test) = stratified(&strata, fraction, seed).unwrap();
            prop_assert!(train.is_sorted() && test.is_sorted());
            let mut all = [train.clone(), test.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..strata.len()).collect::<Vec<_>>());
            for stratum in 0..5 {
                let count = |rows: &[usize]| rows.iter().filter(|&&i| strata[i] == stratum).count();
                let (kept, held) = (count(&train), count(&test));
                prop_assert!(kept > 0 || held == 0);
                let due = fraction * (kept + held) as f64;
                prop_assert!((held as f64 - due).abs() <= 1.0 || kept == 1, "{held} of {} held", kept + held);
            }
            prop_assert_eq!(stratified(&strata, fraction, seed).unwrap(), (train, test));
        }
    }

    #[test]
    fn the_total_is_the_fraction_of_all_rows() {
        // Rounding every class by itself would hold out 0 of 10 × 2 rows.
        let strata: Vec<u32> = (0..20).map(|i| i / 2).collect();
        let (train, test) = stratified(&strata, 0.2, 7).unwrap();
        assert_eq!((train.len(), test.len()), (16, 4));
    }

    #[test]
    fn another_seed_is_another_split() {
        let strata = vec![0; 100];
        assert_ne!(
            stratified(&strata, 0.5, 0).unwrap(),
            stratified(&strata, 0.5, 1).unwrap()
        );
    }

    #[test]
    fn empty_sides_and_fractions_out_of_range_are_refused() {
        for fraction in [0.0, 1.0, -0.1, 2.0, f64::NAN] {
            assert!(stratified(&[0; 10], fraction, 0).is_err(), "{fraction}");
        }
        assert!(stratified(&[0; 10], 0.01, 0).is_err(), "no test row");
        assert!(stratified(&[0, 1, 2], 0.5, 0).is_err(), "every class has one row");
        assert!(stratified(&[], 0.5, 0).is_err());
    }

    #[test]
    fn raw_rows_and_prepared_rows_split_alike() {
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let column = |name: &str, cells| Column {
            name: name.into(),
            cells,
            first_missing: None,
        };
        let raw = Raw::Table(Table {
            source: "t".into(),
            rows: 60,
            columns: vec![
                column("x", Cells::Numbers(values.iter().copied().collect())),
                column("y", Cells::Numbers(values.iter().map(|v| v % 3.0).collect())),
            ],
        });
        let how = Preparation::default();
        let data = crate::data::prepare(raw.clone(), &how).unwrap();
        let (train, test) = holdout(&data, 0.25, 3).unwrap();
        let (raw_train, raw_test) = split_raw(raw, &how, 0.25, 3).unwrap();
        assert_eq!((train.rows(), test.rows()), (45, 15));
        assert_eq!(train.class_counts(), [15, 15, 15]);
        assert_eq!(
            crate::data::prepare(raw_train, &how).unwrap().design,
            train.design
        );
        assert_eq!(crate::data::prepare(raw_test, &how).unwrap().design, test.design);
    }

    #[test]
    fn rows_to_be_dropped_are_in_neither_part() {
        let values = (0..20).map(|i| if i % 4 == 0 { f64::NAN } else { f64::from(i) });
        let column = |name: &str, cells| Column {
            name: name.into(),
            cells,
            first_missing: None,
        };
        let raw = Raw::Table(Table {
            source: "t".into(),
            rows: 20,
            columns: vec![
                column("x", Cells::Numbers(values.collect())),
                column("y", Cells::Numbers((0..20).map(|i| f64::from(i % 2)).collect())),
            ],
        });
        let how = Preparation {
            missing: Missing::Drop,
            ..Preparation::default()
        };
        let (train, test) = split_raw(raw, &how, 0.2, 0).unwrap();
        assert_eq!((train.rows(), test.rows()), (12, 3));
        let train = crate::data::prepare(train, &how).unwrap();
        assert_eq!(train.rows(), 12, "nothing is left to drop");
    }
}
