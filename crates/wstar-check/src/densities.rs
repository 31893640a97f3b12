//! The claims of class densities. `maximum-likelihood`: the parameters are the closed-form estimates from these rows.
//! `enclosing-ball`: the radius of the smallest ball around the rows of each class lies between two numbers.
//!
//! With weights c, nₖ = Σc over class k and n = Σnₖ: priors nₖ/n; means μₖ = Σcx/nₖ; covariances Sₖ = Σc(x − μₖ)(x − μₖ)ᵀ/nₖ, or
//! Σₖ nₖSₖ/n if the classes share one; variances are their diagonals; counts Σc over xⱼ > threshold (Bernoulli), or Σcxⱼ (multinomial).
//!
//! **Lemma (maximum).** These priors, means and covariances maximise Σc·log(πₖN(x; μₖ, Σₖ)), and relative counts Σⱼ cⱼ·log θⱼ over
//! Σθ = 1. *Proof.* Σc·log(θΣc/c) ≤ Σc(θΣc/c − 1) = 0. For the Gaussian, with the eigenvalues e of Σ⁻¹S, log det Σ + tr Σ⁻¹S −
//! log det S − d = Σ(e − 1 − log e) ≥ 0, and another centre m adds (μ − m)ᵀΣ⁻¹(μ − m) ≥ 0. ∎ Shrinkage, smoothing and pseudo-counts
//! are applied to these parameters afterwards; a model with them does not maximise the likelihood.
//!
//! **Centred sums.** For any doubles m, here the stored mean, S = G/nₖ − (μ − m)(μ − m)ᵀ with G = Σc(x − m)(x − m)ᵀ. G is computed in
//! doubles: fl(x − m) has a relative error of u, products are rounded twice, and sums by blocks of eight rows at most n/8 + 4
//! times, so the error is at most γ_{n/8+16}·√(G_aaG_bb) by Cauchy and Schwarz.
//!
//! **Likelihood of the stored parameters.** Let Σ be the covariance after shrinkage, RΣRᵀ = I + E and ‖E‖_F ≤ ε < 1 (`linear.rs`), p its
//! order. Then −2·Σc·log N = nₖ(p·log 2π + log det Σ) + tr Σ⁻¹G with log det Σ = −2·log det R + p·log(1 ± ε) and tr Σ⁻¹G =
//! tr (I + E)⁻¹RGRᵀ, which lies between tr RGRᵀ/(1 + ε) and tr RGRᵀ/(1 − ε), because RGRᵀ is positive semidefinite. ∎
//!
//! **Deviation.** |stored − defined|, divided by the larger of |defined| and a scale: the standard deviation s of a column for means,
//! sᵢsⱼ for covariances, with s at least 1e-8 of the largest |mean|; 0 for priors and counts.
//!
//! **Lemma (ball).** The ball around c through the farthest row encloses all rows. For λ ≥ 0 with Σλ = A > 0, every enclosing ball has
//! a radius of at least √(A·Σλᵢ‖xᵢ‖² − ‖Σλᵢxᵢ‖²)/A. *Proof.* Let z be the centre of a ball of radius r, and m = Σλx/A. Then
//! Ar² ≥ Σλ‖x − z‖² = Σλ‖x − m‖² + A‖m − z‖² ≥ Σλ‖x − m‖² = Σλ‖x‖² − A‖m‖². ∎ The sums are exact.

use std::f64::consts::TAU;
use std::ops::Range;

use crate::arithmetic::{Interval, IntervalSum, gamma, larger};
use crate::decimal::{at_most, interval};
use crate::dyadic::{Dyadic, quotient};
use crate::elementary::log;
use crate::json::Node;
use crate::linear::{gram, identity_defect, inverse_factor};
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::{Multipliers, Points};
use crate::products::ColumnSums;
use crate::reduction::Part;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// The deviation that is accepted without `--tol`, as by the engine; also that of stated numbers.
const TOLERANCE: f64 = 1e-9;
/// The relative width of an interval for a radius that is accepted without `--tol`, as by the engine.
const BALL_TOLERANCE: f64 = 1e-6;
/// The smallest standard deviation that is resolved, relative to the mean.
const RESOLVED: f64 = 1e-8;
/// More than the underflow of all products of a sum. Numbers below 1e10 times this count as 0.
const UNDERFLOW: f64 = 1e-300;

fn point(x: f64) -> Interval {
    Interval::point(x)
}

