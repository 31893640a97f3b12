//! Extracts the numbers from the output of the command line, as text lines with their names.
//!
//! Every number is printed so that it parses to the same bits, so equal texts mean equal bits.

use anyhow::{Context, Result};
use serde_json::Value;

/// Every number, label and answer of a JSON object, with its path. Measured times and notes are omitted.
pub(super) fn of_json(text: &str, status: i32) -> Result<Vec<String>> {
    let mut found = vec![format!("exit code {status}")];
    if !text.trim().is_empty() {
        let value = serde_json::from_str(text).with_context(|| text.chars().take(200).collect::<String>())?;
        leaves(&value, "", &mut found);
    }
    Ok(found)
}

/// The lines of a text.
pub(super) fn of_text(text: &str, status: i32) -> Vec<String> {
    let mut found = vec![format!("exit code {status}")];
    found.extend(text.lines().map(str::to_string));
    found
}

/// The numbers of a model file, sorted and without their names, so that a new version of the format may rename or move
/// them. Settings and versions are omitted.
pub(super) fn of_model(text: &str) -> Result<Vec<String>> {
    let mut value: Value = serde_json::from_str(text)?;
    if let Some(object) = value.as_object_mut() {
        for name in ["settings", "version", "method"] {
            object.remove(name);
        }
    }
    let mut found = Vec::new();
    numbers(&value, &mut found);
    found.sort();
    Ok(found)
}

fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                if name != "seconds" && name != "notes" {
                    leaves(value, &format!("{path}.{name}"), found);
                }
            }
        }
        Value::Array(array) => {
            for (at, value) in array.iter().enumerate() {
                leaves(value, &format!("{path}[{at}]"), found);
            }
        }
        leaf => found.push(format!("{path} = {leaf}")),
    }
}

fn numbers(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            let kept = object.iter().filter(|(name, _)| *name != "notes");
            kept.for_each(|(_, value)| numbers(value, found));
        }
        Value::Array(array) => array.iter().for_each(|value| numbers(value, found)),
        Value::Number(number) => found.push(number.to_string()),
        // Long strings contain packed numbers.
        Value::String(text) if text.len() > 200 => found.push(text.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_number_is_found_and_a_changed_time_is_not() {
        let a = of_json(r#"{"gap":1.5,"w":[1,2],"seconds":{"read":1}}"#, 0).unwrap();
        let b = of_json(r#"{"gap":1.5,"w":[1,2],"seconds":{"read":9}}"#, 0).unwrap();
        let c = of_json(r#"{"gap":1.5,"w":[1,3],"seconds":{"read":1}}"#, 0).unwrap();
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert_eq!(a[1], ".gap = 1.5");
    }

    #[test]
    fn renamed_fields_leave_the_numbers_of_a_model_unchanged() {
        let a = of_model(r#"{"version":1,"settings":{"C":2},"w":[1.5,2]}"#).unwrap();
        let b = of_model(r#"{"version":2,"weights":{"first":2,"second":1.5}}"#).unwrap();
        assert_eq!(a, b);
        assert_ne!(a, of_model(r#"{"w":[1.5,3]}"#).unwrap());
    }
}
