//! The svmlight (LIBSVM) format: `label index:value index:value … # comment`, a row a line.
//!
//! The text is cut at line ends, and its parts are parsed side by side, each into memory that stays in a cache; what
//! they hold is then put together in their order. Nothing is counted beforehand, and nothing is parsed twice.
//!
//! Explicit zeros are left out: they change no score, and every loop over a row would pay for them.
//! Their index still counts for the number of features.

mod fault;
mod join;
mod part;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::data::{Matrix, Origin};
use crate::error::Result;
use crate::io::place::{Place, without_mark};
use crate::io::split;
use join::Joined;
use part::Part;

/// The most bytes of a part: with what they hold they fit into a core's own cache beside much else, and parts that wait for
/// their turn take little memory.
const LARGEST_PART: usize = 256 << 10;
/// How long a thread that is far ahead waits for others before it takes the memory after all.
const PATIENCE: Duration = Duration::from_millis(20);

/// Reads a whole file. `base` is the index of the first feature, if it is known; `done` hears of each part of the text
/// that was parsed.
pub(crate) fn read(
    text: &[u8],
    place: &Place,
    base: Option<u32>,
    done: &(dyn Fn(Range<usize>) + Sync),
) -> Result<Matrix> {
    let rows = without_mark(text);
    let mark = text.len() - rows.len();
    let done = |part: Range<usize>| done(part.start + mark..part.end + mark);
    read_parts(rows, place, &mut Plan::new(base), part_bytes(rows), &done)
}

/// Reads a text as planned, and corrects the plan where it does not hold.
pub(crate) fn read_with(text: &[u8], place: &Place, plan: &mut Plan) -> Result<Matrix> {
    read_parts(text, place, plan, part_bytes(text), &|_| ())
}

fn part_bytes(text: &[u8]) -> usize {
    split::part_bytes(text.len()).min(LARGEST_PART)
}

/// Reads a text cut into parts of about `part_bytes`; the result does not depend on it.
fn read_parts(
    text: &[u8],
    place: &Place,
    plan: &mut Plan,
    part_bytes: usize,
    done: &(dyn Fn(Range<usize>) + Sync),
) -> Result<Matrix> {
    let parts = split::at_line_ends(text, part_bytes);
    match parse(text, &parts, *plan, done).finish() {
        Ok((design, labels, found)) => {
            *plan = found;
            Ok(Matrix {
                source: place.name.to_owned(),
                design,
                labels: Some(labels),
                origin: Origin::Indexed { base: plan.base },
            })
        }
        Err((part, fault)) => Err(fault.shifted(parts[part].start).locate(text, place)),
    }
}

/// What a parse takes for granted.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// The index of the first feature.
    base: u32,
    /// Whether an index below it is an error.
    base_is_known: bool,
    /// Whether values are stored in `f64`.
    wide: bool,
}

impl Plan {
    /// The plan at the start of a file, with the base if it is known.
    pub(crate) fn new(base: Option<u32>) -> Self {
        Plan {
            base: base.unwrap_or(1),
            base_is_known: base.is_some(),
            wide: false,
        }
    }

    /// From here on the base does not change.
    pub(crate) fn settle(&mut self) {
        self.base_is_known = true;
    }

    /// The least index that is no error.
    fn least(&self) -> u32 {
        if self.base_is_known { self.base } else { 0 }
    }
}

