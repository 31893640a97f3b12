//! The claim `maximum-likelihood`: the parameters of the class densities are the closed-form estimates from these rows.
//!
//! With weights c, nₖ = Σc over class k and n = Σnₖ: priors nₖ/n; means μₖ = Σcx/nₖ; covariances Sₖ = Σc(x − μₖ)(x − μₖ)ᵀ/nₖ, or Σₖ nₖSₖ/n if the
//! classes share one; variances are their diagonals; counts Σc over xⱼ > threshold (Bernoulli), or Σcxⱼ (multinomial).
//!
//! **Lemma.** These priors, means and covariances maximise Σc·log(πₖN(x; μₖ, Σₖ)), and relative counts Σⱼ cⱼ·log θⱼ over Σθ = 1.
//! *Proof.* Σc·log(θ) − Σc·log(c/Σc) = Σc·log(θΣc/c) ≤ Σc(θΣc/c − 1) = 0. For the Gaussian, with the eigenvalues e of Σ⁻¹S, log det Σ + tr Σ⁻¹S −
//! log det S − d = Σ(e − 1 − log e) ≥ 0, and another centre m adds (μ − m)ᵀΣ⁻¹(μ − m) ≥ 0. ∎ Shrinkage, smoothing and pseudo-counts are
//! applied to these parameters afterwards, so that a model with them does not maximise the likelihood.
//!
//! **Centred sums.** For any doubles m, S = Σc(x − m)(x − m)ᵀ/nₖ − (μ − m)(μ − m)ᵀ. Here m is the stored mean. The first sum Ĝ is computed in
//! doubles: fl(x − m) has a relative error of u, products are rounded twice, and sums by blocks of eight rows at most n/8 + 4
//! times, so |Ĝ − G|_ab ≤ γ_{n/8+16}·√(G_aaG_bb) by Cauchy and Schwarz.
//!
//! **Likelihood of the stored parameters.** Let Σ be the covariance after shrinkage, RΣRᵀ = I + E and ‖E‖_F ≤ ε < 1 (`linear.rs`), p its order.
//! Then −2·Σc·log N = nₖ(p·log 2π + log det Σ) + tr Σ⁻¹G with log det Σ = −2·log det R + p·log(1 ± ε) and tr Σ⁻¹G = tr (I + E)⁻¹RGRᵀ, which
//! lies between tr RGRᵀ/(1 + ε) and tr RGRᵀ/(1 − ε), because RGRᵀ is positive semidefinite. ∎
//!
//! **Deviation.** |stored − defined|, divided by the larger of |defined| and a scale: the standard deviation s of a column for means,
//! sᵢsⱼ for covariances, with s at least 1e-8 of the largest |mean|; 0 for priors and counts.

use std::f64::consts::TAU;
use std::ops::Range;

use crate::arithmetic::{Interval, IntervalSum, gamma, larger};
use crate::decimal::{at_most, interval};
use crate::elementary::log;
use crate::json::Node;
use crate::linear::{gram, identity_defect, inverse_factor};
use crate::model::Model;
use crate::mutant::Mutant;
use crate::products::ColumnSums;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// 2π: the double below it and the one above it.
const TAU_INTERVAL: Interval = Interval {
    lo: TAU,
    hi: TAU.next_up(),
};
/// The deviation that is accepted without `--tol`, as by the engine; also that of stated numbers.
const TOLERANCE: f64 = 1e-9;
/// The smallest standard deviation that is resolved, relative to the mean.
const RESOLVED: f64 = 1e-8;
/// More than the underflow of all products of a sum. Numbers below 1e10 times this count as 0.
const UNDERFLOW: f64 = 1e-300;

fn point(x: f64) -> Interval {
    Interval::point(x)
}

/// The sum of intervals, in twice the precision.
pub(crate) fn sum(terms: impl Iterator<Item = Interval>) -> Interval {
    let mut sum = IntervalSum::default();
    terms.for_each(|term| sum.add(term));
    sum.interval()
}

/// The rows of each class, and what was found so far.
pub(crate) struct Recomputed<'a> {
    rows: &'a TrainingRows,
    members: Vec<Vec<usize>>,
    /// nₖ.
    totals: Vec<Interval>,
    /// The largest deviation.
    pub(crate) deviation: Interval,
    pub(crate) log_likelihood: Interval,
}

