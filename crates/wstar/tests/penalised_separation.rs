//! What a penalised likelihood says of classes that lie apart.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certify::proof::{Sides, Verdict};
use wstar::data::{Dataset, Design};
use wstar::margin::{Question, separate_classes};
use wstar::penalty::PenaltyName;
use wstar::settings::{Method, Multiclass, Settings};
use wstar::watch::{Budget, Unwatched};

fn notes(data: &Dataset, settings: &Settings) -> Vec<String> {
    let model = wstar::fit(data, settings, &mut Unwatched).unwrap();
    assert!(model.certificate.holds());
    let notes = model.fit.notes.into_iter();
    notes.filter(|note| note.contains("penalty's doing")).collect()
}

fn logistic() -> Settings {
    Settings::for_method(Method::Logistic)
}

/// The verdict that a note states.
fn stated(notes: &[String]) -> Verdict {
    match notes {
        [] => Verdict::Inseparable,
        [note] if note.contains("are separable") => Verdict::Separable,
        [note] if note.contains("quasi-separable") => Verdict::QuasiSeparable,
        other => panic!("{other:?}"),
    }
}

/// Two classes of points with small whole coordinates: every verdict occurs.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn small_problems_get_the_verdict_of_separate(seed in any::<u64>(), c in prop::sample::select(vec![1e-3, 1.0, 1e3])) {
        let data = lattice(seed);
        let sides = Sides { positive: 1, negative: None };
        let truth = separate_classes(&data, sides, true, Question::Verdict, Budget::default(), &mut Unwatched);
        let truth = truth.unwrap().proof.unwrap().verdict;
        for penalty in [PenaltyName::L2, PenaltyName::L1] {
            let settings = Settings { c: Some(c), penalty: Some(penalty), ..logistic() };
            prop_assert_eq!(stated(&notes(&data, &settings)), truth);
        }
    }
}

/// So many rows of 20 features, and a twenty-first that decides the class.
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
    assert!(found[0].starts_with("the classes are separable: "), "{found:?}");
    assert!(
        notes(&apart, &Settings::for_method(Method::Svm)).is_empty(),
        "no likelihood"
    );
    let firth = Settings {
        firth: true,
        ..logistic()
    };
    assert!(notes(&apart, &firth).is_empty(), "no penalty");
}

#[test]
fn one_column_shows_quasi_separation_of_any_size() {
    // A category that only one class has, in one row of a thousand.
    let quasi = large(20, |random| {
        let rare = random.random_range(0..1000) == 0;
        (f64::from(u8::from(rare)), rare || random.random_range(0..2) > 0)
    });
    let found = notes(&quasi, &logistic());
    assert_eq!(stated(&found), Verdict::QuasiSeparable);
    assert!(found[0].contains("(by x20 alone)"), "{found:?}");
    // The same, stored by its non-zeros.
    let mut sparse = quasi.clone();
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in quasi.design.iter() {
        row.for_each(|j, v| {
            if v != 0.0 {
                indices.push(j as u32);
                values.push(v);
            }
        });
        starts.push(values.len());
    }
    sparse.design = Design::from_csr(starts, indices, values, 20).unwrap();
    assert_eq!(notes(&sparse, &logistic()), found);
}

#[test]
fn what_overlaps_has_no_note() {
    let overlap = large(20, |random| {
        let x = random.random_range(-1.0..1.0);
        (x, x + random.random_range(-0.5..0.5) > 0.0)
    });
    assert!(notes(&overlap, &logistic()).is_empty());
}

#[test]
fn rows_without_a_weight_do_not_count() {
    let rows: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i)]).collect();
    let labels: Vec<&str> = (0..20)
        .map(|i| if i < 10 || i == 15 { "a" } else { "b" })
        .collect();
    let mut data = Dataset::labelled(&rows, &labels).unwrap();
    assert_eq!(stated(&notes(&data, &logistic())), Verdict::Inseparable);
    data.weights = Some((0..20).map(|i| if i == 15 { 0.0 } else { 1.0 }).collect());
    assert_eq!(stated(&notes(&data, &logistic())), Verdict::Separable);
}

#[test]
fn of_three_classes_it_says_which_lies_apart() {
    let source = wstar::io::Source::parse("@iris").unwrap();
    let iris = wstar::io::read(&source, &wstar::io::ReadOptions::default()).unwrap();
    let data = wstar::data::prepare(iris, &wstar::data::Preparation::default()).unwrap();
    for (multiclass, expected) in [
        (Multiclass::Softmax, "setosa and the rest are separable"),
        (Multiclass::Ovr, "setosa and the rest are separable"),
        (
            Multiclass::Ovo,
            "setosa and versicolor; setosa and virginica are separable",
        ),
    ] {
        let settings = Settings {
            multiclass: Some(multiclass),
            ..logistic()
        };
        let found = notes(&data, &settings);
        assert!(
            found.len() == 1 && found[0].starts_with(expected),
            "{multiclass:?}: {found:?}"
        );
    }
    // Three classes on a line, each apart from its neighbours: only weights of all three show it.
    let rows: Vec<Vec<f64>> = (0..30).map(|i| vec![f64::from(i)]).collect();
    let labels: Vec<&str> = (0..30).map(|i| ["a", "b", "c"][i / 10]).collect();
    let line = Dataset::labelled(&rows, &labels).unwrap();
    let settings = Settings {
        c: Some(1e4),
        ..Settings::for_method(Method::Softmax)
    };
    let found = notes(&line, &settings);
    assert!(found[0].starts_with("the classes are separable"), "{found:?}");
}
