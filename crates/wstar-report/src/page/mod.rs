//! The page: one self-contained HTML file, readable without a network connection and without scripts.
//!
//! - `provenance`: what the report was made from.
//! - `proof`: the certificate and its explanation.
//! - `sections`: the other sections.
//! - `table`: tables and lists, with all text escaped.

mod proof;
mod provenance;
mod sections;
mod table;

pub use provenance::Made;

use wstar::data::error::Result;
use wstar::data::setting::Wording;

use crate::draw::{Theme, escaped};
use crate::kind::Kind;
use crate::subject::{Standing, Subject};

/// The content security policy. It blocks every network request, even one that entered the page by mistake.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// The report as an HTML document. `wording` names settings as the program does that `made` reproduces the report with.
pub fn page(
    subject: &Subject<'_>,
    standing: &Standing,
    made: &Made<'_>,
    wording: &dyn Wording,
) -> Result<String> {
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
            Err(error) => missing.push(error.message(wording)),
        }
    }
    let model = subject.model;
    let title = escaped(&format!("{} on {}", model.method().name(), made.title));
    let body = [
        sections::header(subject, made, wording),
        proof::claim(subject, standing),
        sections::judgement(subject, standing, made),
        sections::notes(subject, wording),
        format!("<div class=\"pictures\">\n{figures}</div>\n"),
        sections::weights(subject),
        sections::made(subject, standing, made, &missing, wording),
    ];
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>{title}: a wstar report</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n\
         <footer>Made by wstar {}, which computes w* and proves that it is optimal.</footer>\n\
         <script>\n{}</script>\n</body>\n</html>\n",
        colours(),
        include_str!("report.css"),
        body.concat(),
        escaped(made.version),
        include_str!("theme.js"),
    ))
}

/// The colour variables of both themes; the system's theme applies unless the reader has chosen one.
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
