//! The claim `duality-gap`: each hyperplane (or one for each class) is within a tolerance of the optimum of its subproblem.
//! `gap.rs` has the proof. Here the claim and its hints are read, and what the file states is compared with what is proved.
//!
//! Stated numbers are rounded sums. They may deviate from proved ones by 1e-9 of the scale of the relative gap.

use crate::active_set;
use crate::base64;
use crate::decimal::{at_most, enclosure, interval};
use crate::digits::{self, Digits};
use crate::gap::{self, Gap, Hints};
use crate::json::{Node, number};
use crate::model::Model;
use crate::problem::{Intercept, Loss, Problem};
use crate::reduction::{Part, Reduction};
use crate::regularized::Settings;
use crate::training_rows::TrainingRows;
use crate::unreadable::{Reading, Unreadable};
use crate::verdict::{Options, Verdict};

/// The largest deviation of a stated number that rounding explains. Heuristic: the errors of long sums of rounded terms are
/// about 1e-12 of the sum.
const ROUNDING: f64 = 1e-9;

/// What a model file claims about one subproblem.
#[derive(Debug, Clone)]
pub struct Claim {
    /// P.
    pub primal: f64,
    dual: f64,
    gap: f64,
    relative_gap: f64,
    tol: f64,
    rows: u64,
    hints: Hints,
}

impl Claim {
    /// Reads the claims about all subproblems.
    pub fn read_all(model: &Model) -> Reading<Vec<Claim>> {
        let certificate = model.root().field("certificate")?;
        certificate
            .field("parts")?
            .items()?
            .iter()
            .map(Claim::read)
            .collect()
    }

    fn read(part: &Node<'_>) -> Reading<Claim> {
        let point = part.field("dual_point")?;
        let shares = match point.as_text() {
            Some("slopes") => Vec::new(),
            Some(_) => return Err(point.refuse("an unknown dual point")),
            None => stored_shares(&point.field("stored")?)?,
        };
        let direction = part.optional("direction")?;
        Ok(Claim {
            primal: part.field("primal")?.number()?,
            dual: part.field("dual")?.number()?,
            gap: part.field("gap")?.number()?,
            relative_gap: part.field("relative_gap")?.number()?,
            tol: part.field("tol")?.number()?,
            rows: part.field("rows")?.count()?,
            hints: Hints {
                shares,
                direction: direction.map(|node| node.numbers()).transpose()?,
            },
        })
    }

    /// Objections to what is claimed about a subproblem with `rows` rows of positive weight.
    fn objections(&self, settings: &Settings, rows: u64, gap: &Gap) -> Vec<String> {
        let (low, high) = gap.primal;
        let slack = ROUNDING * gap.scale.max(high.abs());
        let close = |scale: f64| {
            (self.gap / scale - self.relative_gap).abs() <= ROUNDING + 1e-6 * self.relative_gap.abs()
        };
        let known = gap.gap.is_finite();
        [
            (
                self.rows == rows,
                format!("the claim is about {} rows, and these are {rows}", self.rows),
            ),
            (
                self.tol == settings.tol,
                format!(
                    "the tolerance is {:?} in the claim and {:?} in the settings",
                    self.tol, settings.tol
                ),
            ),
            (
                !known || (self.primal >= low - slack && self.primal <= high + slack),
                format!(
                    "P is stated to be {:?}, and lies between {low:?} and {high:?}",
                    self.primal
                ),
            ),
            (
                !known || self.dual <= high + slack,
                format!(
                    "the lower bound {:?} is stated, and P is at most {high:?}",
                    self.dual
                ),
            ),
            (
                !known || (self.gap >= -slack && (self.primal - self.dual - self.gap).abs() <= slack),
                format!("the stated gap {:?} is not P − D", self.gap),
            ),
            (
                !known || close(gap.scale) || close(self.primal.abs().max(1.0)),
                format!(
                    "the stated relative gap {:?} is not the gap divided by its scale",
                    self.relative_gap
                ),
            ),
        ]
        .into_iter()
        .filter_map(|(agrees, objection)| (!agrees).then_some(objection))
        .collect()
    }
}

