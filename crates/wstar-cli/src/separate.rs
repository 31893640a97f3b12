//! `wstar separate`: decides whether classes are separable, and prints the proof.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use wstar::data::error::Error;
use wstar::data::linear::Hyperplane;
use wstar::data::read::Source;
use wstar::data::run::Budget;
use wstar::data::{Classes, Dataset};
use wstar::separate::margin::{Question, Separated, separate_classes};
use wstar::separate::proof::{Proof, Sides, Verdict};

use crate::answer::Answer;
use crate::args::SeparateArgs;
use crate::output::{self, Style, count, number, plural};
use crate::title::title;
use crate::watch::{self, Follower, Show};
use crate::{input, json, weights};

/// Number of features whose weights are printed. Cap: further features are only counted.
const MOST_SHOWN: usize = 12;
/// Number of points of a circuit that are printed. Cap: further points are abbreviated by "…".
const MOST_POINTS: usize = 8;

/// The two sides of one question, and its result.
struct Asked {
    sides: Sides,
    found: Separated,
}

pub(crate) fn run(args: &SeparateArgs) -> Result<Answer> {
    let start = Instant::now();
    let source = Source::parse(&args.data)?;
    let data = input::read_classes(&source, &args.file, &args.columns)?;
    let (_, classes) = data.require_classes()?;
    let read = start.elapsed();
    let asked = questions(args, &data, classes)?;
    let several = asked.len() > 1;
    if several && args.proof.is_some() {
        bail!(
            "--proof holds one proof, and there are {} questions (choose two classes with --pair A,B, or one against the rest with --positive)",
            asked.len()
        );
    }
    watch::catch_interrupt()?;
    let show = if args.json || args.quiet {
        Show::Nothing
    } else {
        Show::Bar
    };
    let mut watcher = Follower::new(show, None)?;
    let budget = Budget {
        max_time: args.max_seconds.map(seconds).transpose()?,
        ..Budget::default()
    };
    let mut answers = Vec::new();
    for sides in asked {
        let intercept = !args.no_intercept;
        let found = separate_classes(&data, sides, intercept, Question::Margin, budget, &mut watcher)?;
        answers.push(Asked { sides, found });
    }
    watcher.finish()?;
    let took = Took {
        read,
        total: start.elapsed(),
    };
    if let (Some(path), [only]) = (&args.proof, answers.as_slice()) {
        save(only, path)?;
    }
    let decided = answers.iter().all(|asked| asked.found.proof.is_some());
    match answers.as_slice() {
        [only] if args.json => json::print(&Value::Object(object(only, &took, true)))?,
        all if args.json => json::print(&objects(all, classes, &took))?,
        _ if args.quiet => {}
        [only] => print(only, &data, classes, args, &source)?,
        all => print_table(all, &data, classes, &source)?,
    }
    Ok(Answer::from(decided))
}

struct Took {
    read: Duration,
    total: Duration,
}

impl Took {
    fn json(&self) -> Value {
        json!({"read": self.read.as_secs_f64(),
               "solve": (self.total - self.read).as_secs_f64(),
               "total": self.total.as_secs_f64()})
    }
}

fn seconds(seconds: f64) -> Result<Duration> {
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if seconds > 0.0 => Ok(duration),
        _ => bail!("--max-seconds must be a positive number, not {seconds}"),
    }
}

/// The pairs of sides whose separability is decided.
fn questions(args: &SeparateArgs, data: &Dataset, classes: &Classes) -> Result<Vec<Sides>> {
    let count = classes.len() as u32;
    if count < 2 {
        return Err(
            Error::data("every row has the same class: there is nothing to separate")
                .in_file(data.source())
                .into(),
        );
    }
    if let Some(pair) = &args.pair {
        let code = |name: &str| {
            let known = (0..count).find(|&code| classes.name(code) == name);
            known.ok_or_else(|| {
                Error::data(format!("there is no class {name:?}"))
                    .remedy(format!("the classes are {}", classes.names().join(", ")))
                    .in_file(data.source())
            })
        };
        let [negative, positive] = pair.as_slice() else {
            bail!(
                "--pair takes two classes with a comma between, not {}",
                pair.len()
            );
        };
        if negative == positive {
            bail!("--pair takes two different classes");
        }
        let (positive, negative) = (code(positive)?, Some(code(negative)?));
        return Ok(vec![Sides { positive, negative }]);
    }
    if count == 2 {
        return Ok(vec![Sides {
            positive: 1,
            negative: None,
        }]);
    }
    let pairs = (0..count).flat_map(|negative| {
        (negative + 1..count).map(move |positive| Sides {
            positive,
            negative: Some(negative),
        })
    });
    let rests = (0..count).map(|positive| Sides {
        positive,
        negative: None,
    });
    Ok(pairs.chain(rests).collect())
}

