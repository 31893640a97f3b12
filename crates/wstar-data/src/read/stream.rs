//! Reads data larger than memory in chunks of whole rows, with constant memory.

use std::io::{ErrorKind, Read};

use memchr::memrchr;

use crate::error::{Error, Result};
use crate::read::csv;
use crate::read::csv::Sniffed;
use crate::read::position::{TextPosition, lines, without_mark};
use crate::read::source::gzip_error;
use crate::read::{Format, ReadOptions, Source, idx, split_text, svmlight};
use crate::{Design, Raw};

/// Cap: a longer row, in bytes, is refused.
const LONGEST_ROW: usize = 64 << 20;

/// The least number of bytes of the first chunk, which determines how the others are read. Heuristic: reliability of the
/// detection against delay; not measured yet.
const FIRST_BYTES: usize = 64 << 10;

/// A source read in chunks of whole rows.
///
/// Format, header, kinds of columns and the base of indices are determined by the first chunk; later rows that do not fit are
/// an error. The levels of a category are those of its chunk. Once a column needs `f64`, it is stored in `f64` in all later
/// chunks.
///
/// ```
/// use wstar_data::read::{Chunks, ReadOptions, Source};
/// let mut chunks = Chunks::open(&Source::parse("@digits").unwrap(), &ReadOptions::default(), 1 << 16).unwrap();
/// let mut count = 0;
/// while let Some(_rows) = chunks.next().unwrap() {
///     count += 1;
/// }
/// assert!(count > 1);
/// ```
pub struct Chunks {
    source: Source,
    name: String,
    options: ReadOptions,
    chunk_bytes: usize,
    reader: Box<dyn Read + Send>,
    /// Bytes that have been read but not parsed.
    buffer: Vec<u8>,
    /// Whether the reader is at its end.
    ended: bool,
    /// Whether nothing has been parsed since the start of the source.
    at_start: bool,
    /// The line on which the buffer starts.
    line: u64,
    /// Whether any row has been returned.
    any_row: bool,
    state: State,
}

/// What the first chunk determines.
enum State {
    Unknown,
    Table(Sniffed),
    Indexed {
        rule: svmlight::IndexRule,
        features: usize,
    },
    Whole,
}

impl Chunks {
    /// The default size of a chunk, in bytes. Heuristic: large enough to keep all cores busy, small in memory; not measured yet.
    pub const BYTES: usize = 1 << 20;

    /// Opens a source that is read in chunks of about `chunk_bytes` bytes of text.
    pub fn open(source: &Source, options: &ReadOptions, chunk_bytes: usize) -> Result<Self> {
        Ok(Chunks {
            name: source.name(),
            options: source.options(options).into_owned(),
            chunk_bytes: chunk_bytes.clamp(1, LONGEST_ROW),
            reader: source.stream()?,
            source: source.clone(),
            buffer: Vec::new(),
            ended: false,
            at_start: true,
            line: 1,
            any_row: false,
            state: State::Unknown,
        })
    }

    /// Whether the source can be read again from the start.
    pub fn can_rewind(&self) -> bool {
        self.source.can_rewind()
    }

    /// Returns to the first row. Fails for standard input and pipes.
    pub fn rewind(&mut self) -> Result<()> {
        if !self.source.can_rewind() {
            return Err(Error::settings("this can be read only once")
                .remedy("write it to a file first, or make a single pass")
                .in_file(&self.name));
        }
        self.reader = self.source.stream()?;
        self.buffer.clear();
        self.ended = false;
        self.at_start = true;
        self.line = 1;
        Ok(())
    }

