//! Texts as sparse vectors: bag of words, tf-idf (Salton & Buckley 1988), the hashing trick
//! (Weinberger et al. 2009).
//!
//! **Tokens.** A token is a maximal run of one or more alphanumeric characters (Unicode `Alphabetic` or `Numeric`),
//! including digits. A single apostrophe (`'` or `’`) between two such characters belongs to the token and is written `'`:
//! `don’t` is one token, `don't`. All other characters are separators. Each character is lowercased separately by its
//! Unicode mapping. Terms are the tokens and, if `ngrams` > 1, sequences of up to `ngrams` consecutive tokens joined by one
//! space.
//!
//! **Values.** Let c be the count of a term in a text, n the number of training texts, and df the number of training texts
//! with the term. `counts` is c and `binary` is 1. `tfidf` is tf · idf with tf = c, or 1 + ln c if `sublinear`, and
//! idf = ln((1 + n)/(1 + df)) + 1; each row is then scaled to length 1. Terms that are not in the vocabulary are ignored.
//!
//! **Hashing.** With `hash_bits` = b there is no vocabulary: a term is assigned to the bucket h & (2ᵇ − 1), where h is the
//! 64-bit FNV-1a hash of its UTF-8 bytes, folded as (h >> 32) ^ h. Terms in the same bucket are counted together. There is
//! no random sign, so counts stay counts.

use std::collections::hash_map::Entry;
use std::ops::Range;

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Texts;
use crate::error::{Error, Result};

/// The maximum number of bits of a hash. Cap: more bits, and so more than 2²⁶ columns, are refused.
const MOST_BITS: u32 = 26;

/// The number of texts that one task encodes.
/// Heuristic: small tasks balance the threads, large tasks have less overhead; not measured yet.
const BLOCK: usize = 256;

/// The value of a term in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Weighting {
    /// The number of its occurrences.
    Counts,
    /// 1 if it occurs.
    Binary,
    /// Term frequency times inverse document frequency; rows are scaled to length 1.
    #[default]
    TfIdf,
}

impl Weighting {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Weighting::Counts => "counts",
            Weighting::Binary => "binary",
            Weighting::TfIdf => "tfidf",
        }
    }
}

/// Options of the encoding of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOptions {
    /// The value of a term.
    pub weighting: Weighting,
    /// Whether tf-idf uses 1 + ln c instead of the count c.
    pub sublinear: bool,
    /// The maximum number of tokens in a term: 1 for words, 2 for words and pairs of words ….
    pub ngrams: usize,
    /// The minimum number of training texts in which a term must occur to be kept (not with hashing).
    pub min_df: usize,
    /// The maximum number of terms: those that occur in the most texts are kept, ties in alphabetical order (not with
    /// hashing).
    pub max_features: Option<usize>,
    /// Hash terms into 2ᵇ buckets instead of keeping a vocabulary.
    pub hash_bits: Option<u32>,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            weighting: Weighting::TfIdf,
            sublinear: true,
            ngrams: 2,
            min_df: 1,
            max_features: None,
            hash_bits: None,
        }
    }
}

/// The assignment of terms to columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Terms {
    /// The terms of the vocabulary, sorted; the index of a term is its column.
    Vocabulary(Vec<String>),
    /// The number of bits of the hash.
    Hashed(u32),
}

/// The encoding of a text column, with the vocabulary and idf learnt from the training texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextEncoding {
    /// The value of a term.
    pub(crate) weighting: Weighting,
    /// Whether tf-idf uses 1 + ln c instead of the count c.
    pub(crate) sublinear: bool,
    /// The maximum number of tokens in a term.
    pub(crate) ngrams: usize,
    /// The minimum number of training texts in which a term had to occur to be kept.
    #[serde(default = "default_min_df")]
    pub(crate) min_df: usize,
    /// The maximum number of terms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_features: Option<usize>,
    /// The assignment of terms to columns.
    pub(crate) terms: Terms,
    /// The idf of each column; empty unless the weighting is tf-idf.
    pub(crate) idf: Vec<f64>,
}

/// The `min_df` of model files written before the field existed.
fn default_min_df() -> usize {
    1
}

/// Rows in CSR format: row `i` has the entries `starts[i]..starts[i + 1]`, with increasing column indices.
#[derive(Debug, PartialEq)]
pub struct SparseRows {
    pub starts: Vec<usize>,
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
}

