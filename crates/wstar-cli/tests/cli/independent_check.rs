//! The proofs of the engine are checked by `wstar-check`, which shares no code with it: separability, largest margins and least errors
//! of random sets with duplicates, points on a line, offsets of 2⁵³ and columns of zeros.

use wstar_check::check::{Source, check};
use wstar_check::model::Model;
use wstar_check::table::TableOptions;
use wstar_check::verdict::{Options, Verdict};

use crate::TestFolder;

/// Pseudo-random integers (splitmix64).
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn whole(&mut self, reach: u64) -> f64 {
        self.below(2 * reach + 1) as f64 - reach as f64
    }
}

/// A CSV file with two classes. With `apart` the first column separates them.
fn random_set(random: &mut SplitMix, apart: bool) -> String {
    let (n, features) = (2 + random.below(25) as usize, 1 + random.below(5) as usize);
    let (kind, reach) = (random.below(7), 1 + random.below(4));
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for i in 0..n {
        let entry = |j| match kind {
            0 => 9_007_199_254_740_000.0 + random.whole(reach),
            1 => 0.1 * random.whole(reach),
            2 => 1.0 + 2f64.powi(-40) * random.whole(reach),
            3 => 9_007_199_254_740_992.0 * random.whole(reach) + 2.0 * random.whole(2),
            4 => (i * (j + 1)) as f64 * 0.3,
            5 if j == 0 => 0.0,
            _ => random.whole(reach),
        };
        rows.push((0..features).map(entry).collect());
    }
    for _ in 0..random.below(3) {
        let copy = rows[random.below(n as u64) as usize].clone();
        rows.push(copy);
    }
    let noise = [1, 4, 10, 1_000_000][random.below(4) as usize];
    let mean = rows.iter().map(|row| row[features - 1]).sum::<f64>() / rows.len() as f64;
    let largest = rows.iter().flatten().fold(1.0f64, |most, x| most.max(x.abs()));
    let mut text: String = (0..features).map(|j| format!("x{j},")).collect();
    text.push_str("class\n");
    for (i, row) in rows.iter_mut().enumerate() {
        let flipped = i > 1 && random.below(noise) == 0;
        let second = i == 1 || (i > 1 && (row[features - 1] > mean) != flipped);
        row[0] += if apart && second { 4.0 * largest } else { 0.0 };
        text.extend(row.iter().map(|x| format!("{x:?},")));
        text.push_str(if second { "b\n" } else { "a\n" });
    }
    text
}

/// What `wstar-check` proves about a file of the engine.
fn checked(folder: &TestFolder, proof: &str, data: &str) -> Verdict {
    let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
    let model = Model::read(&bytes(proof), proof).unwrap();
    let source = Source::file(&model, &bytes(data), data, TableOptions::default()).unwrap();
    check(&model, &source.rows, Options::default()).unwrap()
}

fn every_proof_is_proved_independently(seeds: std::ops::Range<u64>) {
    let folder = TestFolder::new();
    let mut verdicts = std::collections::BTreeSet::new();
    for seed in seeds {
        let random = &mut SplitMix(seed);
        let text = random_set(random, false);
        folder.write("d.csv", &text);
        let mut arguments = vec!["separate", "d.csv", "--proof", "p.json", "--json"];
        arguments.extend((random.below(4) == 0).then_some("--no-intercept"));
        let found = folder.json(&arguments);
        let verdict = checked(&folder, "p.json", "d.csv");
        assert!(verdict.is_proved(), "{seed}: {verdict:?}\n{text}");
        let name = found["verdict"].as_str().unwrap().to_owned();
        assert!(verdict.summary.starts_with(&name), "{seed}: {verdict:?}");
        verdicts.insert(name);
    }
    assert_eq!(verdicts.len(), 3);
}

#[test]
fn proofs_of_separability() {
    every_proof_is_proved_independently(0..40);
}

#[test]
#[ignore = "takes a minute"]
fn many_proofs_of_separability() {
    every_proof_is_proved_independently(1000..3000);
}