fn save(asked: &Asked, path: &Path) -> Result<()> {
    match &asked.found.proof {
        Some(proof) => Ok(proof.save(path)?),
        None => {
            output::complain(&format!(
                "{}: not written, because nothing was proved",
                path.display()
            ));
            Ok(())
        }
    }
}

fn object(asked: &Asked, took: &Took, whole: bool) -> Map<String, Value> {
    let mut object = Map::new();
    let Some(proof) = &asked.found.proof else {
        object.insert("verdict".into(), "undecided".into());
        object.insert("status".into(), json!(asked.found.status));
        object.insert("seconds".into(), took.json());
        return object;
    };
    object.insert("verdict".into(), proof.verdict.name().into());
    object.insert(
        "classes".into(),
        json!([proof.classes.negative, proof.classes.positive]),
    );
    object.insert("margin".into(), json!(proof.margin));
    if let Some(plane) = proof.hyperplane.as_ref().filter(|_| whole) {
        object.insert("weights".into(), json!(plane.weights));
        object.insert("intercept".into(), json!(plane.intercept));
    }
    if let Some(combination) = &proof.proof {
        let mut shown = json!({"points": combination.points, "exact": combination.exact});
        if whole {
            shown["weights"] = json!(combination.weights);
        }
        object.insert("proof".into(), shown);
    }
    if whole {
        object.insert("passes".into(), asked.found.passes.into());
        object.insert("seconds".into(), took.json());
    }
    object
}

/// Several verdicts as JSON, without weights; a single verdict includes them.
fn objects(all: &[Asked], classes: &Classes, took: &Took) -> Value {
    let (pairs, rests): (Vec<&Asked>, Vec<&Asked>) =
        all.iter().partition(|asked| asked.sides.negative.is_some());
    let list = |some: Vec<&Asked>| -> Vec<Value> {
        some.into_iter()
            .map(|asked| {
                let mut object = object(asked, took, false);
                let sides = asked.sides.names(classes);
                object.insert("classes".into(), json!([sides.negative, sides.positive]));
                object.remove("seconds");
                Value::Object(object)
            })
            .collect()
    };
    json!({"classes": classes.names(), "pairs": list(pairs), "against_rest": list(rests), "seconds": took.json()})
}

fn heading(data: &Dataset, classes: &Classes, source: &Source) -> String {
    format!(
        "{}: {} × {}, {}",
        title(source),
        plural(data.rows() as u64, "row"),
        plural(data.features() as u64, "feature"),
        plural(classes.len() as u64, "class"),
    )
}

fn print(
    asked: &Asked,
    data: &Dataset,
    classes: &Classes,
    args: &SeparateArgs,
    source: &Source,
) -> Result<()> {
    let style = Style::for_results();
    let mut results = output::results();
    writeln!(results, "{}", heading(data, classes, source))?;
    writeln!(results)?;
    let Some(proof) = &asked.found.proof else {
        writeln!(
            results,
            "  {}   {}",
            style.bad("undecided"),
            undecided(&asked.found)
        )?;
        results.flush()?;
        return Ok(());
    };
    let (positive, negative) = (&proof.classes.positive, &proof.classes.negative);
    let (word, meaning) = match proof.verdict {
        Verdict::Separable => (
            style.good("separable"),
            format!("a hyperplane has {positive} on one side and {negative} on the other"),
        ),
        Verdict::QuasiSeparable => (
            style.strong("quasi-separable"),
            format!(
                "a hyperplane has no {positive} or {negative} on the wrong side, but every such hyperplane contains some"
            ),
        ),
        Verdict::Inseparable => (
            style.strong("inseparable"),
            format!("every hyperplane has some {positive} or {negative} on the wrong side"),
        ),
    };
    writeln!(results, "  {word}   {meaning}")?;
    let mut lines = vec![("proof", evidence(proof, data))];
    if proof.verdict == Verdict::Separable {
        lines.insert(0, ("margin", interval(proof)));
    } else {
        lines.push((
            "so",
            match proof.verdict {
                Verdict::Inseparable => "a logistic fit exists without a penalty too; a hard margin does not".into(),
                _ => "neither a logistic fit without a penalty nor a hard margin exists (use --penalty l2, or --firth)".into(),
            },
        ));
    }
    for (name, text) in lines {
        writeln!(results, "  {name:<8} {text}")?;
    }
    if let Some(plane) = &asked.found.hyperplane {
        writeln!(results)?;
        results.write_all(plane_table(plane, data).as_bytes())?;
    }
    if let Some(path) = &args.proof {
        writeln!(
            results,
            "\nproof: {}          next: wstar verify {} {}",
            path.display(),
            path.display(),
            args.data
        )?;
    }
    results.flush()?;
    Ok(())
}

