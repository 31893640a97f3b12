//! Canonical rows: a binary file of the rows of a data set, for programs that share no code with this one.
//! `docs/certificate-format.md` specifies it. The same rows have exactly one sequence of bytes.

use std::io::{self, Write};

use crate::dataset::{Dataset, Target};

/// The first bytes of a file.
const MAGIC: &[u8; 8] = b"wstarrow";
/// The version of the format.
const VERSION: u32 = 1;

/// Writes the rows of a data set, with their targets and sample weights.
///
/// Columns and classes are counted by 32-bit numbers; a data set with more is an error of kind `InvalidInput`, and so is one
/// without a target.
pub fn write_canonical_rows(data: &Dataset, to: &mut dyn Write) -> io::Result<()> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, what.to_string());
    let count =
        |number: usize| u32::try_from(number).map_err(|_| invalid("too many columns, classes or entries"));
    if matches!(data.target(), Target::Unknown) {
        return Err(invalid("the rows have no target"));
    }
    let classes = data.classes().map_or(&[][..], |classes| classes.names());
    to.write_all(MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    to.write_all(&(data.rows() as u64).to_le_bytes())?;
    to.write_all(&count(data.features())?.to_le_bytes())?;
    to.write_all(&count(classes.len())?.to_le_bytes())?;
    for class in classes {
        to.write_all(&count(class.len())?.to_le_bytes())?;
        to.write_all(class.as_bytes())?;
    }
    let mut entries = Vec::new();
    for (i, row) in data.design().iter().enumerate() {
        let target = match data.target() {
            Target::Real(values) => values[i],
            Target::Classes { codes, .. } => f64::from(codes[i]),
            Target::Unknown => 0.0,
        };
        // Adding +0 turns −0 into +0.
        to.write_all(&(target + 0.0).to_le_bytes())?;
        to.write_all(&(data.weight(i) + 0.0).to_le_bytes())?;
        entries.clear();
        row.for_each(|j, x| {
            if x != 0.0 {
                entries.extend_from_slice(&(j as u32).to_le_bytes());
                entries.extend_from_slice(&x.to_le_bytes());
            }
        });
        to.write_all(&count(entries.len() / 12)?.to_le_bytes())?;
        to.write_all(&entries)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Design;

    #[test]
    fn the_example_of_the_specification_has_its_bytes() {
        let design = Design::from_csr(vec![0, 2, 4], vec![0, 2, 0, 1], vec![1.0, -2.5, 0.0, 4.0], 3).unwrap();
        let data = Dataset::labelled(design, &["yes", "no"]).unwrap();
        let data = data.with_weights(vec![1.0, 0.5]).unwrap();
        let mut bytes = Vec::new();
        write_canonical_rows(&data, &mut bytes).unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = "7773746172726f77 01000000 0200000000000000 03000000 02000000
            02000000 6e6f  03000000 796573
            000000000000f03f 000000000000f03f 02000000  00000000 000000000000f03f  02000000 00000000000004c0
            0000000000000000 000000000000e03f 01000000  01000000 0000000000001040";
        assert_eq!(hex, expected.split_whitespace().collect::<String>());
    }
}