impl SparseRows {
    /// No rows.
    pub fn new() -> Self {
        SparseRows {
            starts: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Appends an entry to the current row.
    pub fn put(&mut self, column: u32, value: f64) {
        self.indices.push(column);
        self.values.push(value);
    }

    /// Ends the current row.
    pub fn end_row(&mut self) {
        self.starts.push(self.indices.len());
    }

    /// The rows of all blocks, in order.
    pub fn join(blocks: Vec<SparseRows>) -> Self {
        let rows: usize = blocks.iter().map(|block| block.starts.len() - 1).sum();
        let stored: usize = blocks.iter().map(|block| block.indices.len()).sum();
        let mut all = SparseRows {
            starts: Vec::with_capacity(rows + 1),
            indices: Vec::with_capacity(stored),
            values: Vec::with_capacity(stored),
        };
        all.starts.push(0);
        for block in blocks {
            let shift = all.indices.len();
            all.starts
                .extend(block.starts[1..].iter().map(|start| start + shift));
            all.indices.extend(block.indices);
            all.values.extend(block.values);
        }
        all
    }
}

impl TextEncoding {
    /// The value of a term.
    pub fn weighting(&self) -> Weighting {
        self.weighting
    }

    /// The maximum number of tokens in a term.
    pub fn ngrams(&self) -> usize {
        self.ngrams
    }

    /// The minimum number of training texts in which a term had to occur to be kept.
    pub fn min_df(&self) -> usize {
        self.min_df
    }

    /// The maximum number of terms.
    pub fn max_features(&self) -> Option<usize> {
        self.max_features
    }

    /// The assignment of terms to columns.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Learns the vocabulary and idf from the training texts.
    pub fn learn(texts: &Texts, options: &TextOptions) -> Result<Self> {
        if options.ngrams == 0 || options.min_df == 0 || options.max_features == Some(0) {
            return Err(Error::settings(
                "n-grams, the least document frequency and the number of terms kept must be at least 1",
            ));
        }
        let mut encoding = TextEncoding {
            weighting: options.weighting,
            sublinear: options.sublinear,
            ngrams: options.ngrams,
            min_df: options.min_df,
            max_features: options.max_features,
            terms: Terms::Vocabulary(Vec::new()),
            idf: Vec::new(),
        };
        let frequencies = match options.hash_bits {
            Some(bits) => {
                check_bits(bits)?;
                encoding.terms = Terms::Hashed(bits);
                if options.weighting != Weighting::TfIdf {
                    return Ok(encoding);
                }
                encoding.bucket_frequencies(texts)
            }
            None => {
                let (vocabulary, frequencies) = vocabulary(texts, options);
                encoding.terms = Terms::Vocabulary(vocabulary);
                frequencies
            }
        };
        if options.weighting == Weighting::TfIdf {
            let n = texts.len() as f64;
            encoding.idf = frequencies
                .iter()
                .map(|&df| ((1.0 + n) / (1.0 + f64::from(df))).ln() + 1.0)
                .collect();
        }
        Ok(encoding)
    }

    /// The number of design columns that it produces.
    pub fn width(&self) -> usize {
        match &self.terms {
            Terms::Vocabulary(words) => words.len(),
            Terms::Hashed(bits) => 1 << (*bits).min(MOST_BITS),
        }
    }

    /// The term of column `j`, or the number of the bucket if terms are hashed.
    pub fn word(&self, j: usize) -> String {
        match &self.terms {
            Terms::Vocabulary(words) => words.get(j).cloned().unwrap_or_default(),
            Terms::Hashed(_) => format!("#{j}"),
        }
    }

    /// Checks that the encoding is consistent; one read from a file may not be.
    pub(super) fn check(&self) -> Result<()> {
        if let Terms::Hashed(bits) = self.terms {
            check_bits(bits)?;
        }
        let idf_length = match self.weighting {
            Weighting::TfIdf => self.width(),
            Weighting::Counts | Weighting::Binary => 0,
        };
        let idf_fits = self.idf.len() == idf_length && self.idf.iter().all(|idf| idf.is_finite());
        if !idf_fits || self.ngrams == 0 {
            return Err(Error::model("the parts of a text encoding do not fit each other"));
        }
        Ok(())
    }

    /// Encodes texts; the result does not depend on the number of threads.
    pub fn encode(&self, texts: &Texts) -> SparseRows {
        let columns = self.columns();
        let encoded = blocks(texts.len())
            .map(|block| {
                let mut rows = SparseRows::new();
                let (mut tokens, mut found) = (Tokens::default(), Vec::new());
                for i in block {
                    let before = rows.indices.len();
                    found.clear();
                    tokens.read(texts.get(i));
                    tokens.for_each_term(self.ngrams, |term| found.extend(columns.of(term)));
                    found.sort_unstable();
                    for run in found.chunk_by(|a, b| a == b) {
                        rows.put(run[0], self.value(run[0], run.len()));
                    }
                    if self.weighting == Weighting::TfIdf {
                        normalize(&mut rows.values[before..]);
                    }
                    rows.end_row();
                }
                rows
            })
            .collect();
        SparseRows::join(encoded)
    }

    /// The value of a term before normalisation.
    fn value(&self, column: u32, count: usize) -> f64 {
        match self.weighting {
            Weighting::Counts => count as f64,
            Weighting::Binary => 1.0,
            Weighting::TfIdf => {
                let tf = if self.sublinear {
                    1.0 + (count as f64).ln()
                } else {
                    count as f64
                };
                tf * self.idf.get(column as usize).copied().unwrap_or(1.0)
            }
        }
    }

    fn columns(&self) -> TermColumns<'_> {
        match &self.terms {
            Terms::Vocabulary(words) => {
                TermColumns::Known((0..).zip(words).map(|(j, w)| (w.as_str(), j)).collect())
            }
            Terms::Hashed(bits) => TermColumns::Hashed(*bits),
        }
    }

    /// The number of texts in which each bucket occurs.
    fn bucket_frequencies(&self, texts: &Texts) -> Vec<u32> {
        let columns = self.columns();
        let seen: Vec<Vec<u32>> = blocks(texts.len())
            .map(|block| {
                let (mut tokens, mut found, mut all) = (Tokens::default(), Vec::new(), Vec::new());
                for i in block {
                    found.clear();
                    tokens.read(texts.get(i));
                    tokens.for_each_term(self.ngrams, |term| found.extend(columns.of(term)));
                    found.sort_unstable();
                    found.dedup();
                    all.extend_from_slice(&found);
                }
                all
            })
            .collect();
        let mut frequencies = vec![0; self.width()];
        seen.iter().flatten().for_each(|&j| frequencies[j as usize] += 1);
        frequencies
    }
}

fn check_bits(bits: u32) -> Result<()> {
    if !(1..=MOST_BITS).contains(&bits) {
        return Err(Error::settings(format!(
            "texts cannot be hashed with {bits} bits: between 1 and {MOST_BITS} are possible"
        )));
    }
    Ok(())
}

/// A lookup of the column of a term.
enum TermColumns<'a> {
    Known(FxHashMap<&'a str, u32>),
    Hashed(u32),
}

impl TermColumns<'_> {
    fn of(&self, term: &str) -> Option<u32> {
        match self {
            TermColumns::Known(columns) => columns.get(term).copied(),
            TermColumns::Hashed(bits) => Some(bucket(term, *bits)),
        }
    }
}

