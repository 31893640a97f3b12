//! Sources of data: a file, standard input or an embedded data set; and the detection of their format.

use crate::setting::Setting;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use memmap2::Mmap;

use crate::error::{Error, ErrorKind, Result, nearest, shown};
use crate::read::embedded::{EMBEDDED, Embedded};
use crate::read::position::without_mark;
use crate::read::{Format, ReadOptions};

/// The magic bytes of gzip.
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// A source of data.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// A file.
    Path(PathBuf),
    /// Standard input.
    Stdin,
    /// An embedded data set.
    Embedded(&'static Embedded),
}

impl Source {
    /// Parses a source as a user names it: `-` is standard input, `@iris` an embedded data set, anything else a path.
    ///
    /// ```
    /// use wstar_data::read::Source;
    /// assert_eq!(Source::parse("@iris").unwrap().name(), "@iris");
    /// assert!(Source::parse("@irsi").unwrap_err().to_string().contains("@iris"));
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        if text == "-" {
            return Ok(Source::Stdin);
        }
        let Some(wanted) = text.strip_prefix('@') else {
            return Ok(Source::Path(text.into()));
        };
        let names = || EMBEDDED.iter().map(|set| set.name);
        match EMBEDDED.iter().find(|set| set.name == wanted) {
            Some(set) => Ok(Source::Embedded(set)),
            None => Err(
                Error::settings(format!("there is no data set {} inside wstar", shown(text))).remedy(
                    match nearest(wanted, names()) {
                        Some(near) => format!("did you mean @{near}?"),
                        None => format!("there are @{}", names().collect::<Vec<_>>().join(" @")),
                    },
                ),
            ),
        }
    }

    /// The name of the source in messages.
    pub fn name(&self) -> String {
        match self {
            Source::Path(path) => path.display().to_string(),
            Source::Stdin => "standard input".into(),
            Source::Embedded(set) => format!("@{}", set.name),
        }
    }

    /// The whole content, unpacked if it is gzipped.
    pub fn open(&self) -> Result<Bytes> {
        let packed = match self {
            Source::Path(path) => open_path(path)?,
            Source::Stdin => read_all(io::stdin().lock(), &self.name())?,
            Source::Embedded(set) => Bytes::Static(set.bytes),
        };
        Ok(match unpacked(&packed, &self.name())? {
            Some(unpacked) => Bytes::Owned(unpacked),
            None => packed,
        })
    }

    /// A reader of the content, unpacked if it is gzipped.
    pub(crate) fn stream(&self) -> Result<Box<dyn Read + Send>> {
        let mut packed: Box<dyn BufRead + Send> = match self {
            Source::Path(path) => Box::new(io::BufReader::new(open_file(path)?)),
            Source::Stdin => Box::new(io::BufReader::new(io::stdin())),
            Source::Embedded(set) => Box::new(set.bytes),
        };
        // The first read from a pipe may return a single byte, which is not enough to recognise gzip. In that case the
        // second byte is read through a chain of readers.
        let head = packed
            .fill_buf()
            .map_err(|cause| Error::io(self.name(), &cause))?;
        if head.len() == 1 && head[0] == GZIP[0] {
            let first = head[0];
            packed.consume(1);
            let second = packed
                .fill_buf()
                .map_err(|cause| Error::io(self.name(), &cause))?;
            let is_gzip = second.first() == Some(&GZIP[1]);
            let whole = io::Cursor::new([first]).chain(packed);
            return Ok(if is_gzip {
                Box::new(MultiGzDecoder::new(whole))
            } else {
                Box::new(whole)
            });
        }
        Ok(if head.starts_with(&GZIP) {
            Box::new(MultiGzDecoder::new(packed))
        } else {
            Box::new(packed)
        })
    }

    /// Whether the content can be read a second time.
    pub(crate) fn can_rewind(&self) -> bool {
        match self {
            Source::Path(path) => path.metadata().is_ok_and(|about| about.is_file()),
            Source::Stdin => false,
            Source::Embedded(_) => true,
        }
    }

    /// The options for this source: for an embedded data set the columns of text are known.
    pub(crate) fn options<'a>(&self, options: &'a ReadOptions) -> Cow<'a, ReadOptions> {
        match self {
            Source::Embedded(set) if !set.text.is_empty() => {
                let mut known = options.clone();
                let named = [
                    &options.numeric,
                    &options.categorical,
                    &options.text,
                    &options.drop,
                ];
                for &name in set.text {
                    if !named.iter().any(|names| names.iter().any(|named| named == name)) {
                        known.text.push(name.to_owned());
                    }
                }
                Cow::Owned(known)
            }
            _ => Cow::Borrowed(options),
        }
    }

    /// The format: as given by the options, else by the ending of the name, else detected from the content.
    pub(crate) fn format(&self, options: &ReadOptions, head: &[u8]) -> Result<Format> {
        if let Some(format) = options.format {
            return Ok(format);
        }
        let by_name = match self {
            Source::Path(path) => by_ending(path),
            Source::Stdin => None,
            Source::Embedded(set) => Some(set.format),
        };
        by_name.or_else(|| sniff(head)).ok_or_else(|| {
            Error::new(
                ErrorKind::Parse,
                "the format cannot be determined from the name or the content",
            )
            .remedy(Setting::Format.any(["csv", "tsv", "svmlight", "idx"]))
            .in_file(self.name())
        })
    }
}

