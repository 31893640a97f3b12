//! The claim `stationarity`: no partial derivative of the objective exceeds `slope` times its largest possible magnitude. Nothing is
//! claimed about the optimum: these objectives are not convex.
//!
//! - The squared error of probabilities, ½l2‖w‖² + Σc·u² with u = σ(−yz): the derivative of u² in z is −2yu²(1 − u), and at most 8/27 in
//!   size, at u = ⅔. The magnitude is Σc|xⱼ|·8/27 + l2·|wⱼ|.
//! - Firth's likelihood, −Σc·log σ(yz) − ½·log det I with I = Σkx̃x̃ᵀ, k = cp(1 − p), p = σ(z). The magnitude is Σc|xⱼ|.
//!
//! **Lemma.** The derivative of the second is −Σ(y·c·σ(−yz) + h(½ − p))x̃ⱼ with the leverages h = k·x̃ᵀI⁻¹x̃.
//! *Proof.* The derivative of log det I is tr I⁻¹∂I, and ∂k = k(1 − 2p)x̃ⱼ. ∎ In the coordinates x̂ = SCx̃ of `linear.rs`, I becomes H with
//! RHRᵀ = I + E and ‖E‖ ≤ ε < 1. Then x̃ᵀI⁻¹x̃ lies between ‖Rx̂‖²/(1 + ε) and ‖Rx̂‖²/(1 − ε), and log det I = log det H − 2·log det S,
//! log det H = p·log(1 ± ε) − 2·log det R.

use crate::arithmetic::{Interval, IntervalSum, gamma, larger};
use crate::decimal::{at_most, interval};
use crate::defect::value;
use crate::duality_gap::objective;
use crate::elementary::log;
use crate::gap::Subproblem;
use crate::linear::{Frame, MOST_CONSTRAINTS, gram, identity_defect, inverse_factor};
use crate::model::Model;
use crate::mutant::Mutant;
use crate::problem::Loss;
use crate::products::Score;
use crate::reduction::Reduction;
use crate::regularized::Settings;
use crate::row_slope::probabilities;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// The relative deviation of a stated objective that rounding explains.
const ROUNDING: f64 = 1e-9;
/// The deviation of a stated slope that rounding explains.
const SLOPE_ROUNDING: f64 = 1e-10;

/// The leverages of the rows with a weight, and ½ log det I; `None` if I is not proved to be positive definite.
fn leverages(sub: &Subproblem<'_>, k: &[Interval]) -> Option<(Vec<Interval>, Interval)> {
    let (problem, rows): (_, Vec<usize>) = (&sub.problem, sub.rows().collect());
    let p = problem.width();
    if p > MOST_CONSTRAINTS {
        return None;
    }
    let middle: Vec<f64> = k.iter().map(|k| k.middle()).collect();
    let mut of_row = vec![0.0; sub.design.rows()];
    rows.iter().zip(&middle).for_each(|(&i, &k)| of_row[i] = k);
    let frame = Frame::new(sub.design, p, p > problem.features, |i| of_row[i]);
    let h = gram(p, rows.iter().copied(), |i, x| {
        frame.map(sub.design.row(i), x);
        of_row[i]
    });
    let r = inverse_factor(&h, p)?;
    let error = |&k: &Interval| ((k - Interval::point(k.middle())) / k).abs().hi;
    let relative = k.iter().map(error).fold(0.0, larger);
    let epsilon = identity_defect(&h, &r, p, rows.len(), relative);
    let off = Interval::point(1.0).widened(epsilon);
    let mut x = vec![0.0; p];
    let mut leverage = |(&i, &k): (&usize, &Interval)| {
        frame.map(sub.design.row(i), &mut x);
        // x̂ is rounded once, each product once, and the sum p times.
        let entry = |b: usize| {
            let products = || r[b * p..][..b + 1].iter().zip(&x).map(|(r, x)| r * x);
            let size: f64 = products().map(f64::abs).sum();
            Interval::point(products().sum()).widened(gamma(p + 4) * size * 1.01 + 1e-300)
        };
        k * (0..p).map(|b| entry(b).square()).sum::<Interval>() / off
    };
    let found = rows.iter().zip(k).map(&mut leverage).collect();
    let diagonal = |a: usize| log(Interval::point(r[a * p + a])) + log(Interval::point(frame.scale[a]));
    let determinant = (0..p).map(|a| 0.5 * log(off) - diagonal(a)).sum();
    (off.lo > 0.0 && relative.is_finite()).then_some((found, determinant))
}

