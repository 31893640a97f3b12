//! What each target does with its bytes. Readers get them as a file, through the door that users come through.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use wstar::certify::proof::Proof;
use wstar::data::{self, Applied, Cells, Design, Missing, Preparation, Raw};
use wstar::io::{Chunks, Format, Header, ReadOptions, Source, read};
use wstar::{Error, Model};

/// A sparse matrix put together from untrusted parts: refused, or sound in every row.
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

/// The length of the input chooses among the options, so that every file also is a plain seed.
fn table(bytes: &[u8], format: Format) {
    let headers = [Header::Auto, Header::Present, Header::Absent];
    let options = ReadOptions {
        format: Some(format),
        header: headers[bytes.len() % 3],
        decimal_comma: bytes.len() % 7 == 6,
        ..ReadOptions::default()
    };
    read_file(&long_at_times(bytes), &options);
}

/// Any svmlight file.
pub fn svmlight(bytes: &[u8]) {
    let options = ReadOptions {
        format: Some(Format::Svmlight),
        base: [None, Some(0), Some(1)][bytes.len() % 3],
        ..ReadOptions::default()
    };
    read_file(&long_at_times(bytes), &options);
}

/// Any IDX file of images; from where a header of labels follows, the rest is the file of labels.
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

/// Any file at all, gzipped or not, of a format that is told by its content.
pub fn any(bytes: &[u8]) {
    read_file(bytes, &ReadOptions::default());
}

/// Any file, read in chunks so small that most rows are cut: as sound as in one piece.
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

/// Any CSV file as training data: what the schema learns from it, it finds again in it.
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
    let data = match data::prepare(raw.clone(), &how) {
        Ok(data) => data,
        Err(error) => return check_error(&error),
    };
    check_design(&data.design);
    let again = Applied {
        drop_missing: true,
        ..Applied::default()
    };
    match data::prepare_with(raw, &data.schema, None, &again) {
        // Rows without a target were left out of the training, and are wanted for a prediction.
        Ok(found) if found.rows() == data.rows() => assert_eq!(found.design, data.design),
        Ok(found) => assert!(found.rows() > data.rows()),
        Err(error) => check_error(&error),
    }
}

/// Any model file: refused, or usable.
pub fn model(bytes: &[u8]) {
    const MOST_FEATURES: usize = 10_000;
    let model = match Model::from_json(bytes) {
        Ok(model) => model,
        Err(error) => return check_error(&error),
    };
    let features = model.schema.features;
    if features > MOST_FEATURES {
        return;
    }
    let _ = model.certificate.holds();
    let _ = model.predictor.hyperplanes();
    assert_eq!(model.schema.feature_names().count(), features);
    let rows = [vec![0.0; features], vec![1.5; features], vec![-1e6; features]];
    let design = Design::from_rows(&rows).expect("whole rows");
    match model.predictor.scores(&design) {
        Ok(scores) => {
            assert_eq!(scores.rows().len(), rows.len());
            for row in scores.rows() {
                assert!((model.predictor.decide(row) as usize) < model.classes.len());
                let _ = model.predictor.probabilities(row);
            }
        }
        Err(error) => check_error(&error),
    }
}

/// Any proof file, checked against data that it may or may not be about: refused, objected to, or true.
pub fn proof(bytes: &[u8]) {
    // The seeds are proofs about these: separable, quasi-separable, inseparable without full rank.
    const FILES: [(&str, &str); 3] = [
        ("x,y,class\n0,0,a\n1,0,a\n3,2,b\n4,1.5,b\n", "separable"),
        ("x,y,class\n0,0,a\n1,1,a\n1,1,b\n2,3,b\n", "quasi-separable"),
        ("x,y,z,class\n0,0,0,a\n1,1,2,a\n0,1,1,b\n1,0,1,b\n", "inseparable"),
    ];
    match Proof::from_json(bytes) {
        Ok(_) => {}
        Err(error) => check_error(&error),
    }
    // Whoever forges a proof mends its checksum too.
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

/// Whether a proof holds exactly for the rows of a file as they stand, with an intercept: its verdict is then true.
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
    let checked = proof.check(&data.design, &points.sides.signs(&data)?)?;
    let plain = data::prepare(raw, &Preparation::default())?;
    let as_it_stands = plain.design == data.design && plain.target == data.target;
    Ok(checked.holds && checked.exact && proof.intercept && as_it_stands)
}

/// Reads the bytes as a file; what comes out is sound, or an error on one line.
fn read_file(bytes: &[u8], options: &ReadOptions) {
    let file = Temporary::new(bytes);
    match read(&Source::Path(file.path()), options) {
        Ok(raw) => check_raw(&raw),
        Err(error) => check_error(&error),
    }
}

/// One input in 64 is repeated until it is long enough to be cut into parts that are read side by side.
fn long_at_times(bytes: &[u8]) -> Vec<u8> {
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

/// Whatever the input, an error is one line that a terminal can show.
fn check_error(error: &Error) {
    let text = error.to_string();
    assert!(
        !text.is_empty() && !text.chars().any(char::is_control),
        "{text:?}"
    );
}

/// A file without a name, which is gone when it is dropped.
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
        file.write_all(bytes).expect("room for a temporary file");
        file.rewind().expect("a temporary file");
        Temporary(file)
    }

    fn path(&self) -> PathBuf {
        format!("/dev/fd/{}", self.0.as_raw_fd()).into()
    }
}
