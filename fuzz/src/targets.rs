//! The function of each fuzz target. Readers receive the bytes as a file, through the public interface.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use wstar::Model;
use wstar::data::error::Error;
use wstar::data::read::{Chunks, Format, Header, ReadOptions, Source, read};
use wstar::data::{self, Applied, Cells, Dataset, Design, Missing, Preparation, Raw};
use wstar::separate::proof::Proof;

/// A sparse matrix built from arbitrary arrays: it is rejected, or every row is valid.
pub fn design(bytes: &[u8]) {
    let mut words = bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    let (Some(rows), Some(features)) = (words.next(), words.next()) else {
        return;
    };
    let starts: Vec<usize> = words
        .by_ref()
        .take(rows as usize % 64)
        .map(|start| start as usize)
        .collect();
    let entries: Vec<u32> = words.collect();
    let (indices, values) = entries.split_at(entries.len() / 2);
    let values = values
        .iter()
        .map(|&bits| f64::from(f32::from_bits(bits)))
        .collect();
    match Design::from_csr(starts, indices.to_vec(), values, features as usize) {
        Ok(design) => check_design(&design),
        Err(error) => check_error(&error),
    }
}

/// Any CSV file.
pub fn csv(bytes: &[u8]) {
    table(bytes, Format::Csv);
}

/// Any TSV file.
pub fn tsv(bytes: &[u8]) {
    table(bytes, Format::Tsv);
}

/// Reads a table. The length of the input selects the options, so that seeds are ordinary files.
fn table(bytes: &[u8], format: Format) {
    let headers = [Header::Auto, Header::Present, Header::Absent];
    let options = ReadOptions {
        format: Some(format),
        header: headers[bytes.len() % 3],
        decimal_comma: bytes.len() % 7 == 6,
        ..ReadOptions::default()
    };
    read_file(&sometimes_repeated(bytes), &options);
}

/// Any svmlight file.
pub fn svmlight(bytes: &[u8]) {
    let options = ReadOptions {
        format: Some(Format::Svmlight),
        base: [None, Some(0), Some(1)][bytes.len() % 3],
        ..ReadOptions::default()
    };
    read_file(&sometimes_repeated(bytes), &options);
}

/// Any IDX file of images. If the header of a file of labels follows, the bytes from there on are the file of labels.
pub fn idx(bytes: &[u8]) {
    let labels_at = bytes
        .windows(4)
        .skip(1)
        .position(|window| window == [0, 0, 8, 1])
        .map(|at| at + 1);
    let (images, labels) = bytes.split_at(labels_at.unwrap_or(bytes.len()));
    let labels_file = Temporary::new(labels);
    let options = ReadOptions {
        format: Some(Format::Idx),
        labels: labels_at.map(|_| labels_file.path()),
        ..ReadOptions::default()
    };
    read_file(images, &options);
}

/// Any file, compressed or not, whose format is detected from its content.
pub fn any(bytes: &[u8]) {
    read_file(bytes, &ReadOptions::default());
}

/// Any file, read in chunks so small that most rows are split; the rows must be as valid as without chunks.
pub fn stream(bytes: &[u8]) {
    let formats = [Format::Svmlight, Format::Csv, Format::Tsv];
    let options = ReadOptions {
        format: Some(formats[bytes.len() % 3]),
        ..ReadOptions::default()
    };
    let file = Temporary::new(bytes);
    let chunks = Chunks::open(&Source::Path(file.path()), &options, 1 + bytes.len() % 61);
    let mut chunks = match chunks {
        Ok(chunks) => chunks,
        Err(error) => return check_error(&error),
    };
    loop {
        match chunks.next() {
            Ok(Some(raw)) => check_raw(&raw),
            Ok(None) => return,
            Err(error) => return check_error(&error),
        }
    }
}