fn sum(terms: impl Iterator<Item = Interval>) -> Interval {
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
        for i in rows.counting() {
            members[rows.targets[i] as usize].push(i);
        }
        let weight = |members: &Vec<usize>| sum(members.iter().map(|&i| point(rows.weight(i))));
        let mut found = Recomputed {
            rows,
            totals: members.iter().map(weight).collect(),
            members,
            deviation: Interval::ZERO,
            log_likelihood: Interval::ZERO,
        };
        match estimate.field("density")?.text()? {
            "gaussian" => found.gaussians(estimate, false)?,
            "naive-gaussian" => found.gaussians(estimate, true)?,
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
        let size = defined.abs().max(scale).max(point(1e10 * UNDERFLOW));
        let exact = difference == Interval::ZERO;
        let relative = if exact { difference } else { difference / size };
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

    /// The lower triangle of G over these classes.
    fn products(&self, group: Range<usize>, centres: &[Vec<f64>]) -> Vec<Vec<Interval>> {
        let (rows, p) = (self.rows, self.rows.design.features);
        let members: Vec<usize> = group.flat_map(|k| self.members[k].iter().copied()).collect();
        let sums = gram(p, members.iter().copied(), |i, t| {
            let centre = &centres[rows.targets[i] as usize];
            t.iter_mut().zip(centre).for_each(|(t, m)| *t = -m);
            let entries = rows.design.row(i).entries();
            entries.for_each(|(j, x)| t[j] = x - centre[j]);
            rows.weight(i)
        });
        let relative = gamma(members.len() / 8 + 16) * 1.02;
        let root = |a: usize| point(sums[a * p + a]).sqrt();
        let error = |a, b| relative * (root(a) * root(b)).hi + UNDERFLOW;
        let entry = |a, b| point(sums[a * p + b]).widened(error(a, b));
        (0..p).map(|a| (0..=a).map(|b| entry(a, b)).collect()).collect()
    }

    /// The diagonal of G over a class, without rounding: each entry as a row of one.
    fn squares(&self, k: usize, centre: &[f64]) -> Vec<Vec<Interval>> {
        let mut squares = vec![IntervalSum::default(); centre.len()];
        for &i in &self.members[k] {
            let x = from_centre(self.rows, i, centre);
            let weight = self.rows.weight(i);
            let columns = squares.iter_mut().zip(x);
            columns.for_each(|(sum, x)| sum.add(weight * x.square()));
        }
        squares.iter().map(|sum| vec![sum.interval()]).collect()
    }

    /// Gaussians with full covariances, which all classes may share, or with independent columns.
    fn gaussians(&mut self, estimate: &Node<'_>, naive: bool) -> Reading<()> {
        let (p, classes, totals) = (self.rows.design.features, self.members.len(), self.totals.clone());
        let all = sum(totals.iter().copied());
        let priors = estimate.field("priors")?.numbers_in_range(classes)?;
        for (&prior, &own) in priors.iter().zip(&totals) {
            self.compare(prior, own / all, Interval::ZERO);
            self.add(own * log(point(prior)));
        }
        let mut means = self.sums(|x| x);
        for (mean, &total) in means.iter_mut().zip(&totals) {
            mean.iter_mut().for_each(|x| *x = *x / total);
        }
        let stored = estimate.field("means")?.table_in_range(classes, p)?;
        let shared = !naive && estimate.field("shared")?.boolean()?;
        let (name, smoothing, length) = match naive {
            true => ("variances", "var_smoothing", p),
            false => ("covariances", "shrinkage", p * (p + 1) / 2),
        };
        let smoothing = estimate.field(smoothing)?.number()?;
        let count = if shared { 1 } else { classes };
        let covariances = estimate.field(name)?.table_in_range(count, length)?;
        // The variance of a column over all rows: within classes, and of the class means.
        let spread = |j: usize| {
            let centre: Interval = (0..classes).map(|k| priors[k] * point(stored[k][j])).sum();
            let of_class = |k: usize| point(covariances[k][j]) + (point(stored[k][j]) - centre).square();
            (0..classes).map(|k| priors[k] * of_class(k)).sum()
        };
        for (k, covariance) in covariances.iter().enumerate() {
            let group = if shared { 0..classes } else { k..k + 1 };
            let g = match naive {
                true => self.squares(k, &stored[k]),
                false => self.products(group.clone(), &stored),
            };
            let total = sum(totals[group.clone()].iter().copied());
            let offset = |k: usize, j: usize| means[k][j] - point(stored[k][j]);
            let column = |a: usize, at: usize| if naive { a } else { at };
            let defined = |a: usize, at: usize| {
                let shift = |k: usize| totals[k] * offset(k, a) * offset(k, column(a, at));
                (g[a][at] - group.clone().map(shift).sum::<Interval>().unless(Mutant::NoShift)) / total
            };
            let scale = |j: usize| {
                let near = if naive { group.clone() } else { 0..classes };
                let sizes = near.map(|k| means[k][j].abs());
                let least = RESOLVED * sizes.fold(Interval::ZERO, Interval::max);
                defined(j, g[j].len() - 1).sqrt().max(least)
            };
            let scales: Vec<Interval> = (0..p).map(scale).collect();
            let mut entries = covariance.iter();
            for a in 0..p {
                for (at, entry) in (0..g[a].len()).zip(&mut entries) {
                    self.compare(*entry, defined(a, at), scales[a] * scales[column(a, at)]);
                }
                for k in group.clone() {
                    self.compare(stored[k][a], means[k][a], scales[a]);
                }
            }
            let terms = match naive {
                true => {
                    let floor = smoothing * (0..p).map(spread).fold(Interval::ZERO, Interval::max);
                    let variances: Vec<Interval> = covariance.iter().map(|&v| point(v) + floor).collect();
                    let trace = (0..p).map(|j| g[j][0] / variances[j]).sum();
                    Some((variances.into_iter().map(log).sum(), trace))
                }
                false => gaussian_terms(covariance, smoothing, &g),
            };
            let (determinant, trace) = terms.unwrap_or((Interval::WHOLE, Interval::WHOLE));
            let log_tau = log(Interval::new(TAU, TAU.next_up()));
            self.add(-0.5 * (total * (p as f64 * log_tau + determinant) + trace));
        }
        Ok(())
    }

    /// With a threshold Bernoulli, otherwise multinomial.
    fn counts(&mut self, estimate: &Node<'_>, threshold: Option<f64>) -> Reading<()> {
        if threshold.is_some_and(|threshold| threshold < 0.0) {
            return Err(estimate.refuse("a threshold below 0"));
        }
        let totals = estimate.field("totals")?.numbers_in_range(self.members.len())?;
        let (classes, features) = (totals.len(), self.rows.design.features);
        let counts = estimate.field("counts")?.table_in_range(classes, features)?;
        let alpha = point(estimate.field("alpha")?.number()?);
        let sums = self.sums(|x| threshold.map_or(x, |threshold| f64::from(u8::from(x > threshold))));
        let all = sum(totals.iter().copied().map(point));
        for (k, counts) in counts.iter().enumerate() {
            let (own, total) = (self.totals[k], point(totals[k]));
            self.compare(totals[k], own, Interval::ZERO);
            self.add(own * log(total / all));
            let whole = log(match threshold {
                Some(_) => total + 2.0 * alpha,
                None => sum(counts.iter().copied().map(point)) + counts.len() as f64 * alpha,
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
fn gaussian_terms(covariance: &[f64], shrinkage: f64, g: &[Vec<Interval>]) -> Option<(Interval, Interval)> {
    let p = g.len();
    let entry = |a: usize, b: usize| covariance[a * (a + 1) / 2 + b];
    if !(0.0..=1.0).contains(&shrinkage) || (0..p).any(|a| entry(a, a) < 0.0) {
        return None;
    }
    let ridge = shrinkage * (0..p).map(|a| entry(a, a)).sum::<f64>() / p as f64;
    let mut sigma = vec![0.0; p * p];
    for a in 0..p {
        (0..=a).for_each(|b| sigma[a * p + b] = (1.0 - shrinkage) * entry(a, b));
        sigma[a * p + a] += ridge;
    }
    let diagonal = |a: usize| sigma[a * (p + 1)];
    let dominated = |(at, &x): (usize, &f64)| x * x <= 1.01 * diagonal(at / p) * diagonal(at % p);
    let r = inverse_factor(&sigma, p).filter(|_| sigma.iter().enumerate().all(dominated))?;
    // All entries of Σ and its trace are rounded at most p + 4 times, relative to √(Σ_aaΣ_bb).
    let off = point(1.0).widened(identity_defect(&sigma, &r, p, 0, gamma(p + 8)));
    let determinant = (0..p).map(|a| log(off) - 2.0 * log(point(r[a * p + a]))).sum();
    let of_row = |k: usize| {
        let row = &r[k * p..][..k + 1];
        let half = |a: usize| (0..=k).map(|b| row[b] * g[a.max(b)][a.min(b)]).sum::<Interval>();
        (0..=k).map(|a| row[a] * half(a)).sum::<Interval>()
    };
    let trace: Interval = (0..p).map(of_row).sum();
    (off.lo > 0.0).then(|| (determinant, trace.positive_part() / off))
}

/// Checks the claim `maximum-likelihood`.
pub(crate) fn check_estimates(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
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
    let stated = |name: &str| certificate.field(name)?.number();
    verdict.compare("the deviation", stated("deviation")?, deviation, TOLERANCE);
    let error = TOLERANCE * (likelihood.abs().lo + rows.len() as f64);
    verdict.compare("the log-likelihood", stated("log_likelihood")?, likelihood, error);
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

/// x − c.
fn from_centre(rows: &TrainingRows, i: usize, centre: &[f64]) -> Vec<Interval> {
    let mut x: Vec<Interval> = centre.iter().map(|&c| point(-c)).collect();
    for (j, value) in rows.design.row(i).entries() {
        x[j] = point(value) + x[j];
    }
    x
}

/// The bound of the lemma, and the largest distance of a row of the class. 0 and the latter if these are no multipliers.
pub(crate) fn radii(
    rows: &TrainingRows,
    class: usize,
    centre: &[f64],
    support: &Multipliers,
) -> (Interval, Interval) {
    let points = Points::new(rows, Part::Against(class), false);
    let own = points.rows().filter(|&i| points.signs[i] > 0);
    let square = |i| from_centre(rows, i, centre).iter().map(|x| x.square()).sum();
    let upper = own.map(square).fold(Interval::ZERO, Interval::max).sqrt();
    let fits = |(i, share): &(usize, Dyadic)| points.signs.get(*i) == Some(&1) && !share.is_negative();
    if !support.iter().all(fits) {
        return (Interval::ZERO, upper);
    }
    let [total, _] = points.sums(support);
    let square = |(i, share): &(usize, Dyadic)| share * &points.squared_norm(&points.point(*i));
    let mut excess = &total * &support.iter().map(square).sum();
    if !mutant::is(Mutant::NoOffset) {
        excess = &excess - &points.squared_norm(&points.combination(support));
    }
    let lower = quotient(&excess, &total.square()).sqrt();
    let known = total.is_positive();
    (if known { lower } else { Interval::ZERO }, upper)
}

/// Checks the claim `enclosing-ball`.
pub(crate) fn check_balls(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let ((settings, estimate), classes) = (model.densities()?, model.classes());
    let certificate = model.root().field("certificate")?;
    let fits = settings.field("family")? == estimate.field("density")?;
    let balls = estimate.field("balls")?.items()?;
    let ends = certificate.field("radii")?.table_in_range(classes.len(), 2)?;
    if !fits || settings.field("family")?.text()? != "minimax" || balls.len() != classes.len() {
        return Err(estimate.refuse("balls are claimed for another method, or not for each class"));
    }
    let mut verdict = Verdict::new("status, iterations, digest");
    let (tol, mut widest) = (options.tol.unwrap_or(BALL_TOLERANCE), Interval::ZERO);
    for (k, (ball, ends)) in balls.iter().zip(&ends).enumerate() {
        let name = format!("class {}", classes[k]);
        let centre = ball.field("centre")?.numbers_in_range(rows.design.features)?;
        let numbers = ball.field("support")?.items()?;
        let multipliers = ball.field("multipliers")?.numbers_in_range(numbers.len())?;
        let pair = |(row, share): (&Node<'_>, f64)| Ok((row.count()? as usize, Dyadic::double(share)));
        let support: Reading<Multipliers> = numbers.iter().zip(multipliers).map(pair).collect();
        let (lower, upper) = radii(rows, k, &centre, &support?);
        let relative = ((upper - lower) / upper).positive_part();
        let width = if upper.hi > 0.0 { relative } else { upper };
        widest = widest.max(width);
        let own = [ball.field("lower")?.number()?, ball.field("radius")?.number()?];
        for stated in [&ends[..], &own] {
            let error = TOLERANCE * upper.hi;
            verdict.compare(&format!("{name}: the lower end"), stated[0], lower, error);
            verdict.compare(&format!("{name}: the radius"), stated[1], upper, error);
        }
        let (ends, bound) = (interval((lower.lo.max(0.0), upper.hi)), at_most(width.hi));
        let text = format!("the smallest radius lies in {ends}, a relative width of at most {bound}");
        verdict.state(name, text, Some(width.hi <= tol));
    }
    let stated = certificate.field("relative_gap")?.number()?;
    verdict.compare("the relative gap", stated, widest, TOLERANCE);
    let widest = at_most(widest.hi);
    verdict.summary =
        format!("the radii are known up to a relative width of {widest}; the tolerance is {tol:e}");
    Ok(verdict)
}
