//! Proof files of `wstar separate --proof`: two classes are separable, quasi-separable or inseparable.
//!
//! Let aᵢ be the points of `points.rs`, and A the matrix with these rows.
//! - **Separable**: a v with aᵢ·v > 0 for all i. The largest margin lies between the margin of v and the bound of `points.rs`.
//! - **Not separable**: λ ≥ 0, not all 0, with Σλᵢaᵢ = 0. *Proof.* If aᵢ·u > 0 for all i, then 0 = Σλᵢ(aᵢ·u) > 0. ∎ If also a v
//!   has Av ≥ 0 and Av ≠ 0, the classes are **quasi-separable**.
//! - **Inseparable**: λ > 0 on rows S with Σλᵢaᵢ = 0, and rank A_S = rank A. *Proof.* Let Av ≥ 0. The terms of
//!   Σλᵢ(aᵢ·v) = 0 are not negative, so aᵢ·v = 0 on S. Then v is orthogonal to the span of S, which is the span of all rows, so
//!   Av = 0. ∎ The rank of S modulo a prime is a lower bound of rank A_S, and k independent vectors n with An = 0 prove that
//!   rank A is at most the number of coordinates minus k.
//! - Decimal λ only bound the margin, by the lemma of `points.rs`.

use crate::csv;
use crate::decimal;
use crate::dyadic::{Dyadic, fractions, quotient, rank_at_least};
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::{Multipliers, Points, pairs};
use crate::reduction::Part;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::Verdict;

/// Checks a proof file.
pub(crate) fn check(model: &Model, rows: &TrainingRows) -> Reading<Verdict> {
    let content = model.root().field("content")?;
    let (count, sides) = (model.classes().len(), content.field("points")?.field("sides")?);
    let positive = sides.field("positive")?.count()? as usize;
    let negative = sides.maybe("negative", |class| Ok(class.count()? as usize))?;
    if count < 2 || positive >= count || negative.is_some_and(|class| class >= count || class == positive) {
        return Err(sides.refuse("these are not two different classes"));
    }
    let part = negative.map_or(Part::Against(positive), |negative| Part::Pair(negative, positive));
    let points = Points::new(rows, part, content.field("intercept")?.boolean()?);
    let mut verdict = Verdict::new("checksum");
    let (names, mut sides) = (content.field("classes")?, part.label(model.classes()));
    let stated = [names.field("positive")?.text()?, names.field("negative")?.text()?].join(" against ");
    let objection = format!("{stated} is stated, and the proof is about {sides}");
    verdict.object_unless(stated == sides, objection);
    if !points.intercept {
        sides.push_str(" by hyperplanes through the origin");
    }
    let stated = (
        content.field("rows")?.count()?,
        content.field("features")?.count()?,
    );
    let found = (rows.len() as u64, points.design.features as u64);
    let objection = format!("the proof is about {stated:?} rows and features, and these are {found:?}");
    verdict.object_unless(stated == found, objection);
    let margin = content.field("margin")?;
    let (lower, upper) = (margin.field("lower")?.number()?, margin.field("upper")?.number()?);
    let kind = content.field("verdict")?;
    if kind.text()? == "separable" {
        let v = points.hyperplane(&content.field("hyperplane")?)?;
        separates(&points, &v, lower, &mut verdict);
        bounds(
            &points,
            &points.hulls(&content.field("hulls")?)?,
            upper,
            &mut verdict,
        );
        verdict.summary =
            format!("separable: {sides}, and the largest margin is from {lower:?} to {upper:?}");
        return Ok(verdict);
    }
    let (lambda, total) = combination(&content.field("proof")?)?;
    let objection = "a margin is stated, and no hyperplane separates strictly";
    verdict.object_unless(lower == 0.0 && (upper == 0.0 || total.is_none()), objection);
    match &total {
        Some(total) => {
            vanishes(&points, &lambda, total, &mut verdict);
            verdict.summary = format!("{}: {sides}", kind.text()?);
        }
        None => {
            bounds(&points, &lambda, upper, &mut verdict);
            verdict.summary = format!("{sides}: no margin exceeds {upper:?}, and decimal λ prove no more");
        }
    }
    match kind.text()? {
        "quasi-separable" => {
            let v = points.hyperplane(&content.field("hyperplane")?)?;
            let products: Vec<Dyadic> = points.rows().map(|i| points.product(i, &v)).collect();
            let some = products.iter().any(Dyadic::is_positive) || mutant::is(Mutant::NotStrict);
            let weakly = some && !products.iter().any(Dyadic::is_negative);
            let text = "no row is on the wrong side of the hyperplane, and some row is off it";
            verdict.state("hyperplane", text, Some(weakly));
        }
        "inseparable" if total.is_some() => {
            let spans = spans(&points, &lambda, &null_vectors(&content, points.width())?);
            let text = "the rows with λ > 0 span all rows, so no hyperplane separates even weakly";
            verdict.state("rank", text, Some(spans));
        }
        "inseparable" => {}
        _ => return Err(kind.refuse("an unknown verdict")),
    }
    Ok(verdict)
}

