//! The errors of an svmlight file and their messages. This is off the hot path, so nothing here is optimised.

use crate::error::Remedy;
use crate::error::shown;
use crate::read::position::Fault;
use crate::read::svmlight::index_rule::LARGEST_INDEX;
use crate::read::svmlight::tokens::{ends_token, next_line};
use crate::setting::Setting;

/// The token at `at` as text, truncated to the length of a message.
fn token(text: &[u8], at: usize) -> String {
    let longest = &text[at..text.len().min(at + 200)];
    let end = (0..longest.len())
        .find(|&end| ends_token(longest, end))
        .unwrap_or(longest.len());
    String::from_utf8_lossy(&longest[..end]).into_owned()
}

#[cold]
pub(super) fn label_fault(text: &[u8], at: usize) -> Fault {
    let token = token(text, at);
    let shown = shown(&token);
    if token.contains('\0') {
        Fault::parse(at, format!("{shown} holds a NUL byte")).remedy("is this an svmlight file?")
    } else if token.contains(',') {
        Fault::parse(at, format!("{shown} is not one label"))
            .remedy("rows with several labels are not supported")
    } else if token.contains(':') {
        Fault::parse(
            at,
            format!("{shown} stands where the label of the row should stand"),
        )
        .remedy("each line starts with a label; put 0 where there is none")
    } else if is_not_finite(&token) {
        Fault::parse(at, format!("the label {shown} is not a finite number"))
    } else {
        Fault::parse(at, format!("the label {shown} is not a number")).remedy(Remedy::Either(vec![
            "labels in svmlight files are numbers".into(),
            Setting::Format.any(["csv", "tsv"]).into(),
        ]))
    }
}

#[cold]
pub(super) fn index_fault(text: &[u8], at: usize) -> Fault {
    let token = token(text, at);
    let shown = shown(&token);
    if token.contains('\0') {
        Fault::parse(at, format!("{shown} holds a NUL byte")).remedy("is this an svmlight file?")
    } else if token.contains(':') {
        Fault::parse(at, format!("the index of {shown} is not a whole number"))
    } else {
        Fault::parse(at, format!("{shown} has no \":\"")).remedy("after the label, index:value is expected")
    }
}

#[cold]
pub(super) fn range_fault(text: &[u8], at: usize) -> Fault {
    Fault::parse(
        at,
        format!("the index of {} is too large", shown(&token(text, at))),
    )
    .remedy(format!("the largest is {LARGEST_INDEX}"))
}

#[cold]
pub(super) fn zero_fault(text: &[u8], at: usize) -> Fault {
    Fault::parse(
        at,
        format!(
            "{} has index 0 in a file whose indices start at 1",
            shown(&token(text, at))
        ),
    )
}

#[cold]
pub(super) fn value_fault(text: &[u8], token_at: usize, at: usize) -> Fault {
    let token = token(text, token_at);
    let value = token.split_once(':').map_or("", |(_, value)| value);
    let shown = shown(&token);
    if value.contains('\0') {
        Fault::parse(at, format!("{shown} holds a NUL byte")).remedy("is this an svmlight file?")
    } else if value.is_empty() {
        Fault::parse(at, format!("{shown} has no value"))
    } else if is_not_finite(value) {
        Fault::parse(at, format!("the value of {shown} is not a finite number"))
    } else {
        Fault::parse(at, format!("the value of {shown} is not a number"))
    }
}

fn is_not_finite(token: &str) -> bool {
    token.parse::<f64>().is_ok_and(|value| !value.is_finite())
}

/// The error for the second occurrence of `index` in the row that starts at `label_at`.
#[cold]
pub(super) fn repeat_fault(text: &[u8], label_at: usize, index: u64) -> Fault {
    let line = &text[label_at..next_line(text, label_at)];
    let tokens = line.split(|byte| byte.is_ascii_whitespace());
    let mut at = label_at;
    let mut seen = false;
    for token in tokens {
        let found = std::str::from_utf8(token)
            .ok()
            .and_then(|token| token.split_once(':'))
            .and_then(|(number, _)| number.parse::<u64>().ok());
        if found == Some(index) {
            if seen {
                break;
            }
            seen = true;
        }
        at += token.len() + 1;
    }
    Fault::parse(at, format!("index {index} stands twice in its row"))
}