/// Any CSV file as training data: encoding it again by the learned schema must give the same design.
pub fn prepare(bytes: &[u8]) {
    let options = ReadOptions {
        format: Some(Format::Csv),
        ..ReadOptions::default()
    };
    let file = Temporary::new(bytes);
    let Ok(raw) = read(&Source::Path(file.path()), &options) else {
        return;
    };
    let how = Preparation {
        missing: [Missing::Refuse, Missing::Mean, Missing::Drop][bytes.len() % 3],
        standardize: bytes.len() % 5 == 4,
        ..Preparation::default()
    };
    let data = match data::prepare::prepare(raw.clone(), &how) {
        Ok(data) => data,
        Err(error) => return check_error(&error),
    };
    check_design(data.design());
    let again = Applied {
        drop_missing: true,
        ..Applied::default()
    };
    match data::prepare_with(raw, data.schema(), None, &again) {
        // Rows without a target are dropped in training but kept for prediction.
        Ok(found) if found.rows() == data.rows() => assert_eq!(found.design(), data.design()),
        Ok(found) => assert!(found.rows() > data.rows()),
        Err(error) => check_error(&error),
    }
}

/// Any model file: it is rejected, or the model can be used.
pub fn model(bytes: &[u8]) {
    /// Number of features of a model that is evaluated. Cap: larger models are only parsed.
    const MOST_FEATURES: usize = 10_000;
    let model = match Model::from_json(bytes) {
        Ok(model) => model,
        Err(error) => return check_error(&error),
    };
    let features = model.schema().features;
    if features > MOST_FEATURES {
        return;
    }
    let _ = model.certificate().holds();
    let _ = model.predictor().hyperplanes();
    assert_eq!(model.schema().feature_names().count(), features);
    let rows = [vec![0.0; features], vec![1.5; features], vec![-1e6; features]];
    let rows_of_numbers = Dataset::unlabelled(&rows).expect("rows of equal length");
    match model.scores(&rows_of_numbers) {
        Ok(scores) => {
            assert_eq!(scores.rows().len(), rows.len());
            if !model.predictor().is_regression() {
                let decided = model.decide(&scores);
                assert!(
                    decided
                        .iter()
                        .all(|&class| (class as usize) < model.classes().len())
                );
                let _ = model.probabilities_of(&scores);
            }
        }
        Err(error) => check_error(&error),
    }
}

/// Any proof file, checked against data that it may not belong to: it is rejected, does not hold, or is true.
pub fn proof(bytes: &[u8]) {
    // The data of the seed proofs: separable, quasi-separable, inseparable without full rank.
    const FILES: [(&str, &str); 3] = [
        ("x,y,class\n0,0,a\n1,0,a\n3,2,b\n4,1.5,b\n", "separable"),
        ("x,y,class\n0,0,a\n1,1,a\n1,1,b\n2,3,b\n", "quasi-separable"),
        ("x,y,z,class\n0,0,0,a\n1,1,2,a\n0,1,1,b\n1,0,1,b\n", "inseparable"),
    ];
    match Proof::from_json(bytes) {
        Ok(_) => {}
        Err(error) => check_error(&error),
    }
    // A forged proof has a correct checksum as well, so the checksum is recomputed.
    let content = serde_json::from_slice::<serde_json::Value>(bytes)
        .ok()
        .and_then(|mut document| document.get_mut("content").map(serde_json::Value::take));
    let Some(forged) = content.and_then(|content| serde_json::from_value::<Proof>(content).ok()) else {
        return;
    };
    let written = forged.to_json().expect("a proof can be written");
    let proof = match Proof::from_json(&written) {
        Ok(proof) => proof,
        Err(error) => return check_error(&error),
    };
    for (text, truth) in FILES {
        match check_proof(&proof, text) {
            Ok(true) => assert_eq!(proof.verdict.name(), truth),
            Ok(false) => {}
            Err(error) => check_error(&error),
        }
    }
}