/// √(a/b) as text.
fn root(a: &Dyadic, b: &Dyadic) -> String {
    let root = quotient(a, b).sqrt();
    decimal::interval((root.lo, root.hi))
}

/// A hyperplane separates strictly, with a margin of at least `lower`.
fn separates(points: &Points<'_>, v: &[Dyadic], lower: f64, verdict: &mut Verdict) {
    let least = points
        .rows()
        .map(|i| points.product(i, v))
        .min()
        .unwrap_or_default();
    let strict = least.is_positive() || mutant::is(Mutant::NotStrict);
    verdict.state("hyperplane", "every row is strictly on its side", Some(strict));
    let (square, norm) = (least.square(), points.squared_norm(v));
    let reached = strict && (lower <= 0.0 || &Dyadic::double(lower).square() * &norm <= square);
    let text = format!(
        "at least {lower:?}; that of the hyperplane is {}",
        root(&square, &norm)
    );
    verdict.state("margin", text, Some(reached));
}

/// No margin exceeds `upper`.
fn bounds(points: &Points<'_>, multipliers: &Multipliers, upper: f64, verdict: &mut Verdict) {
    let bound = points.bound(multipliers);
    let within = |(a, b): &(Dyadic, Dyadic)| upper >= 0.0 && *a <= &Dyadic::double(upper).square() * b;
    let found = bound.as_ref().map_or("no bound".into(), |(a, b)| root(a, b));
    let text = format!("at most {upper:?}; the points of the hulls prove {found}");
    verdict.state("margin", text, Some(bound.as_ref().is_some_and(within)));
}

/// No hyperplane separates strictly.
fn vanishes(points: &Points<'_>, lambda: &Multipliers, total: &Dyadic, verdict: &mut Verdict) {
    let positive = |value: &Dyadic| value.is_positive() || mutant::is(Mutant::AnySign);
    let valid = !lambda.is_empty() && lambda.iter().all(|(i, value)| points.has(*i) && positive(value));
    let vanishes = valid && points.combination(lambda).iter().all(Dyadic::is_zero);
    let text = format!(
        "Σλᵢaᵢ = 0 with λ > 0 on {} rows, so no hyperplane separates strictly",
        lambda.len()
    );
    verdict.state("λ", text, Some(vanishes));
    let sums_to_one =
        |[first, second]: [Dyadic; 2]| first == *total && (second == *total || !points.intercept);
    verdict.object_unless(!valid || sums_to_one(points.sums(lambda)), "λ does not sum to 1");
}

/// Whether the rows of λ certainly span all rows.
fn spans(points: &Points<'_>, lambda: &Multipliers, null_vectors: &[Vec<Dyadic>]) -> bool {
    let orthogonal = |n: &Vec<Dyadic>| points.rows().all(|i| points.product(i, n).is_zero());
    let independent = rank_at_least(null_vectors.iter().cloned()) == null_vectors.len();
    let rows = lambda.iter().filter(|(i, _)| points.has(*i));
    let rank = rank_at_least(rows.map(|(i, _)| points.point(*i)));
    (rank + null_vectors.len() >= points.width() || mutant::is(Mutant::NoRank))
        && (independent || mutant::is(Mutant::Dependent))
        && (null_vectors.iter().all(orthogonal) || mutant::is(Mutant::NotOrthogonal))
}

/// Rows with their λ, and what the λ of each class must sum to if they are exact.
fn combination(node: &Node<'_>) -> Reading<(Multipliers, Option<Dyadic>)> {
    let (rows, texts) = (node.field("points")?.items()?, node.field("weights")?.texts()?);
    let rows: Vec<usize> = rows
        .iter()
        .map(|row| Ok(row.count()? as usize))
        .collect::<Reading<_>>()?;
    if rows.len() != texts.len() || !rows.is_sorted_by(|a, b| a < b) {
        return Err(node.refuse("rows do not increase, or do not have one weight each"));
    }
    let texts = texts.iter().map(String::as_str);
    let read = match node.field("exact")?.boolean()? {
        true => fractions(&texts.collect::<Vec<_>>()).map(|(values, one)| (values, Some(one))),
        false => {
            let values = texts.map(|text| csv::number(text).map(Dyadic::double));
            values.collect::<Option<_>>().map(|values| (values, None))
        }
    };
    let (values, total): (Vec<Dyadic>, _) = read.ok_or_else(|| node.refuse("a weight is not a number"))?;
    Ok((rows.into_iter().zip(values).collect(), total))
}

/// Vectors that are stored as pairs of coordinate and integer.
fn null_vectors(content: &Node<'_>, width: usize) -> Reading<Vec<Vec<Dyadic>>> {
    let integer = |node: &Node<'_>| Dyadic::parse(node.text()?).ok_or_else(|| node.refuse("no integer"));
    let read = |node: &Node<'_>| {
        let mut vector = vec![Dyadic::default(); width];
        for (j, value) in pairs(node, integer)? {
            *vector
                .get_mut(j)
                .ok_or_else(|| node.refuse("no such coordinate"))? = value;
        }
        Ok(vector)
    };
    let stored = content
        .maybe("null_vectors", |node| node.items())?
        .unwrap_or_default();
    stored.iter().map(read).collect()
}
