//! `wstar compare`: fits several methods to the same rows and compares their errors with the fewest errors of any
//! hyperplane.

use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};
use wstar::certificate::Certificate;
use wstar::data::Dataset;
use wstar::data::error::Error;
use wstar::data::read::Source;
use wstar::model::evaluate;
use wstar::separate::least_error::error_certificate::LeastError;
use wstar::settings::{Method, Options};
use wstar::{Model, fit};
use wstar_report::words::shortened;

use crate::answer::Answer;
use crate::args::CompareArgs;
use crate::output::{self, Style, count, number, percent, plural};
use crate::title::title;
use crate::watch::{Follower, Show, catch_interrupt};
use crate::wording::CommandLine;
use crate::{input, json as objects, weights};

/// The result of one method.
struct Compared {
    method: Method,
    outcome: Result<Fitted, Error>,
    seconds: f64,
}

struct Fitted {
    model: Model,
    /// Number of misclassified rows.
    errors: u64,
    /// Share of the total weight that is misclassified.
    error: f64,
}

pub(crate) fn run(args: &CompareArgs) -> Result<Answer> {
    if let Some(method) = args.methods.iter().find(|method| method.is_regression()) {
        let message = format!(
            "--method {} is for a real target, and has no classification errors",
            method.name()
        );
        return Err(Error::settings(message).into());
    }
    let settings = |method: Method| Options {
        max_seconds: Some(args.max_seconds),
        seed: args.seed,
        ..Options::of(method)
    };
    for &method in &args.methods {
        settings(method).for_method(method)?;
    }
    let source = Source::parse(&args.data)?;
    let data = input::read_classes(&source, &args.file, &args.columns)?;
    let (_, classes) = data.require_classes()?;
    let mut methods = args.methods.clone();
    if classes.len() > 2 && methods.contains(&Method::MinError) {
        output::complain(&format!(
            "min-error is for two classes, and there are {}: it is left out (--positive VALUE sets \
             one against the rest)",
            classes.len()
        ));
        methods.retain(|&method| method != Method::MinError);
    }
    catch_interrupt()?;
    let mut compared = Vec::new();
    for method in methods {
        let mut follower = Follower::new(if args.json { Show::Nothing } else { Show::Bar }, None)?;
        let started = Instant::now();
        let outcome = fit(&data, &settings(method), &mut follower).and_then(|model| judged(model, &data));
        compared.push(Compared {
            method,
            outcome,
            seconds: started.elapsed().as_secs_f64(),
        });
        follower.finish()?;
    }
    // If no method could be fitted, the first error is returned.
    if compared.iter().all(|one| one.outcome.is_err()) {
        if let Some(Compared {
            outcome: Err(error), ..
        }) = compared.into_iter().next()
        {
            return Err(error.in_file(source.name()).into());
        }
        return Err(Error::settings("there is no method left to compare").into());
    }
    if args.json {
        objects::print(&object(&data, &compared))?;
    } else {
        print(&title(&source), &data, &compared)?;
    }
    Ok(Answer::Yes)
}

/// The fewest errors of any hyperplane, if `min-error` is among the methods.
struct Least<'a> {
    claim: &'a LeastError,
    /// Least cost over all methods: under a time limit another method may find a better hyperplane than `min-error`.
    cost: f64,
    proved: bool,
}

fn least<'a>(data: &Dataset, compared: &'a [Compared]) -> Option<Least<'a>> {
    let fitted = || compared.iter().filter_map(|one| one.outcome.as_ref().ok());
    let claim = fitted().find_map(|fitted| match &fitted.model.certificate() {
        Certificate::MinError(claim) => Some(claim),
        _ => None,
    })?;
    // Only models with hyperplanes are comparable. If all weights are 1, the cost is the number of wrong rows.
    let total: f64 = data.weights().unwrap_or_default().iter().sum();
    let others = fitted()
        .filter(|fitted| fitted.model.predictor().hyperplanes().is_some())
        .map(|fitted| match data.weights() {
            None => fitted.errors as f64,
            Some(_) => fitted.error * total,
        });
    // The shares carry rounding errors, so a cost counts as smaller only beyond a relative difference of 1e-9.
    let cost = others.fold(
        claim.cost,
        |least, cost| if cost < least * (1.0 - 1e-9) { cost } else { least },
    );
    Some(Least {
        claim,
        cost,
        proved: cost <= claim.lower_bound * (1.0 + 1e-9),
    })
}