    /// The next rows, or `None` after the last.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Raw>> {
        let mut wanted = match self.state {
            State::Unknown => self.chunk_bytes.max(FIRST_BYTES),
            _ => self.chunk_bytes,
        };
        loop {
            self.fill(wanted)?;
            if self.at_start {
                let mark = self.buffer.len() - without_mark(&self.buffer).len();
                self.buffer.drain(..mark);
                if self.buffer.is_empty() {
                    return Err(Error::data("the file is empty").in_file(&self.name));
                }
            }
            if self.buffer.is_empty() {
                if !self.any_row {
                    return Err(Error::data("there are no rows").in_file(&self.name));
                }
                return Ok(None);
            }
            let end = self.rows_end()?;
            if end == 0 && self.buffer.len() < wanted {
                continue;
            }
            if end == 0 {
                if wanted >= LONGEST_ROW {
                    return Err(
                        Error::parse(format!("a row is longer than {} MB", LONGEST_ROW >> 20))
                            .at(self.line, 0)
                            .in_file(&self.name),
                    );
                }
                wanted = (2 * wanted).min(LONGEST_ROW);
                continue;
            }
            let raw = self.parse(end)?;
            self.line += lines(&self.buffer[..end]);
            self.buffer.drain(..end);
            self.at_start = false;
            wanted = self.chunk_bytes;
            let rows = match &raw {
                Raw::Table(table) => table.rows,
                Raw::Matrix(matrix) => matrix.design.rows(),
            };
            if rows > 0 {
                self.any_row = true;
                return Ok(Some(raw));
            }
        }
    }

    /// Reads until the buffer holds `wanted` bytes or the source ends. For standard input and pipes a single read suffices once
    /// the first chunk has been parsed, so that the rows of a slow stream are not delayed.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.ended || self.buffer.len() >= wanted {
            return Ok(());
        }
        let missing = wanted - self.buffer.len();
        self.buffer.reserve_exact(missing.min(LONGEST_ROW));
        let mut reader = (&mut self.reader).take(missing as u64);
        let settled = !matches!(self.state, State::Unknown | State::Whole);
        if settled && !self.source.can_rewind() {
            let filled = self.buffer.len();
            self.buffer.resize(filled + missing, 0);
            let read = loop {
                match reader.read(&mut self.buffer[filled..]) {
                    Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                    read => break read.map_err(|cause| gzip_error(&self.name, &cause)),
                }
            };
            self.buffer
                .truncate(filled + read.as_ref().copied().unwrap_or_default());
            self.ended = read? == 0;
        } else {
            let read = reader
                .read_to_end(&mut self.buffer)
                .map_err(|cause| gzip_error(&self.name, &cause))?;
            self.ended = read < missing;
        }
        Ok(())
    }

    /// The end of the last complete row in the buffer; 0 if there is none.
    fn rows_end(&mut self) -> Result<usize> {
        let last_line = memrchr(b'\n', &self.buffer).map_or(0, |at| at + 1);
        if let State::Unknown = self.state {
            let format = self.source.format(&self.options, &self.buffer)?;
            match format {
                Format::Idx => {
                    self.state = State::Whole;
                    self.options.format = Some(format);
                }
                Format::Svmlight => {
                    self.state = State::Indexed {
                        rule: svmlight::IndexRule::new(self.options.base),
                        features: 0,
                    };
                }
                // The dialect and the columns are detected once complete rows are in the buffer.
                Format::Csv | Format::Tsv => self.options.format = Some(format),
            }
        }
        Ok(match &self.state {
            State::Whole => {
                self.fill(usize::MAX)?;
                self.buffer.len()
            }
            _ if self.ended => self.buffer.len(),
            State::Indexed { .. } => last_line,
            State::Table(layout) => layout.rows_end(&self.buffer),
            State::Unknown => {
                let format = self.options.format.unwrap_or(Format::Csv);
                Sniffed::rows_end_of(&self.buffer, last_line, format, &self.options)?
            }
        })
    }

    fn parse(&mut self, end: usize) -> Result<Raw> {
        let text = &self.buffer[..end];
        let origin = TextPosition {
            name: &self.name,
            first_line: self.line,
        };
        let segment_bytes = split_text::segment_bytes(text.len());
        match &mut self.state {
            State::Whole => Ok(Raw::Matrix(idx::read(
                text,
                &self.name,
                self.options.labels.as_deref(),
            )?)),
            State::Table(layout) => {
                csv::read_on(text, layout, self.at_start, &origin, segment_bytes).map(Raw::Table)
            }
            State::Unknown => {
                let format = self.options.format.unwrap_or(Format::Csv);
                let (layout, table) = csv::read_first(text, format, &self.options, &origin, segment_bytes)?;
                self.state = State::Table(layout);
                Ok(Raw::Table(table))
            }
            State::Indexed { rule, features } => {
                let mut matrix = svmlight::read_with(text, &origin, rule)?;
                if matrix.design.rows() > 0 {
                    rule.settle();
                }
                matrix.design = match matrix.design {
                    Design::Sparse32(csr) => Design::Sparse32(csr.widened(*features)),
                    Design::Sparse64(csr) => Design::Sparse64(csr.widened(*features)),
                    dense => dense,
                };
                *features = matrix.design.features();
                Ok(Raw::Matrix(matrix))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::read::read;
    use crate::{Cells, ColumnSource, Matrix, Table};

    fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, Source) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, Source::Path(path))
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn all(chunks: &mut Chunks) -> Result<Vec<Raw>> {
        let mut raws = Vec::new();
        while let Some(raw) = chunks.next()? {
            raws.push(raw);
        }
        Ok(raws)
    }

    fn chunked(source: &Source, chunk_bytes: usize) -> Result<Vec<Raw>> {
        all(&mut Chunks::open(source, &ReadOptions::default(), chunk_bytes)?)
    }

    fn matrix(raw: &Raw) -> &Matrix {
        match raw {
            Raw::Matrix(matrix) => matrix,
            Raw::Table(_) => panic!("not a matrix"),
        }
    }

    fn matrices(raws: &[Raw]) -> Vec<&Matrix> {
        raws.iter().map(matrix).collect()
    }

    fn table(raw: &Raw) -> &Table {
        match raw {
            Raw::Table(table) => table,
            Raw::Matrix(_) => panic!("not a table"),
        }
    }

    fn svmlight_text(rows: usize) -> String {
        let row = |i: usize| format!("{} {}:0.{i} {}:1 # {i}\n", i % 3, 1 + i % 50, 60 + i % 1000);
        (0..rows).map(row).collect()
    }

    fn entries(matrix: &Matrix) -> Vec<Vec<(usize, f64)>> {
        let row = |row: crate::Row| {
            let mut entries = Vec::new();
            row.for_each(|j, value| entries.push((j, value)));
            entries
        };
        matrix.design.iter().map(row).collect()
    }

    #[test]
    fn chunks_together_equal_the_whole_file() {
        let text = svmlight_text(20_000);
        for bytes in [text.clone().into_bytes(), packed(text.as_bytes())] {
            let (_folder, source) = file("data.svm", &bytes);
            let Raw::Matrix(whole) = read(&source, &ReadOptions::default()).unwrap() else {
                panic!("a matrix");
            };
            for chunk_bytes in [100, 10_000, 1 << 20] {
                let mut chunks = Chunks::open(&source, &ReadOptions::default(), chunk_bytes).unwrap();
                for _ in 0..2 {
                    let raws = all(&mut chunks).unwrap();
                    let segments = matrices(&raws);
                    assert_eq!(
                        segments
                            .iter()
                            .flat_map(|segment| entries(segment))
                            .collect::<Vec<_>>(),
                        entries(&whole)
                    );
                    let labels: Vec<f64> = segments
                        .iter()
                        .flat_map(|segment| segment.labels.clone().unwrap())
                        .collect();
                    assert_eq!(Some(labels), whole.labels);
                    let features: Vec<usize> =
                        segments.iter().map(|segment| segment.design.features()).collect();
                    assert!(features.is_sorted());
                    assert_eq!(features.last(), Some(&whole.design.features()));
                    chunks.rewind().unwrap();
                }
            }
        }
    }

    #[test]
    fn tables_keep_their_header_and_kinds() {
        let mut text = String::from("\u{FEFF}n,c,q\r\n");
        for i in 0..9000 {
            text.push_str(&format!("{}.5,{},\"a, \"\"{i}\n\"\r\n", i % 7, ["x", "y"][i % 2]));
        }
        let (_folder, source) = file("data.csv", text.as_bytes());
        let options = ReadOptions {
            text: vec!["q".into()],
            ..Default::default()
        };
        let mut chunks = Chunks::open(&source, &options, 1000).unwrap();
        for _ in 0..2 {
            let raws = all(&mut chunks).unwrap();
            let segments: Vec<&Table> = raws.iter().map(table).collect();
            assert!(segments.len() > 10);
            assert_eq!(segments.iter().map(|segment| segment.rows).sum::<usize>(), 9000);
            let texts = segments
                .iter()
                .flat_map(|segment| match &segment.column("q").unwrap().cells {
                    Cells::Texts(texts) => texts.iter().map(str::to_owned).collect::<Vec<_>>(),
                    _ => panic!("texts"),
                });
            let expected = (0..9000).map(|i| format!("a, \"{i}\n"));
            assert!(texts.eq(expected));
            chunks.rewind().unwrap();
        }
        text.push_str("7,x,end\nseven,x,end\n");
        let (_folder, source) = file("data.csv", text.as_bytes());
        let error = all(&mut Chunks::open(&source, &options, 1000).unwrap()).unwrap_err();
        assert!(
            error.to_string().ends_with(
                "data.csv:18003:1: \"seven\" is not a number in column n (use categorical = n, or drop = n)"
            ),
            "{error}"
        );
    }

    #[test]
    fn errors_report_their_line() {
        let text = svmlight_text(20_000);
        let (_folder, source) = file("data.svm", format!("{text}1 7:x\n").as_bytes());
        let error = chunked(&source, 1000).unwrap_err().to_string();
        assert!(
            error.ends_with("data.svm:20001:5: the value of \"7:x\" is not a number"),
            "{error}"
        );
        let (_folder, source) = file("data.svm", format!("{text}1 0:1\n").as_bytes());
        let error = chunked(&source, 1000).unwrap_err().to_string();
        assert!(error.contains("data.svm:20001:3: \"0:1\" has index 0"), "{error}");
        let (_folder, source) = file("data.svm", format!("1 0:1\n{text}").as_bytes());
        let raws = chunked(&source, 1000).unwrap();
        assert_eq!(matrices(&raws)[5].origin, ColumnSource::Indexed { base: 0 });

        let whole = packed(text.as_bytes());
        let (_folder, source) = file("data.svm.gz", &whole[..whole.len() - 10]);
        let error = chunked(&source, 1000).unwrap_err().to_string();
        assert!(
            error.ends_with("the gzipped data end too early: the file is cut short"),
            "{error}"
        );
        for (name, text, expected) in [
            ("e.csv", "", "the file is empty"),
            ("h.csv", "a,b\n", "there are no rows"),
            ("c.svm", "# nothing\n", "there are no rows"),
        ] {
            let (_folder, source) = file(name, text.as_bytes());
            let error = chunked(&source, 1000).unwrap_err().to_string();
            assert!(error.ends_with(expected), "{error}");
        }
    }

    #[test]
    fn long_rows_are_read_up_to_a_limit() {
        let long = format!("1 1:1\n2{}\n3 1:1\n", " 5:1".to_owned() + &" ".repeat(1 << 20));
        let (_folder, source) = file("data.svm", long.as_bytes());
        let raws = chunked(&source, 1000).unwrap();
        assert_eq!(
            matrices(&raws)
                .iter()
                .map(|segment| segment.design.rows())
                .sum::<usize>(),
            3
        );
        let (_folder, source) = file(
            "data.svm",
            format!("1 1:1\n{}", " ".repeat(LONGEST_ROW + 1)).as_bytes(),
        );
        let error = chunked(&source, 1 << 20).unwrap_err().to_string();
        assert!(
            error.ends_with("data.svm:2: a row is longer than 64 MB"),
            "{error}"
        );
    }

    #[test]
    fn images_are_a_single_chunk() {
        let (_folder, source) = file("x.idx", &[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 3, 4]);
        let raws = chunked(&source, 1).unwrap();
        assert_eq!(matrices(&raws)[0].design.rows(), 2);
    }
}