/// The objective, and the largest partial derivative relative to its magnitude.
pub(crate) fn measure(sub: &Subproblem<'_>, firth: bool, theta: &[f64]) -> (Interval, Interval) {
    let (problem, rows): (_, Vec<usize>) = (&sub.problem, sub.rows().collect());
    let point = Interval::point;
    let weight = |i: usize| point(sub.weights[i]);
    let score = |i: usize| Score::new(sub.design.row(i), problem.features, theta).residual(0.0, -1.0);
    let margins: Vec<Interval> = rows.iter().map(|&i| sub.targets[i] * score(i)).collect();
    let shares: Vec<(Interval, Interval)> = margins.iter().map(|&margin| probabilities(margin)).collect();
    let curvature = |(&i, &(u, v)): (&usize, &(Interval, Interval))| weight(i) * u * v;
    let correction = match firth {
        true => leverages(sub, &rows.iter().zip(&shares).map(curvature).collect::<Vec<_>>()),
        false => Some((Vec::new(), Interval::ZERO)),
    };
    let Some((leverages, determinant)) = correction else {
        return (Interval::WHOLE, Interval::WHOLE);
    };
    let mut gradient = vec![IntervalSum::default(); problem.width()];
    let mut magnitude = gradient.clone();
    let mut objective = IntervalSum::default();
    for (at, &i) in rows.iter().enumerate() {
        let (c, y, (u, v)) = (weight(i), sub.targets[i], shares[at]);
        let (value, slope, steepest) = match leverages.get(at) {
            // ½ − p = y(½ − σ(yz)).
            Some(&h) => {
                let correction = (h * (point(0.5) - v)).unless(Mutant::NoLeverages);
                (
                    value(Loss::Logistic, sub.weights[i], margins[at]),
                    -y * (c * u + correction),
                    c,
                )
            }
            None => {
                let squared = c * u.square();
                (squared, -2.0 * y * (squared * v), 8.0 * (c / point(27.0)))
            }
        };
        objective.add(value);
        let ones = (problem.width() > problem.features).then_some((problem.features, 1.0));
        for (j, x) in sub.design.row(i).entries().chain(ones).filter(|(_, x)| *x != 0.0) {
            gradient[j].add(x * slope);
            magnitude[j].add(x.abs() * steepest);
        }
    }
    let (mut total, mut worst) = (objective.interval() - determinant, Interval::ZERO);
    for (j, &w) in theta.iter().enumerate() {
        let penalty = if problem.penalizes(j) {
            problem.l2 * point(w)
        } else {
            Interval::ZERO
        };
        total = total + 0.5 * (w * penalty);
        let derivative = (gradient[j].interval() + penalty).abs();
        if derivative != Interval::ZERO {
            worst = worst.max(derivative / (magnitude[j].interval() + penalty.abs()));
        }
    }
    (total, worst)
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let root = model.root();
    let settings = Settings::read(&root.field("settings")?)?;
    let claims = root.field("certificate")?.field("parts")?.items()?;
    let planes = model.hyperplanes()?;
    let reduction = Reduction::new(&settings, &model.schema, planes.len(), rows)?;
    let problem = &reduction.problem;
    let is_firth = settings.firth && problem.loss == Loss::Logistic && problem.l2 == 0.0;
    if problem.l1 > 0.0 || !(is_firth || !settings.firth && problem.loss == Loss::SigmoidMse) {
        return Err(root.refuse("stationarity is claimed for another objective"));
    }
    let mut verdict = Verdict::new(
        "that the point is an optimum; standard errors and other statistics, ties, status, notes, history, digest, iterations",
    );
    reduction.objections(model, &planes, claims.len(), &mut verdict)?;
    let correction = if is_firth { "; minus ½ log det I" } else { "" };
    verdict.state(
        "objective",
        format!("{}{correction}", objective(problem, reduction.c)),
        None,
    );
    let tol = options.tol.unwrap_or(settings.tol);
    let (mut worst, mut all) = (0.0, Interval::ZERO);
    for (index, (&part, claim)) in reduction.parts.iter().zip(&claims).enumerate() {
        let name = part.label(model.classes());
        let (point, targets) = (reduction.point(index, &planes), part.targets(rows));
        let weights = reduction.weights(part, rows);
        let sub = reduction.subproblem(rows, &targets, &weights, &point)?;
        let (total, slope) = measure(&sub, is_firth, &point);
        (worst, all) = (larger(worst, slope.hi), all + total);
        let number = |name: &str| claim.field(name)?.number();
        let error = ROUNDING * total.abs().hi.max(1.0);
        verdict.compare(
            &format!("{name}: the objective"),
            number("objective")?,
            total,
            error,
        );
        let error = SLOPE_ROUNDING + 1e-6 * slope.hi;
        verdict.compare(&format!("{name}: the slope"), number("slope")?, slope, error);
        let counted = sub.rows().count() as u64;
        let same = claim.field("rows")?.count()? == counted && number("tol")? == settings.tol;
        let objection = format!("{name}: the number of rows or the tolerance is another");
        verdict.object_unless(same, objection);
        let (ends, bound) = (interval((total.lo, total.hi)), at_most(slope.hi));
        let text = format!("P lies in {ends}; partial derivatives are at most {bound} of their largest size");
        verdict.state(name, text, Some(slope.hi <= tol));
    }
    if let Some(stated) = root
        .field("fit")?
        .maybe("objective", |objective| objective.number())?
    {
        let error = ROUNDING * all.abs().hi.max(1.0);
        verdict.compare("the objective of all subproblems", stated, all, error);
    }
    let worst = at_most(worst);
    verdict.summary =
        format!("the relative gradient is at most {worst}; the tolerance is {tol:e}; no optimum is claimed");
    Ok(verdict)
}