/// Parses the parts side by side. They are begun in their order, so that few wait for an earlier one.
fn parse(text: &[u8], parts: &[Range<usize>], plan: Plan, done: &(dyn Fn(Range<usize>) + Sync)) -> Joined {
    let next = AtomicUsize::new(0);
    let joined = Mutex::new(Joined::new(plan));
    let lock = || joined.lock().unwrap_or_else(PoisonError::into_inner);
    let turn = Condvar::new();
    let work = || {
        let mut part = Part::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = parts.get(number) else {
                return;
            };
            part.read(&text[range.clone()], plan.least());
            done(range.clone());
            let mut joined = lock();
            part = joined.take(number, part, parts.len());
            turn.notify_all();
            // Parts are begun in their order, so that whoever has the next one is not waiting here.
            let waited = turn.wait_timeout_while(joined, PATIENCE, |joined| joined.is_far_ahead());
            if waited.unwrap_or_else(PoisonError::into_inner).0.is_over() {
                return;
            }
        }
    };
    match parts.len().min(rayon::current_num_threads()) {
        0 | 1 => work(),
        workers => rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work()))),
    }
    joined.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::Design;

    fn read_whole(text: &[u8], base: Option<u32>) -> Result<Matrix> {
        read(text, &Place::start("f"), base, &|_| ())
    }

    fn read_in_parts(text: &[u8], base: Option<u32>, part_bytes: usize) -> Result<Matrix> {
        read_parts(
            text,
            &Place::start("f"),
            &mut Plan::new(base),
            part_bytes,
            &|_| (),
        )
    }

    fn read_text(text: impl AsRef<[u8]>) -> Matrix {
        read_whole(text.as_ref(), None).unwrap()
    }

    fn fails(text: impl AsRef<[u8]>) -> String {
        let text = text.as_ref();
        let whole = read_whole(text, None).unwrap_err().to_string();
        for part_bytes in [1, 5, 17] {
            let parts = read_in_parts(text, None, part_bytes).unwrap_err();
            assert_eq!(parts.to_string(), whole, "in parts of {part_bytes}");
        }
        whole
    }

    fn rows(matrix: &Matrix) -> Vec<Vec<f64>> {
        let features = matrix.design.features();
        matrix.design.iter().map(|row| row.to_dense(features)).collect()
    }

    #[test]
    fn every_form_of_a_row() {
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
        assert_eq!(matrix.origin, Origin::Indexed { base: 1 });
        assert!(matches!(matrix.design, Design::Sparse32(_)));
        assert_eq!(read_text("# nothing\n\n").design.rows(), 0);
    }

    #[test]
    fn the_base_is_found_or_obeyed() {
        let matrix = read_text("1 1:5\n1 0:0.1 2:3\n");
        assert_eq!(matrix.origin, Origin::Indexed { base: 0 });
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
    fn rows_are_sorted_and_zeros_left_out() {
        let matrix = read_text("1 5:5 2:2 4:0 1:1\n");
        assert_eq!(rows(&matrix), [[1.0, 2.0, 0.0, 0.0, 5.0]]);
        assert_eq!(matrix.design.stored(), 3);
        let matrix = read_text("1 1:1 9:0\n1 2:3\n");
        assert_eq!((matrix.design.features(), matrix.design.stored()), (9, 2));
    }

    #[test]
    fn storage_is_wide_only_when_it_must() {
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
    fn what_is_wrong_is_told_with_line_and_column() {
        for (text, expected) in [
            ("1 1:1\n1 2:1 2:3\n", "f:2:7: index 2 stands twice in its row"),
            (
                "1 1:1\n1 5:1 2:0 5:0\n",
                "f:2:11: index 5 stands twice in its row",
            ),
            (
                "1 1:1\nspam 1:1\n",
                "f:2:1: the label \"spam\" is not a number (labels in svmlight files are numbers; use --format if this is another format)",
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
                "f:1:1: the label \"ü\" is not a number (labels in svmlight files are numbers; use --format if this is another format)",
            ),
            ("1 ü:1 1:x\n", "f:1:3: the index of \"ü:1\" is not a whole number"),
        ] {
            assert_eq!(fails(text), expected, "{text:?}");
        }
        assert_eq!(read_text("1 4294967294:1\n").design.features(), 4_294_967_294);
    }

    #[test]
    fn of_several_faults_the_first_is_told() {
        let mut text = "1 1:0.5 3:0.1\n".repeat(1000);
        text.insert_str(14 * 700, "1 1:bad\n");
        text.insert_str(14 * 300, "1 1:worse\n");
        text.push_str("1 0:1\n");
        assert_eq!(fails(&text), "f:301:5: the value of \"1:worse\" is not a number");
    }

    #[test]
    fn a_line_of_ten_megabytes() {
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

    /// Rows as the format can hold them: a label, and entries of increasing columns that are not 0.
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
        fn what_is_written_reads_back(
            rows in any_rows(),
            base in 0u32..2,
            part_bytes in 1usize..200,
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
                .install(|| read_in_parts(text.as_bytes(), Some(base), part_bytes))
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
        fn no_bytes_make_it_panic(text in "[0-9:. a#+eE\n\r\u{0}-]{0,80}", part_bytes in 1usize..30) {
            let whole = read_whole(text.as_bytes(), None);
            let parts = read_in_parts(text.as_bytes(), None, part_bytes);
            match (whole, parts) {
                (Ok(a), Ok(b)) => prop_assert_eq!(a.design, b.design),
                (Err(a), Err(b)) => prop_assert_eq!(a.to_string(), b.to_string()),
                (a, b) => prop_assert!(false, "{:?} but in parts {:?}", a, b),
            }
        }
    }
}
