//! CSV and TSV: rows of cells, read into named columns.
//!
//! The first rows tell the dialect, the names and the likely kind of each column. The text is then
//! cut into parts that are parsed side by side, straight into the final columns; the rule for kinds
//! (nine in ten) is checked with exact counts, and in the rare case that the first rows misled, the
//! parse is done once more with the kinds that hold.

mod dialect;
mod join;
mod layout;
mod part;

use std::ops::Range;

use memchr::memchr;
use rayon::prelude::*;

pub(crate) use layout::Layout;

use crate::data::Table;
use crate::error::{Error, Result};
use crate::io::place::{Fault, Place, lines, without_mark};
use crate::io::{Format, ReadOptions, split};
use join::{Parsed, Part};

/// Reads a whole file.
pub(crate) fn read(text: &[u8], format: Format, options: &ReadOptions, place: &Place) -> Result<Table> {
    read_parts(text, format, options, place, split::part_bytes(text.len()))
}

/// Reads a text cut into parts of about `part_bytes`; the result does not depend on it.
pub(crate) fn read_parts(
    text: &[u8],
    format: Format,
    options: &ReadOptions,
    place: &Place,
    part_bytes: usize,
) -> Result<Table> {
    let text = without_mark(text);
    let (_, table) = read_first(text, format, options, place, part_bytes)?;
    if table.rows == 0 {
        return Err(Error::data("there are no rows").in_file(place.name));
    }
    Ok(table)
}

/// Reads the first rows of a text, and settles how those that follow are read.
pub(crate) fn read_first(
    text: &[u8],
    format: Format,
    options: &ReadOptions,
    place: &Place,
    part_bytes: usize,
) -> Result<(Layout, Table)> {
    let survey = Survey::of(text, part_bytes).map_err(|fault| fault.locate(text, place))?;
    let mut layout = Layout::find(text, format, options, place)?;
    let table = parse(text, &mut layout, survey, place, part_bytes)?;
    layout.settle();
    Ok((layout, table))
}

/// Reads rows that follow others, or the first ones again, with the layout that was settled.
pub(crate) fn read_on(
    text: &[u8],
    layout: &mut Layout,
    at_start: bool,
    place: &Place,
    part_bytes: usize,
) -> Result<Table> {
    let survey = Survey::of(text, part_bytes).map_err(|fault| fault.locate(text, place))?;
    layout.body = if at_start { layout.header_bytes } else { 0 };
    parse(text, layout, survey, place, part_bytes)
}

/// What a first pass over the text tells.
struct Survey {
    /// Parts that end with lines, and how many line ends each has.
    parts: Vec<(Range<usize>, usize)>,
    /// Whether there is any quote.
    quotes: bool,
}

impl Survey {
    /// Counts lines, and refuses what is not text.
    fn of(text: &[u8], part_bytes: usize) -> std::result::Result<Self, Fault> {
        let ranges = split::at_line_ends(text, part_bytes);
        let surveyed: Vec<std::result::Result<(usize, bool), Fault>> = ranges
            .par_iter()
            .map(|range| {
                let part = &text[range.clone()];
                check_text(part).map_err(|fault| fault.shifted(range.start))?;
                Ok((lines(part) as usize, memchr(b'"', part).is_some()))
            })
            .collect();
        let mut survey = Survey {
            parts: Vec::with_capacity(ranges.len()),
            quotes: false,
        };
        for (range, surveyed) in ranges.into_iter().zip(surveyed) {
            let (lines, quotes) = surveyed?;
            survey.parts.push((range, lines));
            survey.quotes |= quotes;
        }
        Ok(survey)
    }
}

fn check_text(part: &[u8]) -> std::result::Result<(), Fault> {
    let hint = "is this a text file in UTF-8?";
    let invalid = std::str::from_utf8(part).err().map(|error| error.valid_up_to());
    match (memchr(0, part), invalid) {
        (None, None) => Ok(()),
        (Some(nul), invalid) if invalid.is_none_or(|invalid| nul < invalid) => {
            Err(Fault::parse(nul, "a NUL byte").hint(hint))
        }
        (_, invalid) => Err(Fault::parse(invalid.unwrap_or(0), "invalid UTF-8").hint(hint)),
    }
}

/// Parses everything after the header; corrects the layout where its first guess does not hold.
fn parse(
    text: &[u8],
    layout: &mut Layout,
    survey: Survey,
    place: &Place,
    part_bytes: usize,
) -> Result<Table> {
    let start = layout.body;
    let body = &text[start..];
    let locate = |fault: Fault| fault.shifted(start).locate(text, place);
    let parts: Vec<Part> = if layout.dialect.quotes_span && survey.quotes {
        let ranges = layout.dialect.at_row_ends(body, part_bytes).map_err(locate)?;
        let part = |range: Range<usize>| Part {
            room: lines(&body[range.clone()]) as usize + 1,
            range,
        };
        ranges.into_par_iter().map(part).collect()
    } else {
        // The header is cut off the parts that hold it; that these then have room for more rows than
        // they need does no harm.
        let cut = |at: usize| at.saturating_sub(start);
        let parts = survey.parts.into_iter().map(|(range, lines)| Part {
            range: cut(range.start)..cut(range.end),
            room: lines + 1,
        });
        parts.filter(|part| !part.range.is_empty()).collect()
    };

    let mut parsed = Parsed::of(body, layout, &parts).map_err(locate)?;
    if parsed.revise(layout) {
        drop(parsed);
        parsed = Parsed::of(body, layout, &parts).map_err(locate)?;
    }
    parsed.check_cells(body, layout).map_err(locate)?;
    parsed
        .check_levels(layout)
        .map_err(|error| error.in_file(place.name))?;
    Ok(parsed.join(text, layout, place))
}
