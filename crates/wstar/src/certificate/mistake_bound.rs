//! The mistake bound of the perceptron family.
//!
//! Let `u` be any hyperplane of lifted norm 1, `R ≥ ‖x̃ᵢ‖`, `γ > 0`, and `D² = Σ max(0, γ − yᵢ u·x̃ᵢ)²` the
//! slack that `u` needs for the margin `γ` (`D = 0` if it separates with that margin). A perceptron that starts
//! at 0, has a constant rate and updates on each example at most `k` times makes at most
//! `((R + √k·D)/γ)²` updates (Novikoff 1962 for `D = 0`; Freund and Schapire 1999).
//!
//! In general, let the rates be `αcᵢf(t)` with weights `c ∈ [a, A]` and a schedule `f`. After `M` updates,
//! `u·w_M ≥ u·w₀ + αγa·S₁ − αA·√S₂·√k·D` and `‖w_M‖ ≤ ‖w₀‖ + αA·√S₂·R`, with `S₁ = Σf(t)`, `S₂ = Σf(t)²`.
//! Since `u·w_M ≤ ‖w_M‖`, the two inequalities bound `M`.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::margin_buckets::MarginBuckets;
use crate::online::{Examples, PerceptronRule, label};
use wstar_data::error::Result;
use wstar_data::linear::Hyperplane;
use wstar_numeric::{agreement::AGREEMENT, dense};
use wstar_solve::learning_rate::Schedule;

/// The conditions of a run that enter its bound, other than the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunConditions {
    /// Whether rows were lifted to `(x, 1)`.
    pub intercept: bool,
    /// The learning rate of the first update.
    pub rate: f64,
    /// How the rate changed with the number of updates.
    pub schedule: Schedule,
    /// The largest number of updates made from one example; `None` if it is not known.
    pub repeats: Option<u64>,
    /// The initial hyperplane, if it was not 0.
    pub start: Option<Hyperplane>,
}

impl RunConditions {
    /// The conditions of each discriminant, for a run with this update rule and start that updates from one example at
    /// most `repeats` times. `start` holds the numbers of all discriminants, each with its intercept first.
    pub(crate) fn of(
        rule: &PerceptronRule,
        start: Option<&[f64]>,
        repeats: Option<u64>,
        discriminants: usize,
    ) -> Vec<Self> {
        let intercept = rule.intercept;
        let start = |k: usize| {
            let numbers = start?;
            let width = numbers.len() / discriminants.max(1);
            Some(match numbers.get(k * width..(k + 1) * width)? {
                [first, weights @ ..] if intercept => Hyperplane::new(weights.to_vec(), *first),
                weights => Hyperplane::new(weights.to_vec(), 0.0),
            })
        };
        (0..discriminants)
            .map(|k| RunConditions {
                intercept,
                rate: rule.rate,
                schedule: rule.schedule,
                repeats,
                start: start(k),
            })
            .collect()
    }
}

/// The claim that a run made no more updates than the theorem allows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MistakeBound {
    /// The number of updates made.
    pub updates: u64,
    /// `R`, the largest norm of a (lifted) row.
    pub radius: f64,
    /// `γ`, the margin for which the bound is computed; `None` if no useful margin is known.
    pub margin: Option<f64>,
    /// `D`, the slack that the separator needs for that margin; 0 if it separates.
    pub slack: f64,
    /// An upper bound on the number of updates; `None` if there is no finite bound.
    pub bound: Option<f64>,
    /// The hyperplane `u` of the bound.
    pub separator: Hyperplane,
    /// The conditions of the run.
    pub conditions: RunConditions,
}

impl MistakeBound {
    /// Whether the number of updates is within the bound.
    pub fn holds(&self) -> bool {
        self.bound.is_some_and(|bound| self.updates as f64 <= bound)
    }

    /// Whether the separator separates the classes.
    pub fn separable(&self) -> bool {
        self.margin.is_some() && self.slack == 0.0
    }
}

/// The quantities in the bound, computed from their definitions in one pass over the data.
#[derive(Debug, Clone, Copy)]
struct Findings {
    squared_radius: f64,
    squared_slack: f64,
    least_weight: f64,
    largest_weight: f64,
}

/// A hyperplane of lifted norm 1 (or 0 if it was 0), and the margin for which it is used.
type Separator = (Hyperplane, Option<f64>);

