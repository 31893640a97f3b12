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

use std::cmp::Ordering;

use crate::arithmetic::{Interval, IntervalSum, gamma};
use crate::decimal::at_most;
use crate::elementary::log1p;
use crate::hyperplane::{Hyperplane, sum};
use crate::json::Node;
use crate::model::Model;
use crate::mutant::{self, Mutant};
use crate::reduction::Part;
use crate::training_rows::{TrainingRows, in_range};
use crate::unreadable::Reading;
use crate::verdict::Verdict;

/// The relative deviation of a stated number, and of the weights of a run, that rounding explains.
const ROUNDING: f64 = 1e-9;
/// π²/6 is smaller.
const INVERSE_SQUARES: f64 = 1.6449340668482266;

/// The first two return their last weights.
const METHODS: [&str; 5] = [
    "perceptron",
    "online-perceptron",
    "averaged-perceptron",
    "voted-perceptron",
    "pocket",
];

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
                let within = whole * f64::from_bits((1023 - j) << 52) - 1.0;
                (n * (Interval::point(j as f64) + Interval::point(within)), 2.0 * n)
            }
        }
    }
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
    pub(crate) start: Hyperplane,
    /// Whether a weight c stands for ⌊c⌋ rows of weight 1 and one for the rest of c.
    pub(crate) multiset: bool,
}

