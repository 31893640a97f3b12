//! The claim `duality-gap`: each hyperplane (or one for each class) is within a tolerance of the optimum of its subproblem.
//! `gap.rs` has the proof. Here the claim and its hints are read, and what the file states is compared with what is proved.
//!
//! Stated numbers are rounded sums. They may deviate from proved ones by 1e-9 of the scale of the relative gap.

use crate::active_set;
use crate::arithmetic::{Interval, larger};
use crate::base64;
use crate::decimal::{at_most, enclosure, interval};
use crate::digits::{self, Digits};
use crate::gap::{self, Gap, Hints};
use crate::json::{Node, array, number, object};
use crate::model::Model;
use crate::problem::{Intercept, Loss, Problem};
use crate::reduction::{Part, Reduction};
use crate::regularized::Settings;
use crate::training_rows::TrainingRows;
use crate::unreadable::{Reading, require};
use crate::verdict::{Options, Verdict};

/// The largest deviation of a stated number that rounding explains. Heuristic: the errors of long sums of rounded terms are
/// about 1e-12 of the sum.
const ROUNDING: f64 = 1e-9;

/// What a model file claims about one subproblem.
pub(crate) struct Claim {
    pub(crate) primal: f64,
    dual: f64,
    gap: f64,
    relative_gap: f64,
    tol: f64,
    rows: u64,
    hints: Hints,
}

impl Claim {
    pub(crate) fn read_all(model: &Model) -> Reading<Vec<Claim>> {
        let parts = model.root().field("certificate")?.field("parts")?;
        parts.items()?.iter().map(Claim::read).collect()
    }

    fn read(part: &Node<'_>) -> Reading<Claim> {
        let point = part.field("dual_point")?;
        let shares = match point.as_text() {
            Some("slopes") => Vec::new(),
            Some(_) => return Err(point.refuse("an unknown dual point")),
            None => stored_shares(&point.field("stored")?)?,
        };
        let number = |name: &str| part.field(name)?.number();
        Ok(Claim {
            primal: number("primal")?,
            dual: number("dual")?,
            gap: number("gap")?,
            relative_gap: number("relative_gap")?,
            tol: number("tol")?,
            rows: part.field("rows")?.count()?,
            hints: Hints {
                shares,
                direction: part.maybe("direction", |node| node.numbers())?,
            },
        })
    }

    /// Objections to what is claimed about a subproblem with `rows` rows of positive weight.
    fn objections(&self, settings: &Settings, rows: u64, proved: &Gap, mut object: impl FnMut(bool, String)) {
        let (stated, chosen, tol) = (self.rows, settings.tol, self.tol);
        let message = format!("the claim is about {stated} rows, and these are {rows}");
        object(stated == rows, message);
        let message = format!("the tolerance is {tol:?} in the claim and {chosen:?} in the settings");
        object(tol == chosen, message);
        if !proved.gap.is_finite() {
            return;
        }
        let (primal, dual, gap, relative) = (self.primal, self.dual, self.gap, self.relative_gap);
        let Interval { lo, hi } = proved.primal;
        let slack = ROUNDING * proved.scale.max(hi.abs());
        let message = format!("P is stated to be {primal:?}, and lies between {lo:?} and {hi:?}");
        object(primal >= lo - slack && primal <= hi + slack, message);
        let message = format!("the lower bound {dual:?} is stated, and P is at most {hi:?}");
        object(dual <= hi + slack, message);
        let is_difference = gap >= -slack && (primal - dual - gap).abs() <= slack;
        object(is_difference, format!("the stated gap {gap:?} is not P − D"));
        let close = |scale: f64| (gap / scale - relative).abs() <= ROUNDING + 1e-6 * relative.abs();
        let message = format!("the stated relative gap {relative:?} is not the gap divided by its scale");
        object(close(proved.scale) || close(primal.abs().max(1.0)), message);
    }
}

/// Decodes stored multipliers: differences of row indices as varints, and shares as 16-bit fractions or binary64.
fn stored_shares(stored: &Node<'_>) -> Reading<Vec<(u64, f64)>> {
    let damaged = || stored.refuse("the stored multipliers are damaged");
    let decoded = |name: &str| base64::decode(stored.field(name)?.text()?).ok_or_else(damaged);
    let (rows, bytes) = (decoded("rows")?, decoded("shares")?);
    let rows = row_indices(&rows).ok_or_else(damaged)?;
    let ((halves, half_rest), (doubles, double_rest)) = (bytes.as_chunks::<2>(), bytes.as_chunks::<8>());
    let fraction = |half: &[u8; 2]| f64::from(u16::from_le_bytes(*half)) / f64::from(u16::MAX);
    let double = |double: &[u8; 8]| f64::from_le_bytes(*double);
    let (shares, rest): (Vec<f64>, _) = match stored.field("coarse")?.boolean()? {
        true => (halves.iter().map(fraction).collect(), half_rest),
        false => (doubles.iter().map(double).collect(), double_rest),
    };
    let fits = rest.is_empty() && rows.len() == shares.len() && shares.iter().all(|share| share.is_finite());
    let shares = || rows.into_iter().zip(shares).collect();
    fits.then(shares).ok_or_else(damaged)
}