/// Certifies a run from the data. The inputs are, for each discriminant, the number of updates, the conditions of the
/// run, and candidate separating hyperplanes. The candidate with the smallest bound is kept.
pub fn bound_mistakes(
    examples: &mut dyn Examples,
    updates: &[u64],
    conditions: &[RunConditions],
    candidates: &[Vec<Hyperplane>],
) -> Result<Vec<MistakeBound>> {
    let hyperplanes: Vec<Hyperplane> = candidates.iter().flatten().map(unit).collect();
    let mut kept = Kept::new(hyperplanes.len());
    let choices = choose(examples, conditions, candidates, &hyperplanes, &mut kept)?;
    let separators: Vec<Separator> = choices
        .iter()
        .map(|choice| match choice {
            Some((place, margin)) => (hyperplanes[*place].clone(), Some(*margin)),
            None => (Hyperplane::default(), None),
        })
        .collect();
    let findings = if kept.is_whole() {
        // Without a margin the scores are not used, so any position will do.
        let places: Vec<usize> = choices
            .iter()
            .map(|choice| choice.map_or(0, |(place, _)| place))
            .collect();
        measure(conditions, &separators, |visit| {
            kept.scores(&places, visit);
            Ok(())
        })?
    } else {
        measure_all(examples, conditions, &separators)?
    };
    Ok(separators
        .into_iter()
        .zip(findings)
        .zip(updates.iter().zip(conditions))
        .map(|(((separator, margin), found), (&updates, conditions))| {
            assemble(updates, separator, margin, found, conditions.clone())
        })
        .collect())
}

/// Recomputes a claim from the data. Separators, margins and update counts are kept; all other numbers are recomputed.
pub fn recompute_mistakes(examples: &mut dyn Examples, claims: &[MistakeBound]) -> Result<Vec<MistakeBound>> {
    let conditions: Vec<RunConditions> = claims.iter().map(|claim| claim.conditions.clone()).collect();
    let separators: Vec<Separator> = claims
        .iter()
        .map(|claim| (unit(&claim.separator), claim.margin))
        .collect();
    let findings = measure_all(examples, &conditions, &separators)?;
    Ok(claims
        .iter()
        .zip(findings)
        .map(|(claim, found)| {
            assemble(
                claim.updates,
                unit(&claim.separator),
                claim.margin,
                found,
                claim.conditions.clone(),
            )
        })
        .collect())
}

fn assemble(
    updates: u64,
    separator: Hyperplane,
    margin: Option<f64>,
    found: Findings,
    conditions: RunConditions,
) -> MistakeBound {
    let slack = found.squared_slack.sqrt();
    let radius = found.squared_radius.sqrt();
    let weights = (found.least_weight, found.largest_weight);
    let bound =
        margin.and_then(|margin| most_updates(radius, margin, slack, weights, &separator, &conditions));
    MistakeBound {
        updates,
        radius,
        margin,
        slack,
        bound,
        separator,
        conditions,
    }
}

/// The bound of the theorem at the top of this file; `None` if it is not finite.
fn most_updates(
    radius: f64,
    margin: f64,
    slack: f64,
    (least_weight, largest_weight): (f64, f64),
    separator: &Hyperplane,
    conditions: &RunConditions,
) -> Option<f64> {
    if margin.is_nan() || margin <= 0.0 {
        return None;
    }
    let (margin, repeated_slack) = match conditions.repeats {
        Some(repeats) => (margin, (repeats as f64).sqrt() * slack),
        // Every example has a margin of at least γ − D, so γ − D is a margin without slack.
        None if slack < margin => (margin - slack, 0.0),
        None => return None,
    };
    // The excess ‖w₀‖ − u·w₀ of the start.
    let excess = conditions.start.as_ref().map_or(0.0, |start| {
        let width = start.weights.len().min(separator.weights.len());
        let along = dense::dot(&start.weights[..width], &separator.weights[..width])
            + start.intercept * separator.intercept;
        (start.lifted_norm() - along).max(0.0)
    });
    // γa·S₁ ≤ A·√S₂·(R + √k·D) + excess/α, where S₁ and S₂ are the sums of the schedule.
    let gain = margin * least_weight;
    let loss = largest_weight * (radius + repeated_slack);
    let excess = excess / conditions.rate;
    let most = match conditions.schedule {
        Schedule::Constant => {
            let root = (loss + (loss * loss + 4.0 * gain * excess).sqrt()) / (2.0 * gain);
            root * root
        }
        // S₂ < π²/6, and S₁ ≥ ln(M + 1).
        Schedule::Inverse => {
            let sum = (loss * std::f64::consts::PI / 6f64.sqrt() + excess) / gain;
            sum.exp_m1()
        }
        // With n steps at the full rate, S₂ < 2n. S₁ grows by n in each stage of n·2ᵏ steps: S₁ = n·(k + s) after
        // n·(2ᵏ·(1 + s) − 1) steps.
        Schedule::Halving { first } => {
            let first = first as f64;
            let stages = (loss * (2.0 * first).sqrt() + excess) / gain / first;
            first * (stages.floor().exp2() * (1.0 + stages.fract()) - 1.0)
        }
        // No bound is known for other schedules.
        _ => return None,
    };
    // Rounding may have lowered the bound, so it is enlarged by the tolerance.
    let most = most * (1.0 + AGREEMENT);
    most.is_finite().then_some(most)
}

