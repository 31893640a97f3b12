//! Holdout splits: seeded, and stratified by class, so that each class has the same proportion in both sets.

use crate::prepare::missing_values::drop_such_rows;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Range, Result};
use crate::prepare::column_roles::Roles;
use crate::prepare::missing_values::{complete_rows, refuse_missing};
use crate::prepare::target;
use crate::raw::select_columns;
use crate::setting::Setting;
use crate::{Cells, Dataset, Matrix, Missing, Numbers, Preparation, Raw, Table, Target};

/// Splits a prepared data set into training and test rows, both in their original order.
///
/// Levels, vocabularies and scaling of a prepared data set were learnt from all rows, including the test rows. If that
/// matters, split the raw rows with [`split_raw`] before preparing them.
pub fn holdout(data: &Dataset, fraction: f64, seed: u64) -> Result<(Dataset, Dataset)> {
    let (train, test) = stratified(&strata(&data.target, data.rows()), fraction, seed)
        .map_err(|error| error.in_file(&data.source))?;
    Ok((data.select(&train), data.select(&test)))
}

/// Splits raw rows into training and test rows, both in their original order, so that preparation learns from the training
/// rows alone. Rows that `how` would drop are in neither set.
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

/// The target of the rows that training would use, and the indices of these rows, or `None` if they are all rows.
fn table_target(table: &Table, how: &Preparation) -> Result<(Target, Option<Vec<usize>>)> {
    let roles = Roles::of(table, how)?;
    let column = &table.columns[roles.target];
    let what = format!("column {}", column.name);
    if how.missing == Missing::Drop
        && let Some(kept) = complete_rows(roles.used().map(|index| &table.columns[index]), table.rows)?
    {
        let complete = select_columns(std::slice::from_ref(column), &kept);
        return Ok((target::learn(&complete[0].cells, &what, how)?, Some(kept)));
    }
    refuse_missing(column, drop_such_rows)?;
    Ok((target::learn(&column.cells, &what, how)?, None))
}

/// The stratum of each row: its class, or 0 for all rows if there are no classes.
fn strata(target: &Target, rows: usize) -> Vec<u32> {
    match target {
        Target::Classes { codes, .. } => codes.clone(),
        Target::Real(_) | Target::Unknown => vec![0; rows],
    }
}

/// The indices of training and test rows, each in increasing order. Close to `fraction` of the rows of each stratum are test
/// rows, and at least one row of each stratum is a training row.
fn stratified(strata: &[u32], fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    if !(fraction > 0.0 && fraction < 1.0) {
        let range = Range::StrictlyBetween(0.0, 1.0);
        return Err(Error::out_of_range(Setting::Holdout, range, fraction));
    }
    let count = strata.iter().max().map_or(0, |&last| last as usize + 1);
    let mut members = vec![Vec::new(); count];
    for (i, &stratum) in strata.iter().enumerate() {
        members[stratum as usize].push(i);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut train, mut test) = (Vec::new(), Vec::new());
    // The running total is rounded instead of every stratum, so that the total number of test rows is right as well.
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
        .remedy("use another fraction, or more rows"));
    }
    train.sort_unstable();
    test.sort_unstable();
    Ok((train, test))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;
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
        // Rounding every class separately would hold out none of 10 × 2 rows.
        let strata: Vec<u32> = (0..20).map(|i| i / 2).collect();
        let (train, test) = stratified(&strata, 0.2, 7).unwrap();
        assert_eq!((train.len(), test.len()), (16, 4));
    }

    #[test]
    fn different_seeds_give_different_splits() {
        let strata = vec![0; 100];
        assert_ne!(
            stratified(&strata, 0.5, 0).unwrap(),
            stratified(&strata, 0.5, 1).unwrap()
        );
    }

    #[test]
    fn empty_sets_and_invalid_fractions_are_refused() {
        for fraction in [0.0, 1.0, -0.1, 2.0, f64::NAN] {
            assert!(stratified(&[0; 10], fraction, 0).is_err(), "{fraction}");
        }
        assert!(stratified(&[0; 10], 0.01, 0).is_err(), "no test row");
        assert!(stratified(&[0, 1, 2], 0.5, 0).is_err(), "every class has one row");
        assert!(stratified(&[], 0.5, 0).is_err());
    }

    /// A table of a feature and a target.
    fn table(x: Numbers, y: Numbers) -> Raw {
        let column = |name: &str, numbers| Column {
            name: name.into(),
            cells: Cells::Numbers(numbers),
            first_missing: None,
        };
        Raw::Table(Table {
            source: "t".into(),
            rows: x.len(),
            columns: vec![column("x", x), column("y", y)],
        })
    }

    #[test]
    fn raw_and_prepared_rows_are_split_equally() {
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let raw = table(
            values.iter().copied().collect(),
            values.iter().map(|v| v % 3.0).collect(),
        );
        let how = Preparation::default();
        let data = crate::prepare::prepare(raw.clone(), &how).unwrap();
        let (train, test) = holdout(&data, 0.25, 3).unwrap();
        let (raw_train, raw_test) = split_raw(raw, &how, 0.25, 3).unwrap();
        assert_eq!((train.rows(), test.rows()), (45, 15));
        assert_eq!(train.class_counts(), [15, 15, 15]);
        assert_eq!(
            crate::prepare::prepare(raw_train, &how).unwrap().design,
            train.design
        );
        assert_eq!(
            crate::prepare::prepare(raw_test, &how).unwrap().design,
            test.design
        );
    }

    #[test]
    fn dropped_rows_are_in_neither_set() {
        let values = (0..20).map(|i| if i % 4 == 0 { f64::NAN } else { f64::from(i) });
        let raw = table(values.collect(), (0..20).map(|i| f64::from(i % 2)).collect());
        let how = Preparation {
            missing: Missing::Drop,
            ..Preparation::default()
        };
        let (train, test) = split_raw(raw, &how, 0.2, 0).unwrap();
        assert_eq!((train.rows(), test.rows()), (12, 3));
        let train = crate::prepare::prepare(train, &how).unwrap();
        assert_eq!(train.rows(), 12, "nothing is left to drop");
    }
}
