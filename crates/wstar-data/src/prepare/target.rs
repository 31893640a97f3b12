//! The target, as classes or real numbers, from the raw cells of the target column.

use crate::error::Remedy;
use crate::prepare::missing_values::drop_such_rows;
use crate::setting::Setting;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::error::{Error, Result, nearest, shown};
use crate::prepare::missing_values::not_finite;
use crate::{Cells, Classes, Numbers, Preparation, Target, TargetKind};

/// The maximum number of classes of a numeric target. Cap: with more distinct numbers, classification is refused.
const MOST_CLASSES: usize = 1000;

/// The maximum number of distinct integers that are taken for classes automatically.
/// Heuristic: a count with few values may be taken for classes, and many numbered classes for counts; the kind of the
/// target can be set explicitly. Not measured yet.
const MOST_GUESSED_CLASSES: usize = 100;

/// The class name of a number: `1` for 1.0 and +1, `0` for −0.
pub(super) fn canonical(value: f64) -> String {
    (value + 0.0).to_string()
}

/// The finite number that a label represents, if any.
pub(super) fn as_number(label: &str) -> Option<f64> {
    label.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

/// The index of a label among known ones: by equal text, or else by equal number (`1` equals `1.0`).
pub(super) fn position_of(label: &str, known: &[String]) -> Option<usize> {
    known.iter().position(|name| name == label).or_else(|| {
        let value = as_number(label)?;
        known.iter().position(|name| as_number(name) == Some(value))
    })
}

/// Learns the target from the training cells; `what` names them in messages (`column species`, `the labels`).
pub(crate) fn learn(cells: &Cells, what: &str, how: &Preparation) -> Result<Target> {
    if how.positive.is_some() && how.target_kind == TargetKind::Real {
        return Err(Error::settings(
            "a real target has no positive value: leave one of the two out",
        ));
    }
    let target = match cells {
        Cells::Texts(_) => return Err(not_a_target(what)),
        Cells::Categories { .. } if how.target_kind == TargetKind::Real => {
            return Err(
                Error::data(format!("{what} holds categories, not numbers")).remedy(Remedy::Either(vec![
                    Setting::Target.given().into(),
                    "use a classifier".into(),
                ])),
            );
        }
        Cells::Categories { codes, levels } => category_classes(codes, levels, what)?,
        Cells::Numbers(numbers) => {
            check_finite(numbers, what)?;
            let classes_asked = how.target_kind == TargetKind::Classes || how.positive.is_some();
            let most = match how.target_kind {
                TargetKind::Auto if !classes_asked => MOST_GUESSED_CLASSES.min(numbers.len() / 2).max(2),
                TargetKind::Real => 0,
                _ => MOST_CLASSES,
            };
            let allowed = |value: f64| classes_asked || value.fract() == 0.0;
            let classes = match numbers {
                _ if most == 0 => None,
                Numbers::F32(numbers) => number_classes(numbers, most, allowed),
                Numbers::F64(numbers) => number_classes(numbers, most, allowed),
                Numbers::Block(column) => {
                    let numbers: Vec<f64> = column.iter().collect();
                    number_classes(&numbers, most, allowed)
                }
            };
            match classes {
                Some(classes) => classes,
                None if classes_asked => {
                    return Err(Error::data(format!(
                        "{what} has more than {MOST_CLASSES} different numbers: too many for classes"
                    ))
                    .remedy(Remedy::Either(vec![
                        Setting::Target.given().into(),
                        "use a method for a real target".into(),
                    ])));
                }
                None => Target::Real(numbers.iter().collect()),
            }
        }
    };
    match (&how.positive, target) {
        (Some(positive), Target::Classes { codes, classes }) => {
            let Some(code) = position_of(positive, classes.names()) else {
                let names = classes.names();
                let error = Error::data(format!("{what} never has the value {}", shown(positive)));
                return Err(error.remedy(suggestion(positive, names)));
            };
            Ok(Target::Classes {
                codes: codes.iter().map(|&k| u32::from(k as usize == code)).collect(),
                classes: Classes::against_rest(&classes.names()[code]),
            })
        }
        (_, target) => Ok(target),
    }
}

/// The target of new rows: the classes of a model, or real numbers if the model has none.
pub(super) fn apply(
    cells: &Cells,
    what: &str,
    classes: Option<&Classes>,
    positive: Option<&str>,
) -> Result<Target> {
    let Some(classes) = classes else {
        return real(cells, what);
    };
    let code_of = |label: &str| match positive {
        Some(_) => {
            let is_positive = position_of(label, &classes.names()[1.min(classes.len())..]).is_some();
            Some(u32::from(is_positive))
        }
        None => position_of(label, classes.names()).map(|code| code as u32),
    };
    let unknown = |label: &str, row: usize| {
        Error::data(format!(
            "{} in {what} (row {row}) is not a class of the model",
            shown(label)
        ))
        .remedy(suggestion(label, classes.names()))
    };
    let codes: Result<Vec<u32>> = match cells {
        Cells::Texts(_) => return Err(not_a_target(what)),
        Cells::Categories { codes, levels } => {
            let known: Vec<Option<u32>> = levels.iter().map(|level| code_of(level)).collect();
            let coded = |(row, &code): (usize, &u32)| match levels.get(code as usize) {
                None => Err(missing(what, row)),
                Some(level) => known[code as usize].ok_or_else(|| unknown(level, row)),
            };
            codes.iter().enumerate().map(coded).collect()
        }
        Cells::Numbers(numbers) => {
            check_finite(numbers, what)?;
            let mut known = FxHashMap::default();
            let coded = |(row, value): (usize, f64)| {
                let code = known
                    .entry(value.to_bits())
                    .or_insert_with(|| code_of(&canonical(value)));
                code.ok_or_else(|| unknown(&canonical(value), row))
            };
            numbers.iter().enumerate().map(coded).collect()
        }
    };
    Ok(Target::Classes {
        codes: codes?,
        classes: classes.clone(),
    })
}

/// `did you mean …?` with the closest known name, or else the first few known names.
pub(super) fn suggestion<S: AsRef<str>>(wanted: &str, known: &[S]) -> String {
    /// The number of known names that are listed. Cap: further names are left out.
    const SHOWN: usize = 8;
    if let Some(name) = nearest(wanted, known.iter().map(AsRef::as_ref)) {
        return format!("did you mean {name}?");
    }
    let more = if known.len() > SHOWN { " …" } else { "" };
    let names: Vec<&str> = known.iter().take(SHOWN).map(AsRef::as_ref).collect();
    format!("there are {}{more}", names.join(", "))
}

fn not_a_target(what: &str) -> Error {
    Error::data(format!("{what} holds texts, which cannot be the target"))
}

fn missing(what: &str, row: usize) -> Error {
    Error::data(format!("{what} has no value in row {row}")).remedy(drop_such_rows())
}

fn check_finite(numbers: &Numbers, what: &str) -> Result<()> {
    match not_finite(numbers) {
        None => Ok(()),
        Some(row) if numbers.get(row).is_nan() => Err(missing(what, row)),
        Some(row) => Err(Error::data(format!("{what} is not a finite number in row {row}"))),
    }
}

/// Categories as classes; only the levels that occur.
fn category_classes(codes: &[u32], levels: &[String], what: &str) -> Result<Target> {
    let mut occurs = vec![false; levels.len()];
    for (row, &code) in codes.iter().enumerate() {
        *occurs.get_mut(code as usize).ok_or_else(|| missing(what, row))? = true;
    }
    let used = levels.iter().zip(&occurs).filter(|(_, occurs)| **occurs);
    let classes = Classes::new(used.map(|(level, _)| level.clone()));
    let renamed: Vec<u32> = levels
        .iter()
        .map(|level| classes.code(level).unwrap_or(Cells::MISSING))
        .collect();
    Ok(Target::Classes {
        codes: codes.iter().map(|&code| renamed[code as usize]).collect(),
        classes,
    })
}

/// Numbers as classes; `None` if there are more than `most` distinct ones or one of them is not `allowed`.
fn number_classes<T: Copy + Into<f64> + Sync>(
    numbers: &[T],
    most: usize,
    allowed: impl Fn(f64) -> bool,
) -> Option<Target> {
    let values = distinct(numbers, most).filter(|values| values.iter().all(|&value| allowed(value)))?;
    let code = |&number: &T| {
        let value: f64 = number.into();
        values.partition_point(|&other| other < value) as u32
    };
    Some(Target::Classes {
        codes: numbers.par_iter().map(code).collect(),
        classes: Classes::new(values.iter().map(|&value| canonical(value))),
    })
}

/// The distinct numbers in increasing order; `None` if there are more than `most`. The numbers must be finite.
fn distinct<T: Copy + Into<f64> + Sync>(numbers: &[T], most: usize) -> Option<Vec<f64>> {
    /// The number of values that one task searches.
    /// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
    const CHUNK: usize = 1 << 15;
    let add = |mut found: Vec<f64>, value: f64| {
        let index = found.partition_point(|&other| other < value);
        if found.get(index) != Some(&value) {
            found.insert(index, value);
        }
        (found.len() <= most).then_some(found)
    };
    numbers
        .par_chunks(CHUNK)
        .map(|chunk| {
            chunk
                .iter()
                .map(|&number| number.into())
                .try_fold(Vec::new(), add)
        })
        .try_reduce(Vec::new, |all, found| found.into_iter().try_fold(all, add))
}

/// The cells as real numbers.
fn real(cells: &Cells, what: &str) -> Result<Target> {
    match cells {
        Cells::Numbers(numbers) => {
            check_finite(numbers, what)?;
            Ok(Target::Real(numbers.iter().collect()))
        }
        Cells::Categories { codes, levels } => {
            let values: Vec<Option<f64>> = levels.iter().map(|level| as_number(level)).collect();
            let number = |(row, &code): (usize, &u32)| match levels.get(code as usize) {
                None => Err(missing(what, row)),
                Some(level) => values[code as usize].ok_or_else(|| {
                    Error::data(format!("{} in {what} (row {row}) is not a number", shown(level)))
                }),
            };
            Ok(Target::Real(
                codes.iter().enumerate().map(number).collect::<Result<_>>()?,
            ))
        }
        Cells::Texts(_) => Err(not_a_target(what)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[f64]) -> Cells {
        Cells::Numbers(values.iter().copied().collect())
    }

    fn categories(values: &[&str]) -> Cells {
        let mut levels: Vec<String> = values.iter().map(|v| (*v).to_owned()).collect();
        levels.sort();
        levels.dedup();
        Cells::Categories {
            codes: values
                .iter()
                .map(|v| levels.iter().position(|level| level == v).unwrap() as u32)
                .collect(),
            levels,
        }
    }

    fn learnt(cells: &Cells, how: &Preparation) -> (Vec<u32>, Vec<String>) {
        match learn(cells, "column y", how).unwrap() {
            Target::Classes { codes, classes } => (codes, classes.names().to_vec()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_are_named_canonically_and_sorted_by_value() {
        let (codes, names) = learnt(
            &numbers(&[10.0, -1.0, 2.0, -0.0, 0.0, 10.0, 2.0, -1.0]),
            &Preparation::default(),
        );
        assert_eq!(names, ["-1", "0", "2", "10"]);
        assert_eq!(codes, [3, 0, 2, 1, 1, 3, 2, 0]);
    }

    #[test]
    fn few_distinct_integers_are_classes_and_others_are_real() {
        let auto = Preparation::default();
        let is_real =
            |values: &[f64]| matches!(learn(&numbers(values), "y", &auto).unwrap(), Target::Real(_));
        assert!(
            !is_real(&[0.0, 1.0]),
            "two values are classes however few the rows"
        );
        assert!(is_real(&[0.0, 1.0, 2.0]), "three values in three rows");
        assert!(!is_real(&[0.0, 1.0, 2.0, 0.0, 1.0, 2.0]));
        assert!(is_real(&[0.5, 1.5, 0.5, 1.5, 0.5, 1.5]), "not whole");
        let hundred: Vec<f64> = (0..400).map(|i| f64::from(i % 100)).collect();
        assert!(!is_real(&hundred));
        let more: Vec<f64> = (0..400).map(|i| f64::from(i % 101)).collect();
        assert!(is_real(&more));
    }

    #[test]
    fn all_classes_of_a_long_column_are_found() {
        // Each range of 1000 rows has only one value.
        let long = |classes: usize| -> Vec<f64> {
            (0..classes * 1000)
                .map(|i| 3.0 * ((i / 1000 * 7 % classes) as f64) - 50.0)
                .collect()
        };
        let values = long(100);
        let (codes, names) = learnt(&numbers(&values), &Preparation::default());
        assert_eq!(names.len(), 100);
        for (value, code) in values.iter().zip(codes) {
            assert_eq!(names[code as usize], value.to_string());
        }
        let target = learn(&numbers(&long(101)), "y", &Preparation::default()).unwrap();
        assert_eq!(target, Target::Real(long(101)));
    }

    #[test]
    fn the_kind_of_the_target_can_be_set() {
        let classes = Preparation {
            target_kind: TargetKind::Classes,
            ..Preparation::default()
        };
        assert_eq!(
            learnt(&numbers(&[0.5, 1.5, 2.5]), &classes).1,
            ["0.5", "1.5", "2.5"]
        );
        let many: Vec<f64> = (0..1001).map(f64::from).collect();
        assert!(learn(&numbers(&many), "y", &classes).is_err());
        assert!(learn(&numbers(&many[..1000]), "y", &classes).is_ok());
        let real = Preparation {
            target_kind: TargetKind::Real,
            ..Preparation::default()
        };
        assert_eq!(
            learn(&numbers(&[0.0, 1.0]), "y", &real).unwrap(),
            Target::Real(vec![0.0, 1.0])
        );
        assert!(learn(&categories(&["a", "b"]), "y", &real).is_err());
    }

    #[test]
    fn one_value_is_classified_against_all_others() {
        let against = |value: &str| Preparation {
            positive: Some(value.into()),
            ..Preparation::default()
        };
        let cells = categories(&["b", "a", "c", "a"]);
        assert_eq!(
            learnt(&cells, &against("a")),
            (vec![0, 1, 0, 1], vec!["rest".into(), "a".into()])
        );
        let digits = numbers(&[9.0, 3.0, 9.0, 1.0]);
        assert_eq!(
            learnt(&digits, &against("9.0")),
            (vec![1, 0, 1, 0], vec!["rest".into(), "9".into()])
        );
        assert_eq!(
            learnt(&categories(&["rest", "a"]), &against("rest")).1,
            ["other", "rest"]
        );
        let error = learn(
            &categories(&["setosa", "virginica"]),
            "column y",
            &against("virginca"),
        )
        .unwrap_err();
        assert!(error.to_string().contains("did you mean virginica?"), "{error}");

        let classes = Classes::against_rest("9");
        let target = apply(&numbers(&[4.0, 9.0, 77.0]), "y", Some(&classes), Some("9")).unwrap();
        assert!(matches!(target, Target::Classes { codes, .. } if codes == [0, 1, 0]));
    }

    #[test]
    fn new_labels_are_matched_by_text_or_by_number() {
        let classes = Classes::new(["-1", "1"]);
        for cells in [
            numbers(&[1.0, -1.0]),
            categories(&["+1", "-1.0"]),
            categories(&["1", "-1"]),
        ] {
            let target = apply(&cells, "y", Some(&classes), None).unwrap();
            assert!(matches!(target, Target::Classes { codes, .. } if codes == [1, 0]));
        }
        let error = apply(&numbers(&[1.0, 2.0]), "column y", Some(&classes), None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("\"2\" in column y (row 1)"), "{text}");
    }

    #[test]
    fn unused_levels_are_not_classes() {
        let cells = Cells::Categories {
            codes: vec![2, 0, 2],
            levels: vec!["a".into(), "b".into(), "c".into()],
        };
        assert_eq!(
            learnt(&cells, &Preparation::default()),
            (vec![1, 0, 1], vec!["a".into(), "c".into()])
        );
    }

    #[test]
    fn missing_and_infinite_targets_are_reported_by_row() {
        let how = Preparation::default();
        let error = learn(&numbers(&[1.0, f64::NAN]), "column y", &how).unwrap_err();
        assert!(error.to_string().contains("row 1"), "{error}");
        let error = learn(&numbers(&[1.0, 0.0, f64::INFINITY]), "column y", &how).unwrap_err();
        assert!(error.to_string().contains("row 2"), "{error}");
    }
}
