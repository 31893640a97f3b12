//! Notes on separable classes in fits of a penalised likelihood.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::data::run::{Budget, Unwatched};
use wstar::data::{Dataset, Design};
use wstar::model::{Note, Separability};
use wstar::problem::multiclass::Multiclass;
use wstar::problem::penalty::PenaltyName;
use wstar::separate::margin::{Question, separate_classes};
use wstar::separate::proof::{Sides, Verdict};
use wstar::settings::{Method, Options};

fn notes(data: &Dataset, settings: &Options) -> Vec<Note> {
    let model = wstar::estimate::fit(data, settings, &mut Unwatched).unwrap();
    assert!(model.certificate().holds());
    let notes = model.record().notes.iter().cloned();
    notes
        .filter(|note| matches!(note, Note::Separable { .. }))
        .collect()
}

fn logistic() -> Options {
    Options::of(Method::Logistic)
}

/// The verdict stated by the notes.
fn stated(notes: &[Note]) -> Verdict {
    match notes {
        [] => Verdict::Inseparable,
        [
            Note::Separable {
                how: Separability::Separable,
                ..
            },
        ] => Verdict::Separable,
        [Note::Separable { .. }] => Verdict::QuasiSeparable,
        other => panic!("{other:?}"),
    }
}

/// Two classes of points with small integer coordinates; every verdict occurs.
fn lattice(seed: u64) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (n, d) = (random.random_range(4..14), random.random_range(1..4));
    let rows: Vec<Vec<f64>> = (0..n)
        .map(|_| (0..d).map(|_| f64::from(random.random_range(-2..=2))).collect())
        .collect();
    let labels: Vec<&str> = (0..n)
        .map(|i| match i {
            0 => "a",
            1 => "b",
            _ if rows[i][0] + 0.4 * random.random_range(-1.5..1.5) > 0.0 => "b",
            _ => "a",
        })
        .collect();
    Dataset::labelled(&rows, &labels).unwrap()
}

/// The verdict of the exact decision.
fn truth(data: &Dataset) -> Verdict {
    let sides = Sides {
        positive: 1,
        negative: None,
    };
    let found = separate_classes(
        data,
        sides,
        true,
        Question::Verdict,
        Budget::default(),
        &mut Unwatched,
    );
    found.unwrap().proof.unwrap().verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_note_is_never_wrong(seed in any::<u64>(), c in prop::sample::select(vec![1e-3, 1.0, 1e3])) {
        let data = lattice(seed);
        let truth = truth(&data);
        for penalty in [PenaltyName::L2, PenaltyName::L1] {
            let settings = Options { c: Some(c), penalty: Some(penalty), ..logistic() };
            match stated(&notes(&data, &settings)) {
                Verdict::Separable => prop_assert_eq!(truth, Verdict::Separable),
                // A column shows at least quasi-separation.
                Verdict::QuasiSeparable => prop_assert!(truth != Verdict::Inseparable),
                _ => {}
            }
        }
    }
}

#[test]
fn a_weak_penalty_shows_nearly_every_separation() {
    let settings = Options {
        c: Some(1e3),
        ..logistic()
    };
    let separable = (0..300)
        .map(lattice)
        .filter(|data| truth(data) == Verdict::Separable);
    let noted: Vec<bool> = separable
        .map(|data| !notes(&data, &settings).is_empty())
        .collect();
    let count = noted.iter().filter(|noted| **noted).count();
    assert!(
        noted.len() >= 50 && 20 * count >= 19 * noted.len(),
        "{count} of {}",
        noted.len()
    );
}

/// 20,000 rows; `decide` gives the last feature and the class, the other features are random.
fn large(features: usize, mut decide: impl FnMut(&mut ChaCha8Rng) -> (f64, bool)) -> Dataset {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut rows = Vec::new();
    let mut labels = Vec::new();
    for _ in 0..20_000 {
        let (x, class) = decide(&mut random);
        let mut row: Vec<f64> = (1..features).map(|_| random.random_range(-1.0..1.0)).collect();
        row.push(x);
        rows.push(row);
        labels.push(if class { "b" } else { "a" });
    }
    Dataset::labelled(&rows, &labels).unwrap()
}