/// The vocabulary of the training texts, sorted, and the number of texts in which each term occurs.
fn vocabulary(texts: &Texts, options: &TextOptions) -> (Vec<String>, Vec<u32>) {
    let frequencies = blocks(texts.len())
        .fold(
            FxHashMap::<String, (u32, usize)>::default,
            |mut frequencies, block| {
                let mut tokens = Tokens::default();
                for i in block {
                    tokens.read(texts.get(i));
                    tokens.for_each_term(options.ngrams, |term| match frequencies.get_mut(term) {
                        // A text counts once, however often the term occurs in it.
                        Some((df, last)) if *last != i => (*df, *last) = (*df + 1, i),
                        Some(_) => {}
                        None => {
                            frequencies.insert(term.to_owned(), (1, i));
                        }
                    });
                }
                frequencies
            },
        )
        .reduce(FxHashMap::default, |a, b| {
            let (mut large, small) = if a.len() < b.len() { (b, a) } else { (a, b) };
            for (term, (df, last)) in small {
                match large.entry(term) {
                    Entry::Occupied(mut known) => known.get_mut().0 += df,
                    Entry::Vacant(entry) => {
                        entry.insert((df, last));
                    }
                }
            }
            large
        });
    let mut kept: Vec<(String, u32)> = frequencies
        .into_iter()
        .map(|(term, (df, _))| (term, df))
        .filter(|&(_, df)| df as usize >= options.min_df)
        .collect();
    if let Some(most) = options.max_features
        && kept.len() > most
    {
        kept.par_sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        kept.truncate(most);
    }
    kept.par_sort_unstable();
    kept.into_iter().unzip()
}

