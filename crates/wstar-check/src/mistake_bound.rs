//! The claim `mistake-bound`: a perceptron makes at most so many updates on these rows.
//!
//! **Theorem (Novikoff 1962; Freund and Schapire 1999).** Let x̃ = (x, 1), or x without an intercept. A run starts at w₀ and, t = 1, 2 …,
//! adds αf(t)cᵢyᵢx̃ᵢ for a row with yᵢw·x̃ᵢ ≤ 0, for weights a ≤ cᵢ ≤ A, at most k times for each row. Let u be any vector, N ≥ ‖u‖,
//! R ≥ ‖x̃ᵢ‖, γ > 0, sᵢ = max(0, γ − yᵢu·x̃ᵢ) and D² = Σsᵢ². After M updates, with S₁ = Σf(t) and S₂ = Σf(t)²,
//!
//! - (1) u·w ≥ u·w₀ + αγaS₁ − αA√S₂·√k·D,
//! - (2) ‖w‖ ≤ ‖w₀‖ + αA√S₂·R,
//! - so γaS₁ ≤ A√S₂(NR + √k·D) + (N‖w₀‖ − u·w₀)/α.
//!
//! *Proof.* An update adds αfc·yu·x̃ ≥ αf(cγ − cs) to u·w, and Σfs ≤ √S₂·√(Σs²) ≤ √S₂·√k·D by Cauchy and Schwarz: (1). It adds at most
//! α²f²c²R² to ‖w‖², because yw·x̃ ≤ 0: (2). The third follows from u·w ≤ N‖w‖. ∎ If k is not known, γ − D is a margin without slack.
//!
//! | f(t) | S₁ | S₂ |
//! |---|---|---|
//! | 1 | M | M |
//! | 1/t | ≥ log(1 + M) | < π²/6 |
//! | 2⁻ʲ for n·2ʲ updates, j = 0, 1, … | n(j + s) after n(2ʲ(1 + s) − 1) updates | < 2n |
//!
//! Let g(M) be the left side minus the right side, with these bounds. If g(B) ≥ 0 for a B ≥ 1, then g(M) > 0 for all M > B: no run makes
//! more than B updates. *Proof.* g increases if S₂ is constant. Otherwise g(M) = √M(p√M − q) − e with e ≥ 0, and g(B) ≥ 0 makes the second factor
//! at least 0 at B; both factors increase. ∎
//!
//! That the file's run took place is not proved. Its number of updates must be within the bound, and the weights that it returns
//! must fulfil (1) and (2), up to 1e-9 for the rounding of the run.

use crate::arithmetic::{Interval, IntervalSum, gamma};
use crate::decimal::at_most;
use crate::dyadic::Dyadic;
use crate::elementary::log1p;
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::points::Points;
use crate::products::Score;
use crate::reduction::Part;
use crate::training_rows::{TrainingRows, in_range};
use crate::unreadable::Reading;
use crate::verdict::Verdict;

/// The relative deviation of a stated number, and of the weights of a run, that rounding explains.
const ROUNDING: f64 = 1e-9;
/// π²/6 is smaller.
const INVERSE_SQUARES: f64 = 1.6449340668482266;
/// The methods that return their last weights, and the others.
const LAST: [&str; 2] = ["perceptron", "online-perceptron"];
const OTHERS: [&str; 3] = ["averaged-perceptron", "voted-perceptron", "pocket"];

/// f(t).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Schedule {
    Constant,
    Inverse,
    /// n.
    Halving(u64),
}

impl Schedule {
    /// An interval whose lower end is at most S₁, and an upper bound of S₂.
    pub(crate) fn sums(self, updates: f64) -> (Interval, Interval) {
        let m = Interval::point(updates);
        match self {
            Schedule::Constant => (m, m),
            Schedule::Inverse => (log1p(m), Interval::point(INVERSE_SQUARES)),
            Schedule::Halving(first) => {
                // M/n + 1 = 2ʲ(1 + s).
                let n = Interval::point(first as f64);
                let whole = (m / n + Interval::point(1.0)).lo.max(1.0);
                let j = (whole.to_bits() >> 52) - 1023;
                let s = whole * f64::from_bits((1023 - j) << 52) - 1.0;
                (n * (Interval::point(j as f64) + Interval::point(s)), 2.0 * n)
            }
        }
    }
}