/// The content of a source.
#[derive(Debug)]
pub enum Bytes {
    /// A file mapped into memory.
    Mapped(Mmap),
    /// Read or unpacked.
    Owned(Vec<u8>),
    /// Embedded in the library.
    Static(&'static [u8]),
}

impl Bytes {
    /// Releases the memory of a range that has been parsed. The range can still be read.
    pub(super) fn release(&self, range: Range<usize>) {
        if let Bytes::Mapped(map) = self {
            wstar_numeric::memory_map::release(map, range);
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
            Bytes::Static(bytes) => bytes,
        }
    }
}

fn open_file(path: &Path) -> Result<File> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|cause| open_error(&name, &cause))?;
    let about = file.metadata().map_err(|cause| Error::io(&name, &cause))?;
    if about.is_dir() {
        return Err(Error::new(ErrorKind::Io, "this is a directory, not a file").in_file(name));
    }
    Ok(file)
}

fn open_error(name: &str, cause: &io::Error) -> Error {
    let message = match cause.kind() {
        io::ErrorKind::NotFound => "there is no such file",
        io::ErrorKind::PermissionDenied => "no permission to read this file",
        _ => return Error::io(name, cause),
    };
    Error::new(ErrorKind::Io, message).in_file(name)
}

fn open_path(path: &Path) -> Result<Bytes> {
    let name = path.display().to_string();
    let file = open_file(path)?;
    let about = file.metadata().map_err(|cause| Error::io(&name, &cause))?;
    // Only regular files can be mapped, and virtual files (/proc) report a size of 0.
    if about.is_file() && about.len() > 0 {
        let map = wstar_numeric::memory_map::map(&file).map_err(|cause| Error::io(&name, &cause))?;
        return Ok(Bytes::Mapped(map));
    }
    read_all(file, &name)
}

fn read_all(mut reader: impl Read, name: &str) -> Result<Bytes> {
    let mut bytes = Vec::new();
    reader
        .read_to_end(&mut bytes)
        .map_err(|cause| Error::io(name, &cause))?;
    bytes.shrink_to_fit();
    Ok(Bytes::Owned(bytes))
}

/// The unpacked content of gzipped bytes; `None` if they are not gzipped.
pub(super) fn unpacked(bytes: &[u8], name: &str) -> Result<Option<Vec<u8>>> {
    let packed = bytes.starts_with(&GZIP);
    packed.then(|| unpack(bytes, name)).transpose()
}

