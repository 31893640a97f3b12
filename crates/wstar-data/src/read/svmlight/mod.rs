//! The svmlight (LIBSVM) format: `label index:value index:value … # comment`, one row per line.
//!
//! The text is divided at line ends into segments. They are parsed in parallel into buffers that stay in the cache, and the rows
//! are then appended in order. Nothing is counted beforehand, and nothing is parsed twice.
//!
//! Explicit zeros are dropped: they change no score but cost time in every loop over a row. Their index still counts for
//! the number of features.
//!
//! - `parse_rows`: parsing of one segment.
//! - `assemble_rows`: appends the segments to the final arrays.
//! - `index_rule`: how indices are interpreted.
//! - `tokens`: where tokens and lines end.
//! - `errors`: the errors and their messages.

mod assemble_rows;
mod errors;
mod index_rule;
mod parse_rows;
mod tokens;

pub(crate) use index_rule::IndexRule;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::error::Result;
use crate::read::position::{TextPosition, without_mark};
use crate::read::split_text;
use crate::{ColumnSource, Matrix};
use assemble_rows::Joined;
use parse_rows::ParsedRows;

/// The most bytes of a segment. Heuristic: a segment and its parsed rows should fit into a core's own cache, and waiting segments
/// should take little memory; not measured yet.
const LARGEST_SEGMENT: usize = 256 << 10;
/// How long a thread waits while too many segments wait for an earlier one. Cap: after this time it continues and uses
/// the additional memory.
const PATIENCE: Duration = Duration::from_millis(20);

/// Reads a whole file. `base` is the index of the first feature, if it is known. `done` is called with each range of the text
/// that has been parsed.
pub(crate) fn read(
    text: &[u8],
    origin: &TextPosition,
    base: Option<u32>,
    done: &(dyn Fn(Range<usize>) + Sync),
) -> Result<Matrix> {
    let rows = without_mark(text);
    let mark = text.len() - rows.len();
    let done = |segment: Range<usize>| done(segment.start + mark..segment.end + mark);
    read_segments(
        rows,
        origin,
        &mut IndexRule::new(base),
        segment_bytes(rows),
        &done,
    )
}

/// Reads a text by the given rule, and corrects the rule where the text requires it.
pub(crate) fn read_with(text: &[u8], origin: &TextPosition, rule: &mut IndexRule) -> Result<Matrix> {
    read_segments(text, origin, rule, segment_bytes(text), &|_| ())
}

fn segment_bytes(text: &[u8]) -> usize {
    split_text::segment_bytes(text.len()).min(LARGEST_SEGMENT)
}

/// Reads a text in segments of about `segment_bytes`. The result does not depend on their size.
fn read_segments(
    text: &[u8],
    origin: &TextPosition,
    rule: &mut IndexRule,
    segment_bytes: usize,
    done: &(dyn Fn(Range<usize>) + Sync),
) -> Result<Matrix> {
    let segments = split_text::at_line_ends(text, segment_bytes);
    match parse(text, &segments, *rule, done).finish() {
        Ok((design, labels, found)) => {
            *rule = found;
            Ok(Matrix {
                source: origin.name.to_owned(),
                design,
                labels: Some(labels),
                origin: ColumnSource::Indexed { base: rule.base },
            })
        }
        Err((segment, fault)) => Err(fault.shifted(segments[segment].start).locate(text, origin)),
    }
}