/// The weights of a hyperplane, and then its intercept. With `padded`, weights that are left out at the end are 0.
fn hyperplane(node: &Node<'_>, features: usize, padded: bool) -> Reading<Vec<f64>> {
    let mut plane = node.field("weights")?.numbers()?;
    let intercept = node.field("intercept")?.number()?;
    let fits = plane.len() == features || padded && plane.len() < features;
    if !fits || !plane.iter().chain([&intercept]).all(|w| in_range(*w)) {
        return Err(node.refuse("another number of weights, or a number outside 1e-140 to 1e140 in size"));
    }
    plane.resize(features, 0.0);
    plane.push(intercept);
    Ok(plane)
}

fn dot(a: &[f64], b: &[f64]) -> Interval {
    a.iter().zip(b).map(|(&a, &b)| a * Interval::point(b)).sum()
}

fn norm(a: &[f64]) -> Interval {
    dot(a, a).sqrt()
}

/// The conditions of a run.
#[derive(Debug)]
pub(crate) struct Conditions {
    pub(crate) intercept: bool,
    /// α.
    pub(crate) rate: f64,
    pub(crate) schedule: Schedule,
    /// k.
    pub(crate) repeats: Option<u64>,
    pub(crate) start: Vec<f64>,
    /// Whether a weight c stands for ⌊c⌋ rows of weight 1 and one for the rest of c.
    pub(crate) multiset: bool,
}

impl Conditions {
    fn read(node: &Node<'_>, features: usize, multiset: bool) -> Reading<Self> {
        let schedule = node.field("schedule")?;
        let start = node.maybe("start", |start| hyperplane(&start, features, true))?;
        let conditions = Conditions {
            intercept: node.field("intercept")?.boolean()?,
            rate: node.field("rate")?.number()?,
            schedule: match schedule.as_text() {
                Some("constant") => Schedule::Constant,
                Some("inverse") => Schedule::Inverse,
                _ => Schedule::Halving(schedule.field("halving")?.field("first")?.count()?.max(1)),
            },
            repeats: node.maybe("repeats", |repeats| repeats.count())?,
            start: start.unwrap_or(vec![0.0; features + 1]),
            multiset,
        };
        match in_range(conditions.rate) && conditions.rate > 0.0 {
            true => Ok(conditions),
            false => Err(node.refuse("the rate is not above 0")),
        }
    }
}

/// The quantities of the theorem for a separator u and a margin γ.
pub(crate) struct Quantities<'a> {
    run: &'a Conditions,
    u: &'a [f64],
    gamma: f64,
    /// R.
    pub(crate) radius: Interval,
    /// D.
    pub(crate) slack: Interval,
    /// min yᵢu·x̃ᵢ.
    pub(crate) least: Interval,
    /// a and A.
    weights: (f64, f64),
}

impl<'a> Quantities<'a> {
    pub(crate) fn new(rows: &TrainingRows, y: &[f64], run: &'a Conditions, u: &'a [f64], gamma: f64) -> Self {
        let lift = f64::from(u8::from(run.intercept && !mutant::is(Mutant::NoLift)));
        let (mut squares, mut slacks) = (Interval::ZERO, IntervalSum::default());
        let (mut least, mut weights) = (Interval::point(f64::MAX), (f64::INFINITY, 0.0f64));
        for i in rows.counting() {
            let (row, c) = (rows.design.row(i), rows.weight(i));
            let of_row: Interval = row.values.iter().map(|&x| Interval::point(x).square()).sum();
            squares = squares.max(of_row + Interval::point(lift));
            let product = y[i] * Score::new(row, rows.design.features, u).residual(0.0, -1.0);
            least = -(-least).max(-product);
            let (looks, low, high) = match run.multiset {
                true if c.fract() > 0.0 => (c.ceil(), c.fract(), if c > 1.0 { 1.0 } else { c }),
                true => (c, 1.0, 1.0),
                false => (1.0, c, c),
            };
            slacks.add(looks * (Interval::point(gamma) - product).positive_part().square());
            weights = (weights.0.min(low), weights.1.max(high));
        }
        let slack = slacks.interval().sqrt().unless(Mutant::NoSlack);
        Quantities {
            run,
            u,
            gamma,
            radius: squares.sqrt(),
            slack,
            least,
            weights,
        }
    }