/// The hyperplane scaled to lifted norm 1. A zero hyperplane stays 0. A norm that differs from 1 only by rounding is
/// left unchanged, because scaling again would change the margins slightly.
fn unit(hyperplane: &Hyperplane) -> Hyperplane {
    let norm = hyperplane.lifted_norm();
    // Derived: some 50 machine epsilons, the rounding error of the norm.
    if (norm - 1.0).abs() <= 1e-14 {
        return hyperplane.clone();
    }
    if norm == 0.0 || !norm.is_finite() {
        return Hyperplane::zero(hyperplane.weights.len());
    }
    let weights = hyperplane.weights.iter().map(|w| w / norm).collect();
    Hyperplane::new(weights, hyperplane.intercept / norm)
}

/// Examples scored per task. Heuristic: trades scheduling overhead against load balance; not measured yet.
const SCORED: usize = 128;

/// Called for each example with its class, its weight, `‖x‖²`, and its score under each hyperplane.
type Visit<'a> = dyn FnMut(u32, f64, f64, &[f64]) + 'a;

/// Calls `visit` for each example in one pass, in the order of the data. Scores are computed in parallel.
fn score_all(examples: &mut dyn Examples, hyperplanes: &[Hyperplane], visit: &mut Visit<'_>) -> Result<()> {
    let width = 1 + hyperplanes.len();
    let mut numbers = Vec::new();
    examples.batches(0, &mut |batch| {
        numbers.resize(batch.len() * width, 0.0);
        let parts = numbers
            .par_chunks_mut(SCORED * width)
            .zip(batch.par_chunks(SCORED));
        parts.for_each(|(numbers, batch)| {
            for (own, example) in numbers.chunks_exact_mut(width).zip(batch) {
                own[0] = example.row.squared_norm();
                let scores = own[1..].iter_mut().zip(hyperplanes);
                scores.for_each(|(score, plane)| *score = plane.score(example.row));
            }
        });
        for (own, example) in numbers.chunks_exact(width).zip(batch) {
            visit(example.class, example.weight, own[0], &own[1..]);
        }
    })
}

/// The numbers of one pass, stored so that the next step need not read the data again, unless they exceed a limit.
struct Kept {
    classes: Vec<u32>,
    weights: Vec<f64>,
    /// For each example, `‖x‖²` and its score under each hyperplane.
    numbers: Vec<f64>,
    hyperplanes: usize,
    /// The number of examples visited.
    rows: usize,
}

impl Kept {
    /// Numbers stored (2 MB). Cap: beyond it, the data are read a second time.
    const MOST: usize = 1 << 18;

    fn new(hyperplanes: usize) -> Self {
        Kept {
            classes: Vec::new(),
            weights: Vec::new(),
            numbers: Vec::new(),
            hyperplanes,
            rows: 0,
        }
    }

    fn add(&mut self, class: u32, weight: f64, squared_norm: f64, scores: &[f64]) {
        self.rows += 1;
        if self.numbers.len() + scores.len() < Self::MOST {
            self.classes.push(class);
            self.weights.push(weight);
            self.numbers.push(squared_norm);
            self.numbers.extend_from_slice(scores);
        }
    }

    /// Whether all visited examples are stored.
    fn is_whole(&self) -> bool {
        self.rows == self.classes.len()
    }

    /// Visits each stored example, with its scores under the hyperplanes at these positions.
    fn scores(&self, places: &[usize], visit: &mut Visit<'_>) {
        let mut scores = vec![0.0; places.len()];
        let rows = self.classes.iter().zip(&self.weights);
        for ((&class, &weight), numbers) in rows.zip(self.numbers.chunks_exact(1 + self.hyperplanes)) {
            (scores.iter_mut().zip(places))
                .for_each(|(score, place)| *score = numbers.get(1 + place).copied().unwrap_or_default());
            visit(class, weight, numbers[0], &scores);
        }
    }
}