impl<'a> Recomputed<'a> {
    /// Recomputes an estimate.
    pub(crate) fn new(rows: &'a TrainingRows, classes: usize, estimate: &Node<'_>) -> Reading<Self> {
        let mut members = vec![Vec::new(); classes];
        rows.counting()
            .for_each(|i| members[rows.targets[i] as usize].push(i));
        let weight = |members: &Vec<usize>| sum(members.iter().map(|&i| point(rows.weight(i))));
        let mut found = Recomputed {
            rows,
            totals: members.iter().map(weight).collect(),
            members,
            deviation: Interval::ZERO,
            log_likelihood: Interval::ZERO,
        };
        match estimate.field("density")?.text()? {
            "gaussian" => found.gaussian(estimate)?,
            "naive-gaussian" => found.naive_gaussian(estimate)?,
            "naive-bernoulli" => found.counts(estimate, Some(estimate.field("threshold")?.number()?))?,
            "naive-multinomial" => found.counts(estimate, None)?,
            _ => return Err(estimate.refuse("a likelihood is claimed for an unknown density")),
        }
        Ok(found)
    }

    fn add(&mut self, log_likelihood: Interval) {
        self.log_likelihood = self.log_likelihood + log_likelihood;
    }

    fn compare(&mut self, stored: f64, defined: Interval, scale: Interval) {
        let difference = (point(stored) - defined).abs();
        let relative = match difference == Interval::ZERO {
            true => difference,
            false => difference / defined.abs().max(scale).max(point(1e10 * UNDERFLOW)),
        };
        let hi = larger(self.deviation.hi, relative.hi);
        self.deviation = Interval::new(self.deviation.lo.max(relative.lo).min(hi), hi);
    }

    /// Σc·f(x) of each class and column, for f(0) = 0.
    fn sums(&self, f: impl Fn(f64) -> f64) -> Vec<Vec<Interval>> {
        let features = self.rows.design.features;
        let of_class = |members: &Vec<usize>| {
            let mut sums = ColumnSums::new(features);
            for &i in members {
                let entries = self.rows.design.row(i).entries();
                entries.for_each(|(j, x)| sums.add_term(j, self.rows.weight(i), f(x)));
            }
            (0..features).map(|j| sums.interval(j)).collect()
        };
        self.members.iter().map(of_class).collect()
    }

    fn means(&self) -> Vec<Vec<Interval>> {
        let classes = self.sums(|x| x).into_iter().zip(&self.totals);
        classes
            .map(|(sums, &total)| sums.into_iter().map(|sum| sum / total).collect())
            .collect()
    }

    /// Compares and returns the priors.
    fn priors(&mut self, estimate: &Node<'_>) -> Reading<Vec<f64>> {
        let priors = estimate.field("priors")?.numbers_in_range(self.members.len())?;
        let all = sum(self.totals.iter().copied());
        for (&prior, own) in priors.iter().zip(self.totals.clone()) {
            self.compare(prior, own / all, Interval::ZERO);
            self.add(own * log(point(prior)));
        }
        Ok(priors)
    }

    fn gaussian(&mut self, estimate: &Node<'_>) -> Reading<()> {
        let classes = self.priors(estimate)?.len();
        let (rows, p, means) = (self.rows, self.rows.design.features, self.means());
        let stored = estimate.field("means")?.table_in_range(classes, p)?;
        let shared = estimate.field("shared")?.boolean()?;
        let shrinkage = estimate.field("shrinkage")?.number()?;
        let count = if shared { 1 } else { classes };
        let covariances = estimate
            .field("covariances")?
            .table_in_range(count, p * (p + 1) / 2)?;
        for (k, covariance) in covariances.iter().enumerate() {
            let group: Range<usize> = if shared { 0..classes } else { k..k + 1 };
            let members: Vec<usize> = group
                .clone()
                .flat_map(|k| self.members[k].iter().copied())
                .collect();
            let sums = gram(p, members.iter().copied(), |i, t| {
                let mean = &stored[rows.targets[i] as usize];
                t.iter_mut().zip(mean).for_each(|(t, m)| *t = -m);
                rows.design.row(i).entries().for_each(|(j, x)| t[j] = x - mean[j]);
                rows.weight(i)
            });
            let roots: Vec<Interval> = (0..p).map(|a| point(sums[a * p + a]).sqrt()).collect();
            let relative = gamma(members.len() / 8 + 16) * 1.02;
            let g = |a: usize, b: usize| {
                point(sums[a * p + b]).widened(relative * (roots[a] * roots[b]).hi + UNDERFLOW)
            };
            let totals = self.totals.clone();
            let total = sum(totals[group.clone()].iter().copied());
            let offset = |k: usize, j: usize| means[k][j] - point(stored[k][j]);
            let shift = |k: usize, a: usize, b: usize| totals[k] * offset(k, a) * offset(k, b);
            let defined = |a: usize, b: usize| {
                let shifts: Interval = group.clone().map(|k| shift(k, a, b)).sum();
                (g(a, b) - shifts.unless(Mutant::NoShift)) / total
            };
            let scale = |j: usize| {
                let largest = means
                    .iter()
                    .map(|mean| mean[j].abs())
                    .fold(Interval::ZERO, Interval::max);
                defined(j, j).sqrt().max(RESOLVED * largest)
            };
            let scales: Vec<Interval> = (0..p).map(scale).collect();
            for a in 0..p {
                for b in 0..=a {
                    self.compare(
                        covariance[a * (a + 1) / 2 + b],
                        defined(a, b),
                        scales[a] * scales[b],
                    );
                }
                group
                    .clone()
                    .for_each(|k| self.compare(stored[k][a], means[k][a], scales[a]));
            }
            let terms = gaussian_terms(covariance, shrinkage, g, p);
            let (det, trace) = terms.unwrap_or((Interval::WHOLE, Interval::WHOLE));
            self.add(-0.5 * (total * (p as f64 * log(TAU_INTERVAL) + det) + trace));
        }
        Ok(())
    }

