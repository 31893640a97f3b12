//! Base64 (RFC 4648, section 4) without padding. Characters outside the alphabet, and nonzero bits after the last byte, are
//! refused, so that every sequence of bytes has exactly one text.

/// The bytes that this text stands for; `None` if it is not valid.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0);
    for character in text.bytes() {
        bits = bits << 6 | sextet(character)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (count < 6 && bits == 0).then_some(bytes)
}

fn sextet(character: u8) -> Option<u32> {
    Some(u32::from(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_examples_of_rfc_4648_are_decoded() {
        for (text, bytes) in [
            ("", ""),
            ("Zg", "f"),
            ("Zm8", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg", "foob"),
            ("Zm9vYmE", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/8"), Some(vec![0xfb, 0xff]));
    }

    #[test]
    fn invalid_texts_are_refused() {
        for text in ["Z", "Zg==", "Zh", "Zm9", "Zm9vY", "Z g", "Zm-v", "Zm\n9v", "é"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