#[test]
fn the_fitted_weights_show_separation_of_any_size() {
    let apart = large(20, |random| {
        let class = random.random_range(0..2) > 0;
        let x = random.random_range(2.0..3.0);
        (if class { x } else { -x }, class)
    });
    let found = notes(&apart, &logistic());
    assert_eq!(stated(&found), Verdict::Separable);
    assert!(
        found[0].to_string().starts_with("the classes are separable: "),
        "{found:?}"
    );
    assert!(
        notes(&apart, &Options::of(Method::Svm)).is_empty(),
        "no likelihood"
    );
    let firth = Options {
        firth: true,
        ..logistic()
    };
    assert!(notes(&apart, &firth).is_empty(), "no penalty");
}

#[test]
fn one_column_shows_quasi_separation_of_any_size() {
    // A category that occurs in one row of a thousand, in one class only.
    let quasi = large(20, |random| {
        let rare = random.random_range(0..1000) == 0;
        (f64::from(u8::from(rare)), rare || random.random_range(0..2) > 0)
    });
    let found = notes(&quasi, &logistic());
    assert_eq!(stated(&found), Verdict::QuasiSeparable);
    assert!(found[0].to_string().contains("(by x20 alone)"), "{found:?}");
    // The same data in sparse storage.
    let mut sparse = quasi.clone();
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in quasi.design().iter() {
        row.for_each(|j, v| {
            if v != 0.0 {
                indices.push(j as u32);
                values.push(v);
            }
        });
        starts.push(values.len());
    }
    sparse = sparse
        .with_design(Design::from_csr(starts, indices, values, 20).unwrap())
        .unwrap();
    assert_eq!(notes(&sparse, &logistic()), found);
}

#[test]
fn overlapping_classes_have_no_note() {
    let overlap = large(20, |random| {
        let x = random.random_range(-1.0..1.0);
        (x, x + random.random_range(-0.5..0.5) > 0.0)
    });
    assert!(notes(&overlap, &logistic()).is_empty());
}

#[test]
fn rows_of_weight_zero_are_ignored() {
    let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i)]).collect();
    let labels: Vec<&str> = (0..20)
        .map(|i| if i < 10 || i == 15 { "a" } else { "b" })
        .collect();
    let mut data = Dataset::labelled(&rows, &labels).unwrap();
    assert_eq!(stated(&notes(&data, &logistic())), Verdict::Inseparable);
    let weights: Vec<f64> = (0..20).map(|i| if i == 15 { 0.0 } else { 1.0 }).collect();
    data = data.with_weights(weights).unwrap();
    assert_eq!(stated(&notes(&data, &logistic())), Verdict::Separable);
}

#[test]
fn the_note_names_the_separable_one_of_three_classes() {
    let source = wstar::data::read::Source::parse("@iris").unwrap();
    let iris = wstar::data::read::read(&source, &wstar::data::read::ReadOptions::default()).unwrap();
    let data = wstar::data::prepare::prepare(iris, &wstar::data::Preparation::default()).unwrap();
    for (multiclass, expected) in [
        (Multiclass::Softmax, "setosa and the rest are separable"),
        (Multiclass::Ovr, "setosa and the rest are separable"),
        (
            Multiclass::Ovo,
            "setosa and versicolor; setosa and virginica are separable",
        ),
    ] {
        let settings = Options {
            multiclass: Some(multiclass),
            ..logistic()
        };
        let found = notes(&data, &settings);
        assert!(
            found.len() == 1 && found[0].to_string().starts_with(expected),
            "{multiclass:?}: {found:?}"
        );
    }
    // Three classes on a line, each separated from its neighbours. Only the weights of all three classes show it.
    let rows: Vec<Vec<f64>> = (0..30).map(|i| vec![f64::from(i)]).collect();
    let labels: Vec<&str> = (0..30).map(|i| ["a", "b", "c"][i / 10]).collect();
    let line = Dataset::labelled(&rows, &labels).unwrap();
    let settings = Options {
        c: Some(1e4),
        ..Options::of(Method::Softmax)
    };
    let found = notes(&line, &settings);
    assert!(
        found[0].to_string().starts_with("the classes are separable"),
        "{found:?}"
    );
}