/// Blocks of rows that the threads process in parallel.
fn blocks(rows: usize) -> impl IndexedParallelIterator<Item = Range<usize>> {
    (0..rows.div_ceil(BLOCK))
        .into_par_iter()
        .map(move |block| block * BLOCK..((block + 1) * BLOCK).min(rows))
}

/// Scales the values to Euclidean length 1.
fn normalize(values: &mut [f64]) {
    let length = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    if length > 0.0 {
        values.iter_mut().for_each(|v| *v /= length);
    }
}

/// The tokens of one text, joined by single spaces, so that every n-gram is a slice of the string.
#[derive(Default)]
struct Tokens {
    joined: String,
    spans: Vec<Range<usize>>,
}

impl Tokens {
    fn read(&mut self, text: &str) {
        self.joined.clear();
        self.spans.clear();
        let mut start = None;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            if character.is_alphanumeric() {
                if start.is_none() {
                    if !self.joined.is_empty() {
                        self.joined.push(' ');
                    }
                    start = Some(self.joined.len());
                }
                self.joined.extend(character.to_lowercase());
            } else if let Some(from) = start {
                let inside = characters.peek().is_some_and(|next| next.is_alphanumeric());
                if matches!(character, '\'' | '’') && inside {
                    self.joined.push('\'');
                } else {
                    self.spans.push(from..self.joined.len());
                    start = None;
                }
            }
        }
        if let Some(from) = start {
            self.spans.push(from..self.joined.len());
        }
    }

    fn for_each_term(&self, ngrams: usize, mut visit: impl FnMut(&str)) {
        for (i, first) in self.spans.iter().enumerate() {
            for last in self.spans[i..].iter().take(ngrams) {
                visit(&self.joined[first.start..last.end]);
            }
        }
    }
}