    fn naive_gaussian(&mut self, estimate: &Node<'_>) -> Reading<()> {
        let (priors, features, means) = (self.priors(estimate)?, self.rows.design.features, self.means());
        let stored = estimate.field("means")?.table_in_range(priors.len(), features)?;
        let variances = estimate
            .field("variances")?
            .table_in_range(priors.len(), features)?;
        // The variance of a column over all rows: within classes, and of the class means.
        let of_column = |j: usize| {
            let centre: Interval = priors
                .iter()
                .zip(&stored)
                .map(|(&prior, m)| prior * point(m[j]))
                .sum();
            let of_class = |k: usize| point(variances[k][j]) + (point(stored[k][j]) - centre).square();
            (0..priors.len()).map(|k| priors[k] * of_class(k)).sum()
        };
        let largest = (0..features).map(of_column).fold(Interval::ZERO, Interval::max);
        let floor = estimate.field("var_smoothing")?.number()? * largest;
        for k in 0..priors.len() {
            let total = self.totals[k];
            // Σc(x − m)²: over the stored entries, and m² times the weight of the rows without one.
            let mut squares = vec![IntervalSum::default(); features];
            let mut present = vec![(IntervalSum::default(), 0); features];
            for &i in &self.members[k] {
                let c = self.rows.weight(i);
                for (j, x) in self.rows.design.row(i).entries() {
                    squares[j].add(c * (point(x) - point(stored[k][j])).square());
                    present[j].0.add(point(c));
                    present[j].1 += 1;
                }
            }
            for j in 0..features {
                let (mean, variance) = (point(stored[k][j]), variances[k][j]);
                let absent = match present[j].1 < self.members[k].len() {
                    true => (total - present[j].0.interval()).positive_part(),
                    false => Interval::ZERO,
                };
                let squares = squares[j].interval() + absent * mean.square();
                let defined = (squares / total - (means[k][j] - mean).square()).positive_part();
                let scale = defined.sqrt().max(RESOLVED * means[k][j].abs());
                self.compare(variance, defined, scale.square());
                self.compare(stored[k][j], means[k][j], scale);
                let smoothed = point(variance) + floor;
                self.add(-0.5 * (total * (log(TAU_INTERVAL) + log(smoothed)) + squares / smoothed));
            }
        }
        Ok(())
    }

    /// With a threshold Bernoulli, otherwise multinomial.
    fn counts(&mut self, estimate: &Node<'_>, threshold: Option<f64>) -> Reading<()> {
        if threshold.is_some_and(|threshold| threshold < 0.0) {
            return Err(estimate.refuse("a threshold below 0"));
        }
        let totals = estimate.field("totals")?.numbers_in_range(self.members.len())?;
        let counts = estimate
            .field("counts")?
            .table_in_range(totals.len(), self.rows.design.features)?;
        let alpha = point(estimate.field("alpha")?.number()?);
        let sums = self.sums(|x| threshold.map_or(x, |threshold| f64::from(u8::from(x > threshold))));
        let all = sum(totals.iter().map(|&total| point(total)));
        for (k, counts) in counts.iter().enumerate() {
            let (own, total) = (self.totals[k], point(totals[k]));
            self.compare(totals[k], own, Interval::ZERO);
            self.add(own * log(total / all));
            let whole = log(match threshold {
                Some(_) => total + 2.0 * alpha,
                None => sum(counts.iter().map(|&count| point(count))) + counts.len() as f64 * alpha,
            });
            for (&count, &sum) in counts.iter().zip(&sums[k]) {
                self.compare(count, sum, Interval::ZERO);
                self.add(sum * (log(point(count) + alpha) - whole));
                if threshold.is_some() {
                    let absent = (total - point(count)).positive_part() + alpha;
                    self.add((own - sum) * (log(absent) - whole));
                }
            }
        }
        Ok(())
    }
}

