//! The objective: its sums compared with a direct loop and finite differences, the same bits for any number of threads,
//! and the same answer when the rows are split into chunks or come in blocks.
#![allow(clippy::unwrap_used)]

use crate::smooth_sets::{Set, Storage, in_storage, set};
use proptest::prelude::*;
use wstar::data::Design;
use wstar::data::error::Result;
use wstar::data::linear::Layout;
use wstar::problem::loss::{
    Logistic, Loss, LossName, ModifiedHuber, SigmoidMse, Softmax, Squared, SquaredHinge, VectorLoss,
};
use wstar::problem::objective::{
    Blocks, InMemory, Partitioned, Query, Rows, StreamedSums, SumOverRows, Sums, Weights,
};

fn loss_of(name: LossName, target: f64, scores: &mut [f64]) -> f64 {
    match name {
        LossName::Logistic => Logistic.value(target, scores[0]),
        LossName::Squared => Squared.value(target, scores[0]),
        LossName::SquaredHinge => SquaredHinge.value(target, scores[0]),
        LossName::ModifiedHuber => ModifiedHuber.value(target, scores[0]),
        LossName::SigmoidMse => SigmoidMse.value(target, scores[0]),
        LossName::Softmax => Softmax.value_and_gradient(target as usize, scores),
        _ => unreachable!("not a smooth loss"),
    }
}

/// Σ cᵢ ℓ by a direct loop.
fn plain(set: &Set, layout: Layout, at: &[f64]) -> f64 {
    (0..set.x.len())
        .map(|i| {
            let mut scores: Vec<f64> = (0..layout.outputs)
                .map(|k| {
                    let (w, b) = layout.output(at, k);
                    set.x[i].iter().zip(w).map(|(x, w)| x * w).sum::<f64>() + b
                })
                .collect();
            set.weights[i] * loss_of(set.loss, set.targets[i], &mut scores)
        })
        .sum()
}

fn close(a: &[f64], b: &[f64], within: f64) {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1.0f64, |size, b| size.max(b.abs()));
    for (j, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= within * size, "entry {j}: {a} against {b}");
    }
}

fn close_sums(a: &Sums, b: &Sums, within: f64) {
    close(&[a.value], &[b.value], within);
    close(&a.gradient, &b.gradient, within);
    close(&a.hessian, &b.hessian, within);
    for (a, b) in a.line.iter().zip(&b.line) {
        close(
            &[a.value, a.slope, a.curvature],
            &[b.value, b.slope, b.curvature],
            within,
        );
    }
    assert_eq!(a.line.len(), b.line.len());
}

fn point(length: usize, phase: f64) -> Vec<f64> {
    (0..length)
        .map(|j| 0.4 * (phase + 1.7 * j as f64).sin())
        .collect()
}

fn questions<'q>(at: &'q [f64], along: &'q [f64], steps: &'q [f64]) -> [Query<'q>; 5] {
    [
        Query::Gradient { at },
        Query::Hessian { at },
        Query::Diagonal { at },
        Query::Product { at, along },
        Query::Line { at, along, steps },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn sums_are_those_of_a_plain_loop(seed in 0..u64::MAX, pick in 0..5usize, storage in 0..4usize, intercept: bool) {
        let set = set(seed, crate::smooth_sets::LOSSES[pick], 40, 3);
        let design = in_storage(&set.x, Storage::ALL[storage]);
        let layout = Layout { outputs: set.outputs(), features: 3, intercept };
        let mut oracle = InMemory::new(set.rows(&design), set.loss, layout);
        let (at, along) = (point(layout.len(), 0.3), point(layout.len(), 2.0));
        let length = layout.len();
        let value = |at: &[f64]| plain(&set, layout, at);
        let moved = |by: f64, along: &[f64]| -> Vec<f64> { at.iter().zip(along).map(|(w, d)| w + by * d).collect() };

        let sums = oracle.ask(Query::Hessian { at: &at }).unwrap();
        close(&[sums.value], &[value(&at)], 1e-13);
        let gradient = oracle.ask(Query::Gradient { at: &at }).unwrap();
        close(&gradient.gradient, &sums.gradient, 1e-13);
        prop_assert!(gradient.hessian.is_empty());

        let h = 1e-5;
        let unit = |k: usize| -> Vec<f64> { (0..length).map(|j| f64::from(u8::from(j == k))).collect() };
        let slopes: Vec<f64> = (0..length)
            .map(|k| (value(&moved(h, &unit(k))) - value(&moved(-h, &unit(k)))) / (2.0 * h))
            .collect();
        close(&sums.gradient, &slopes, 1e-7);

        // The squared hinge's slope has kinks; only away from them is its Hessian the derivative of its gradient.
        let mut gradient_at = |at: &[f64]| oracle.ask(Query::Gradient { at }).unwrap().gradient;
        if set.loss != LossName::SquaredHinge {
            for k in 0..length {
                let (up, down) = (gradient_at(&moved(h, &unit(k))), gradient_at(&moved(-h, &unit(k))));
                let column: Vec<f64> = up.iter().zip(&down).map(|(a, b)| (a - b) / (2.0 * h)).collect();
                close(&sums.hessian[k * length..(k + 1) * length], &column, 1e-6);
            }
        }
        let diagonal: Vec<f64> = (0..length).map(|k| sums.hessian[k * length + k]).collect();
        close(&oracle.ask(Query::Diagonal { at: &at }).unwrap().gradient, &diagonal, 1e-13);
        let image: Vec<f64> = (0..length)
            .map(|r| (0..length).map(|c| sums.hessian[c * length + r] * along[c]).sum())
            .collect();
        close(&oracle.ask(Query::Product { at: &at, along: &along }).unwrap().gradient, &image, 1e-12);

        let steps = [0.0, 0.7, -1.3];
        let line = oracle.ask(Query::Line { at: &at, along: &along, steps: &steps }).unwrap().line;
        for (step, found) in steps.iter().zip(&line) {
            let there = moved(*step, &along);
            let sums = oracle.ask(Query::Hessian { at: &there }).unwrap();
            let slope: f64 = sums.gradient.iter().zip(&along).map(|(g, d)| g * d).sum();
            let image = oracle.ask(Query::Product { at: &there, along: &along }).unwrap().gradient;
            let curvature: f64 = image.iter().zip(&along).map(|(g, d)| g * d).sum();
            close(&[found.value, found.slope], &[sums.value, slope], 1e-11);
            if set.loss != LossName::SquaredHinge {
                close(&[found.curvature], &[curvature], 1e-11);
            }
        }
    }
}

/// Rows in several blocks.
struct Several {
    designs: Vec<Design>,
    targets: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
}

impl Several {
    fn new(set: &Set, parts: usize) -> Self {
        let size = set.x.len().div_ceil(parts);
        Several {
            designs: set
                .x
                .chunks(size)
                .map(|x| in_storage(x, Storage::Dense64))
                .collect(),
            targets: set.targets.chunks(size).map(<[f64]>::to_vec).collect(),
            weights: set.weights.chunks(size).map(<[f64]>::to_vec).collect(),
        }
    }

    fn rows(&self, part: usize) -> Rows<'_> {
        Rows {
            design: &self.designs[part],
            targets: (&self.targets[part]).into(),
            weights: Weights::Each((&self.weights[part]).into()),
        }
    }
}