/// Row indices from their differences, the first one from 0; `None` unless they increase strictly.
fn row_indices(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut rows: Vec<u64> = Vec::new();
    let (mut distance, mut shift) = (0u64, 0);
    for &byte in bytes {
        if shift > 56 {
            return None;
        }
        distance |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            rows.push(match rows.last() {
                Some(_) if distance == 0 => return None,
                last => last.copied().unwrap_or(0).checked_add(distance)?,
            });
            (distance, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(rows)
}

struct Proof {
    rows: u64,
    gap: Gap,
    digits: Option<Digits>,
}

pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let settings = Settings::read(&model.root().field("settings")?)?;
    let convex = !settings.firth && settings.loss != Loss::SigmoidMse;
    let refusal = "no gap can be claimed for this objective, which is not convex";
    require(convex, || refusal)?;
    let (claims, planes) = (Claim::read_all(model)?, model.hyperplanes()?);
    let reduction = Reduction::new(&settings, &model.schema, planes.len(), rows)?;
    let tol = options.tol.unwrap_or(settings.tol);
    let mut verdict = Verdict::new(
        "standard errors and other statistics, ties, status, notes, history, digest, iterations, numbers of multipliers",
    );
    reduction.objections(model, &planes, claims.len(), &mut verdict)?;
    verdict.state("objective", objective(&reduction.problem, reduction.c), None);
    let mut proofs = Vec::with_capacity(reduction.parts.len());
    for (index, &part) in reduction.parts.iter().enumerate() {
        let point = reduction.point(index, &planes);
        let (targets, weights) = (part.targets(rows), reduction.weights(part, rows));
        let sub = reduction.subproblem(rows, &targets, &weights, &point)?;
        let (claim, no_hints) = (claims.get(index), Hints::default());
        let proof = Proof {
            rows: sub.rows().count() as u64,
            gap: gap::prove(&sub, &point, claim.map_or(&no_hints, |claim| &claim.hints)),
            digits: match options.digits {
                true => digits::prove(&sub, &point).or_else(|| active_set::prove(&sub, &point)),
                false => None,
            },
        };
        if let Some(claim) = claim {
            claim.objections(&settings, proof.rows, &proof.gap, |agrees, objection| {
                verdict.object_unless(agrees, format!("subproblem {}: {objection}", index + 1));
            });
        }
        // A relative gap that is not a number is not within the tolerance.
        let within = Some(proof.gap.relative <= tol);
        verdict.state(part.label(model.classes()), describe(&proof), within);
        if options.digits {
            state_digits(model, &reduction, part, &proof, &mut verdict);
        }
        proofs.push(proof);
    }
    conclude(model, &proofs, tol, options.tol.is_some(), &mut verdict)?;
    Ok(verdict)
}

/// The result for all subproblems together, and the fields for JSON.
fn conclude(model: &Model, proofs: &[Proof], tol: f64, given: bool, verdict: &mut Verdict) -> Reading<()> {
    let gaps = || proofs.iter().map(|proof| &proof.gap);
    let worst = gaps().map(|gap| gap.relative).fold(0.0, larger);
    let bound = match worst.is_finite() {
        true => format!("the relative gap is at most {}", at_most(worst)),
        false => "no bound on the relative gap is known".into(),
    };
    let origin = if given { "given" } else { "of the model file" };
    verdict.summary = format!("{bound}; the tolerance is {tol:e} ({origin})");
    let primal: Interval = gaps().map(|gap| gap.primal).sum();
    let slack = ROUNDING * gaps().map(|gap| gap.scale.max(gap.primal.hi.abs())).sum::<f64>();
    let fit = model.root().field("fit")?;
    let stated = fit.maybe("objective", |node| node.number())?;
    if let Some(stated) = stated.filter(|_| worst.is_finite()) {
        verdict.compare("the objective", stated, primal, slack);
    }
    let gap: Interval = gaps().map(|gap| Interval::point(gap.gap)).sum();
    let primal = object([("lower", number(primal.lo)), ("upper", number(primal.hi))]);
    verdict.fields = vec![
        ("gap", number(gap.hi)),
        ("relative_gap", number(worst)),
        ("primal", primal),
        ("tol", number(tol)),
        ("parts", array(proofs.iter().map(part_json))),
    ];
    Ok(())
}

fn describe(proof: &Proof) -> String {
    let gap = &proof.gap;
    let mut text = format!(
        "{} rows: P {}; ",
        proof.rows,
        interval((gap.primal.lo, gap.primal.hi))
    );
    match gap.gap.is_finite() {
        true => {
            let (gap, relative) = (at_most(gap.gap), at_most(gap.relative));
            text += &format!("P − inf P at most {gap}; divided by max(P, min(1, 2⁻²⁰·S)) at most {relative}");
        }
        false => text += "no bound on P − inf P is known",
    }
    if let Some(distance) = gap.distance {
        text += &format!("; ‖w − w*‖ at most {}", at_most(distance));
    }
    text
}

pub(crate) fn objective(problem: &Problem, c: f64) -> String {
    let loss = match problem.loss {
        Loss::Squared => "½(y − z)²".into(),
        Loss::Logistic => "log(1 + e^(−yz))".into(),
        Loss::Hinge => "max(0, 1 − yz)".into(),
        Loss::SquaredHinge => "max(0, 1 − yz)²".into(),
        Loss::ModifiedHuber => "max(0, 1 − yz)², or −4yz where yz < −1".into(),
        Loss::Absolute => "|y − z|".into(),
        Loss::Quantile(q) => format!("max(q(y − z), (q − 1)(y − z)) with q = {q}"),
        Loss::Softmax => "log Σₖ e^(zₖ) − z_y".into(),
        Loss::SigmoidMse => "σ(−yz)²".into(),
    };
    let penalty = match (problem.l1 > 0.0, problem.l2 > 0.0) {
        (false, false) => String::new(),
        (true, false) => "‖w‖₁ + ".into(),
        (false, true) => "½‖w‖² + ".into(),
        (true, true) => format!("{}·‖w‖₁ + {}·½‖w‖² + ", problem.l1, problem.l2),
    };
    let intercept = match problem.intercept {
        Intercept::Free => "free intercept",
        Intercept::Penalized => "penalised intercept",
        Intercept::Absent => "no intercept",
    };
    format!("P = {penalty}Σ cᵢ ℓ(yᵢ, zᵢ), ℓ = {loss}, C = {c}, {intercept}")
}

fn names(model: &Model, reduction: &Reduction, part: Part) -> Vec<String> {
    let mut of_output = model.schema.feature_names();
    of_output.extend((reduction.problem.intercept != Intercept::Absent).then(|| "(intercept)".into()));
    match part {
        Part::Every => {
            let named = |class| of_output.iter().map(move |name| format!("{class}: {name}"));
            model.classes().iter().flat_map(named).collect()
        }
        _ => of_output,
    }
}

/// States what is proved about the optimum of a subproblem.
fn state_digits(model: &Model, reduction: &Reduction, part: Part, proof: &Proof, verdict: &mut Verdict) {
    let Some(digits) = &proof.digits else {
        return verdict.state("digits", "no digits of the optimum are proved", None);
    };
    let scaled = !model.schema.factors.is_empty();
    let columns = if scaled {
        " for the standardised columns"
    } else {
        ""
    };
    let text = format!("the optimum is unique, and its parameters{columns} are");
    verdict.state("digits", text, None);
    for (j, name) in names(model, reduction, part).iter().enumerate() {
        let ((high, low), radius) = (digits.centre[j], digits.radius[j]);
        let value = enclosure(high, low, radius);
        let value = value.unwrap_or_else(|| format!("0 ± {}", at_most(high.abs() + radius)));
        let mut text = format!("{name} = {value}");
        if let Some(errors) = &digits.standard_errors {
            text += &format!(", standard error {}", interval((errors[j].lo, errors[j].hi)));
        }
        verdict.state("", text, None);
    }
}

fn part_json(proof: &Proof) -> String {
    let pair = |a: f64, b: f64| array([a, b].map(number));
    let of_digits = |digits: &Digits| {
        let errors = digits.standard_errors.as_ref();
        let errors = errors.map(|errors| array(errors.iter().map(|se| pair(se.lo, se.hi))));
        let centre = array(digits.centre.iter().map(|&(high, low)| pair(high, low)));
        let radius = array(digits.radius.iter().map(|&radius| number(radius)));
        let errors = errors.unwrap_or("null".into());
        object([
            ("centre", centre),
            ("radius", radius),
            ("standard_errors", errors),
        ])
    };
    let (gap, digits) = (&proof.gap, proof.digits.as_ref().map(of_digits));
    object([
        ("rows", proof.rows.to_string()),
        ("primal", pair(gap.primal.lo, gap.primal.hi)),
        ("gap", number(gap.gap)),
        ("relative_gap", number(gap.relative)),
        ("distance", gap.distance.map_or("null".into(), number)),
        ("digits", digits.unwrap_or("null".into())),
    ])
}