fn unpack(packed: &[u8], name: &str) -> Result<Vec<u8>> {
    // The last four bytes are the size modulo 2³² of the last member, a good first guess of the capacity. It is limited to
    // 1032 times the packed size, the largest compression ratio of deflate.
    let tail = packed
        .last_chunk::<4>()
        .map_or(0, |tail| u32::from_le_bytes(*tail)) as usize;
    let most = packed.len().saturating_mul(1032);
    let mut bytes = Vec::with_capacity(tail.min(most) + 1);
    MultiGzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .map_err(|cause| gzip_error(name, &cause))?;
    bytes.shrink_to_fit();
    Ok(bytes)
}

/// The error for a failure while reading input that may be gzipped.
pub(crate) fn gzip_error(name: &str, cause: &io::Error) -> Error {
    let message = match cause.kind() {
        io::ErrorKind::UnexpectedEof => "the gzipped data end too early: the file is cut short",
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => "the gzipped data are corrupt",
        _ => return Error::io(name, cause),
    };
    Error::parse(message).in_file(name)
}

/// The format by the ending of a name; `None` for ambiguous endings.
fn by_ending(path: &Path) -> Option<Format> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.contains("-idx3-ubyte") || name.contains(".idx") {
        return Some(Format::Idx);
    }
    match Path::new(name).extension()?.to_str()? {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "svm" | "libsvm" | "svmlight" => Some(Format::Svmlight),
        _ => None,
    }
}

/// The format detected from the start of the content.
fn sniff(head: &[u8]) -> Option<Format> {
    let head = &head[..head.len().min(64 << 10)];
    if let [0, 0, 8, 1..=4, ..] = head {
        return Some(Format::Idx);
    }
    let is_filled = |line: &&[u8]| !line.trim_ascii().is_empty();
    let mut lines = without_mark(head).split(|&byte| byte == b'\n').filter(is_filled);
    let first = lines.next()?;
    let data = if first.trim_ascii_start().starts_with(b"#") {
        lines.find(|line| !line.trim_ascii_start().starts_with(b"#"))?
    } else {
        first
    };
    if head.contains(&0) {
        None
    } else if looks_like_svmlight(data) {
        Some(Format::Svmlight)
    } else if first.contains(&b'\t') {
        Some(Format::Tsv)
    } else if first.iter().any(|byte| matches!(byte, b',' | b';' | b'|')) {
        Some(Format::Csv)
    } else {
        None
    }
}

