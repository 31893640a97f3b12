//! Proof files of `wstar separate --proof`: two classes are separable, quasi-separable or inseparable.
//!
//! Let aᵢ be the points of `points.rs`, and A the matrix with these rows.
//! - **Separable**: a v with aᵢ·v > 0 for all i. With the lemma of `points.rs` the largest margin lies between the margin of v
//!   and the bound by two points of the hulls.
//! - **Not separable**: λ ≥ 0, not all 0, with Σλᵢaᵢ = 0. *Proof.* If aᵢ·u > 0 for all i, then 0 = Σλᵢ(aᵢ·u) > 0. ∎ If also a v
//!   has Av ≥ 0 and Av ≠ 0, the classes are **quasi-separable**.
//! - **Inseparable**: λ > 0 on rows S with Σλᵢaᵢ = 0, and rank A_S = rank A. *Proof.* Let Av ≥ 0. The terms of
//!   Σλᵢ(aᵢ·v) = 0 are not negative, so aᵢ·v = 0 on S. Then v is orthogonal to the span of S, which is the span of all rows, so
//!   Av = 0. ∎ The rank of S modulo a prime is a lower bound of rank A_S, and k independent vectors n with An = 0 prove that
//!   rank A is at most the number of coordinates minus k.
//! - Decimal λ only bound the margin, by the lemma of `points.rs`.

use crate::csv;
use crate::integer::{Dyadic, fractions, rank_at_least, root};
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::{Multipliers, Points, multipliers};
use crate::reduction::Part;
use crate::training_rows::TrainingRows;
use crate::unreadable::Reading;
use crate::verdict::Verdict;

/// Checks a proof file.
pub(crate) fn check(model: &Model, rows: &TrainingRows) -> Reading<Verdict> {
    let content = model.root().field("content")?;
    let (count, sides) = (model.classes().len(), content.field("points")?.field("sides")?);
    let class = |node: Node<'_>| node.count().map(|class| class as usize);
    let positive = class(sides.field("positive")?)?;
    let negative = sides.optional("negative")?.map(class).transpose()?;
    if count < 2 || positive >= count || negative.is_some_and(|class| class >= count || class == positive) {
        return Err(sides.refuse("these are not two different classes"));
    }
    let part = negative.map_or(Part::Against(positive), |negative| Part::Pair(negative, positive));
    let mut sides = part.label(model.classes());
    let points = Points::new(rows, positive, negative, content.field("intercept")?.boolean()?);
    let mut verdict = Verdict::new("checksum");
    let names = content.field("classes")?;
    let names = format!(
        "{} against {}",
        names.field("positive")?.text()?,
        names.field("negative")?.text()?
    );
    verdict.object_unless(
        names == sides,
        format!("{names} is stated, and the proof is about {sides}"),
    );
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
        let v = hyperplane(&content.field("hyperplane")?, &points)?;
        separable(&points, &v, lower, &mut verdict);
        let hulls = content.field("hulls")?;
        let mut all = multipliers(&hulls.field("positive")?)?;
        let second = multipliers(&hulls.field("negative")?)?;
        let own = |list: &Multipliers, sign| list.iter().all(|(i, _)| points.signs.get(*i) == Some(&sign));
        let fits = if points.intercept {
            own(&all, 1) && own(&second, -1)
        } else {
            second.is_empty()
        };
        verdict.object_unless(fits, "a row is listed for the hull of the other class");
        all.extend(second);
        bounded(&points, &all, upper, &mut verdict);
        verdict.summary =
            format!("separable: {sides}, and the largest margin is from {lower:?} to {upper:?}");
        return Ok(verdict);
    }
    let (lambda, total) = combination(&content.field("proof")?)?;
    let exact = total.is_some();
    verdict.summary = match total {
        Some(_) => format!("{}: {sides}", kind.text()?),
        None => format!("{sides}: no margin exceeds {upper:?}, and decimal λ prove no more"),
    };
    match total {
        Some(total) => vanishing(&points, &lambda, &total, &mut verdict),
        None => bounded(&points, &lambda, upper, &mut verdict),
    }
    let objection = "a margin is stated, and no hyperplane separates strictly";
    verdict.object_unless(lower == 0.0 && (upper == 0.0 || !exact), objection);
    match kind.text()? {
        "quasi-separable" => {
            let v = hyperplane(&content.field("hyperplane")?, &points)?;
            let text = "no row is on the wrong side of the hyperplane, and some row is off it";
            verdict.state("hyperplane", text, Some(weakly_separates(&points, &v)));
        }
        "inseparable" if exact => {
            let spans = spans(&points, &lambda, &null_vectors(&content, points.width())?);
            let text = "the rows with λ > 0 span all rows, so no hyperplane separates even weakly";
            verdict.state("rank", text, Some(spans));
        }
        "inseparable" => {}
        _ => return Err(kind.refuse("an unknown verdict")),
    }
    Ok(verdict)
}

/// A hyperplane separates strictly, with a margin of at least `lower`.
fn separable(points: &Points<'_>, v: &[Dyadic], lower: f64, verdict: &mut Verdict) {
    let least = points.rows().map(|i| points.product(i, v)).min();
    let least = least.filter(|least| least.is_positive() || mutant::is(Mutant::NotStrict));
    let strict = least.is_some();
    verdict.state("hyperplane", "every row is strictly on its side", Some(strict));
    let (square, norm) = (least.unwrap_or_default().square(), points.squared_norm(v));
    let reached = strict && (lower <= 0.0 || &Dyadic::double(lower).square() * &norm <= square);
    let text = format!(
        "at least {lower:?}; that of the hyperplane is {}",
        root(&square, &norm)
    );
    verdict.state("margin", text, Some(reached));
}