/// Parses the segments in parallel. They are started in order, so that few have to wait for an earlier one.
fn parse(
    text: &[u8],
    segments: &[Range<usize>],
    rule: IndexRule,
    done: &(dyn Fn(Range<usize>) + Sync),
) -> Joined {
    let next = AtomicUsize::new(0);
    let joined = Mutex::new(Joined::new(rule));
    let lock = || joined.lock().unwrap_or_else(PoisonError::into_inner);
    let turn = Condvar::new();
    let work = || {
        let mut segment = ParsedRows::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = segments.get(number) else {
                return;
            };
            segment.read(&text[range.clone()], rule.least());
            done(range.clone());
            let mut joined = lock();
            segment = joined.take(number, segment, segments.len());
            turn.notify_all();
            // Segments are started in order, so the thread with the next one to append never waits here.
            let waited = turn.wait_timeout_while(joined, PATIENCE, |joined| joined.is_far_ahead());
            if waited.unwrap_or_else(PoisonError::into_inner).0.is_over() {
                return;
            }
        }
    };
    match segments.len().min(rayon::current_num_threads()) {
        0 | 1 => work(),
        workers => rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work()))),
    }
    joined.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Design;

    fn read_whole(text: &[u8], base: Option<u32>) -> Result<Matrix> {
        read(text, &TextPosition::start("f"), base, &|_| ())
    }

    fn read_in_segments(text: &[u8], base: Option<u32>, segment_bytes: usize) -> Result<Matrix> {
        read_segments(
            text,
            &TextPosition::start("f"),
            &mut IndexRule::new(base),
            segment_bytes,
            &|_| (),
        )
    }

    fn read_text(text: impl AsRef<[u8]>) -> Matrix {
        read_whole(text.as_ref(), None).unwrap()
    }

    fn fails(text: impl AsRef<[u8]>) -> String {
        let text = text.as_ref();
        let whole = read_whole(text, None).unwrap_err().to_string();
        for segment_bytes in [1, 5, 17] {
            let segments = read_in_segments(text, None, segment_bytes).unwrap_err();
            assert_eq!(segments.to_string(), whole, "in segments of {segment_bytes}");
        }
        whole
    }

    fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
        let features = matrix.design.features();
        matrix.design.iter().map(|row| row.to_dense(features)).collect()
    }

    #[test]
    fn all_forms_of_rows_are_read() {
        let text = "\u{FEFF}# made by hand\n+1 1:0.5 3:2 # tail 9:9\n\n-1.5e0\t2:-1\r\n   \n0 qid:7 1:1 \n2\n3 3:1#end\n4 2:8";
        let matrix = read_text(text);
        assert_eq!(
            matrix.labels.as_deref(),
            Some(&[1.0, -1.5, 0.0, 2.0, 3.0, 4.0][..])
        );
        assert_eq!(
            rows(&matrix),
            [
                [0.5, 0.0, 2.0],
                [0.0, -1.0, 0.0],
                [1.0, 0.0, 0.0],
                [0.0, 0.0, 0.0],
                [0.0, 0.0, 1.0],
                [0.0, 8.0, 0.0]
            ]
        );
        assert_eq!(matrix.origin, ColumnSource::Indexed { base: 1 });
        assert!(matches!(matrix.design, Design::Sparse32(_)));
        assert_eq!(read_text("# nothing\n\n").design.rows(), 0);
    }

    #[test]
    fn base_is_detected_or_given() {
        let matrix = read_text("1 1:5\n1 0:0.1 2:3\n");
        assert_eq!(matrix.origin, ColumnSource::Indexed { base: 0 });
        assert_eq!(rows(&matrix), [[0.0, 5.0, 0.0], [0.1, 0.0, 3.0]]);
        let zero = read_whole(b"1 1:5\n", Some(0)).unwrap();
        assert_eq!(rows(&zero), [[0.0, 5.0]]);
        let error = read_whole(b"1 1:5\n1 2:3 0:4\n", Some(1)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "f:2:7: \"0:4\" has index 0 in a file whose indices start at 1"
        );
    }

    #[test]
    fn rows_are_sorted_and_zeros_dropped() {
        let matrix = read_text("1 5:5 2:2 4:0 1:1\n");
        assert_eq!(rows(&matrix), [[1.0, 2.0, 0.0, 0.0, 5.0]]);
        assert_eq!(matrix.design.stored(), 3);
        let matrix = read_text("1 1:1 9:0\n1 2:3\n");
        assert_eq!((matrix.design.features(), matrix.design.stored()), (9, 2));
    }

    #[test]
    fn f64_is_used_only_where_needed() {
        assert!(matches!(
            read_text("1 1:0.5\n1 2:3e9\n").design,
            Design::Sparse32(_)
        ));
        assert!(matches!(
            read_text("1 1:0.5\n1 2:0.1\n").design,
            Design::Sparse64(_)
        ));
    }

    #[test]
    fn errors_report_line_and_column() {
        for (text, expected) in [
            ("1 1:1\n1 2:1 2:3\n", "f:2:7: index 2 stands twice in its row"),
            (
                "1 1:1\n1 5:1 2:0 5:0\n",
                "f:2:11: index 5 stands twice in its row",
            ),
            (
                "1 1:1\nspam 1:1\n",
                "f:2:1: the label \"spam\" is not a number (labels in svmlight files are numbers, or use format = csv|tsv)",
            ),
            (
                "1,3 1:1\n",
                "f:1:1: \"1,3\" is not one label (rows with several labels are not supported)",
            ),
            (
                " 1:1 2:2\n",
                "f:1:2: \"1:1\" stands where the label of the row should stand (each line starts with a label; put 0 where there is none)",
            ),
            ("nan 1:1\n", "f:1:1: the label \"nan\" is not a finite number"),
            ("1e999 1:1\n", "f:1:1: the label \"1e999\" is not a finite number"),
            (
                "1 1:1 7\n",
                "f:1:7: \"7\" has no \":\" (after the label, index:value is expected)",
            ),
            ("1 x:1\n", "f:1:3: the index of \"x:1\" is not a whole number"),
            ("1 -1:1\n", "f:1:3: the index of \"-1:1\" is not a whole number"),
            (
                "1 qid:x 1:1\n",
                "f:1:3: the index of \"qid:x\" is not a whole number",
            ),
            ("1 1:\n", "f:1:5: \"1:\" has no value"),
            ("1 1: 2:1\n", "f:1:5: \"1:\" has no value"),
            ("1 1:x\n", "f:1:5: the value of \"1:x\" is not a number"),
            ("1 1:1:2\n", "f:1:5: the value of \"1:1:2\" is not a number"),
            (
                "1 1:inf\n",
                "f:1:5: the value of \"1:inf\" is not a finite number",
            ),
            (
                "1 1:NaN\n",
                "f:1:5: the value of \"1:NaN\" is not a finite number",
            ),
            (
                "1 1:-1e999\n",
                "f:1:5: the value of \"1:-1e999\" is not a finite number",
            ),
            (
                "1 4294967295:1\n",
                "f:1:3: the index of \"4294967295:1\" is too large (the largest is 4294967294)",
            ),
            (
                "1 99999999999999999999999:1\n",
                "f:1:3: the index of \"99999999999999999999999:1\" is too large (the largest is 4294967294)",
            ),
            (
                "1 1:1\0\n",
                "f:1:5: \"1:1\\0\" holds a NUL byte (is this an svmlight file?)",
            ),
            (
                "ü# ü\n",
                "f:1:1: the label \"ü\" is not a number (labels in svmlight files are numbers, or use format = csv|tsv)",
            ),
            ("1 ü:1 1:x\n", "f:1:3: the index of \"ü:1\" is not a whole number"),
        ] {
            assert_eq!(fails(text), expected, "{text:?}");
        }
        assert_eq!(read_text("1 4294967294:1\n").design.features(), 4_294_967_294);
    }

    #[test]
    fn first_of_several_errors_is_reported() {
        let mut text = "1 1:0.5 3:0.1\n".repeat(1000);
        text.insert_str(14 * 700, "1 1:bad\n");
        text.insert_str(14 * 300, "1 1:worse\n");
        text.push_str("1 0:1\n");
        assert_eq!(fails(&text), "f:301:5: the value of \"1:worse\" is not a number");
    }

    #[test]
    fn lines_of_ten_megabytes_are_read() {
        let mut text = String::from("1");
        let mut entries = 0;
        while text.len() < 10 << 20 {
            entries += 1;
            text.push_str(&format!(" {}:1.5", 5_000_000 - entries));
        }
        let matrix = read_text(&text);
        assert_eq!(matrix.design.stored(), entries);
        assert!(fails(format!("1 1:1\n{}", "x".repeat(10 << 20))).starts_with("f:2:1: the label \"xxx"));
        let nested = format!("{text} 7:oops");
        let error = read_whole(nested.as_bytes(), None).unwrap_err();
        assert_eq!(error.position().unwrap().column, text.len() as u64 + 4);
    }

    /// Rows that the format can represent: a label, and nonzero entries with increasing columns.
    fn any_rows() -> impl Strategy<Value = Vec<(f64, Vec<(u32, f64)>)>> {
        let value = prop_oneof![
            (-1000i32..1000).prop_map(f64::from),
            any::<f64>().prop_filter("finite", |v| v.is_finite()),
            (-100_000i32..100_000).prop_map(|v| f64::from(v) / 1e4),
        ];
        let entries = prop::collection::btree_map(0u32..50, value.clone(), 0..8);
        let entries = entries.prop_map(|row| row.into_iter().filter(|(_, v)| *v != 0.0).collect());
        prop::collection::vec((value, entries), 0..30)
    }

    proptest! {
        #[test]
        fn rows_round_trip(
            rows in any_rows(),
            base in 0u32..2,
            segment_bytes in 1usize..200,
            threads in 1usize..4,
            shuffle in any::<bool>(),
        ) {
            let mut text = String::new();
            for (i, (label, entries)) in rows.iter().enumerate() {
                text.push_str(&label.to_string());
                let mut entries = entries.clone();
                if shuffle {
                    entries.reverse();
                }
                for (column, value) in entries {
                    text.push_str(&format!(" {}:{value:e}", column + base));
                }
                text.push_str(["\n", "\r\n", " # comment 1:1\n", "\n\n"][i % 4]);
            }
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let matrix = pool
                .install(|| read_in_segments(text.as_bytes(), Some(base), segment_bytes))
                .unwrap();
            let labels: Vec<f64> = rows.iter().map(|(label, _)| *label).collect();
            prop_assert_eq!(matrix.labels.as_ref().unwrap(), &labels);
            prop_assert_eq!(matrix.design.rows(), rows.len());
            for (row, (_, entries)) in matrix.design.iter().zip(&rows) {
                let mut found = Vec::new();
                row.for_each(|j, value| found.push((j as u32, value)));
                prop_assert_eq!(&found, entries);
            }
            let exact = rows.iter().flat_map(|(_, row)| row).all(|(_, v)| f64::from(*v as f32) == *v);
            prop_assert_eq!(exact, matches!(matrix.design, Design::Sparse32(_)));
            let whole = read_whole(text.as_bytes(), Some(base)).unwrap();
            prop_assert_eq!(whole.design, matrix.design);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(text in "[0-9:. a#+eE\n\r\u{0}-]{0,80}", segment_bytes in 1usize..30) {
            let whole = read_whole(text.as_bytes(), None);
            let segments = read_in_segments(text.as_bytes(), None, segment_bytes);
            match (whole, segments) {
                (Ok(a), Ok(b)) => prop_assert_eq!(a.design, b.design),
                (Err(a), Err(b)) => prop_assert_eq!(a.to_string(), b.to_string()),
                (a, b) => prop_assert!(false, "{:?} but in segments {:?}", a, b),
            }
        }
    }
}
