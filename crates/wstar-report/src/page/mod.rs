//! The page: one file with everything in it, readable without a network and without scripts.

mod proof;
mod sections;
mod table;

use wstar::Result;

use crate::draw::{Theme, escaped};
use crate::kind::Kind;
use crate::subject::{Standing, Subject};

/// Where a report comes from, so that it can be made again.
#[derive(Debug, Clone)]
pub struct Made<'a> {
    /// The model file, as it was named.
    pub model: &'a str,
    /// The data, as they were named.
    pub data: &'a str,
    /// What the data are called.
    pub title: &'a str,
    /// Whether the rows that are judged were held out of the training.
    pub held_out: bool,
    /// Columns of the data that the model does not know.
    pub unused: &'a [String],
    /// The version of the program.
    pub version: &'a str,
}

/// Lets nothing be fetched: not even a mistake of ours could make a report ask the network for something.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The report as an HTML document.
pub fn page(subject: &Subject<'_>, standing: &Standing, made: &Made<'_>) -> Result<String> {
    let mut figures = String::new();
    let mut missing = Vec::new();
    for kind in Kind::ALL.into_iter().filter(|kind| kind.is_about(subject)) {
        match kind.chart(subject) {
            Ok(chart) => {
                let picture = chart.draw(kind.size())?;
                let caption = escaped(&chart.description);
                figures += &format!(
                    "<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n",
                    picture.embedded()
                );
            }
            Err(error) => missing.push(error.message().to_string()),
        }
    }
    let model = subject.model;
    let title = escaped(&format!("{} on {}", model.method.name(), made.title));
    let body = [
        sections::header(subject, made),
        proof::claim(subject, standing),
        sections::judgement(subject, standing, made),
        sections::notes(subject),
        format!("<div class=\"pictures\">\n{figures}</div>\n"),
        sections::weights(subject),
        sections::made(subject, standing, made, &missing),
    ];
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{title}: a wstar report</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n\
         <footer>Made by wstar {}, which finds w* and proves it.</footer>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        colours(),
        include_str!("report.css"),
        body.concat(),
        escaped(made.version),
        include_str!("theme.js"),
    ))
}

/// The variables of both themes: the system's unless the reader chose one.
fn colours() -> String {
    let light = format!(
        "{} --page: #f4f5f7; --good: #1a6e35; --bad: #b02a1f; color-scheme: light;",
        crate::draw::variables(Theme::Light)
    );
    let dark = format!(
        "{} --page: #0d1014; --good: #6fcf8b; --bad: #ff9a8f; color-scheme: dark;",
        crate::draw::variables(Theme::Dark)
    );
    format!(
        ":root {{ {light} }}\n:root[data-theme=\"dark\"] {{ {dark} }}\n\
         @media (prefers-color-scheme: dark) {{ :root:not([data-theme=\"light\"]) {{ {dark} }} }}\n"
    )
}
