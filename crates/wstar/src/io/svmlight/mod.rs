//! The svmlight (LIBSVM) format: `label index:value index:value … # comment`, a row a line.
//!
//! The text is cut at line ends. A first pass counts line ends and colons, which bound the rows and
//! the entries of each part; the parts are then parsed side by side, straight into the arrays of the
//! final matrix. Values are stored in `f32` until one is met that is not exact in it; then the
//! parse starts again in `f64`, which on decimal data happens in the first row.
//!
//! Explicit zeros are left out: they change no score, and every loop over a row would pay for them.
//! Their index still counts for the number of features.

mod fault;

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use crate::data::{Csr, Design, Matrix, Origin};
use crate::error::Result;
use crate::io::number;
use crate::io::place::{Fault, Place, without_mark};
use crate::io::split;
use fault::{index_fault, label_fault, range_fault, repeat_fault, value_fault, zero_fault};

/// The largest index a file may hold: the number of features must fit in 32 bits too.
const LARGEST_INDEX: u64 = u32::MAX as u64 - 1;

/// Reads a whole file. `base` is the index of the first feature, if it is known.
pub(crate) fn read(text: &[u8], place: &Place, base: Option<u32>) -> Result<Matrix> {
    read_parts(text, place, base, split::part_bytes(text.len()))
}

/// Reads a text cut into parts of about `part_bytes`; the result does not depend on it.
pub(crate) fn read_parts(text: &[u8], place: &Place, base: Option<u32>, part_bytes: usize) -> Result<Matrix> {
    read_with(without_mark(text), place, &mut Plan::new(base), part_bytes)
}

/// Reads a text as planned, and corrects the plan where it does not hold.
pub(crate) fn read_with(text: &[u8], place: &Place, plan: &mut Plan, part_bytes: usize) -> Result<Matrix> {
    let parts = split::at_line_ends(text, part_bytes);
    let counts: Vec<Count> = parts
        .par_iter()
        .map(|part| Count {
            rows: split::rows(&text[part.clone()]),
            entries: memchr_iter(b':', &text[part.clone()]).count(),
        })
        .collect();
    let texts: Vec<&[u8]> = parts.iter().map(|part| &text[part.clone()]).collect();

    // Each turn settles one question for good (the base, the width), so there are three at most.
    loop {
        let outcome = if plan.wide {
            parse(&texts, &counts, *plan).map(|(csr, labels)| (Design::Sparse64(csr), labels))
        } else {
            parse(&texts, &counts, *plan).map(|(csr, labels)| (Design::Sparse32(csr), labels))
        };
        match outcome {
            Ok((design, labels)) => {
                return Ok(Matrix {
                    source: place.name.to_owned(),
                    design,
                    labels: Some(labels),
                    origin: Origin::Indexed { base: plan.base },
                });
            }
            Err(Stop::Replan(flags)) => {
                plan.wide |= flags & WIDE != 0;
                if flags & ZERO_BASED != 0 {
                    plan.base = 0;
                    plan.base_is_known = true;
                }
            }
            Err(Stop::Fault(part, fault)) => {
                return Err(fault.shifted(parts[part].start).locate(text, place));
            }
        }
    }
}

/// Upper bounds of what a part holds.
#[derive(Clone, Copy)]
struct Count {
    rows: usize,
    entries: usize,
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
}

/// A value that `f32` does not hold was met.
const WIDE: u8 = 1;
/// The index 0 was met.
const ZERO_BASED: u8 = 2;

/// Why a parse ended early.
enum Stop {
    /// The plan was wrong in these points.
    Replan(u8),
    /// The text of the part of this number is faulty.
    Fault(usize, Fault),
}

/// A storage of values.
trait Store: Copy + Default + Send + Sync + 'static {
    /// The value as stored; `None` if it would be rounded.
    fn store(value: f64) -> Option<Self>;
    /// Whether it is 0.
    fn is_zero(self) -> bool;
}