/// Decodes stored multipliers: differences of row indices as varints, and shares as 16-bit fractions or binary64.
fn stored_shares(stored: &Node<'_>) -> Reading<Vec<(u64, f64)>> {
    let damaged = || stored.refuse("the stored multipliers are damaged");
    let decoded = |name: &str| base64::decode(stored.field(name)?.text()?).ok_or_else(damaged);
    let (rows, shares) = (decoded("rows")?, decoded("shares")?);
    let rows = row_indices(&rows).ok_or_else(damaged)?;
    let coarse = stored.field("coarse")?.boolean()?;
    let (halves, half_rest) = shares.as_chunks::<2>();
    let (doubles, double_rest) = shares.as_chunks::<8>();
    let whole = f64::from(u16::MAX);
    let shares: Vec<f64> = match coarse {
        true => halves
            .iter()
            .map(|bytes| f64::from(u16::from_le_bytes(*bytes)) / whole)
            .collect(),
        false => doubles.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
    };
    let rest = if coarse { half_rest } else { double_rest };
    if !rest.is_empty() || rows.len() != shares.len() || shares.iter().any(|share| !share.is_finite()) {
        return Err(damaged());
    }
    Ok(rows.into_iter().zip(shares).collect())
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

/// What is proved about one subproblem.
struct Proof {
    part: Part,
    rows: u64,
    gap: Gap,
    digits: Option<Digits>,
}

/// Checks the claim.
pub(crate) fn check(model: &Model, rows: &TrainingRows, options: Options) -> Reading<Verdict> {
    let settings = Settings::read(&model.root().field("settings")?)?;
    if settings.firth || settings.loss == Loss::SigmoidMse {
        return Err(Unreadable::new(
            "no gap can be claimed for this objective, which is not convex",
        ));
    }
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
        let claim = claims.get(index);
        let hints = claim.map(|claim| claim.hints.clone()).unwrap_or_default();
        let proof = Proof {
            part,
            rows: weights.iter().filter(|weight| **weight > 0.0).count() as u64,
            gap: gap::prove(&sub, &point, &hints),
            digits: match options.digits {
                true => digits::prove(&sub, &point).or_else(|| active_set::prove(&sub, &point)),
                false => None,
            },
        };
        let objections = claim.map(|claim| claim.objections(&settings, proof.rows, &proof.gap));
        for objection in objections.into_iter().flatten() {
            verdict
                .objections
                .push(format!("subproblem {}: {objection}", index + 1));
        }
        // A relative gap that is not a number is not within the tolerance.
        let within = Some(proof.gap.relative <= tol);
        verdict.state(part.label(model.classes()), describe(&proof), within);
        if options.digits {
            for (label, what) in digit_lines(model, &reduction, &proof) {
                verdict.state(label, what, None);
            }
        }
        proofs.push(proof);
    }
    conclude(model, &proofs, tol, options.tol.is_some(), &mut verdict)?;
    Ok(verdict)
}

/// The result for all subproblems together, and the fields for JSON.
fn conclude(model: &Model, proofs: &[Proof], tol: f64, given: bool, verdict: &mut Verdict) -> Reading<()> {
    let gaps = || proofs.iter().map(|proof| &proof.gap);
    let worst = gaps()
        .map(|gap| gap.relative)
        .fold(0.0, crate::arithmetic::larger);
    let origin = if given { "given" } else { "of the model file" };
    verdict.summary = match worst.is_finite() {
        true => format!(
            "the relative gap is at most {}; the tolerance is {tol:e} ({origin})",
            at_most(worst)
        ),
        false => format!("no bound on the relative gap is known; the tolerance is {tol:e} ({origin})"),
    };
    // A sum of n bounds is rounded up by n units in the last place.
    let up = 1.0 + f64::EPSILON * (proofs.len() + 1) as f64;
    let sum = |of: fn(&Gap) -> f64| gaps().map(of).sum::<f64>();
    let (lower, upper) = (sum(|gap| gap.primal.0) / up, sum(|gap| gap.primal.1) * up);
    let slack = ROUNDING * sum(|gap| gap.scale.max(gap.primal.1.abs()));
    let stated = model.root().field("fit")?.optional("objective")?;
    if let Some(stated) = stated
        .map(|node| node.number())
        .transpose()?
        .filter(|_| worst.is_finite())
    {
        let agrees = stated >= lower - slack && stated <= upper + slack;
        verdict.object_unless(
            agrees,
            format!("the objective is stated to be {stated:?}, and lies between {lower:?} and {upper:?}"),
        );
    }
    let ends = format!("{{\"lower\":{},\"upper\":{}}}", number(lower), number(upper));
    verdict.fields = vec![
        ("gap", number(sum(|gap| gap.gap) * up)),
        ("relative_gap", number(worst)),
        ("primal", ends),
        ("tol", number(tol)),
        (
            "parts",
            format!("[{}]", proofs.iter().map(part_json).collect::<Vec<_>>().join(",")),
        ),
    ];
    Ok(())
}

