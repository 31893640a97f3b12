//! Reading data larger than memory: chunk after chunk of whole rows, in constant memory.

use std::io::{ErrorKind, Read};

use memchr::memrchr;

use crate::data::{Design, Raw};
use crate::error::{Error, Result};
use crate::io::csv::{self, Layout};
use crate::io::place::{Place, lines, without_mark};
use crate::io::source::gzip_error;
use crate::io::{Format, ReadOptions, Source, idx, split, svmlight};

/// A row longer than this is refused.
const LONGEST_ROW: usize = 64 << 20;

/// The first chunk settles how the others are read, so it is not smaller than this.
const FIRST_BYTES: usize = 64 << 10;

/// A source read in chunks of whole rows.
///
/// Format, header, kinds of columns and the base of indices are settled by the first chunk; what
/// does not go with them later is an error. The levels of a category are those of its chunk. Numbers
/// that once needed `f64` are stored in it from then on.
///
/// ```
/// use wstar::io::{Chunks, ReadOptions, Source};
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
    /// What was read but not yet handed out.
    buffer: Vec<u8>,
    /// Whether the reader has given all.
    ended: bool,
    /// Whether nothing was handed out since the start of the source.
    at_start: bool,
    /// The line on which the buffer starts.
    line: u64,
    /// Whether there was any row yet.
    any_row: bool,
    state: State,
}

/// What the first chunk settles.
enum State {
    Unknown,
    Table(Layout),
    Indexed { plan: svmlight::Plan, features: usize },
    Whole,
}

impl Chunks {
    /// A good size of chunks: large enough to keep all cores busy, small in memory.
    pub const BYTES: usize = 1 << 20;

    /// Opens a source; chunks are of about `chunk_bytes` of text.
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

    /// Whether it can be read again from the start.
    pub fn can_rewind(&self) -> bool {
        self.source.can_rewind()
    }

    /// Starts again from the first row; standard input and pipes cannot do that.
    pub fn rewind(&mut self) -> Result<()> {
        if !self.source.can_rewind() {
            return Err(Error::settings("this can be read only once")
                .hint("write it to a file first, or make a single pass")
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

    /// Reads on until the buffer holds `wanted` bytes or all there is. What comes in live is taken as it
    /// comes, once the first chunk has settled how to read it: a slow stream must not be seen late.
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

    /// The end of the last row that is complete in the buffer; 0 if there is none.
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
                        plan: svmlight::Plan::new(self.options.base),
                        features: 0,
                    };
                }
                // What else is to be known is found out once complete rows are there.
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
                Layout::rows_end_of(&self.buffer, last_line, format, &self.options)?
            }
        })
    }

    fn parse(&mut self, end: usize) -> Result<Raw> {
        let text = &self.buffer[..end];
        let place = Place {
            name: &self.name,
            first_line: self.line,
        };
        let part_bytes = split::part_bytes(text.len());
        match &mut self.state {
            State::Whole => Ok(Raw::Matrix(idx::read(
                text,
                &self.name,
                self.options.labels.as_deref(),
            )?)),
            State::Table(layout) => {
                csv::read_on(text, layout, self.at_start, &place, part_bytes).map(Raw::Table)
            }
            State::Unknown => {
                let format = self.options.format.unwrap_or(Format::Csv);
                let (layout, table) = csv::read_first(text, format, &self.options, &place, part_bytes)?;
                self.state = State::Table(layout);
                Ok(Raw::Table(table))
            }
            State::Indexed { plan, features } => {
                let mut matrix = svmlight::read_with(text, &place, plan)?;
                if matrix.design.rows() > 0 {
                    plan.settle();
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
    use crate::data::{Cells, Matrix, Origin, Table};
    use crate::io::read;

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
        let row = |row: crate::data::Row| {
            let mut entries = Vec::new();
            row.for_each(|j, value| entries.push((j, value)));
            entries
        };
        matrix.design.iter().map(row).collect()
    }

    #[test]
    fn chunks_joined_are_the_whole() {
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
                    let parts = matrices(&raws);
                    assert_eq!(
                        parts.iter().flat_map(|part| entries(part)).collect::<Vec<_>>(),
                        entries(&whole)
                    );
                    let labels: Vec<f64> = parts
                        .iter()
                        .flat_map(|part| part.labels.clone().unwrap())
                        .collect();
                    assert_eq!(Some(labels), whole.labels);
                    let features: Vec<usize> = parts.iter().map(|part| part.design.features()).collect();
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
            let parts: Vec<&Table> = raws.iter().map(table).collect();
            assert!(parts.len() > 10);
            assert_eq!(parts.iter().map(|part| part.rows).sum::<usize>(), 9000);
            let texts = parts
                .iter()
                .flat_map(|part| match &part.column("q").unwrap().cells {
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
                "data.csv:18003:1: \"seven\" is not a number in column n (use --categorical n, or --drop n)"
            ),
            "{error}"
        );
    }

    #[test]
    fn faults_are_told_on_their_line() {
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
        assert_eq!(matrices(&raws)[5].origin, Origin::Indexed { base: 0 });

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
    fn a_row_may_be_long_but_not_endless() {
        let long = format!("1 1:1\n2{}\n3 1:1\n", " 5:1".to_owned() + &" ".repeat(1 << 20));
        let (_folder, source) = file("data.svm", long.as_bytes());
        let raws = chunked(&source, 1000).unwrap();
        assert_eq!(
            matrices(&raws)
                .iter()
                .map(|part| part.design.rows())
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
    fn images_come_whole() {
        let (_folder, source) = file("x.idx", &[0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 1, 3, 4]);
        let raws = chunked(&source, 1).unwrap();
        assert_eq!(matrices(&raws)[0].design.rows(), 2);
    }
}