/// [`measure`] in one pass over the data.
fn measure_all(
    examples: &mut dyn Examples,
    conditions: &[RunConditions],
    separators: &[Separator],
) -> Result<Vec<Findings>> {
    let hyperplanes: Vec<Hyperplane> = separators.iter().map(|(plane, _)| plane.clone()).collect();
    measure(conditions, separators, |visit| {
        score_all(examples, &hyperplanes, visit)
    })
}

/// Computes the findings for given separators and margins, from the definitions; `visit_all` calls its argument
/// once for each example.
fn measure(
    conditions: &[RunConditions],
    separators: &[Separator],
    visit_all: impl FnOnce(&mut Visit<'_>) -> Result<()>,
) -> Result<Vec<Findings>> {
    let mut findings = vec![
        Findings {
            squared_radius: 0.0,
            squared_slack: 0.0,
            least_weight: f64::INFINITY,
            largest_weight: 0.0,
        };
        separators.len()
    ];
    visit_all(&mut |class, weight, squared_norm, scores| {
        for (k, (found, (_, margin))) in findings.iter_mut().zip(separators).enumerate() {
            let lift = if conditions[k].intercept { 1.0 } else { 0.0 };
            found.squared_radius = found.squared_radius.max(squared_norm + lift);
            found.least_weight = found.least_weight.min(weight);
            found.largest_weight = found.largest_weight.max(weight);
            if let Some(margin) = margin {
                let y = label(class, k, separators.len());
                let missing = (margin - y * scores[k]).max(0.0);
                found.squared_slack += missing * missing;
            }
        }
    })?;
    Ok(findings)
}

/// For each discriminant, the position of the candidate and the margin with the smallest bound. If some candidate
/// separates, only margins without slack are considered (`R²/γ²`); otherwise margins with slack are used as well.
/// `hyperplanes` are all candidates, scaled.
///
/// One pass suffices: the margins of the rows are sorted into buckets between powers of √2, so that the slack at
/// each power follows from sums over the smaller buckets. These sums only select the margin; [`measure`] then
/// computes the numbers of the claim.
fn choose(
    examples: &mut dyn Examples,
    conditions: &[RunConditions],
    candidates: &[Vec<Hyperplane>],
    hyperplanes: &[Hyperplane],
    kept: &mut Kept,
) -> Result<Vec<Option<(usize, f64)>>> {
    let mut buckets: Vec<Vec<MarginBuckets>> = candidates
        .iter()
        .map(|candidates| candidates.iter().map(|_| MarginBuckets::new()).collect())
        .collect();
    let (mut squared_radius, mut least_weight, mut largest_weight) = (0.0f64, f64::INFINITY, 0.0f64);
    score_all(
        examples,
        hyperplanes,
        &mut |class, weight, squared_norm, mut scores| {
            kept.add(class, weight, squared_norm, scores);
            squared_radius = squared_radius.max(squared_norm);
            least_weight = least_weight.min(weight);
            largest_weight = largest_weight.max(weight);
            let discriminants = buckets.len();
            for (k, candidates) in buckets.iter_mut().enumerate() {
                let y = label(class, k, discriminants);
                let (own, others) = scores.split_at(candidates.len());
                (candidates.iter_mut().zip(own)).for_each(|(bucket, score)| bucket.add(y * score));
                scores = others;
            }
        },
    )?;
    let weights = (least_weight, largest_weight);
    let mut places = hyperplanes.iter().enumerate();
    Ok(buckets
        .into_iter()
        .zip(conditions)
        .map(|(candidates, conditions)| {
            let lift = if conditions.intercept { 1.0 } else { 0.0 };
            let radius = (squared_radius + lift).sqrt();
            let mut best = ((true, f64::INFINITY), None);
            for (candidate, (place, separator)) in candidates.into_iter().zip(&mut places) {
                // No margin can exceed the radius; a larger value would only be made up by slack.
                let tried = candidate.margins_and_slacks().into_iter();
                for (margin, slack) in tried.filter(|&(margin, _)| margin <= radius) {
                    let bound = most_updates(radius, margin, slack, weights, separator, conditions);
                    if let Some(bound) = bound
                        && (slack > 0.0, bound) < best.0
                    {
                        best = ((slack > 0.0, bound), Some((place, margin)));
                    }
                }
            }
            best.1
        })
        .collect())
}