impl Store for f32 {
    #[inline(always)]
    fn store(value: f64) -> Option<f32> {
        let narrow = value as f32;
        (f64::from(narrow) == value).then_some(narrow)
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl Store for f64 {
    #[inline(always)]
    fn store(value: f64) -> Option<f64> {
        Some(value)
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

/// Where a part writes to.
struct Room<'a, T> {
    /// The end of each row among the part's entries.
    ends: &'a mut [usize],
    labels: &'a mut [f64],
    indices: &'a mut [u32],
    values: &'a mut [T],
}

/// What a part turned out to hold.
struct Held {
    rows: usize,
    entries: usize,
    features: usize,
}

fn parse<T: Store>(
    texts: &[&[u8]],
    counts: &[Count],
    plan: Plan,
) -> std::result::Result<(Csr<T>, Vec<f64>), Stop> {
    let rows: usize = counts.iter().map(|count| count.rows).sum();
    let entries: usize = counts.iter().map(|count| count.entries).sum();
    let mut starts = vec![0usize; rows + 1];
    let mut labels = vec![0.0f64; rows];
    let mut indices = vec![0u32; entries];
    let mut values = vec![T::default(); entries];

    let flags = AtomicU8::new(0);
    let first_fault = AtomicUsize::new(usize::MAX);
    let rooms = rooms(counts, &mut starts[1..], &mut labels, &mut indices, &mut values);
    let held: Vec<std::result::Result<Held, Fault>> = texts
        .par_iter()
        .zip(rooms)
        .enumerate()
        .map(|(part, (text, room))| {
            // Nobody will ask for what stands after a fault.
            if first_fault.load(Ordering::Relaxed) < part {
                return Ok(Held {
                    rows: 0,
                    entries: 0,
                    features: 0,
                });
            }
            Part {
                text,
                room,
                plan,
                flags: &flags,
            }
            .parse()
            .inspect_err(|_| _ = first_fault.fetch_min(part, Ordering::Relaxed))
        })
        .collect();

    // A part that saw the plan fail stopped there, so faults that others met need not be the first.
    let flags = flags.into_inner();
    if flags != 0 {
        return Err(Stop::Replan(flags));
    }
    let mut found = Vec::with_capacity(held.len());
    for (part, held) in held.into_iter().enumerate() {
        found.push(held.map_err(|fault| Stop::Fault(part, fault))?);
    }
    let features = found.iter().map(|held| held.features).max().unwrap_or(0);
    close_gaps(
        counts,
        &found,
        &mut starts,
        &mut labels,
        &mut indices,
        &mut values,
    );
    let csr = Csr::new(starts, indices, values, features)
        .map_err(|error| Stop::Fault(0, Fault { offset: 0, error }))?;
    Ok((csr, labels))
}

/// Disjoint rooms in the final arrays, one a part.
fn rooms<'a, T>(
    counts: &[Count],
    mut ends: &'a mut [usize],
    mut labels: &'a mut [f64],
    mut indices: &'a mut [u32],
    mut values: &'a mut [T],
) -> Vec<Room<'a, T>> {
    let mut rooms = Vec::with_capacity(counts.len());
    for &Count { rows, entries } in counts {
        rooms.push(Room {
            ends: ends.split_off_mut(..rows).unwrap_or_default(),
            labels: labels.split_off_mut(..rows).unwrap_or_default(),
            indices: indices.split_off_mut(..entries).unwrap_or_default(),
            values: values.split_off_mut(..entries).unwrap_or_default(),
        });
    }
    rooms
}

/// Moves what the parts hold together, over the room they did not need, and makes row ends count from 0.
fn close_gaps<T: Copy>(
    counts: &[Count],
    found: &[Held],
    starts: &mut Vec<usize>,
    labels: &mut Vec<f64>,
    indices: &mut Vec<u32>,
    values: &mut Vec<T>,
) {
    let (mut rows, mut entries) = (0, 0);
    let (mut row_room, mut entry_room) = (0, 0);
    for (count, held) in counts.iter().zip(found) {
        for row in 0..held.rows {
            starts[1 + rows + row] = starts[1 + row_room + row] + entries;
        }
        labels.copy_within(row_room..row_room + held.rows, rows);
        if entry_room != entries {
            indices.copy_within(entry_room..entry_room + held.entries, entries);
            values.copy_within(entry_room..entry_room + held.entries, entries);
        }
        rows += held.rows;
        entries += held.entries;
        row_room += count.rows;
        entry_room += count.entries;
    }
    starts.truncate(rows + 1);
    labels.truncate(rows);
    indices.truncate(entries);
    values.truncate(entries);
    starts.shrink_to_fit();
    labels.shrink_to_fit();
    indices.shrink_to_fit();
    values.shrink_to_fit();
}

/// A part while it is parsed.
struct Part<'a, T> {
    text: &'a [u8],
    room: Room<'a, T>,
    plan: Plan,
    flags: &'a AtomicU8,
}

