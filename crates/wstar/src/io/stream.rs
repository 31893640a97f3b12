//! Reading data larger than memory: chunk after chunk of whole rows, in constant memory.

use std::io::Read;

use memchr::memrchr;

use crate::data::{Design, Origin, Raw};
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
/// does not go with them later is an error. The levels of a category are those of its chunk.
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
    Indexed { base: Option<u32>, features: usize },
    Whole,
}

impl Chunks {
    /// A good size of chunks: large enough to keep all cores busy, small in memory.
    pub const BYTES: usize = 4 << 20;

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

    /// Reads on until the buffer holds `wanted` bytes or all there is.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.ended || self.buffer.len() >= wanted {
            return Ok(());
        }
        self.buffer.reserve_exact(wanted - self.buffer.len());
        let missing = (wanted - self.buffer.len()) as u64;
        let read = (&mut self.reader)
            .take(missing)
            .read_to_end(&mut self.buffer)
            .map_err(|cause| gzip_error(&self.name, &cause))?;
        self.ended = (read as u64) < missing;
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
                        base: self.options.base,
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
                self.options.labels.as_ref(),
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
            State::Indexed { base, features } => {
                let mut matrix = svmlight::read_parts(text, &place, *base, part_bytes)?;
                if let Origin::Indexed { base: found } = matrix.origin
                    && matrix.design.rows() > 0
                {
                    *base = Some(found);
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
