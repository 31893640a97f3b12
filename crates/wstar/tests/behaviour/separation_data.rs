//! Separation and maximum margins of real data: each verdict has a proof that holds.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::time::Instant;

use crate::common::{real_data, svmlight_data};
use wstar::data::run::{Budget, Status, Unwatched};
use wstar::data::{Dataset, Design};
use wstar::separate::exact::Signed;
use wstar::separate::margin::{MaximumMargin, Question, hard_margin, separate};
use wstar::separate::proof::{ClassNames, Proof, Verdict};

fn signs(data: &Dataset) -> Vec<i8> {
    let (codes, _) = data.require_classes().unwrap();
    codes.iter().map(|&code| if code == 1 { 1 } else { -1 }).collect()
}

fn classes() -> ClassNames {
    ClassNames {
        positive: "+".into(),
        negative: "-".into(),
    }
}

#[track_caller]
fn decided(name: &str, design: &Design, signs: &[i8], intercept: bool) -> Proof {
    let signed = Signed {
        design,
        signs,
        intercept,
    };
    let started = Instant::now();
    let found = separate(
        &signed,
        classes(),
        Question::Margin,
        Budget::default(),
        &mut Unwatched,
    )
    .unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let proof = found.proof.expect("a verdict");
    println!(
        "{name}: {} in {seconds:.3} s, {} passes, {} pivots, margin {:?}",
        proof.verdict.name(),
        found.passes,
        found.pivots,
        proof.margin
    );
    let checked = proof.check(design, signs).unwrap();
    assert!(checked.holds && checked.exact, "{:?}", checked.reason);
    proof
}

#[test]
fn a_column_that_is_not_0_in_one_class_only() {
    let Some(path) = real_data("a9a/a9a") else { return };
    let data = svmlight_data(&path, None);
    for intercept in [true, false] {
        let proof = decided("a9a", data.design(), &signs(&data), intercept);
        assert_eq!(proof.verdict, Verdict::QuasiSeparable);
    }
}

#[test]
fn half_a_million_rows_are_quasi_separable() {
    let Some(path) = real_data("covtype/covtype.binary.scale.svm.gz") else {
        return;
    };
    let data = svmlight_data(&path, None);
    let proof = decided("covtype", data.design(), &signs(&data), true);
    assert_eq!(proof.verdict, Verdict::QuasiSeparable);
}

#[test]
fn text_with_more_columns_than_rows() {
    let Some(path) = real_data("20news/20news_tfidf.train.svm.gz") else {
        return;
    };
    let first = svmlight_data(&path, Some("1"));
    let proof = decided("20news 1", first.design(), &signs(&first), true);
    assert_eq!(proof.verdict, Verdict::Separable);
    assert!(proof.margin.upper - proof.margin.lower <= 1e-5 * proof.margin.upper);
    // One message was sent to two groups.
    let second = svmlight_data(&path, Some("2"));
    let proof = decided("20news 2", second.design(), &signs(&second), true);
    assert_eq!(proof.verdict, Verdict::QuasiSeparable);
    assert_eq!(proof.proof.unwrap().points.len(), 2);
}

/// The rows of two digits; the larger digit is positive.
fn pair(pixels: &[u8], labels: &[u8], digits: [u8; 2]) -> (Design, Vec<i8>) {
    let (mut values, mut signs) = (Vec::new(), Vec::new());
    for (image, label) in pixels
        .chunks_exact(784)
        .zip(labels)
        .filter(|(_, label)| digits.contains(label))
    {
        values.extend(image.iter().map(|&pixel| f64::from(pixel)));
        signs.push(if *label == digits[1] { 1 } else { -1 });
    }
    (Design::from_dense(values, signs.len(), 784).unwrap(), signs)
}

fn digits() -> Option<(Vec<u8>, Vec<u8>)> {
    use std::io::Read;
    let unpack = |name: &str| {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(real_data(name)?).unwrap();
        flate2::read::GzDecoder::new(file)
            .read_to_end(&mut bytes)
            .unwrap();
        Some(bytes)
    };
    let images = unpack("mnist/train-images-idx3-ubyte.gz")?;
    let labels = unpack("mnist/train-labels-idx1-ubyte.gz")?;
    Some((images[16..].to_vec(), labels[8..].to_vec()))
}

#[test]
fn pairs_of_digits() {
    let Some((pixels, labels)) = digits() else { return };
    let (design, signs) = pair(&pixels, &labels, [0, 1]);
    let proof = decided("0 and 1", &design, &signs, true);
    assert_eq!(proof.verdict, Verdict::Separable);
    assert!(proof.margin.upper - proof.margin.lower <= 1e-9 * proof.margin.upper);
    let signed = Signed {
        design: &design,
        signs: &signs,
        intercept: true,
    };
    let found = hard_margin(&signed, classes(), 1e-10, Budget::default(), &mut Unwatched).unwrap();
    let MaximumMargin::Found(margin) = found else {
        panic!("refused");
    };
    assert_eq!(margin.status, Status::Converged);
    assert!(margin.slackness <= 1e-10 && margin.violation <= 1e-10 && margin.imbalance <= 1e-14);
    assert!(margin.margin <= proof.margin.upper && margin.margin >= proof.margin.lower * (1.0 - 1e-12));
    let (design, signs) = pair(&pixels, &labels, [3, 8]);
    let proof = decided("3 and 8", &design, &signs, true);
    assert_eq!(proof.verdict, Verdict::QuasiSeparable);
}

#[test]
#[ignore = "takes minutes"]
fn all_pairs_of_digits() {
    let Some((pixels, labels)) = digits() else { return };
    let apart = (0..10)
        .flat_map(|a| (a + 1..10).map(move |b| [a, b]))
        .filter(|&digits| {
            let (design, signs) = pair(&pixels, &labels, digits);
            decided(&format!("{digits:?}"), &design, &signs, true).verdict == Verdict::Separable
        });
    assert_eq!(apart.count(), 38);
}