impl<T: Store> Part<'_, T> {
    fn parse(mut self) -> std::result::Result<Held, Fault> {
        let text = self.text;
        let (mut at, mut rows, mut entries) = (0, 0, 0);
        // One more than the largest column, so that 0 means none.
        let mut features: u32 = 0;
        loop {
            at = skip_blanks(text, at);
            match text.get(at) {
                None => break,
                Some(b'\n') => {
                    at += 1;
                    continue;
                }
                Some(b'#') => {
                    at = next_line(text, at);
                    continue;
                }
                Some(_) => {}
            }
            if self.flags.load(Ordering::Relaxed) != 0 {
                break;
            }
            let label_at = at;
            match number::prefix::<b'.'>(&text[at..]) {
                Some((label, length)) if ends_token(text, at + length) && label.is_finite() => {
                    self.room.labels[rows] = label;
                    at += length;
                }
                _ => return Err(label_fault(text, at)),
            }

            let first = entries;
            // The column that the next one must exceed, plus one.
            let mut above: u32 = 0;
            let mut plain = true;
            loop {
                at = skip_blanks(text, at);
                let token = at;
                let (index, digits) = number::digits(text, at, 0);
                at += digits;
                if at == token || text.get(at) != Some(&b':') {
                    match text.get(token) {
                        None => break,
                        Some(b'\n') => {
                            at = token + 1;
                            break;
                        }
                        Some(b'#') => {
                            at = next_line(text, token);
                            break;
                        }
                        Some(_) => {
                            at = after_query(text, token).ok_or_else(|| index_fault(text, token))?;
                            continue;
                        }
                    }
                }
                if index > LARGEST_INDEX || digits > 19 {
                    return Err(range_fault(text, token));
                }
                let Some(column) = (index as u32).checked_sub(self.plan.base) else {
                    if self.plan.base_is_known {
                        return Err(zero_fault(text, token));
                    }
                    self.flags.fetch_or(ZERO_BASED, Ordering::Relaxed);
                    return Ok(Held {
                        rows: 0,
                        entries: 0,
                        features: 0,
                    });
                };
                at += 1;
                let value = match number::prefix::<b'.'>(&text[at..]) {
                    Some((value, length)) if ends_token(text, at + length) && value.is_finite() => {
                        at += length;
                        value
                    }
                    _ => return Err(value_fault(text, token, at)),
                };
                let Some(stored) = T::store(value) else {
                    self.flags.fetch_or(WIDE, Ordering::Relaxed);
                    return Ok(Held {
                        rows: 0,
                        entries: 0,
                        features: 0,
                    });
                };
                self.room.indices[entries] = column;
                self.room.values[entries] = stored;
                entries += 1;
                plain &= column >= above && value != 0.0;
                above = column + 1;
                features = features.max(above);
            }
            if !plain {
                entries = self.tidy_row(first, entries).map_err(|column| {
                    repeat_fault(text, label_at, u64::from(column) + u64::from(self.plan.base))
                })?;
            }
            self.room.ends[rows] = entries;
            rows += 1;
        }
        Ok(Held {
            rows,
            entries,
            features: features as usize,
        })
    }

    /// Sorts the entries `first..end` and leaves out zeros; gives the new end, or a repeated column.
    #[cold]
    fn tidy_row(&mut self, first: usize, end: usize) -> std::result::Result<usize, u32> {
        let mut row: Vec<(u32, T)> = self.room.indices[first..end]
            .iter()
            .copied()
            .zip(self.room.values[first..end].iter().copied())
            .collect();
        row.sort_by_key(|&(column, _)| column);
        if let Some(pair) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(pair[0].0);
        }
        let mut end = first;
        for (column, value) in row.into_iter().filter(|(_, value)| !value.is_zero()) {
            self.room.indices[end] = column;
            self.room.values[end] = value;
            end += 1;
        }
        Ok(end)
    }
}

#[inline(always)]
fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\r') = text.get(at) {
        at += 1;
    }
    at
}

#[inline(always)]
fn ends_token(text: &[u8], at: usize) -> bool {
    matches!(text.get(at), None | Some(b' ' | b'\n' | b'\t' | b'\r' | b'#'))
}

fn next_line(text: &[u8], at: usize) -> usize {
    memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end + 1)
}

/// The end of the query number at `at`, if one stands there.
fn after_query(text: &[u8], at: usize) -> Option<usize> {
    let number = text[at..].strip_prefix(b"qid:")?;
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = at + 4 + digits;
    (digits > 0 && ends_token(text, end)).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_text(text: impl AsRef<[u8]>) -> Matrix {
        read(text.as_ref(), &Place::start("f"), None).unwrap()
    }

    fn fails(text: impl AsRef<[u8]>) -> String {
        let text = text.as_ref();
        let whole = read(text, &Place::start("f"), None).unwrap_err().to_string();
        for part_bytes in [1, 5, 17] {
            let parts = read_parts(text, &Place::start("f"), None, part_bytes).unwrap_err();
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
        let zero = read(b"1 1:5\n", &Place::start("f"), Some(0)).unwrap();
        assert_eq!(rows(&zero), [[0.0, 5.0]]);
        let error = read(b"1 1:5\n1 2:3 0:4\n", &Place::start("f"), Some(1)).unwrap_err();
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
        let error = read(nested.as_bytes(), &Place::start("f"), None).unwrap_err();
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
                .install(|| read_parts(text.as_bytes(), &Place::start("f"), Some(base), part_bytes))
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
            let whole = read(text.as_bytes(), &Place::start("f"), Some(base)).unwrap();
            prop_assert_eq!(whole.design, matrix.design);
        }

        #[test]
        fn no_bytes_make_it_panic(text in "[0-9:. a#+eE\n\r\u{0}-]{0,80}", part_bytes in 1usize..30) {
            let whole = read(text.as_bytes(), &Place::start("f"), None);
            let parts = read_parts(text.as_bytes(), &Place::start("f"), None, part_bytes);
            match (whole, parts) {
                (Ok(a), Ok(b)) => prop_assert_eq!(a.design, b.design),
                (Err(a), Err(b)) => prop_assert_eq!(a.to_string(), b.to_string()),
                (a, b) => prop_assert!(false, "{:?} but in parts {:?}", a, b),
            }
        }
    }
}