impl Conditions {
    fn read(node: &Node<'_>, features: usize, multiset: bool) -> Reading<Self> {
        let schedule = node.field("schedule")?;
        let zero = Hyperplane(vec![0.0; features + 1]);
        let conditions = Conditions {
            intercept: node.field("intercept")?.boolean()?,
            rate: node.field("rate")?.number()?,
            schedule: match schedule.as_text() {
                Some("constant") => Schedule::Constant,
                Some("inverse") => Schedule::Inverse,
                _ => Schedule::Halving(schedule.field("halving")?.field("first")?.count()?.max(1)),
            },
            repeats: node.maybe("repeats", |repeats| repeats.count())?,
            start: node
                .maybe("start", |start| Hyperplane::read(&start, features, true))?
                .unwrap_or(zero),
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
    u: &'a Hyperplane,
    gamma: f64,
    /// R.
    pub(crate) radius: Interval,
    /// D.
    pub(crate) slack: Interval,
    /// min yᵢu·x̃ᵢ.
    pub(crate) least: Interval,
    /// Whether each row is strictly on its side of u.
    pub(crate) separates: bool,
    /// a and A.
    weights: (f64, f64),
}

impl<'a> Quantities<'a> {
    pub(crate) fn new(
        rows: &TrainingRows,
        y: &[f64],
        run: &'a Conditions,
        u: &'a Hyperplane,
        gamma: f64,
    ) -> Self {
        let lift = f64::from(u8::from(run.intercept && !mutant::is(Mutant::NoLift)));
        let mut found = Quantities {
            run,
            u,
            gamma,
            radius: Interval::ZERO,
            slack: Interval::ZERO,
            least: Interval::point(f64::MAX),
            separates: true,
            weights: (f64::INFINITY, 0.0),
        };
        let mut slack = IntervalSum::default();
        for i in rows.counting() {
            let (row, c, y) = (rows.design.row(i), rows.weight(i), y[i]);
            let squares = row.values.iter().map(|&x| Interval::point(x).square());
            found.radius = found.radius.max(sum(squares.chain([Interval::point(lift)])));
            let product = y * u.score(row);
            found.least = Interval::new(found.least.lo.min(product.lo), found.least.hi.min(product.hi));
            found.separates &= u.sign(row) == y.total_cmp(&0.0);
            let (looks, low, high) = match run.multiset {
                true if c.fract() > 0.0 => (c.ceil(), c.fract(), if c > 1.0 { 1.0 } else { c }),
                true => (c, 1.0, 1.0),
                false => (1.0, c, c),
            };
            slack.add(looks * (Interval::point(gamma) - product).positive_part().square());
            found.weights = (found.weights.0.min(low), found.weights.1.max(high));
        }
        found.slack = slack.interval().sqrt().unless(Mutant::NoSlack);
        found.radius = found.radius.sqrt();
        found
    }

    /// γ and √k·D; γ − D and 0 if k is not known.
    fn margin_and_slack(&self) -> (Interval, Interval) {
        let gamma = Interval::point(self.gamma);
        match self.run.repeats {
            Some(repeats) => (gamma, Interval::point(repeats as f64).sqrt() * self.slack),
            None => (gamma - self.slack, Interval::ZERO),
        }
    }

    /// Whether no run makes more than this many updates.
    pub(crate) fn bounds(&self, most: f64) -> bool {
        let ((first, second), (margin, slack)) = (self.run.schedule.sums(most), self.margin_and_slack());
        let norm = self.u.lifted_norm().max(Interval::point(1.0));
        let excess = (norm * self.run.start.lifted_norm() - self.u.dot(&self.run.start)).positive_part();
        let gain = margin * (self.weights.0 * first);
        let loss = second.sqrt() * (self.weights.1 * (norm * self.radius + slack));
        let surplus = gain - loss - excess / Interval::point(self.run.rate);
        most >= 1.0 && margin.lo > 0.0 && surplus.lo >= 0.0
    }

    /// Whether weights after so many updates fulfil (2), and, if they are the last ones, (1).
    pub(crate) fn admits(&self, weights: &Hyperplane, updates: u64, last: bool) -> bool {
        let ((first, second), (margin, slack)) =
            (self.run.schedule.sums(updates as f64), self.margin_and_slack());
        let step = self.run.rate * (self.weights.1 * second.sqrt());
        let longest = self.run.start.lifted_norm() + step * self.radius;
        let progress =
            self.u.dot(&self.run.start) + self.run.rate * (margin * (self.weights.0 * first)) - step * slack;
        let error = ROUNDING * longest.hi;
        let of_last = !last || margin.lo <= 0.0 || progress.lo <= self.u.dot(weights).hi + error;
        of_last && weights.lifted_norm().lo <= longest.hi + error
    }
}

/// The rows that are not on their side. A score of 0 is a mistake, or else the positive side.
pub(crate) fn count_mistakes(
    plane: &Hyperplane,
    rows: &TrainingRows,
    y: &[f64],
    zero_is_positive: bool,
) -> usize {
    let wrong = |i: &usize| match plane.sign(rows.design.row(*i)) {
        Ordering::Equal => !zero_is_positive || y[*i] < 0.0,
        sign => sign != y[*i].total_cmp(&0.0),
    };
    rows.counting().filter(wrong).count()
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows) -> Reading<Verdict> {
    let (root, features) = (model.root(), model.schema.features);
    let (settings, fit, predictor) = (
        root.field("settings")?,
        root.field("fit")?,
        root.field("predictor")?,
    );
    let parts = Part::against_rest(model.classes().len());
    let claims = root.field("certificate")?.field("parts")?.items()?;
    if settings.field("family")?.text()? != "perceptrons" || parts.is_empty() || claims.len() != parts.len() {
        return Err(root.refuse("a mistake bound is claimed for another method, or not for each hyperplane"));
    }
    let multiset = settings.maybe("multiset", |node| node.boolean())? == Some(true);
    let worst = settings.maybe("rule", |rule| Ok(rule.as_text() == Some("worst")))? == Some(true);
    let passes = if worst {
        None
    } else {
        Some(fit.field("passes")?.count()?)
    };
    let starts = settings
        .maybe("start", |start| start.numbers())?
        .unwrap_or_default();
    let mut own_starts = starts.chunks((starts.len() / parts.len()).max(1));
    let planes = model.planes(parts.len())?;
    let (method, ties) = (settings.field("method")?.text()?, settings.field("ties")?.text()?);
    if !METHODS.contains(&method) || !["mistake", "positive"].contains(&ties) {
        return Err(settings.refuse("an unknown perceptron, or an unknown meaning of a score of 0"));
    }
    let mut verdict = Verdict::new(
        "that the run took place: updates, passes, examples, mistakes by pass; committees; history; digest",
    );
    let (mut total, mut mistakes) = (0u64, 0);
    for (k, (&part, claim)) in parts.iter().zip(&claims).enumerate() {
        let (y, name) = (part.targets(rows), part.label(model.classes()));
        let updates = claim.field("updates")?.count()?;
        total = total.saturating_add(updates);
        let (given, mut plane) = (own_starts.next(), None);
        if let Some(planes) = &planes {
            let found = Hyperplane::read(&planes[k], features, false)?;
            mistakes += count_mistakes(&found, rows, &y, ties == "positive");
            plane = Some(found);
        }
        let number = |name: &str| claim.maybe(name, |number| number.number());
        let (Some(margin), Some(bound)) = (number("margin")?, number("bound")?) else {
            verdict.state(name, "no bound is stated", Some(false));
            continue;
        };
        // A vector is not filled up to more columns than the file has weights.
        let u = Hyperplane::read(&claim.field("separator")?, features, plane.is_some())?;
        let conditions = claim.field("conditions")?;
        let run = Conditions::read(&conditions, features, multiset)?;
        let mut start = conditions.maybe("start", |start| start.field("weights")?.numbers())?;
        if let Some(start) = start.as_mut().filter(|_| run.intercept) {
            start.insert(0, run.start.intercept());
        }
        let same = |name: &str, setting: &str| Ok(conditions.field(name)? == settings.field(setting)?);
        let fits = start.as_deref() == given && run.repeats == passes;
        let fits = fits && same("intercept", "intercept")? && same("rate", "learning_rate")?;
        let objection = format!("{name}: the conditions of the run are not those of the settings");
        verdict.object_unless(fits && same("schedule", "schedule")?, objection);
        let mut all = [&u, &run.start].into_iter().chain(&plane);
        if !run.intercept && all.any(|plane| plane.intercept() != 0.0) {
            return Err(claim.refuse("a hyperplane has an intercept, and the run had none"));
        }
        let found = Quantities::new(rows, &y, &run, &u, margin);
        let (radius, slack) = (found.radius, found.slack);
        let (stated, error) = (claim.field("radius")?.number()?, ROUNDING * radius.hi);
        verdict.compare(&format!("{name}: the radius"), stated, radius, error);
        let stated = claim.field("slack")?.number()?;
        // A score is rounded by at most γ_{d+8}·R, and D is a norm of n slacks.
        let error = ROUNDING * slack.hi + gamma(features + 8) * radius.hi * (rows.len() as f64).sqrt();
        verdict.compare(&format!("{name}: the slack"), stated, slack, error);
        let norm = u.lifted_norm();
        let is_unit = norm == Interval::ZERO || (norm - Interval::point(1.0)).abs().hi <= ROUNDING;
        verdict.object_unless(is_unit, format!("{name}: the separator has another norm than 1"));
        let (radius, size) = (at_most(radius.hi), at_most(slack.hi));
        let text = format!(
            "no run under the stated conditions makes more than {bound:?} updates; {updates} are stated (R ≤ \
             {radius}, γ = {margin:?}, D ≤ {size})"
        );
        verdict.state(&name, text, Some(found.bounds(bound) && updates as f64 <= bound));
        if stated == 0.0 {
            let least = (found.least / norm).lo.next_down();
            let text = format!("the separator has each row on its side, and a margin of at least {least:?}");
            verdict.state(&name, text, Some(found.separates));
        }
        if let Some(plane) = &plane {
            let last = METHODS[..2].contains(&method);
            let objection = format!("{name}: a run with {updates} updates does not return these weights");
            verdict.object_unless(found.admits(plane, updates, last), objection);
        }
    }
    if planes.is_some() {
        let converged = fit.field("status")?.text()? == "Converged";
        let required = if converged {
            "must be 0"
        } else {
            "may be any number"
        };
        let text = format!("{mistakes} of the returned hyperplanes, by exact signs; they {required}");
        verdict.state("mistakes", text, Some(!converged || mistakes == 0));
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
