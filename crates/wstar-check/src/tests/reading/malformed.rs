//! Truncated and changed input of every kind: it is read or refused, and never a panic.

use crate::canonical_rows;
use crate::check::check;
use crate::model::Model;
use crate::svmlight;
use crate::table::{self, TableOptions};
use crate::verdict::Options;

use crate::tests::reading::{fixture, model, source};

/// Pseudorandom numbers (Marsaglia's xorshift), the same in every run.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Calls `read` with every prefix of the bytes (of long files: with some), and with changed bytes.
fn with_damage(bytes: &[u8], mut read: impl FnMut(&[u8])) {
    let step = bytes.len().div_ceil(2500);
    (0..bytes.len()).step_by(step).for_each(|end| read(&bytes[..end]));
    let mut random = Xorshift(0x9e3779b97f4a7c15);
    let likely = b"0123456789.,:;-+eE\"\\{}[]#\n\r\t \0\xff\x80ntf";
    for _ in 0..3000 {
        let mut changed = bytes.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(changed.len());
            match random.below(4) {
                0 => changed[at] = random.below(256) as u8,
                1 => changed[at] = likely[random.below(likely.len())],
                2 => changed.insert(at, likely[random.below(likely.len())]),
                _ => {
                    let end = (at + random.below(20)).min(changed.len());
                    changed.drain(at..end);
                }
            }
            if changed.is_empty() {
                break;
            }
        }
        read(&changed);
    }
}

#[test]
fn damaged_model_files_do_not_panic() {
    for (name, data) in [
        ("flowers-pairs.json", "flowers.csv"),
        ("flowers-softmax.json", "flowers.csv"),
        ("prices-quantile.json", "prices.csv"),
        ("prices-ridge.json", "prices.csv"),
        ("sparse-svm.json", "sparse.svm"),
        ("flowers-halving.json", "flowers.csv"),
        ("flowers-voted.json", "flowers.csv"),
        ("flowers-kozinec-origin.json", "flowers.csv"),
        ("flowers-gaussian.json", "flowers.csv"),
        ("sparse-naive.json", "sparse.svm"),
        ("sparse-bernoulli.json", "sparse.svm"),
        ("sparse-minimax.json", "sparse.svm"),
        ("flowers-sigmoid.json", "flowers.csv"),
        ("flowers-firth-rest.json", "flowers.csv"),
        ("flowers-separable.json", "flowers.csv"),
        ("flowers-inseparable.json", "flowers.csv"),
        ("sparse-inseparable.json", "sparse.svm"),
        ("touching-quasi.json", "touching.csv"),
        ("overlap-inseparable.json", "overlap.csv"),
        ("overlap-decimal.json", "overlap.csv"),
        ("flowers-margin.json", "flowers.csv"),
        ("flowers-least.json", "flowers.csv"),
        ("flowers-least-enumerated.json", "flowers.csv"),
    ] {
        let mut checked = 0;
        with_damage(&fixture(name), |bytes| {
            let Ok(model) = Model::read(bytes, name) else {
                return;
            };
            let Ok(source) = source(&model, data, false) else {
                return;
            };
            let options = Options {
                digits: model.kind == "duality-gap",
                ..Options::default()
            };
            checked += u32::from(check(&model, &source.rows, options).is_ok());
        });
        assert!(checked > 100, "{name}: {checked}");
    }
}

#[test]
fn damaged_tables_do_not_panic() {
    for (name, data) in [
        ("prices-ridge.json", "prices.csv"),
        ("flowers-rest.json", "flowers.csv"),
    ] {
        let model = model(name);
        let mut readable = 0;
        with_damage(&fixture(data), |bytes| {
            for (drop_missing, delimiter) in [(false, None), (true, None), (true, Some(b'\t'))] {
                let options = TableOptions {
                    delimiter,
                    drop_missing,
                };
                readable += u32::from(table::read(bytes, data, &model.schema, options).is_ok());
            }
        });
        assert!(readable > 100, "{data}: {readable}");
    }
}

#[test]
fn damaged_svmlight_files_do_not_panic() {
    let model = model("sparse-svm.json");
    let mut readable = 0;
    with_damage(&fixture("sparse.svm"), |bytes| {
        readable += u32::from(svmlight::read(bytes, "f", &model.schema).is_ok());
    });
    assert!(readable > 100);
}

#[test]
fn damaged_canonical_rows_do_not_panic() {
    for (name, data) in [
        ("sparse-svm.json", "sparse.svm"),
        ("flowers-softmax.json", "flowers.csv"),
    ] {
        let model = model(name);
        let rows = source(&model, data, false).unwrap().rows;
        let bytes = canonical_rows::write(&rows, &model.schema.classes);
        with_damage(&bytes, |bytes| {
            if let Ok(found) = canonical_rows::read(bytes) {
                // What is read is written as the same bytes.
                assert_eq!(canonical_rows::write(&found.rows, &found.classes), bytes);
            }
        });
    }
}
