//! CSV and TSV: rows of cells, read into named columns.
//!
//! The first rows determine the dialect, the names and the likely kind of each column. The text is then divided into segments
//! that are parsed in parallel, directly into the final columns. The rule for kinds (nine in ten filled cells are numbers) is
//! checked with exact counts. In the rare case that the first rows were misleading, the text is parsed again with the
//! corrected kinds.
//!
//! - `sniff`: detection of header, names and kinds from the first rows.
//! - `dialect`: separators, quotes and the ends of cells and rows.
//! - `parse_cells`: parsing of the cells of one segment.
//! - `assemble_columns`: checks over all segments, and the final columns.

mod assemble_columns;
mod dialect;
mod parse_cells;
mod sniff;

use std::ops::Range;

use memchr::memchr;
use rayon::prelude::*;

pub(crate) use sniff::Sniffed;

use crate::Table;
use crate::error::{Error, Result};
use crate::read::position::{Fault, TextPosition, lines, without_mark};
use crate::read::{Format, ReadOptions, split_text};
use assemble_columns::{Parsed, Segment};
use wstar_numeric::decimal::byte_census::Census;

/// Reads a whole file.
pub(crate) fn read(
    text: &[u8],
    format: Format,
    options: &ReadOptions,
    origin: &TextPosition,
) -> Result<Table> {
    read_segments(
        text,
        format,
        options,
        origin,
        split_text::segment_bytes(text.len()),
    )
}

/// Reads a text in segments of about `segment_bytes`. The result does not depend on their size.
pub(crate) fn read_segments(
    text: &[u8],
    format: Format,
    options: &ReadOptions,
    origin: &TextPosition,
    segment_bytes: usize,
) -> Result<Table> {
    let text = without_mark(text);
    let (_, table) = read_first(text, format, options, origin, segment_bytes)?;
    if table.rows == 0 {
        return Err(Error::data("there are no rows").in_file(origin.name));
    }
    Ok(table)
}

/// Reads the first rows of a text, and determines the layout for those that follow.
pub(crate) fn read_first(
    text: &[u8],
    format: Format,
    options: &ReadOptions,
    origin: &TextPosition,
    segment_bytes: usize,
) -> Result<(Sniffed, Table)> {
    let survey = Survey::of(text, segment_bytes).map_err(|fault| fault.locate(text, origin))?;
    let mut layout = Sniffed::find(text, format, options, origin)?;
    let table = parse(text, &mut layout, survey, origin, segment_bytes)?;
    layout.settle();
    Ok((layout, table))
}

/// Reads further rows, or the first ones again, with a layout that is already determined.
pub(crate) fn read_on(
    text: &[u8],
    layout: &mut Sniffed,
    at_start: bool,
    origin: &TextPosition,
    segment_bytes: usize,
) -> Result<Table> {
    let survey = Survey::of(text, segment_bytes).map_err(|fault| fault.locate(text, origin))?;
    layout.body = if at_start { layout.header_bytes } else { 0 };
    parse(text, layout, survey, origin, segment_bytes)
}

/// The result of a first pass over the text.
struct Survey {
    /// Segments that end at line ends, each with an upper bound on its number of rows.
    segments: Vec<(Range<usize>, usize)>,
    /// Whether the text contains a quote.
    quotes: bool,
}

impl Survey {
    /// Counts the lines, and refuses NUL bytes and invalid UTF-8.
    fn of(text: &[u8], segment_bytes: usize) -> std::result::Result<Self, Fault> {
        let ranges = split_text::at_line_ends(text, segment_bytes);
        let surveyed: Vec<std::result::Result<(usize, bool), Fault>> = ranges
            .par_iter()
            .map(|range| {
                let segment = &text[range.clone()];
                let seen = Census::of(segment);
                if seen.beyond_ascii || seen.nul {
                    check_text(segment).map_err(|fault| fault.shifted(range.start))?;
                }
                let unended = segment.last().is_some_and(|&byte| byte != b'\n');
                Ok((seen.lines + usize::from(unended), seen.quote))
            })
            .collect();
        let mut survey = Survey {
            segments: Vec::with_capacity(ranges.len()),
            quotes: false,
        };
        for (range, surveyed) in ranges.into_iter().zip(surveyed) {
            let (rows, quotes) = surveyed?;
            survey.segments.push((range, rows));
            survey.quotes |= quotes;
        }
        Ok(survey)
    }
}