impl Blocks for Several {
    fn pass(&mut self, visit: &mut dyn FnMut(&Rows<'_>) -> Result<()>) -> Result<()> {
        (0..self.designs.len()).try_for_each(|part| visit(&self.rows(part)))
    }
}

#[test]
fn chunks_and_blocks_give_the_same_sums() {
    for loss in crate::smooth_sets::LOSSES {
        let set = set(7, loss, 500, 4);
        let design = in_storage(&set.x, Storage::Dense64);
        let layout = Layout {
            outputs: set.outputs(),
            features: 4,
            intercept: true,
        };
        let mut whole = InMemory::new(set.rows(&design), loss, layout);
        let (at, along) = (point(layout.len(), 0.3), point(layout.len(), 2.0));
        for parts in [1, 2, 7] {
            let several = Several::new(&set, parts);
            let mut oracles = (0..parts).map(|part| {
                Box::new(InMemory::new(several.rows(part), loss, layout)) as Box<dyn SumOverRows>
            });
            let first = oracles.next().unwrap();
            let mut partitioned = Partitioned::new(first, oracles.collect());
            assert!((partitioned.total_weight() / whole.total_weight() - 1.0).abs() < 1e-14);
            let mut blocks = Several::new(&set, parts);
            let mut streamed = StreamedSums::new(&mut blocks, loss, layout, whole.total_weight());
            let passes = streamed.passes();
            for query in questions(&at, &along, &[0.5, 1.0]) {
                let expected = whole.ask(query).unwrap();
                close_sums(&partitioned.ask(query).unwrap(), &expected, 1e-12);
                close_sums(&streamed.ask(query).unwrap(), &expected, 1e-12);
            }
            assert_eq!(
                streamed.passes(),
                passes + 5,
                "every evaluation reads the file once"
            );
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    for loss in crate::smooth_sets::LOSSES {
        for storage in [Storage::Dense64, Storage::Sparse32] {
            // Enough rows for several blocks, so that there is something to split.
            let set = set(11, loss, 12_000, 4);
            let design = in_storage(&set.x, storage);
            let layout = Layout {
                outputs: set.outputs(),
                features: 4,
                intercept: true,
            };
            let (at, along) = (point(layout.len(), 0.3), point(layout.len(), 2.0));
            let answers = |threads: usize| -> Vec<Sums> {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| {
                    let mut oracle = InMemory::new(set.rows(&design), loss, layout);
                    let all = questions(&at, &along, &[0.5, 1.0]);
                    all.map(|query| oracle.ask(query).unwrap()).to_vec()
                })
            };
            let one = answers(1);
            assert_eq!(one, answers(2));
            assert_eq!(one, answers(5));
        }
    }
}

#[test]
fn a_line_search_on_cached_scores_reads_no_rows() {
    let set = set(3, LossName::Logistic, 50, 3);
    let design = in_storage(&set.x, Storage::Dense64);
    let layout = Layout {
        outputs: 1,
        features: 3,
        intercept: false,
    };
    let mut oracle = InMemory::new(set.rows(&design), set.loss, layout);
    let (at, along) = (point(3, 0.1), point(3, 1.0));
    for (query, passes) in [
        (Query::Gradient { at: &at }, 1),
        (
            Query::Line {
                at: &at,
                along: &along,
                steps: &[1.0],
            },
            2,
        ),
        (
            Query::Line {
                at: &at,
                along: &along,
                steps: &[0.5],
            },
            2,
        ),
    ] {
        oracle.ask(query).unwrap();
        assert_eq!(oracle.passes(), passes);
    }
}