fn object(data: &Dataset, compared: &[Compared]) -> Value {
    let methods: Vec<Value> = compared
        .iter()
        .map(|one| match &one.outcome {
            Ok(fitted) => {
                let certificate = &fitted.model.certificate();
                json!({
                    "method": one.method,
                    "status": fitted.model.record().status,
                    "train": {"error": fitted.error, "errors": fitted.errors},
                    "certificate": objects::certificate(certificate, certificate.holds(), fitted.model.classes()),
                    "seconds": one.seconds,
                })
            }
            Err(error) => {
                json!({"method": one.method, "status": "Failed", "message": error.worded(&CommandLine), "seconds": one.seconds})
            }
        })
        .collect();
    let least = least(data, compared).map(|least| {
        json!({
            "errors": objects::whole(least.cost),
            "lower_bound": objects::whole(least.claim.lower_bound),
            "proved": least.proved,
        })
    });
    json!({
        "rows": data.rows(),
        "features": data.features(),
        "classes": data.classes(),
        "methods": methods,
        "least_error": least,
    })
}

fn print(title: &str, data: &Dataset, compared: &[Compared]) -> Result<()> {
    let style = Style::for_results();
    let mut results = output::results();
    let names = data.classes().map(|classes| classes.names()).unwrap_or_default();
    let classes: Vec<String> = names
        .iter()
        .zip(data.class_counts())
        .map(|(name, rows)| format!("{name} {}", count(rows as u64)))
        .collect();
    writeln!(
        results,
        "{}: {} × {}, {} classes ({})",
        style.strong(title),
        plural(data.rows() as u64, "row"),
        plural(data.features() as u64, "feature"),
        classes.len(),
        shortened(&classes, 12),
    )?;
    writeln!(results)?;
    let least = least(data, compared);
    let head = [
        "",
        "errors",
        "of the rows",
        "above the least",
        "certificate",
        "",
        "seconds",
    ];
    let mut table = vec![head.map(str::to_string).to_vec()];
    for one in compared {
        table.push(match &one.outcome {
            Ok(fitted) => row(one, fitted, data, least.as_ref()),
            Err(_) => vec![one.method.name().into(), "failed".into()],
        });
    }
    results.write_all(weights::table(&table).as_bytes())?;
    writeln!(results)?;
    if let Some(Least { claim, cost, proved }) = least {
        let (bound, cost) = (number(claim.lower_bound), number(cost));
        let text = match proved {
            true if claim.errors == 0 => style.good("the classes can be separated: the least error is 0"),
            true => style.good(&format!(
                "no hyperplane has an error below {cost}: proved by {}",
                claim.proof.name()
            )),
            false => style.bad(&format!(
                "the least error is between {bound} and {cost}: more --max-seconds may prove more"
            )),
        };
        writeln!(results, "  {text}")?;
    }
    results.flush()?;
    drop(results);
    for one in compared {
        if let Err(error) = &one.outcome {
            output::complain(&format!("{}: {}", one.method.name(), error.worded(&CommandLine)));
        }
    }
    Ok(())
}

fn row(one: &Compared, fitted: &Fitted, data: &Dataset, least: Option<&Least<'_>>) -> Vec<String> {
    // The bound is a cost and `errors` a count; they are comparable only if all weights are 1.
    let above = least.filter(|_| data.weights().is_none()).map(|least| {
        let most = fitted.errors as f64 - least.claim.lower_bound;
        match least.proved || most == 0.0 {
            true => number(most),
            false => format!("at most {}", count(most as u64)),
        }
    });
    let certificate = &fitted.model.certificate();
    vec![
        one.method.name().into(),
        count(fitted.errors),
        percent(fitted.error),
        above.unwrap_or_default(),
        certificate.kind().into(),
        if certificate.holds() { "holds" } else { "open" }.into(),
        format!("{:.3}", one.seconds),
    ]
}

fn judged(model: Model, data: &Dataset) -> Result<Fitted, Error> {
    let (codes, _) = data.require_classes()?;
    let predicted = model.classify(data)?;
    let wrong = (0..codes.len()).filter(|&i| data.weight(i) > 0.0 && predicted[i] != codes[i]);
    Ok(Fitted {
        errors: wrong.count() as u64,
        error: evaluate(&model, data)?.error(),
        model,
    })
}
