//! The claim `enclosing-ball`: the radius of the smallest ball around the rows of each class lies between two numbers.
//!
//! **Lemma.** The ball around c through the farthest row encloses all rows. For λ ≥ 0 with Σλ = 1, every enclosing ball has a radius of
//! at least √(Σλᵢ‖xᵢ − c‖² − ‖Σλᵢ(xᵢ − c)‖²).
//! *Proof.* Let z be the centre of a ball of radius r, m = Σλx. Then r² ≥ Σλ‖x − z‖² = Σλ‖x − m‖² + ‖m − z‖² ≥ Σλ‖x − m‖² =
//! Σλ‖x − c‖² − ‖m − c‖². ∎
//!
//! Stored multipliers are divided by their sum, so any multipliers of at least 0 that are not all 0 give a bound.

use crate::arithmetic::{Interval, IntervalSum};
use crate::decimal::{at_most, interval};
use crate::design::Row;
use crate::maximum_likelihood::sum;
use crate::model::Model;
use crate::mutant::Mutant;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::{Options, Verdict};

/// The relative width of an interval that is accepted without `--tol`, as by the engine.
const TOLERANCE: f64 = 1e-6;
/// The relative deviation of a stated radius that rounding explains.
const ROUNDING: f64 = 1e-9;

/// x − c, and the square of its length.
fn from_centre(row: Row<'_>, centre: &[f64]) -> (Vec<Interval>, Interval) {
    let mut x: Vec<Interval> = centre.iter().map(|&c| Interval::point(-c)).collect();
    row.entries()
        .for_each(|(j, value)| x[j] = Interval::point(value) + x[j]);
    let square = squares(&x);
    (x, square)
}

/// ‖x‖².
fn squares(x: &[Interval]) -> Interval {
    sum(x.iter().map(|x| x.square()))
}

/// Σλᵢ‖xᵢ − c‖² − ‖Σλᵢ(xᵢ − c)‖² as a lower radius, and the largest distance of a row of the class. 0 and the latter if these are
/// no multipliers.
pub(crate) fn radii(
    rows: &TrainingRows,
    class: usize,
    centre: &[f64],
    support: &[(u64, f64)],
) -> (Interval, Interval) {
    let of_class = |i: &usize| rows.targets[*i] as usize == class;
    let x = |i: usize| from_centre(rows.design.row(i), centre);
    let distances = rows.counting().filter(of_class).map(|i| x(i).1);
    let upper = distances.fold(Interval::ZERO, Interval::max).sqrt();
    let (mut spread, mut total) = (IntervalSum::default(), IntervalSum::default());
    let mut mean = vec![IntervalSum::default(); centre.len()];
    for &(i, share) in support {
        let row = rows.counting_row(i).filter(of_class);
        let Some(i) = row.filter(|_| share >= 0.0) else {
            return (Interval::ZERO, upper);
        };
        let (x, square) = x(i);
        total.add(Interval::point(share));
        spread.add(share * square);
        mean.iter_mut().zip(&x).for_each(|(mean, &x)| mean.add(share * x));
    }
    let total = total.interval();
    let mean: Vec<Interval> = mean.iter().map(|sum| sum.interval() / total).collect();
    let offset = squares(&mean).unless(Mutant::NoOffset);
    let lower = (spread.interval() / total - offset).sqrt();
    (if total.lo > 0.0 { lower } else { Interval::ZERO }, upper)
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let ((settings, estimate), classes) = (model.densities()?, model.classes());
    let certificate = model.root().field("certificate")?;
    let fits = settings.field("family")? == estimate.field("density")?;
    let balls = estimate.field("balls")?.items()?;
    let ends = certificate.field("radii")?.table_in_range(classes.len(), 2)?;
    if !fits || settings.field("family")?.text()? != "minimax" || balls.len() != classes.len() {
        return Err(estimate.refuse("balls are claimed for another method, or not for each class"));
    }
    let mut verdict = Verdict::new("status, iterations, digest");
    let (tol, mut widest) = (options.tol.unwrap_or(TOLERANCE), Interval::ZERO);
    for (k, (ball, ends)) in balls.iter().zip(&ends).enumerate() {
        let name = format!("class {}", classes[k]);
        let centre = ball.field("centre")?.numbers_in_range(rows.design.features)?;
        let numbers = ball.field("support")?.items()?;
        let numbers = numbers
            .iter()
            .map(|number| number.count())
            .collect::<Reading<Vec<u64>>>()?;
        let multipliers = ball.field("multipliers")?.numbers_in_range(numbers.len())?;
        let support: Vec<(u64, f64)> = numbers.into_iter().zip(multipliers).collect();
        let (lower, upper) = radii(rows, k, &centre, &support);
        let width = ((upper - lower) / upper).positive_part();
        let width = if upper.hi > 0.0 { width } else { Interval::ZERO };
        widest = widest.max(width);
        let own = [ball.field("lower")?.number()?, ball.field("radius")?.number()?];
        for stated in [&ends[..], &own] {
            let error = ROUNDING * upper.hi;
            verdict.compare(&format!("{name}: the lower end"), stated[0], lower, error);
            verdict.compare(&format!("{name}: the radius"), stated[1], upper, error);
        }
        let (ends, bound) = (interval((lower.lo.max(0.0), upper.hi)), at_most(width.hi));
        let text = format!("the smallest radius lies in {ends}, a relative width of at most {bound}");
        verdict.state(name, text, Some(width.hi <= tol));
    }
    let stated = certificate.field("relative_gap")?.number()?;
    verdict.compare("the relative gap", stated, widest, ROUNDING);
    let widest = at_most(widest.hi);
    verdict.summary =
        format!("the radii are known up to a relative width of {widest}; the tolerance is {tol:e}");
    Ok(verdict)
}