/// What is proved about a subproblem in words.
fn describe(proof: &Proof) -> String {
    let bounds = match proof.gap.gap.is_finite() {
        true => format!(
            "P − inf P at most {}; divided by max(P, min(1, 2⁻²⁰·S)) at most {}",
            at_most(proof.gap.gap),
            at_most(proof.gap.relative)
        ),
        false => "no bound on P − inf P is known".into(),
    };
    let distance = proof.gap.distance;
    let distance = distance.map_or(String::new(), |bound| {
        format!("; ‖w − w*‖ at most {}", at_most(bound))
    });
    let primal = interval(proof.gap.primal);
    format!("{} rows: P {primal}; {bounds}{distance}", proof.rows)
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

/// The names of the parameters of a subproblem.
fn names(model: &Model, reduction: &Reduction, proof: &Proof) -> Vec<String> {
    let outputs = if proof.part == Part::Every {
        model.classes().len()
    } else {
        1
    };
    let features = model.schema.feature_names();
    let mut names = Vec::new();
    for output in 0..outputs {
        let class = match outputs {
            1 => String::new(),
            _ => format!("{}: ", model.classes()[output]),
        };
        names.extend(features.iter().map(|feature| format!("{class}{feature}")));
        if reduction.problem.intercept != Intercept::Absent {
            names.push(format!("{class}(intercept)"));
        }
    }
    names
}

fn digit_lines(model: &Model, reduction: &Reduction, proof: &Proof) -> Vec<(String, String)> {
    let Some(Digits {
        centre,
        radius,
        standard_errors,
    }) = &proof.digits
    else {
        return vec![("digits".into(), "no digits of the optimum are proved".into())];
    };
    let names = names(model, reduction, proof);
    let mut lines = vec![(
        "digits".into(),
        match model.schema.factors.is_empty() {
            true => "the optimum is unique, and its parameters are".into(),
            false => "the optimum is unique, and its parameters for the standardised columns are".into(),
        },
    )];
    for (j, (&(high, low), &radius)) in centre.iter().zip(radius).enumerate() {
        let name = names.get(j).map_or("", String::as_str);
        let value =
            enclosure(high, low, radius).unwrap_or_else(|| format!("0 ± {}", at_most(high.abs() + radius)));
        let error = standard_errors.as_ref().and_then(|errors| errors.get(j));
        let error = error.map_or(String::new(), |&ends| {
            format!(", standard error {}", interval(ends))
        });
        lines.push((String::new(), format!("{name} = {value}{error}")));
    }
    lines
}

fn pairs<'a>(values: impl Iterator<Item = &'a (f64, f64)>) -> String {
    let pair = |(a, b): &(f64, f64)| format!("[{},{}]", number(*a), number(*b));
    format!("[{}]", values.map(pair).collect::<Vec<_>>().join(","))
}

/// What is proved about a subproblem as JSON.
fn part_json(proof: &Proof) -> String {
    let digits = proof.digits.as_ref().map_or("null".into(), |digits| {
        let radius: Vec<String> = digits.radius.iter().map(|radius| number(*radius)).collect();
        let errors = digits.standard_errors.as_ref();
        format!(
            "{{\"centre\":{},\"radius\":[{}],\"standard_errors\":{}}}",
            pairs(digits.centre.iter()),
            radius.join(","),
            errors.map_or("null".into(), |errors| pairs(errors.iter()))
        )
    });
    format!(
        "{{\"rows\":{},\"primal\":[{},{}],\"gap\":{},\"relative_gap\":{},\"distance\":{},\"digits\":{digits}}}",
        proof.rows,
        number(proof.gap.primal.0),
        number(proof.gap.primal.1),
        number(proof.gap.gap),
        number(proof.gap.relative),
        proof.gap.distance.map_or("null".into(), number)
    )
}