/// log det Σ and tr Σ⁻¹G for the triangles of Σ before shrinkage, and G. `None` if Σ is not proved to be positive definite.
fn gaussian_terms(
    covariance: &[f64],
    shrinkage: f64,
    g: impl Fn(usize, usize) -> Interval,
    p: usize,
) -> Option<(Interval, Interval)> {
    let entry = |a: usize, b: usize| covariance[a * (a + 1) / 2 + b];
    if !(0.0..=1.0).contains(&shrinkage) || (0..p).any(|a| entry(a, a) < 0.0) {
        return None;
    }
    let ridge = shrinkage * (0..p).map(|a| entry(a, a)).sum::<f64>() / p as f64;
    let mut sigma = vec![0.0; p * p];
    for a in 0..p {
        (0..a + 1).for_each(|b| sigma[a * p + b] = (1.0 - shrinkage) * entry(a, b));
        sigma[a * p + a] += ridge;
    }
    let dominated =
        |(at, &x): (usize, &f64)| x * x <= 1.01 * sigma[at / p * (p + 1)] * sigma[at % p * (p + 1)];
    let r = inverse_factor(&sigma, p).filter(|_| sigma.iter().enumerate().all(dominated))?;
    // All entries of Σ and its trace are rounded at most p + 4 times, relative to √(Σ_aaΣ_bb).
    let epsilon = identity_defect(&sigma, &r, p, 0, gamma(p + 8));
    let off = point(1.0).widened(epsilon);
    let determinant = (0..p).map(|a| log(off) - 2.0 * log(point(r[a * p + a]))).sum();
    let of_row = |k: usize| {
        let row = &r[k * p..][..k + 1];
        let half = |a: usize| -> Interval { (0..k + 1).map(|b| row[b] * g(a.max(b), a.min(b))).sum() };
        (0..k + 1).map(|a| row[a] * half(a)).sum::<Interval>()
    };
    let trace: Interval = (0..p).map(of_row).sum();
    (off.lo > 0.0).then(|| (determinant, trace.positive_part() / off))
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let ((settings, estimate), certificate) = (model.densities()?, model.root().field("certificate")?);
    let density = match estimate.field("density")?.text()? {
        "gaussian" if estimate.field("shared")?.boolean()? => "lda",
        density => density,
    };
    let mut same = settings.field("family")?.text()? == density;
    for name in ["shrinkage", "var_smoothing", "alpha", "threshold"] {
        same &= settings.optional(name)? == estimate.optional(name)?;
    }
    let mut verdict = Verdict::new("status, iterations, digest");
    let objection = "the density, shrinkage or smoothing are not those of the settings";
    verdict.object_unless(same, objection);
    let found = Recomputed::new(rows, model.classes().len(), &estimate)?;
    let (deviation, likelihood) = (found.deviation, found.log_likelihood);
    let stated = certificate.field("deviation")?.number()?;
    verdict.compare("the deviation", stated, deviation, TOLERANCE);
    let stated = certificate.field("log_likelihood")?.number()?;
    let error = TOLERANCE * (likelihood.abs().lo + rows.len() as f64);
    verdict.compare("the log-likelihood", stated, likelihood, error);
    let tol = options.tol.unwrap_or(TOLERANCE);
    let known = likelihood.lo.is_finite() && likelihood.hi.is_finite();
    let ends = interval((likelihood.lo, likelihood.hi));
    let text = format!("that of the stored parameters lies in {ends}");
    verdict.state("log-likelihood", text, Some(known));
    let bound = at_most(deviation.hi);
    verdict.summary = format!(
        "stored parameters deviate from their definitions by at most {bound}; the tolerance is {tol:e}"
    );
    verdict.state("parameters", verdict.summary.clone(), Some(deviation.hi <= tol));
    Ok(verdict)
}
