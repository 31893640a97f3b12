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