#[test]
fn largest_margins_and_least_errors() {
    let folder = TestFolder::new();
    let mut counts = [0, 0];
    for seed in 0..30 {
        let random = &mut SplitMix(seed);
        let method = ["hard-margin", "min-error"][(seed % 2) as usize];
        let text = random_set(random, method == "hard-margin");
        folder.write("d.csv", &text);
        let trained = folder.run(&["train", "d.csv", "--method", method, "-o", "m.json", "--quiet"]);
        if trained.code != 0 {
            // Doubles cannot represent every separating hyperplane of points of size 2⁵³.
            continue;
        }
        let holds = folder.run(&["verify", "m.json", "d.csv"]).code == 0;
        let verdict = checked(&folder, "m.json", "d.csv");
        assert!(!verdict.is_proved() || holds, "{seed}: {verdict:?}\n{text}");
        counts[0] += u32::from(holds);
        counts[1] += u32::from(verdict.is_proved());
    }
    // Predictions that depend on the order of summation are not proved.
    assert!(counts[0] > 20 && counts[1] > 15, "{counts:?}");
}

/// Numbers, categories and missing cells.
const MIXED: &str = "\
age,colour,smoker,bought
31,red,no,no
42,green,yes,no
57,red,yes,yes
23,blue,no,no
38,blue,yes,yes
29,green,no,no
61,red,yes,yes
";

#[test]
fn a_model_is_checked_independently_from_its_file() {
    let folder = TestFolder::new();
    folder.write("mixed.csv", MIXED);
    folder.run(&["train", "mixed.csv", "-o", "m.json"]).expect(0);
    let ran = folder
        .run(&["verify", "m.json", "mixed.csv", "--independent"])
        .expect(0);
    assert!(
        ran.out.starts_with("proved: ") && ran.out.contains("as read by this program"),
        "{}",
        ran.out
    );
    // A smaller tolerance is the user's to choose.
    let strict = [
        "verify",
        "m.json",
        "mixed.csv",
        "--independent",
        "--tol",
        "1e-300",
    ];
    folder.run(&strict).expect(1);
    let mut forged: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path("m.json")).unwrap()).unwrap();
    forged["predictor"]["discriminants"][0]["intercept"] = 10.0.into();
    folder.write("forged.json", forged.to_string());
    folder
        .run(&["verify", "forged.json", "mixed.csv", "--independent"])
        .expect(1);
    let object = folder.json(&["verify", "m.json", "mixed.csv", "--independent", "--json"]);
    assert_eq!(object["proved"], true);
}

#[test]
fn both_readers_give_the_same_canonical_rows() {
    let folder = TestFolder::new();
    folder.write("mixed.csv", MIXED);
    folder.write(
        "sparse.svm",
        "1 1:0.5 3:2\n-1 2:1 3:-1\n1 1:1.5\n-1 2:0.25 3:0.5\n",
    );
    for name in ["mixed.csv", "sparse.svm"] {
        folder.run(&["train", name, "--standardize", "-o", "m.json"]);
        folder.run(&["rows", "m.json", name, "-o", "m.rows"]).expect(0);
        let bytes = std::fs::read(folder.path("m.json")).unwrap();
        let model = Model::read(&bytes, "m.json").unwrap();
        let file = std::fs::read(folder.path(name)).unwrap();
        let source = Source::file(&model, &file, name, TableOptions::default()).unwrap();
        let own = wstar_check::canonical_rows::write(&source.rows, model.classes());
        assert!(own == std::fs::read(folder.path("m.rows")).unwrap(), "{name}");
    }
}

#[test]
fn what_wstar_check_does_not_read_is_passed_as_canonical_rows() {
    let folder = TestFolder::new();
    folder.run(&["train", "@spam", "-o", "m.json"]).expect(0);
    let ran = folder
        .run(&["verify", "m.json", "@spam", "--independent"])
        .expect(0);
    ran.says(&["asserted by the engine"]);
}