    /// γaS₁, and A√S₂, of so many updates, and √k·D. If k is not known, γ − D stands for γ, and 0 for D.
    fn terms(&self, updates: f64) -> (Interval, Interval, Interval) {
        let (first, second) = self.run.schedule.sums(updates);
        let gamma = Interval::point(self.gamma);
        let (margin, slack) = match self.run.repeats {
            Some(repeats) => (gamma, Interval::point(repeats as f64).sqrt() * self.slack),
            None => (gamma - self.slack, Interval::ZERO),
        };
        let (least, most) = self.weights;
        (margin * (least * first), most * second.sqrt(), slack)
    }

    /// Whether no run makes more than this many updates.
    pub(crate) fn bounds(&self, most: f64) -> bool {
        let ((gain, step, slack), start) = (self.terms(most), &self.run.start);
        let n = norm(self.u).max(Interval::point(1.0));
        let excess = (n * norm(start) - dot(self.u, start)).positive_part();
        let surplus = gain - step * (n * self.radius + slack) - excess / Interval::point(self.run.rate);
        most >= 1.0 && gain.lo > 0.0 && surplus.lo >= 0.0
    }

    /// Whether weights after so many updates fulfil (2), and, if they are the last ones, (1).
    pub(crate) fn admits(&self, weights: &[f64], updates: u64, last: bool) -> bool {
        let ((gain, step, slack), start) = (self.terms(updates as f64), &self.run.start);
        let longest = norm(start) + self.run.rate * (step * self.radius);
        let progress = dot(self.u, start) + self.run.rate * (gain - step * slack);
        let error = ROUNDING * longest.hi;
        let of_last = !last || gain.lo < 0.0 || progress.lo <= dot(self.u, weights).hi + error;
        of_last && norm(weights).lo <= longest.hi + error
    }
}