fn check_text(segment: &[u8]) -> std::result::Result<(), Fault> {
    let hint = "is this a text file in UTF-8?";
    let invalid = std::str::from_utf8(segment)
        .err()
        .map(|error| error.valid_up_to());
    match (memchr(0, segment), invalid) {
        (None, None) => Ok(()),
        (Some(nul), invalid) if invalid.is_none_or(|invalid| nul < invalid) => {
            Err(Fault::parse(nul, "a NUL byte").remedy(hint))
        }
        (_, invalid) => Err(Fault::parse(invalid.unwrap_or(0), "invalid UTF-8").remedy(hint)),
    }
}

/// Parses everything after the header, and corrects the layout where its first guess is wrong.
fn parse(
    text: &[u8],
    layout: &mut Sniffed,
    survey: Survey,
    origin: &TextPosition,
    segment_bytes: usize,
) -> Result<Table> {
    let start = layout.body;
    let body = &text[start..];
    let locate = |fault: Fault| fault.shifted(start).locate(text, origin);
    // Every cell ends with a separator or a line end, so a segment never has more cells than bytes.
    let columns = layout.columns.len().max(1);
    let segment = |range: Range<usize>, rows: usize| Segment {
        capacity: rows.min(range.len() / columns + 1),
        range,
    };
    let segments: Vec<Segment> = if layout.dialect.quotes_span && survey.quotes {
        let segments = layout.dialect.at_row_ends(body, segment_bytes).map_err(locate)?;
        segments
            .into_iter()
            .map(|(range, rows)| segment(range, rows))
            .collect()
    } else {
        // The header is removed from the segments that contain it.
        let cut = |at: usize| at.saturating_sub(start);
        let segments = survey.segments.into_iter().map(|(range, rows)| {
            let header = &text[range.start.min(start)..range.end.min(start)];
            segment(
                cut(range.start)..cut(range.end),
                rows.saturating_sub(lines(header) as usize),
            )
        });
        segments.filter(|segment| !segment.range.is_empty()).collect()
    };

    let mut parsed = Parsed::of(body, layout, &segments).map_err(locate)?;
    if parsed.revise(layout) {
        drop(parsed);
        parsed = Parsed::of(body, layout, &segments).map_err(locate)?;
    }
    parsed.check_cells(body, layout).map_err(locate)?;
    parsed
        .check_levels(layout)
        .map_err(|error| error.in_file(origin.name))?;
    Ok(parsed.join(text, layout, origin))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Position;
    use crate::read::Header;
    use crate::{Cells, Column, Design, Missing, Numbers, Preparation, Raw, prepare};

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    fn csv_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Table> {
        let text = text.as_ref();
        let format = options.format.unwrap_or(Format::Csv);
        let whole = read(text, format, options, &TextPosition::start("f"));
        for segment_bytes in [1, 7, 40] {
            let segments = read_segments(text, format, options, &TextPosition::start("f"), segment_bytes);
            match (&whole, &segments) {
                (Ok(whole), Ok(segments)) => assert_eq!(
                    describe(whole),
                    describe(segments),
                    "in segments of {segment_bytes}"
                ),
                (Err(whole), Err(segments)) => assert_eq!(whole.to_string(), segments.to_string()),
                (whole, segments) => panic!("{whole:?} but in segments of {segment_bytes} {segments:?}"),
            }
        }
        whole
    }

    fn csv(text: impl AsRef<[u8]>) -> Table {
        csv_with(text, &ReadOptions::default()).unwrap()
    }

    fn fails_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> String {
        csv_with(text, options).unwrap_err().to_string()
    }

    fn fails(text: impl AsRef<[u8]>) -> String {
        fails_with(text, &ReadOptions::default())
    }

    /// The cells of a column as strings, so that missing numbers compare equal.
    fn cells(column: &Column) -> Vec<String> {
        match &column.cells {
            Cells::Numbers(numbers) => numbers.iter().map(|value| value.to_string()).collect(),
            Cells::Categories { codes, levels } => codes
                .iter()
                .map(|&code| {
                    levels
                        .get(code as usize)
                        .map_or("missing".into(), |level| format!("={level}"))
                })
                .collect(),
            Cells::Texts(texts) => texts.iter().map(|text| format!("{text:?}")).collect(),
        }
    }

    fn describe(table: &Table) -> String {
        let column = |column: &Column| {
            format!(
                "{} {:?} {:?} {:?}",
                column.name,
                cells(column),
                column.first_missing,
                std::mem::discriminant(&column.cells)
            )
        };
        format!(
            "{} {:?}",
            table.rows,
            table.columns.iter().map(column).collect::<Vec<_>>()
        )
    }

    fn column_names(table: &Table) -> Vec<&str> {
        table.columns.iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn lines_within_quotes_allocate_no_rows() {
        // One row of 20,001 cells: with capacity for one row per line it would allocate gigabytes.
        let table = csv(";\"\n6\"".repeat(20_000));
        assert_eq!((table.rows, table.columns.len()), (1, 20_001));
    }

    #[test]
    fn quotes_line_ends_and_blank_lines_are_handled() {
        let table = csv(
            "\u{FEFF}a,\"b \"\"x\"\"\",c\r\n1,\"p,\nq\",u\r\n\r\n 2 , r ,\"\"\"v\"\"\"\n\n\"3\",\" s\",w",
        );
        assert_eq!(column_names(&table), ["a", "b \"x\"", "c"]);
        assert_eq!(cells(&table.columns[0]), ["1", "2", "3"]);
        assert_eq!(cells(&table.columns[1]), ["=p,\nq", "=r", "= s"]);
        assert_eq!(cells(&table.columns[2]), ["=u", "=\"v\"", "=w"]);
    }

    #[test]
    fn quotes_inside_an_unquoted_cell_are_literal() {
        let table = csv("a,b\nx\"y,1\n5\" disk,2\n");
        assert_eq!(cells(&table.columns[0]), ["=x\"y", "=5\" disk"]);
    }

    #[test]
    fn separator_is_detected() {
        for delimiter in [",", ";", "|", "\t"] {
            let table = csv(["a", "b\n1", "2\n3", "4\n"].join(delimiter));
            assert_eq!(cells(&table.columns[1]), ["2", "4"], "{delimiter:?}");
        }
        let table = csv("when;what, how\n1;a, b\n2;c\n");
        assert_eq!(column_names(&table), ["when", "what, how"]);
        let table = csv("only\n1\n2\n");
        assert_eq!(cells(&table.columns[0]), ["1", "2"]);
        let options = ReadOptions {
            delimiter: Some(b':'),
            ..Default::default()
        };
        assert_eq!(csv_with("a:b\n1:2\n", &options).unwrap().columns.len(), 2);
        for (delimiter, decimal_comma) in [(b'1', false), (b'"', false), (b'\n', false), (b',', true)] {
            let options = ReadOptions {
                delimiter: Some(delimiter),
                decimal_comma,
                ..Default::default()
            };
            csv_with("a,b\n1,2\n", &options).unwrap_err();
        }
    }

    #[test]
    fn decimal_commas_are_read() {
        let options = ReadOptions {
            decimal_comma: true,
            ..Default::default()
        };
        let table = csv_with("a;b\n1,5;-2,5e1\n,25;3\n", &options).unwrap();
        assert_eq!(cells(&table.columns[0]), ["1.5", "0.25"]);
        assert_eq!(cells(&table.columns[1]), ["-25", "3"]);
    }

    #[test]
    fn header_is_detected() {
        assert_eq!(column_names(&csv("a,b\n1,2\n")), ["a", "b"]);
        assert_eq!(column_names(&csv("1,b\n1,2\n")), ["x1", "x2"]);
        assert_eq!(column_names(&csv("yes,red\nno,blue\nyes,red\n")), ["x1", "x2"]);
        assert_eq!(
            column_names(&csv("answer,colour\nno,blue\nyes,red\n")),
            ["answer", "colour"]
        );
        assert_eq!(column_names(&csv("a,a\nb,c\n")), ["x1", "x2"]);
        let with = |header| ReadOptions {
            header,
            ..Default::default()
        };
        assert_eq!(
            column_names(&csv_with("1,2\n3,4\n", &with(Header::Present)).unwrap()),
            ["1", "2"]
        );
        assert_eq!(csv_with("a,b\nc,d\n", &with(Header::Absent)).unwrap().rows, 2);
    }

    #[test]
    fn missing_cells_are_recognised() {
        let table = csv("a,b,c\n1,x,5\n,y,NA\nN/A,?,null\nnan,, NaN \n2,NULL,6\n");
        assert_eq!(cells(&table.columns[0]), ["1", "NaN", "NaN", "NaN", "2"]);
        assert_eq!(
            cells(&table.columns[1]),
            ["=x", "=y", "missing", "missing", "missing"]
        );
        assert_eq!(cells(&table.columns[2]), ["5", "NaN", "NaN", "NaN", "6"]);
        let firsts: Vec<_> = table.columns.iter().map(|column| column.first_missing).collect();
        let at = |line, column| Some(Position { line, column });
        assert_eq!(firsts, [at(3, 1), at(4, 5), at(3, 4)]);
        assert!(matches!(table.columns[0].cells, Cells::Numbers(Numbers::F32(_))));
        let empty = csv("a,b\n1,\n2,\n");
        assert_eq!(cells(&empty.columns[1]), ["NaN", "NaN"]);
    }

    #[test]
    fn columns_with_nine_in_ten_numbers_are_numeric() {
        let numbers = |odd: usize, all: usize| {
            let row = |i: usize| {
                if i < all - odd {
                    format!("{i}.5,0\n")
                } else {
                    format!("w{i},0\n")
                }
            };
            format!("delay,b\n{}", (0..all).map(row).collect::<String>())
        };
        assert_eq!(
            fails(numbers(1, 10)),
            "f:11:1: \"w9\" is not a number in column delay (use categorical = delay, or drop = delay)"
        );
        assert!(matches!(
            csv(numbers(2, 11)).columns[0].cells,
            Cells::Categories { .. }
        ));
        // The first thousand rows are misleading in both directions; the whole file decides.
        assert!(fails(numbers(200, 2000)).starts_with("f:1802:1: \"w1800\" is not a number"));
        let words_first = format!("a,b\n{}{}", "word,1\n".repeat(900), "7,1\n".repeat(9000));
        assert!(fails(words_first).starts_with("f:2:1: \"word\" is not a number in column a"));
        let numbers_first = format!("a,b\n{}{}", "7,1\n".repeat(1500), "word,1\n".repeat(500));
        let Cells::Categories { levels, codes } = &csv(numbers_first).columns[0].cells else {
            panic!("a category");
        };
        assert_eq!(levels, &["7", "word"]);
        assert_eq!((codes[0], codes[1999]), (0, 1));
    }

    #[test]
    fn f64_is_used_only_where_needed() {
        let mut text = String::from("a,b,c\n");
        for i in 0..3000 {
            text.push_str(&format!("{i},{},0.1\n", if i == 2500 { "0.3" } else { "0.5" }));
        }
        let table = csv(text);
        let wide: Vec<bool> = table
            .columns
            .iter()
            .map(|column| !matches!(column.cells, Cells::Numbers(Numbers::F32(_))))
            .collect();
        assert_eq!(wide, [false, true, true]);
        assert_eq!(cells(&table.columns[1])[2499..2502], ["0.5", "0.3", "0.5"]);
        assert_eq!(cells(&table.columns[0])[2999], "2999");
    }

    #[test]
    fn wide_numbers_become_the_rows_of_a_design() {
        // Gaps between the segments, occasional unusual spellings, and f32 columns before and between f64 ones.
        let value = |i: usize, j: usize| (i * 31 + j) as f64 / 7.0 - 100.0;
        let mut text = String::from("n,a,b,m,c,y\n");
        for i in 0..2000 {
            let (a, b, c) = (value(i, 0), value(i, 1), value(i, 2));
            text.push_str(&format!("{i},{a},{b:e},{},{c},{}\n", i % 5, i % 2));
            if i % 700 == 0 {
                text.push_str("\n \n");
            }
        }
        let design = |drop: &[&str], target: &str| {
            let how = Preparation {
                drop: names(drop),
                target: Some(target.to_owned()),
                ..Default::default()
            };
            let data = prepare(Raw::Table(csv(&text)), &how).unwrap();
            assert!(matches!(data.design, Design::Dense64(_)));
            data.design
        };
        let (whole, others) = (design(&["n", "m"], "y"), design(&[], "a"));
        for i in 0..2000 {
            assert_eq!(whole.row(i).to_dense(3), [value(i, 0), value(i, 1), value(i, 2)]);
            let narrow = [i, i % 5, i % 2].map(|value| value as f64);
            let expected = [narrow[0], value(i, 1), narrow[1], value(i, 2), narrow[2]];
            assert_eq!(others.row(i).to_dense(5), expected);
        }
    }

    #[test]
    fn missing_f64_number_is_refused_with_its_position() {
        let text = format!("a,b,y\n{}0.1,,1\n", "0.1,0.3,0\n".repeat(500));
        let refused = prepare(Raw::Table(csv(&text)), &Preparation::default()).unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("f:502:5: a missing value in column b"),
            "{refused}"
        );
        let dropped = Preparation {
            missing: Missing::Drop,
            ..Default::default()
        };
        assert_eq!(prepare(Raw::Table(csv(&text)), &dropped).unwrap().rows(), 500);
    }

    #[test]
    fn too_many_levels_are_refused() {
        let text: String = (0..1001).map(|i| format!("v{i},1\n")).collect();
        let text = format!("name,b\n{text}");
        assert_eq!(
            fails(&text),
            "f: column name is no number and has more than 1,000 different values (use text = name, or drop = name)"
        );
        let forced = ReadOptions {
            categorical: names(&["name"]),
            ..Default::default()
        };
        let Cells::Categories { levels, .. } = &csv_with(&text, &forced).unwrap().columns[0].cells else {
            panic!("a category");
        };
        assert_eq!(levels.len(), 1001);
        assert!(levels.is_sorted());
    }

    #[test]
    fn options_override_detection() {
        let text = "n,c,t,d\n1,2,a b,x\n3,4,\"c \"\"d\"\"\",y\n";
        let options = ReadOptions {
            categorical: names(&["c"]),
            text: names(&["t"]),
            drop: names(&["d"]),
            ..Default::default()
        };
        let table = csv_with(text, &options).unwrap();
        assert_eq!(column_names(&table), ["n", "c", "t"]);
        assert_eq!(cells(&table.columns[1]), ["=2", "=4"]);
        assert_eq!(cells(&table.columns[2]), ["\"a b\"", "\"c \\\"d\\\"\""]);
        let only = ReadOptions {
            only: Some(names(&["d", "n", "absent"])),
            text: names(&["gone"]),
            ..Default::default()
        };
        assert_eq!(column_names(&csv_with(text, &only).unwrap()), ["n", "d"]);
        let numeric = ReadOptions {
            numeric: names(&["d"]),
            ..Default::default()
        };
        assert_eq!(
            fails_with(text, &numeric),
            "f:2:9: \"x\" is not a number in column d (use categorical = d, or drop = d)"
        );
        let twice = ReadOptions {
            numeric: names(&["c"]),
            text: names(&["c"]),
            ..Default::default()
        };
        assert_eq!(fails_with(text, &twice), "f: column \"c\" cannot be of two kinds");
        for wrong in [
            ReadOptions {
                drop: names(&["balanse"]),
                ..Default::default()
            },
            ReadOptions {
                numeric: names(&["balanse"]),
                ..Default::default()
            },
        ] {
            assert_eq!(
                fails_with("balance,b\n1,2\n", &wrong),
                "f: there is no column \"balanse\" (did you mean balance?)"
            );
        }
    }

    #[test]
    fn unbalanced_quotes_between_tabs_are_literal() {
        let options = ReadOptions {
            format: Some(Format::Tsv),
            text: names(&["x2"]),
            ..Default::default()
        };
        let table = csv_with(
            "ham\t\"No\" she said\nspam\t5\" pipe\nham\t\"Hi \"\"you\"\"\"\nham\t\"open\nham\tend\"\n",
            &options,
        )
        .unwrap();
        assert_eq!(
            cells(&table.columns[1]),
            [
                r#""\"No\" she said""#,
                r#""5\" pipe""#,
                r#""Hi \"you\"""#,
                r#""\"open""#,
                r#""end\"""#
            ]
        );
        assert_eq!(
            cells(&table.columns[0]),
            ["=ham", "=spam", "=ham", "=ham", "=ham"]
        );
    }

    #[test]
    fn errors_report_line_and_column() {
        for (text, expected) in [
            ("", "f: the file is empty"),
            ("\n\r\n", "f: the file is empty"),
            ("a,b\n", "f: there are no rows"),
            ("a,b\n1,2\n3\n", "f:3:2: 1 cell in this row where the first has 2"),
            (
                "a,b\n1,2\n3,4,5\n",
                "f:3:5: 3 cells in this row where the first has 2",
            ),
            (
                "a,b\n1,2\n3,4,",
                "f:3:5: 3 cells in this row where the first has 2",
            ),
            (
                "a,b,a\n1,2,3\n",
                "f:1:5: columns 1 and 3 are both called \"a\" (rename one of them)",
            ),
            (
                "a,,b\n1,2,3\n",
                "f:1:3: column 2 has no name (name it in the first line)",
            ),
            (
                "a,b\n1,2\n3,inf\n",
                "f:3:3: \"inf\" in column b is not a finite number (correct it, or use drop = b)",
            ),
            (
                "a,b\n1,2\n3,-1e999\n",
                "f:3:3: \"-1e999\" in column b is not a finite number (correct it, or use drop = b)",
            ),
            (
                "a,b\nx,2\ny,3\0\n",
                "f:3:4: a NUL byte (is this a text file in UTF-8?)",
            ),
            (
                "a,b\nx,\"2\ny,3\n",
                "f:2:3: this quote is never closed (a quote inside a quoted cell is written twice)",
            ),
            (
                "a,b\n\"x\ny\",2\n\"z\"z,3\n",
                "f:4:4: text follows the closing quote of a cell (a quote inside a quoted cell is written twice)",
            ),
        ] {
            assert_eq!(fails(text), expected, "{text:?}");
        }
        assert_eq!(
            fails(b"a,b\n\xC3\xBC,\xFF\n"),
            "f:2:3: invalid UTF-8 (is this a text file in UTF-8?)"
        );
    }

    #[test]
    fn lines_of_ten_megabytes_are_read() {
        let text = format!("a,b\n1,{}\n", "x".repeat(10 << 20));
        let table = read(
            text.as_bytes(),
            Format::Csv,
            &ReadOptions::default(),
            &TextPosition::start("f"),
        )
        .unwrap();
        assert_eq!(table.rows, 1);
        let wide = format!("{}1\n", "1,".repeat(1 << 20));
        let table = read(
            wide.as_bytes(),
            Format::Csv,
            &ReadOptions::default(),
            &TextPosition::start("f"),
        )
        .unwrap();
        assert_eq!(table.columns.len(), (1 << 20) + 1);
    }

    #[derive(Debug, Clone)]
    enum Generated {
        Numbers(Vec<Option<f64>>),
        Words(Vec<Option<String>>),
    }

    fn any_table() -> impl Strategy<Value = (usize, Vec<Generated>)> {
        let number = prop_oneof![
            (-1000i32..1000).prop_map(f64::from),
            any::<f64>().prop_filter("finite", |v| v.is_finite()),
            (-100_000i32..100_000).prop_map(|v| f64::from(v) / 1e4),
        ];
        // Words that cannot be read as numbers, as missing values or as blanks around a word.
        let word = "[a-c]([a-c,;|\" \nü]{0,5}[a-c\"])?z";
        (1usize..40, 1usize..6).prop_flat_map(move |(rows, columns)| {
            let column = prop_oneof![
                prop::collection::vec(prop::option::weighted(0.9, number.clone()), rows)
                    .prop_map(Generated::Numbers),
                prop::collection::vec(prop::option::weighted(0.9, word), rows).prop_map(Generated::Words),
            ];
            (Just(rows), prop::collection::vec(column, columns))
        })
    }

    fn written(cell: &str, delimiter: char, always: bool) -> String {
        if always || cell.contains(['"', '\n', '\r', delimiter]) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell.to_owned()
        }
    }

    proptest! {
        #[test]
        fn tables_round_trip(
            (rows, columns) in any_table(),
            delimiter in prop::sample::select(vec![',', ';', '|']),
            always in any::<bool>(),
            line_end in prop::sample::select(vec!["\n", "\r\n"]),
            segment_bytes in 1usize..200,
            threads in 1usize..4,
        ) {
            let mut text = (0..columns.len()).map(|j| format!("name{j}")).collect::<Vec<_>>().join(&delimiter.to_string());
            text.push_str(line_end);
            for i in 0..rows {
                let row: Vec<String> = columns.iter().map(|column| match column {
                    Generated::Numbers(values) => values[i].map_or("NA".into(), |v| written(&format!("{v:e}"), delimiter, always)),
                    Generated::Words(words) => words[i].as_ref().map_or("NA".into(), |word| written(word, delimiter, always)),
                }).collect();
                text.push_str(&row.join(&delimiter.to_string()));
                text.push_str(line_end);
            }
            let options = ReadOptions { header: Header::Present, delimiter: Some(delimiter as u8), ..Default::default() };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let table = pool
                .install(|| read_segments(text.as_bytes(), Format::Csv, &options, &TextPosition::start("f"), segment_bytes))
                .unwrap();
            prop_assert_eq!(table.rows, rows);
            for (column, made) in table.columns.iter().zip(&columns) {
                let expected: Vec<String> = match made {
                    Generated::Numbers(values) => values.iter().map(|v| v.unwrap_or(f64::NAN).to_string()).collect(),
                    Generated::Words(words) if words.iter().all(Option::is_none) => vec!["NaN".into(); rows],
                    Generated::Words(words) => words.iter().map(|w| w.as_ref().map_or("missing".into(), |w| format!("={w}"))).collect(),
                };
                prop_assert_eq!(cells(column), expected);
                let any_missing = cells(column).iter().any(|cell| cell == "NaN" || cell == "missing");
                prop_assert_eq!(column.first_missing.is_some(), any_missing);
            }
            let whole = read(text.as_bytes(), Format::Csv, &options, &TextPosition::start("f")).unwrap();
            prop_assert_eq!(describe(&whole), describe(&table));
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(text in "[0-9,;\". ab\n\r\t\u{0}ü-]{0,80}", segment_bytes in 1usize..30, tabs in any::<bool>()) {
            let format = if tabs { Format::Tsv } else { Format::Csv };
            let options = ReadOptions::default();
            let whole = read(text.as_bytes(), format, &options, &TextPosition::start("f"));
            let segments = read_segments(text.as_bytes(), format, &options, &TextPosition::start("f"), segment_bytes);
            match (whole, segments) {
                (Ok(a), Ok(b)) => prop_assert_eq!(describe(&a), describe(&b)),
                (Err(a), Err(b)) => prop_assert_eq!(a.to_string(), b.to_string()),
                (a, b) => prop_assert!(false, "{:?} but in segments {:?}", a, b),
            }
        }
    }
}
