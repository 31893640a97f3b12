//! Mutations of known inputs, similar to typing errors, corrupted files and attacks.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Maximum length of a mutated input in bytes: long enough for every state of a reader, short enough to be fast.
/// Cap: longer inputs are truncated.
pub const LONGEST: usize = 4096;

/// Numbers near the limits of the number types and of the number syntax.
const EXTREME_NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967294",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e309",
    "-1e309",
    "5e-324",
    "1e-400",
    "1e999999999",
    "1e-999999999",
    "0.1",
    ".5",
    "5.",
    "1,5",
    "0x1p3",
    "1_000",
    "nan",
    "inf",
    "-Infinity",
    "+",
    "-",
    ".",
    "e",
    "1e",
    "1e+",
    "0.30000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
    "99999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
];

/// A generator of mutated inputs, deterministic for each seed.
pub struct Mutator {
    rng: ChaCha8Rng,
    pool: Vec<Vec<u8>>,
    seeds: usize,
    dictionary: Vec<Vec<u8>>,
}

impl Mutator {
    /// Creates a generator that mutates the seeds and inserts words from the dictionary.
    pub fn new(rng: ChaCha8Rng, seeds: Vec<Vec<u8>>, dictionary: Vec<Vec<u8>>) -> Self {
        let mut pool = seeds;
        pool.push(Vec::new());
        Mutator {
            rng,
            seeds: pool.len(),
            pool,
            dictionary,
        }
    }

    /// The next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.any_of_pool();
        // A single change isolates its effect best; several changes reach states that a single one cannot.
        let changes = 1 << self.rng.random_range(0..4u32);
        for _ in 0..changes {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        self.remember(&input);
        input
    }

    /// Adds some mutated inputs to the pool, so that changes accumulate. The seeds remain in the pool.
    fn remember(&mut self, input: &[u8]) {
        /// Number of mutated inputs in the pool. Cap: a further input replaces a random one of them.
        const KEPT: usize = 64;
        if !self.rng.random_ratio(1, 16) {
            return;
        }
        if self.pool.len() < self.seeds + KEPT {
            self.pool.push(input.to_vec());
        } else {
            let at = self.rng.random_range(self.seeds..self.pool.len());
            self.pool[at] = input.to_vec();
        }
    }

    fn any_of_pool(&mut self) -> Vec<u8> {
        let among = if self.rng.random_ratio(1, 2) {
            self.seeds
        } else {
            self.pool.len()
        };
        self.pool[self.rng.random_range(0..among)].clone()
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let length = input.len();
        match self.rng.random_range(0..12u32) {
            0 if length > 0 => input[self.rng.random_range(0..length)] ^= 1 << self.rng.random_range(0..8u32),
            1 if length > 0 => input[self.rng.random_range(0..length)] = self.rng.random(),
            2 => {
                let at = self.rng.random_range(0..=length);
                input.insert(at, self.rng.random());
            }
            3 => {
                let (from, to) = self.slice(length);
                input.drain(from..to);
            }
            4 => {
                let (from, to) = self.slice(length);
                let copy = input[from..to].to_vec();
                self.insert(input, &copy);
            }
            5 => self.swap(input),
            6 => input.truncate(self.rng.random_range(0..=length)),
            7 | 8 => self.replace_number(input),
            9 | 10 if !self.dictionary.is_empty() => {
                let word = self.dictionary[self.rng.random_range(0..self.dictionary.len())].clone();
                self.insert(input, &word);
            }
            11 => self.splice(input),
            _ => {}
        }
    }

    /// A random range, usually a short one.
    fn slice(&mut self, length: usize) -> (usize, usize) {
        let from = self.rng.random_range(0..=length);
        let longest = if self.rng.random_ratio(3, 4) { 16 } else { length };
        (from, from + self.rng.random_range(0..=longest.min(length - from)))
    }

    fn insert(&mut self, input: &mut Vec<u8>, bytes: &[u8]) {
        let at = self.rng.random_range(0..=input.len());
        input.splice(at..at, bytes.iter().copied());
    }

    /// Swaps two adjacent ranges.
    fn swap(&mut self, input: &mut [u8]) {
        let (from, to) = self.slice(input.len());
        if from < to {
            input[from..to].rotate_left(self.rng.random_range(0..to - from));
        }
    }

    /// Replaces a number of the input by an extreme number.
    fn replace_number(&mut self, input: &mut Vec<u8>) {
        let part_of_number = |byte: &u8| byte.is_ascii_digit() || b".+-eE".contains(byte);
        let starts: Vec<usize> = (0..input.len())
            .filter(|&at| input[at].is_ascii_digit() && (at == 0 || !part_of_number(&input[at - 1])))
            .collect();
        if starts.is_empty() {
            return;
        }
        let from = starts[self.rng.random_range(0..starts.len())];
        let to = from
            + input[from..]
                .iter()
                .take_while(|byte| part_of_number(byte))
                .count();
        let number = EXTREME_NUMBERS[self.rng.random_range(0..EXTREME_NUMBERS.len())];
        input.splice(from..to, number.bytes());
    }

    /// Joins the start of this input and the end of another.
    fn splice(&mut self, input: &mut Vec<u8>) {
        let other = self.any_of_pool();
        input.truncate(self.rng.random_range(0..=input.len()));
        let tail = self.rng.random_range(0..=other.len());
        input.extend_from_slice(&other[tail..]);
    }
}

/// The words of a dictionary in libFuzzer's format: one line `"word"` per word, with the escapes `\\`, `\"` and `\xNN`.
pub fn dictionary(text: &str) -> Vec<Vec<u8>> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| Some(unescape(line.split_once('"')?.1.strip_suffix('"')?)))
        .collect()
}

fn unescape(word: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = word.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        match (first, after) {
            (b'\\', [b'x', a, b, tail @ ..]) => {
                bytes.extend(hex(&[*a, *b]));
                rest = tail;
            }
            (b'\\', [escaped, tail @ ..]) => {
                bytes.push(*escaped);
                rest = tail;
            }
            _ => bytes.push(first),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn mutator(seed: u64) -> Mutator {
        let seeds = vec![b"1 1:0.5 2:3\n".to_vec(), b"a,b\n1,2\n".to_vec()];
        Mutator::new(ChaCha8Rng::seed_from_u64(seed), seeds, dictionary("\"qid:\""))
    }

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let inputs = |seed| {
            Vec::from_iter(
                std::iter::repeat_with({
                    let mut mutator = mutator(seed);
                    move || mutator.next_input()
                })
                .take(500),
            )
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
    }

    #[test]
    fn mutations_reach_numbers_words_and_bytes() {
        let mut mutator = mutator(0);
        let inputs: Vec<Vec<u8>> = (0..5000).map(|_| mutator.next_input()).collect();
        let reached = |part: &[u8]| {
            inputs
                .iter()
                .any(|input| input.windows(part.len()).any(|w| w == part))
        };
        assert!(reached(b":4294967296"));
        assert!(reached(b"qid:"));
        assert!(reached(&[0xff]));
        assert!(inputs.iter().all(|input| input.len() <= LONGEST));
    }

    #[test]
    fn dictionary_words_are_unescaped() {
        let words = dictionary("# comment\n\"a\\\"b\"\nname=\"\\x1f\\x8b\\\\\"\n\nnonsense\n");
        assert_eq!(words, [b"a\"b".to_vec(), vec![0x1f, 0x8b, b'\\']]);
    }
}
