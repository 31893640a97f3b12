//! One-sentence statements of certificates.

use wstar::certificate::{Certificate, MistakeBound};
use wstar::certify::duality::DualityGap;
use wstar::data::Classes;
use wstar::separate::least_error::error_certificate::{ErrorProof, LeastError};
use wstar::separate::margin::margin_certificate::LargestMargin;

use crate::words::{count, number, plural, shortened};

/// States in words what a certificate claims.
pub fn claim(certificate: &Certificate, classes: &Classes) -> String {
    match certificate {
        Certificate::MistakeBound { parts } => match parts.as_slice() {
            [part] => mistakes(part),
            parts => {
                let within = parts.iter().filter(|part| part.holds()).count();
                let tightest = parts
                    .iter()
                    .zip(classes.names())
                    .filter(|(part, _)| part.bound.is_some())
                    .min_by(|(a, _), (b, _)| {
                        a.bound.partial_cmp(&b.bound).unwrap_or(std::cmp::Ordering::Equal)
                    });
                let example = tightest
                    .map(|(part, class)| format!("; {class}: {}", mistakes(part)))
                    .unwrap_or_default();
                format!(
                    "{within} of {} discriminants within their mistake bounds{example}",
                    parts.len()
                )
            }
        },
        Certificate::Separation { parts } => {
            let texts: Vec<String> = parts
                .iter()
                .enumerate()
                .map(|(k, part)| {
                    let class = subproblem(k, parts.len(), classes);
                    if part.lower > 0.0 {
                        format!(
                            "{class}margin {}, and no hyperplane has more than {}",
                            number(part.lower),
                            number(part.upper)
                        )
                    } else {
                        format!(
                            "{class}not separated; no hyperplane has a margin above {}",
                            number(part.upper)
                        )
                    }
                })
                .collect();
            texts.join("; ")
        }
        Certificate::MaximumLikelihood {
            deviation,
            log_likelihood,
        } => format!(
            "every parameter is the maximum-likelihood estimate, to {} (log-likelihood {})",
            number(*deviation),
            number(*log_likelihood)
        ),
        Certificate::EnclosingBall { radii, relative_gap } => {
            let texts: Vec<String> = radii
                .iter()
                .zip(classes.names())
                .map(|((_, upper), class)| format!("{class} {}", number(*upper)))
                .collect();
            format!(
                "smallest enclosing balls, to {}: radius {}",
                number(*relative_gap),
                shortened(&texts, 10)
            )
        }
        Certificate::DualityGap { parts } => {
            let (primal, dual) = parts
                .iter()
                .fold((0.0, 0.0), |(p, d), part| (p + part.primal, d + part.dual));
            let worst = parts
                .iter()
                .map(|part| part.relative_gap)
                .fold(f64::MIN, f64::max);
            if !parts.iter().all(DualityGap::is_bound) {
                return "no bound on the distance to the optimum is known".into();
            }
            let of = match parts.len() {
                1 => String::new(),
                parts => format!(" in each of {parts} problems"),
            };
            let reach = parts.iter().filter_map(|part| part.reach).reduce(f64::min);
            let among = reach.map_or_else(String::new, |reach| {
                format!("; columns are dependent up to rounding, so only weights up to {reach} times as large are covered")
            });
            format!(
                "within {} of the optimum{of} (P {primal:.10}, D {dual:.10}){among}",
                number(worst.max(0.0)),
            )
        }
        Certificate::Stationarity { parts } => {
            let slope = parts.iter().map(|part| part.slope).fold(0.0, f64::max);
            format!(
                "stationary to {}: the loss is not convex, so no more can be claimed",
                number(slope)
            )
        }
        Certificate::MinError(part) => least_error(part),
        Certificate::HardMargin { parts } => largest_margins(parts, classes),
        Certificate::None => "the data were read only once; `wstar verify` needs them again".into(),
        _ => format!("a claim of the kind {}", certificate.kind()),
    }
}

/// The head of the claim of subproblem k of several; empty if there is one.
fn subproblem(k: usize, subproblems: usize, classes: &Classes) -> String {
    match classes.names().get(k) {
        Some(class) if subproblems > 1 => format!("{class} against the rest: "),
        _ => String::new(),
    }
}

fn largest_margins(parts: &[LargestMargin], classes: &Classes) -> String {
    let texts: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(k, part)| {
            let class = subproblem(k, parts.len(), classes);
            format!(
                "{class}margin {} (1/‖w‖; {} between the classes, 2/‖w‖), the largest to {}",
                number(part.distance()),
                number(part.width()),
                number(part.relative_gap.max(0.0))
            )
        })
        .collect();
    texts.join("; ")
}

fn least_error(part: &LeastError) -> String {
    let made = match part.cost == part.errors as f64 {
        true => plural(part.errors, "error"),
        false => format!("{} that cost {}", plural(part.errors, "error"), number(part.cost)),
    };
    if !part.holds() {
        let bound = number(part.lower_bound);
        return format!("{made}, and every hyperplane has an error of at least {bound}");
    }
    if part.errors == 0 {
        return "no errors: the hyperplane separates the classes".into();
    }
    let by = match &part.proof {
        ErrorProof::Circuits(tree) => plural(tree.circuits.len() as u64, "circuit"),
        other => other.name().into(),
    };
    format!("{made}, and no hyperplane does better (proved by {by})")
}

fn mistakes(part: &MistakeBound) -> String {
    let Some((bound, margin)) = part.bound.zip(part.margin) else {
        return format!("{}, and no bound is known", plural(part.updates, "update"));
    };
    let most = if bound < 1e15 {
        count(bound.floor() as u64)
    } else {
        number(bound)
    };
    let formula = match (part.separable(), part.conditions.start.is_some()) {
        (_, true) => "from its starting point",
        (true, _) => "R²/γ²",
        (false, _) => "(R + √k·D)²/γ²",
    };
    let mut text = format!(
        "{} made, at most {most} possible ({formula}, R = {}, γ = {}",
        plural(part.updates, "update"),
        number(part.radius),
        number(margin)
    );
    if !part.separable() {
        text += &format!(", D = {}", number(part.slack));
    }
    text + ")"
}
