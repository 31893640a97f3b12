//! What each target does with its bytes.

use wstar::Error;
use wstar::data::Design;

/// A sparse matrix put together from untrusted parts: refused, or sound in every row.
pub fn design(bytes: &[u8]) {
    let mut words = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let (Some(rows), Some(features)) = (words.next(), words.next()) else {
        return;
    };
    let starts: Vec<usize> = words
        .by_ref()
        .take(rows as usize % 64)
        .map(|start| start as usize)
        .collect();
    let entries: Vec<u32> = words.collect();
    let (indices, values) = entries.split_at(entries.len() / 2);
    let values = values
        .iter()
        .map(|&bits| f64::from(f32::from_bits(bits)))
        .collect();
    match Design::from_csr(starts, indices.to_vec(), values, features as usize) {
        Ok(design) => assert_eq!(design.iter().count(), design.rows()),
        Err(error) => one_line(&error),
    }
}

/// Whatever the input, an error is one line that a terminal can show.
fn one_line(error: &Error) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && !text.chars().any(char::is_control),
        "{text:?}"
    );
}