fn undecided(found: &Separated) -> String {
    format!(
        "neither a hyperplane nor a proof that there is none was found ({}, {} over the data)",
        found.status.in_words(),
        plural(found.passes, "pass")
    )
}

fn interval(proof: &Proof) -> String {
    format!(
        "{} to the nearest point, and no hyperplane has more than {}",
        number(proof.margin.lower),
        number(proof.margin.upper)
    )
}

/// Describes the proof of the verdict in one sentence.
fn evidence(proof: &Proof, data: &Dataset) -> String {
    let Some(combination) = &proof.proof else {
        return format!(
            "the sides of all {} were checked exactly",
            plural(data.rows() as u64, "row")
        );
    };
    let rows: Vec<String> = combination
        .points
        .iter()
        .take(MOST_POINTS)
        .map(ToString::to_string)
        .collect();
    let more = if combination.points.len() > MOST_POINTS {
        ", …"
    } else {
        ""
    };
    let how = if combination.exact {
        "in exact integer arithmetic".to_owned()
    } else {
        format!("to {}", number(proof.margin.upper))
    };
    let spans = match proof.verdict {
        Verdict::Inseparable => "; their span is that of all rows",
        _ => "",
    };
    format!(
        "means of {} of both classes coincide, {how} (rows {}{more}){spans}",
        plural(combination.points.len() as u64, "point"),
        rows.join(", ")
    )
}

fn plane_table(plane: &Hyperplane, data: &Dataset) -> String {
    let mut entries: Vec<(usize, f64)> = plane.weights.iter().copied().enumerate().collect();
    entries.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let used = entries.iter().filter(|(_, weight)| *weight != 0.0).count();
    let mut table = vec![vec!["hyperplane".to_owned(), "weight".to_owned()]];
    for (j, weight) in entries.into_iter().take(MOST_SHOWN.min(used)) {
        table.push(vec![data.schema().feature_name(j), number(weight)]);
    }
    if used > MOST_SHOWN {
        table.push(vec![
            format!("… {} more", count((used - MOST_SHOWN) as u64)),
            String::new(),
        ]);
    }
    table.push(vec!["intercept".to_owned(), number(plane.intercept)]);
    weights::table(&table)
}

fn print_table(all: &[Asked], data: &Dataset, classes: &Classes, source: &Source) -> Result<()> {
    let mut results = output::results();
    writeln!(results, "{}", heading(data, classes, source))?;
    for (title, pairs) in [("each pair", true), ("each against the rest", false)] {
        let mut table = vec![vec![
            title.to_owned(),
            "verdict".into(),
            "margin".into(),
            "proof".into(),
        ]];
        for asked in all.iter().filter(|asked| asked.sides.negative.is_some() == pairs) {
            let names = asked.sides.names(classes);
            let title = if pairs {
                format!("{} | {}", names.negative, names.positive)
            } else {
                names.positive
            };
            table.push(match &asked.found.proof {
                None => vec![
                    title,
                    "undecided".into(),
                    String::new(),
                    asked.found.status.in_words().into(),
                ],
                Some(proof) => vec![
                    title,
                    proof.verdict.name().into(),
                    match proof.verdict {
                        Verdict::Separable => {
                            format!("{} to {}", number(proof.margin.lower), number(proof.margin.upper))
                        }
                        _ => "0".into(),
                    },
                    match &proof.proof {
                        None => "a hyperplane".into(),
                        Some(combination) => plural(combination.points.len() as u64, "point"),
                    },
                ],
            });
        }
        writeln!(results)?;
        results.write_all(weights::table(&table).as_bytes())?;
    }
    results.flush()?;
    Ok(())
}