/// The bucket of a term: folded 64-bit FNV-1a.
fn bucket(term: &str, bits: u32) -> u32 {
    let hash = fnv1a(term.as_bytes());
    let folded = (hash >> 32) as u32 ^ hash as u32;
    folded & ((1 << bits.min(MOST_BITS)) - 1)
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        all.iter().for_each(|text| texts.push(text));
        texts
    }

    fn terms(text: &str, ngrams: usize) -> Vec<String> {
        let mut tokens = Tokens::default();
        tokens.read(text);
        let mut all = Vec::new();
        tokens.for_each_term(ngrams, |term| all.push(term.to_owned()));
        all
    }

    fn words() -> TextOptions {
        TextOptions {
            weighting: Weighting::Counts,
            ngrams: 1,
            ..TextOptions::default()
        }
    }

    fn vocabulary_of(encoding: &TextEncoding) -> Vec<&str> {
        match &encoding.terms {
            Terms::Vocabulary(words) => words.iter().map(String::as_str).collect(),
            Terms::Hashed(_) => panic!("hashed"),
        }
    }

    #[test]
    fn tokens_follow_the_documented_rule() {
        assert_eq!(
            terms("Don’t STOP, 'tis 2nd-rate!", 1),
            ["don't", "stop", "tis", "2nd", "rate"]
        );
        assert_eq!(
            terms("ÉCOLE Straße x''y z'", 1),
            ["école", "straße", "x", "y", "z"]
        );
        assert_eq!(terms("…!?", 1), Vec::<String>::new());
        assert_eq!(terms("a b  c", 2), ["a", "a b", "b", "b c", "c"]);
        assert_eq!(terms("a b c", 9), ["a", "a b", "a b c", "b", "b c", "c"]);
    }

    #[test]
    fn tf_idf_matches_a_calculation_by_hand() {
        // n = 3. df: "the" 3, "cat" 2, "dog" 1, "sat" 1.
        // idf: "the" ln(4/4)+1 = 1, "cat" ln(4/3)+1, "dog" and "sat" ln(4/2)+1.
        let three = texts(&["the cat", "The dog the", "cat sat, the cat"]);
        let options = TextOptions {
            sublinear: false,
            ngrams: 1,
            ..TextOptions::default()
        };
        let encoding = TextEncoding::learn(&three, &options).unwrap();
        assert_eq!(vocabulary_of(&encoding), ["cat", "dog", "sat", "the"]);
        let (cat, rare) = ((4.0f64 / 3.0).ln() + 1.0, 2.0f64.ln() + 1.0);
        assert_eq!(encoding.idf, [cat, rare, rare, 1.0]);

        let rows = encoding.encode(&three);
        assert_eq!(rows.starts, [0, 2, 4, 7]);
        assert_eq!(rows.indices, [0, 3, 1, 3, 0, 2, 3]);
        let first = (cat * cat + 1.0).sqrt();
        let second = (rare * rare + 4.0).sqrt();
        let third = (4.0 * cat * cat + rare * rare + 1.0).sqrt();
        let expected = [
            cat / first,
            1.0 / first,
            rare / second,
            2.0 / second,
            2.0 * cat / third,
            rare / third,
            1.0 / third,
        ];
        for (value, expected) in rows.values.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-15, "{value} {expected}");
        }

        let sublinear = TextEncoding {
            sublinear: true,
            ..encoding
        };
        let row = sublinear.encode(&texts(&["the the the unknown cat"]));
        let (tf_cat, tf_the) = (cat, 1.0 + 3.0f64.ln());
        let length = (tf_cat * tf_cat + tf_the * tf_the).sqrt();
        assert_eq!(row.indices, [0, 3], "unknown words are ignored");
        assert!((row.values[1] - tf_the / length).abs() < 1e-15);
    }

    #[test]
    fn counts_binary_values_and_limits_are_applied() {
        let all = texts(&["a b b", "b c", "c b", "d"]);
        let encoding = TextEncoding::learn(&all, &words()).unwrap();
        let rows = encoding.encode(&all);
        assert_eq!(rows.values, [1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        let binary = TextOptions {
            weighting: Weighting::Binary,
            ..words()
        };
        let rows = TextEncoding::learn(&all, &binary).unwrap().encode(&all);
        assert!(rows.values.iter().all(|&v| v == 1.0));

        let frequent = TextOptions { min_df: 2, ..words() };
        assert_eq!(
            vocabulary_of(&TextEncoding::learn(&all, &frequent).unwrap()),
            ["b", "c"]
        );
        let three = TextOptions {
            max_features: Some(3),
            ..words()
        };
        assert_eq!(
            vocabulary_of(&TextEncoding::learn(&all, &three).unwrap()),
            ["a", "b", "c"]
        );
        let none = TextOptions { ngrams: 0, ..words() };
        assert!(TextEncoding::learn(&all, &none).is_err());
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        // From the reference vectors of Fowler, Noll and Vo.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        // 0x85944171 ^ 0xf73967e8 = 0x72ad2699.
        assert_eq!(bucket("foobar", 16), 0x2699);
        assert_eq!(bucket("foobar", 4), 9);
    }

    #[test]
    fn hashing_keeps_counts_without_a_vocabulary() {
        let all = texts(&["spam spam eggs", "", "eggs"]);
        let options = TextOptions {
            hash_bits: Some(20),
            ..words()
        };
        let encoding = TextEncoding::learn(&all, &options).unwrap();
        assert_eq!(encoding.width(), 1 << 20);
        let rows = encoding.encode(&all);
        let (spam, eggs) = (bucket("spam", 20), bucket("eggs", 20));
        assert_eq!(rows.starts, [0, 2, 2, 3]);
        for (&j, &v) in rows.indices.iter().zip(&rows.values) {
            assert!((j, v) == (spam, 2.0) || (j, v) == (eggs, 1.0));
        }
        let tfidf = TextOptions {
            weighting: Weighting::TfIdf,
            hash_bits: Some(8),
            ..options.clone()
        };
        let encoding = TextEncoding::learn(&all, &tfidf).unwrap();
        assert_eq!(
            encoding.idf[bucket("eggs", 8) as usize],
            (4.0f64 / 3.0).ln() + 1.0
        );
        for bits in [0, 27, 64] {
            let options = TextOptions {
                hash_bits: Some(bits),
                ..words()
            };
            assert!(TextEncoding::learn(&all, &options).is_err(), "{bits}");
        }
    }

    #[test]
    fn the_encoding_is_independent_of_the_number_of_threads() {
        let many: Vec<String> = (0..3000).map(|i| format!("w{} w{} x", i % 97, i % 13)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let many = texts(&many);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                let encoding = TextEncoding::learn(&many, &TextOptions::default()).unwrap();
                let rows = encoding.encode(&many);
                (encoding, rows)
            })
        };
        assert!(run(1) == run(3));
    }
}