/// No margin exceeds `upper`.
fn bounded(points: &Points<'_>, multipliers: &Multipliers, upper: f64, verdict: &mut Verdict) {
    let bound = points.bound(multipliers);
    let within = |(a, b): &(Dyadic, Dyadic)| upper >= 0.0 && *a <= &Dyadic::double(upper).square() * b;
    let found = bound.as_ref().map_or("no bound".into(), |(a, b)| root(a, b));
    let text = format!("at most {upper:?}; the points of the hulls prove {found}");
    verdict.state("margin", text, Some(bound.as_ref().is_some_and(within)));
}

/// No hyperplane separates strictly.
fn vanishing(points: &Points<'_>, lambda: &Multipliers, total: &Dyadic, verdict: &mut Verdict) {
    let positive = lambda.iter().all(|(_, value)| value.is_positive()) || mutant::is(Mutant::AnySign);
    let valid = positive && !lambda.is_empty() && lambda.iter().all(|(i, _)| points.has(*i));
    let vanishes = valid && points.combination(lambda).iter().all(Dyadic::is_zero);
    let text = format!(
        "Σλᵢaᵢ = 0 with λ > 0 on {} rows, so no hyperplane separates strictly",
        lambda.len()
    );
    verdict.state("λ", text, Some(vanishes));
    let (first, second) = if valid {
        points.sums(lambda)
    } else {
        Default::default()
    };
    let normed = first == *total && (second == *total || !points.intercept);
    verdict.object_unless(normed, "λ does not sum to 1");
}

fn weakly_separates(points: &Points<'_>, v: &[Dyadic]) -> bool {
    let products: Vec<Dyadic> = points.rows().map(|i| points.product(i, v)).collect();
    let some = products.iter().any(Dyadic::is_positive) || mutant::is(Mutant::NotStrict);
    some && products.iter().all(|product| !product.sign().is_lt())
}

/// Whether these rows certainly span all rows.
fn spans(points: &Points<'_>, lambda: &Multipliers, null_vectors: &[Vec<Dyadic>]) -> bool {
    let orthogonal = |n: &Vec<Dyadic>| points.rows().all(|i| points.product(i, n).is_zero());
    let independent = rank_at_least(null_vectors.iter().cloned()) == null_vectors.len();
    let rows = lambda.iter().filter(|(i, _)| points.has(*i));
    let rank = rank_at_least(rows.map(|(i, _)| points.point(*i)));
    (rank + null_vectors.len() >= points.width() || mutant::is(Mutant::NoRank))
        && (independent || mutant::is(Mutant::Dependent))
        && (null_vectors.iter().all(orthogonal) || mutant::is(Mutant::NotOrthogonal))
}

/// A hyperplane of doubles, or of fractions; these are multiplied by a common denominator above 0.
fn hyperplane(node: &Node<'_>, points: &Points<'_>) -> Reading<Vec<Dyadic>> {
    let (mut all, intercept) = (node.field("weights")?.items()?, node.field("intercept")?);
    if all.len() != points.design.features || !(points.intercept || intercept.number() == Ok(0.0)) {
        return Err(node.refuse("it has other features, or an intercept where there is none"));
    }
    all.extend(points.intercept.then_some(intercept));
    if all.iter().all(|number| number.as_text().is_none()) {
        return all
            .iter()
            .map(|number| number.number().map(Dyadic::double))
            .collect();
    }
    let texts: Vec<&str> = all.iter().map(Node::text).collect::<Reading<_>>()?;
    let read = fractions(&texts).ok_or_else(|| node.refuse("a coefficient is not a fraction"));
    read.map(|(numerators, _)| numerators)
}

/// Rows with their λ, and what the λ of each class sum to if they are exact.
fn combination(node: &Node<'_>) -> Reading<(Multipliers, Option<Dyadic>)> {
    let (rows, texts) = (node.field("points")?.items()?, node.field("weights")?.texts()?);
    let rows: Vec<u64> = rows.iter().map(Node::count).collect::<Reading<_>>()?;
    if rows.len() != texts.len() || !rows.is_sorted_by(|a, b| a < b) {
        return Err(node.refuse("rows do not increase, or do not have one weight each"));
    }
    let decimal = |text: &String| csv::number(text).map(Dyadic::double);
    let read = match node.field("exact")?.boolean()? {
        true => fractions(&texts.iter().map(String::as_str).collect::<Vec<_>>())
            .map(|(all, one)| (all, Some(one))),
        false => texts
            .iter()
            .map(decimal)
            .collect::<Option<Vec<Dyadic>>>()
            .map(|all| (all, None)),
    };
    let (values, total) = read.ok_or_else(|| node.refuse("a weight is not a number"))?;
    Ok((
        rows.into_iter().map(|row| row as usize).zip(values).collect(),
        total,
    ))
}

/// Vectors that are stored as pairs of coordinate and integer.
fn null_vectors(content: &Node<'_>, width: usize) -> Reading<Vec<Vec<Dyadic>>> {
    let read = |node: &Node<'_>| {
        let mut vector = vec![Dyadic::default(); width];
        for pair in node.items()? {
            let entry = match &pair.items()?[..] {
                [coordinate, value] => (coordinate.count()? as usize, Dyadic::parse(value.text()?)),
                _ => (width, None),
            };
            match (vector.get_mut(entry.0), entry.1) {
                (Some(place), Some(value)) if place.is_zero() => *place = value,
                _ => return Err(pair.refuse("a coordinate and an integer are expected")),
            }
        }
        Ok(vector)
    };
    let stored = content.optional("null_vectors")?;
    stored.map_or(Ok(Vec::new()), |node| node.items()?.iter().map(read).collect())
}