/// The rows that are not on their side, by exact signs. A score of 0 is a mistake, or else the positive side.
pub(crate) fn count_mistakes(plane: &[f64], points: &Points<'_>, zero_is_positive: bool) -> usize {
    let plane: Vec<Dyadic> = plane.iter().copied().map(Dyadic::double).collect();
    let wrong = |i: &usize| {
        let product = points.product(*i, &plane);
        product.is_negative() || product.is_zero() && !(zero_is_positive && points.signs[*i] > 0)
    };
    points.rows().filter(wrong).count()
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows) -> Reading<Verdict> {
    let (root, features) = (model.root(), model.schema.features);
    let (settings, fit) = (root.field("settings")?, root.field("fit")?);
    let parts = Part::against_rest(model.classes().len());
    let claims = root.field("certificate")?.field("parts")?.items()?;
    if settings.field("family")?.text()? != "perceptrons" || parts.is_empty() || claims.len() != parts.len() {
        return Err(root.refuse("a mistake bound is claimed for another method, or not for each hyperplane"));
    }
    let (method, ties) = (settings.field("method")?.text()?, settings.field("ties")?.text()?);
    let known = LAST.contains(&method) || OTHERS.contains(&method);
    if !known || !["mistake", "positive"].contains(&ties) {
        return Err(settings.refuse("an unknown perceptron, or an unknown meaning of a score of 0"));
    }
    let multiset = settings.maybe("multiset", |node| node.boolean())? == Some(true);
    let worst = settings.maybe("rule", |rule| Ok(rule.as_text() == Some("worst")))? == Some(true);
    let passes = fit.maybe("passes", |passes| passes.count())?.filter(|_| !worst);
    let starts = settings.maybe("start", |start| start.numbers())?;
    let starts = starts.unwrap_or_default();
    let mut own_starts = starts.chunks((starts.len() / parts.len()).max(1));
    let planes = model.planes(parts.len())?;
    let mut verdict = Verdict::new(
        "that the run took place: updates, passes, examples, mistakes by pass; committees; history; digest",
    );
    let (mut total, mut mistakes) = (0u64, 0);
    for (k, (&part, claim)) in parts.iter().zip(&claims).enumerate() {
        let (y, points) = (part.targets(rows), Points::new(rows, part, true));
        let name = part.label(model.classes());
        let updates = claim.field("updates")?.count()?;
        total = total.saturating_add(updates);
        let given = own_starts.next();
        let read = |planes: &Vec<Node<'_>>| hyperplane(&planes[k], features, false);
        let plane = planes.as_ref().map(read).transpose()?;
        if let Some(plane) = &plane {
            mistakes += count_mistakes(plane, &points, ties == "positive");
        }
        let number = |name: &str| claim.maybe(name, |number| number.number());
        let (Some(margin), Some(bound)) = (number("margin")?, number("bound")?) else {
            verdict.state(name, "no bound is stated", Some(false));
            continue;
        };
        // A vector is not filled up to more columns than the file has weights.
        let u = hyperplane(&claim.field("separator")?, features, plane.is_some())?;
        let conditions = claim.field("conditions")?;
        let run = Conditions::read(&conditions, features, multiset)?;
        let mut start = conditions.maybe("start", |start| start.field("weights")?.numbers())?;
        if let Some(start) = start.as_mut().filter(|_| run.intercept) {
            start.insert(0, run.start[features]);
        }
        let same = |name: &str, setting: &str| Ok(conditions.field(name)? == settings.field(setting)?);
        let fits = start.as_deref() == given && run.repeats == passes && passes.is_none() == worst;
        let fits = fits && same("intercept", "intercept")? && same("schedule", "schedule")?;
        let objection = format!("{name}: the conditions of the run are not those of the settings");
        verdict.object_unless(fits && same("rate", "learning_rate")?, objection);
        let mut all = [&u, &run.start].into_iter().chain(&plane);
        if !run.intercept && all.any(|plane| plane[features] != 0.0) {
            return Err(claim.refuse("a hyperplane has an intercept, and the run had none"));
        }
        let found = Quantities::new(rows, &y, &run, &u, margin);
        let (radius, slack, length) = (found.radius, found.slack, norm(&u));
        // A score is rounded by at most γ_{d+8}·R, and D is a norm of n slacks.
        let scores = gamma(features + 8) * radius.hi * (rows.len() as f64).sqrt();
        for (field, proved, error) in [("radius", radius, 0.0), ("slack", slack, scores)] {
            let (what, stated) = (format!("{name}: the {field}"), claim.field(field)?.number()?);
            verdict.compare(&what, stated, proved, ROUNDING * proved.hi + error);
        }
        let is_unit = length == Interval::ZERO || (length - Interval::point(1.0)).abs().hi <= ROUNDING;
        verdict.object_unless(is_unit, format!("{name}: the separator has another norm than 1"));
        let (radius, slack) = (at_most(radius.hi), at_most(slack.hi));
        let text = format!(
            "no run under the stated conditions makes more than {bound:?} updates; {updates} are stated (R ≤ \
             {radius}, γ = {margin:?}, D ≤ {slack})"
        );
        verdict.state(&name, text, Some(found.bounds(bound) && updates as f64 <= bound));
        if claim.field("slack")?.number()? == 0.0 {
            let least = (found.least / length).lo.next_down();
            let text = format!("the separator has each row on its side, and a margin of at least {least:?}");
            let separates = count_mistakes(&u, &points, false) == 0;
            verdict.state(&name, text, Some(separates));
        }
        if let Some(plane) = &plane {
            let objection = format!("{name}: a run with {updates} updates does not return these weights");
            verdict.object_unless(found.admits(plane, updates, LAST.contains(&method)), objection);
        }
    }
    if planes.is_some() {
        let converged = fit.field("status")?.text()? == "Converged";
        let required = if converged { "must be 0" } else { "may be not 0" };
        let text = format!("{mistakes} of the returned hyperplanes, by exact signs; they {required}");
        verdict.state("mistakes", text, Some(!converged || mistakes == 0));
        let predictor = root.field("predictor")?;
        let same = predictor.field("ties")? == settings.field("ties")?;
        let same = same && predictor.field("link")?.text()? == "margin";
        verdict.object_unless(same, "the ties or the link do not fit the settings");
    }
    let stated = fit.field("iterations")?.count()?;
    let objection =
        format!("{stated} updates are stated, and {total} in the claims; or the start is too long");
    verdict.object_unless(stated == total && own_starts.next().is_none(), objection);
    verdict.summary = "no run under the stated conditions makes more updates than the stated bounds".into();
    Ok(verdict)
}