/// Whether a line is a number followed only by `name:number`.
fn looks_like_svmlight(line: &[u8]) -> bool {
    // Cap: only the first 4096 bytes of a long line are examined.
    let start = &line[..line.len().min(4096)];
    let start = start.split(|&byte| byte == b'#').next().unwrap_or_default();
    let mut tokens = start
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|token| !token.is_empty());
    let label = tokens.next().and_then(|label| std::str::from_utf8(label).ok());
    let mut entries = tokens.peekable();
    label.is_some_and(|label| label.parse::<f64>().is_ok())
        && entries.peek().is_some()
        && entries.all(|entry| {
            let colon = memchr::memchr(b':', entry);
            let cut_off = line.len() > 4096 && start.ends_with(entry);
            colon.is_some_and(|at| entry[..at].iter().all(u8::is_ascii_digit) || &entry[..at] == b"qid")
                || cut_off
        })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn message(error: Error) -> String {
        error.to_string()
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn file(bytes: &[u8]) -> (tempfile::TempDir, Source) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, bytes).unwrap();
        (folder, Source::Path(path))
    }

    #[test]
    fn sources_are_parsed_from_names() {
        assert!(matches!(Source::parse("-"), Ok(Source::Stdin)));
        assert!(matches!(Source::parse("a.csv"), Ok(Source::Path(_))));
        assert!(matches!(Source::parse("@wine"), Ok(Source::Embedded(_))));
        assert_eq!(
            message(Source::parse("@wime").unwrap_err()),
            "there is no data set \"@wime\" inside wstar (did you mean @wine?)"
        );
        assert!(message(Source::parse("@x").unwrap_err()).contains("(there are @iris @wine"));
    }

    #[test]
    fn gzipped_content_is_unpacked() {
        let (_folder, source) = file(b"1,2\n");
        assert_eq!(&*source.open().unwrap(), b"1,2\n");
        let (_folder, source) = file(b"");
        assert_eq!(&*source.open().unwrap(), b"");
        let (_folder, source) = file(&packed(b"1,2\n"));
        assert_eq!(&*source.open().unwrap(), b"1,2\n");
        let (_folder, source) = file(&[packed(b"1,2\n"), packed(b"3,4\n")].concat());
        assert_eq!(&*source.open().unwrap(), b"1,2\n3,4\n");
        let mut text = Vec::new();
        source.stream().unwrap().read_to_end(&mut text).unwrap();
        assert_eq!(text, b"1,2\n3,4\n");
    }

    #[test]
    fn unreadable_sources_give_an_error() {
        let text: Vec<u8> = (0..10_000u32)
            .flat_map(|i| (i * i).to_string().into_bytes())
            .collect();
        let whole = packed(&text);
        let (_folder, source) = file(&whole[..whole.len() / 2]);
        assert!(
            message(source.open().unwrap_err())
                .ends_with("the gzipped data end too early: the file is cut short")
        );
        let mut broken = whole.clone();
        let middle = broken.len() / 2;
        broken[middle..middle + 64].fill(0xFF);
        let (_folder, source) = file(&broken);
        assert!(message(source.open().unwrap_err()).ends_with("the gzipped data are corrupt"));

        let folder = tempfile::tempdir().unwrap();
        let error = Source::Path(folder.path().into()).open().unwrap_err();
        assert!(message(error).ends_with(": this is a directory, not a file"));
        let error = Source::Path(folder.path().join("absent.csv")).open().unwrap_err();
        assert!(message(error).ends_with("absent.csv: there is no such file"));
    }

    #[test]
    fn format_is_detected_by_ending() {
        let by = |name: &str| by_ending(Path::new(name));
        assert_eq!(by("a.CSV"), Some(Format::Csv));
        assert_eq!(by("a.csv.gz"), Some(Format::Csv));
        assert_eq!(by("x/a.tsv"), Some(Format::Tsv));
        assert_eq!(by("a.svm"), Some(Format::Svmlight));
        assert_eq!(by("a.libsvm.gz"), Some(Format::Svmlight));
        assert_eq!(by("train-images-idx3-ubyte.gz"), Some(Format::Idx));
        assert_eq!(by("images.idx"), Some(Format::Idx));
        assert_eq!(by("a.txt"), None);
        assert_eq!(by("a9a.t"), None);
    }

    #[test]
    fn format_is_detected_by_content() {
        assert_eq!(sniff(b"\0\0\x08\x03\0\0\0\x01"), Some(Format::Idx));
        assert_eq!(
            sniff(b"# made by hand\n\n+1 3:0.5 qid:4\n"),
            Some(Format::Svmlight)
        );
        assert_eq!(sniff(b"\xEF\xBB\xBF-1 1:2\r\n"), Some(Format::Svmlight));
        assert_eq!(sniff(b"ham\tGo: now, please\n"), Some(Format::Tsv));
        assert_eq!(sniff(b"a;b\n1;2\n"), Some(Format::Csv));
        assert_eq!(sniff(b"just words\n"), None);
        assert_eq!(sniff(b""), None);
        let error = Source::Stdin
            .format(&ReadOptions::default(), b"hello")
            .unwrap_err();
        assert_eq!(
            message(error),
            "standard input: the format cannot be determined from the name or the content (use format = csv|tsv|svmlight|idx)"
        );
    }
}
