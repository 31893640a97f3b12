//! `wstar datasets`: lists the embedded data sets, or prints one.

use std::io::Write;

use anyhow::Result;
use serde_json::json;
use wstar::data::read::{EMBEDDED, Source};

use crate::answer::Answer;
use crate::args::DatasetsArgs;
use crate::json;
use crate::output::{self, Style, count};

pub(crate) fn run(args: &DatasetsArgs) -> Result<Answer> {
    if let Some(name) = &args.name {
        let source = Source::parse(&format!("@{}", name.trim_start_matches('@')))?;
        let mut results = output::results();
        results.write_all(&source.open()?)?;
        results.flush()?;
    } else if args.json {
        let sets: Vec<_> = EMBEDDED
            .iter()
            .map(|set| {
                json!({"name": set.name, "description": set.description, "rows": set.rows,
                       "columns": set.columns, "source": set.source, "licence": set.licence})
            })
            .collect();
        json::print(&json!({ "datasets": sets }))?;
    } else {
        let style = Style::for_results();
        let mut results = output::results();
        for set in EMBEDDED {
            let shape = format!("{} rows × {} columns", count(set.rows as u64), set.columns);
            writeln!(
                results,
                "{}   {shape}",
                style.strong(&format!("@{:<14}", set.name))
            )?;
            writeln!(results, "    {}", set.description)?;
            writeln!(
                results,
                "    {}",
                style.faint(&format!("{}; {}", set.source, set.licence))
            )?;
        }
        writeln!(
            results,
            "\nTry: wstar train @iris       Print one as a file: wstar datasets iris > iris.csv"
        )?;
        results.flush()?;
    }
    Ok(Answer::Yes)
}