/// Whether a proof holds exactly, with an intercept, for the unmodified rows of a file; its verdict must then be true.
fn check_proof(proof: &Proof, text: &str) -> Result<bool, Error> {
    let Some(points) = &proof.points else {
        return Ok(false);
    };
    let file = Temporary::new(text.as_bytes());
    let options = ReadOptions {
        format: Some(Format::Csv),
        ..ReadOptions::default()
    };
    let raw = read(
        &Source::Path(file.path()),
        &options.matching(&points.schema, None),
    )?;
    let how = Applied {
        drop_missing: true,
        with_target: true,
        with_weights: true,
        ..Applied::default()
    };
    let data = data::prepare_with(raw.clone(), &points.schema, Some(&points.classes), &how)?;
    let checked = proof.check(data.design(), &points.sides.signs(&data)?)?;
    let plain = data::prepare::prepare(raw, &Preparation::default())?;
    let as_it_stands = plain.design() == data.design() && plain.target() == data.target();
    Ok(checked.holds && checked.exact && proof.intercept && as_it_stands)
}

/// Reads the bytes as a file; the result must be valid data or an error of one line.
fn read_file(bytes: &[u8], options: &ReadOptions) {
    let file = Temporary::new(bytes);
    match read(&Source::Path(file.path()), options) {
        Ok(raw) => check_raw(&raw),
        Err(error) => check_error(&error),
    }
}

/// Repeats one input in 64 until it is long enough to be split into chunks that are parsed in parallel.
fn sometimes_repeated(bytes: &[u8]) -> Vec<u8> {
    /// Minimum length of a repeated input in bytes. Heuristic: trades speed for inputs of several chunks; not measured
    /// yet.
    const LONG: usize = 200 << 10;
    let sum: usize = bytes.iter().map(|&byte| usize::from(byte)).sum();
    let copies = if sum % 64 == 63 { LONG / bytes.len() + 1 } else { 1 };
    bytes.repeat(copies)
}

fn check_raw(raw: &Raw) {
    match raw {
        Raw::Matrix(matrix) => {
            check_design(&matrix.design);
            if let Some(labels) = &matrix.labels {
                assert_eq!(labels.len(), matrix.design.rows());
                assert!(labels.iter().all(|label| label.is_finite()));
            }
        }
        Raw::Table(table) => {
            assert!(table.rows > 0 && !table.columns.is_empty());
            for column in &table.columns {
                let cells = match &column.cells {
                    Cells::Numbers(numbers) => {
                        assert!(
                            numbers.iter().all(|number| !number.is_infinite()),
                            "{}",
                            column.name
                        );
                        numbers.len()
                    }
                    Cells::Categories { codes, levels } => {
                        let known = |&code: &u32| code == Cells::MISSING || (code as usize) < levels.len();
                        assert!(codes.iter().all(known), "{}", column.name);
                        codes.len()
                    }
                    Cells::Texts(texts) => texts.len(),
                };
                assert_eq!(cells, table.rows, "{}", column.name);
            }
        }
    }
}

fn check_design(design: &Design) {
    assert_eq!(design.iter().count(), design.rows());
    for row in design.iter() {
        row.for_each(|j, value| assert!(j < design.features() && value.is_finite()));
    }
}

/// Every error message must be one non-empty line without control characters.
fn check_error(error: &Error) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && !text.chars().any(char::is_control),
        "{text:?}"
    );
}

/// An unnamed file that is deleted when it is dropped.
struct Temporary(File);

impl Temporary {
    fn new(bytes: &[u8]) -> Self {
        let memory = Path::new("/dev/shm");
        let file = if memory.is_dir() {
            tempfile::tempfile_in(memory)
        } else {
            tempfile::tempfile()
        };
        let mut file = file.expect("a temporary file");
        file.write_all(bytes).expect("space for a temporary file");
        file.rewind().expect("a temporary file");
        Temporary(file)
    }

    fn path(&self) -> PathBuf {
        format!("/dev/fd/{}", self.0.as_raw_fd()).into()
    }
}
