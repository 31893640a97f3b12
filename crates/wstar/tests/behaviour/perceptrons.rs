//! The perceptron family, compared with traces computed by hand and with naive implementations of the definitions.
#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use crate::common::sparse;
use crate::perceptrons_sets::{hyperplane, noise, separable, settings, train};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::certificate::Certificate;
use wstar::data::error::ErrorKind;
use wstar::data::run::{Progress, Status, Step, Unwatched, Watch};
use wstar::data::{Dataset, Target};
use wstar::model::Predictor;
use wstar::model::{evaluate, verify};
use wstar::online::{Ties, Voters};
use wstar::settings::{Method, Options, Rule};
use wstar::solve::learning_rate::Schedule;
use wstar::{Model, fit};

/// Records every step: whether it was a mistake, and the hyperplane after it, intercept first.
#[derive(Default)]
struct Notebook {
    steps: Vec<(u64, f64, bool, Vec<f64>)>,
    stop_after: Option<usize>,
}

impl Watch for Notebook {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let plane = step.hyperplane;
        let numbers = [plane.intercept]
            .into_iter()
            .chain(plane.weights.clone())
            .collect();
        self.steps.push((step.row, step.score, step.mistake, numbers));
        assert_eq!(step.step as usize, self.steps.len());
        match self.stop_after {
            Some(most) if self.steps.len() >= most => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Notebook {
    /// The hyperplane after each mistake, and `None` for each step without a mistake.
    fn trace(&self) -> Vec<Option<Vec<f64>>> {
        self.steps
            .iter()
            .map(|(_, _, mistake, numbers)| mistake.then(|| numbers.clone()))
            .collect()
    }
}

fn spam() -> Dataset {
    let rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]].map(Vec::from);
    Dataset::labelled(&rows, &["spam", "ham", "ham"]).unwrap()
}

fn lecture(ties: Ties) -> Options {
    Options {
        ties: Some(ties),
        learning_rate: Some(1.0),
        rule: Some(Rule::Cyclic),
        start: Some(vec![-3.0, 4.0, 2.0]),
        ..settings(Method::Perceptron)
    }
}

fn follow(data: &Dataset, settings: &Options) -> (Notebook, Model) {
    let mut notebook = Notebook::default();
    let model = fit(data, settings, &mut notebook).unwrap();
    (notebook, model)
}

#[test]
fn the_trace_of_the_spam_lecture() {
    let (notebook, model) = follow(&spam(), &lecture(Ties::Positive));
    let to = |numbers: [f64; 3]| Some(numbers.to_vec());
    let expected = vec![
        to([-2.0, 4.0, 3.0]),
        to([-3.0, 3.0, 3.0]),
        None,
        None,
        to([-4.0, 2.0, 3.0]),
        None,
        to([-3.0, 2.0, 4.0]),
        None,
        None,
        // A full pass without a mistake ends the run.
        None,
        None,
        None,
    ];
    assert_eq!(notebook.trace(), expected);
    let rows: Vec<u64> = notebook.steps.iter().map(|step| step.0).collect();
    assert_eq!(rows, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    let scores: Vec<f64> = notebook.steps.iter().map(|step| step.1).collect();
    assert_eq!(scores[..7], [-1.0, 2.0, -3.0, 0.0, 0.0, -4.0, -1.0]);
    assert_eq!(hyperplane(&model).weights, [2.0, 4.0]);
    assert_eq!(hyperplane(&model).intercept, -3.0);
    assert_eq!(model.record().status, Status::Converged);
    assert_eq!((model.record().iterations, model.record().passes), (4, 4));
    assert_eq!(model.record().mistakes_by_pass, [2, 1, 1, 0]);
    assert!(verify(&model, &spam()).unwrap().holds());
}

#[test]
fn the_trace_with_ties_as_mistakes() {
    // (b, w₁, w₂) starts at (−3, 4, 2); rows (0,1) +, (1,0) −, (0,0) −; a score of 0 is a mistake.
    // Pass 1: (0,1): −3+2 = −1, mistake, + (1,0,1) → (−2,4,3); (1,0): −2+4 = 2, mistake, − (1,1,0) → (−3,3,3);
    //         (0,0): −3, correct.
    // Pass 2: (0,1): −3+3 = 0, mistake, → (−2,3,4); (1,0): −2+3 = 1, mistake, → (−3,2,4); (0,0): −3, correct.
    // Pass 3: −3+4 = 1, −3+2 = −1, −3: all correct. The result is (−3, 2, 4), here too after 4 updates.
    let (notebook, model) = follow(&spam(), &lecture(Ties::Mistake));
    let to = |numbers: [f64; 3]| Some(numbers.to_vec());
    let expected = vec![
        to([-2.0, 4.0, 3.0]),
        to([-3.0, 3.0, 3.0]),
        None,
        to([-2.0, 3.0, 4.0]),
        to([-3.0, 2.0, 4.0]),
        None,
        None,
        None,
        None,
    ];
    assert_eq!(notebook.trace(), expected);
    assert_eq!(model.record().mistakes_by_pass, [2, 2, 0]);
    assert_eq!(hyperplane(&model).weights, [2.0, 4.0]);
}

#[test]
fn predictions_of_the_spam_lecture() {
    // The initial model of the lecture: the start classifies every row correctly, so the run keeps it.
    let rows = [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]].map(Vec::from);
    let data = Dataset::labelled(&rows, &["spam", "spam", "ham", "ham"]).unwrap();
    let model = train(&data, &lecture(Ties::Positive));
    assert_eq!(
        model.record().iterations,
        0,
        "the start classifies all four correctly"
    );
    assert_eq!(model.classify(&data).unwrap(), [1, 1, 0, 0]);
    assert_eq!(model.scores(&data).unwrap().values(), [3.0, 1.0, -1.0, -3.0]);
    assert_eq!(evaluate(&model, &data).unwrap().error(), 0.0);
}

#[test]
fn a_lifted_row_is_an_intercept() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..50 {
        let data = noise(&mut random, 3, 20, &["a", "b"]);
        let lifted: Vec<Vec<f64>> = data
            .design()
            .iter()
            .map(|row| row.to_dense(3).into_iter().chain([1.0]).collect())
            .collect();
        let names: Vec<&str> = codes(&data)
            .iter()
            .map(|&code| ["a", "b"][code as usize])
            .collect();
        let lifted = Dataset::labelled(&lifted, &names).unwrap();
        let own = Options {
            epochs: Some(30.0),
            rule: Some(Rule::Shuffled),
            ..settings(Method::Perceptron)
        };
        let without = Options {
            no_intercept: true,
            ..own.clone()
        };
        let (own, without) = (train(&data, &own), train(&lifted, &without));
        assert_eq!(hyperplane(&own).lifted(), hyperplane(&without).weights);
        assert_eq!(hyperplane(&without).intercept, 0.0);
        assert_eq!(own.record(), without.record());
    }
}

fn codes(data: &Dataset) -> &[u32] {
    match data.target() {
        Target::Classes { codes, .. } => codes,
        _ => panic!("no classes"),
    }
}

/// All hyperplanes of a perceptron over rows in order (intercept last): one before each example, and the final one.
fn hyperplanes(data: &Dataset, class: u32, passes: usize, ties: Ties) -> Vec<Vec<f64>> {
    let mut w = vec![0.0; data.features() + 1];
    let mut all = Vec::new();
    for _ in 0..passes {
        for (row, &code) in data.design().iter().zip(codes(data)) {
            let mut x = row.to_dense(data.features());
            x.push(1.0);
            all.push(w.clone());
            let y = if code == class { 1.0 } else { -1.0 };
            let score = naive_dot(&w, &x);
            let wrong = match ties {
                Ties::Mistake => y * score <= 0.0,
                _ => (score >= 0.0) != (y > 0.0),
            };
            if wrong {
                w.iter_mut().zip(&x).for_each(|(w, x)| *w += y * x);
            }
        }
    }
    all.push(w);
    all
}

fn naive_dot(w: &[f64], x: &[f64]) -> f64 {
    w.iter().zip(x).map(|(w, x)| w * x).sum()
}

fn cyclic(method: Method, passes: usize, ties: Ties) -> Options {
    Options {
        epochs: Some(passes as f64),
        rule: Some(Rule::Cyclic),
        ties: Some(ties),
        ..settings(method)
    }
}

/// Data with two and with three classes, with integer and real values, and the positive class of each subproblem.
fn sets() -> Vec<(Dataset, Vec<u32>)> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut sets = Vec::new();
    for _ in 0..20 {
        let features = random.random_range(1..20);
        let rows = random.random_range(3..30);
        sets.push((noise(&mut random, features, rows, &["a", "b"]), vec![1]));
        sets.push((
            noise(&mut random, features, rows, &["a", "b", "c"]),
            vec![0, 1, 2],
        ));
    }
    sets
}

#[test]
fn the_averaged_perceptron_is_the_mean_over_time() {
    for (data, against_rest) in sets() {
        for (passes, ties) in [(1, Ties::Mistake), (3, Ties::Positive)] {
            let settings = cyclic(Method::AveragedPerceptron, passes, ties);
            let model = train(&data, &settings);
            let Predictor::Linear { discriminants, .. } = model.predictor() else {
                panic!("a mean is one hyperplane");
            };
            for (plane, &class) in discriminants.iter().zip(&against_rest) {
                let all = hyperplanes(&data, class, passes, ties);
                for (j, value) in plane.lifted().into_iter().enumerate() {
                    let mean = all.iter().map(|w| w[j]).sum::<f64>() / all.len() as f64;
                    assert!(
                        (value - mean).abs() <= 1e-12 * (1.0 + mean.abs()),
                        "{value} {mean}"
                    );
                }
            }
            // Sums of integers are exact in any order.
            assert_eq!(train(&sparse(&data), &settings).predictor(), model.predictor());
            assert_eq!(model.record().status, Status::Completed);
            assert!(verify(&model, &data).unwrap().holds());
        }
    }
}

#[test]
fn votes_are_the_majority_of_all_hyperplanes() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for (data, against_rest) in sets() {
        let probes = noise(&mut random, data.features(), 40, &["a", "b"]);
        for (passes, ties, voters) in [
            (1, Ties::Mistake, Voters::All),
            (2, Ties::Positive, Voters::All),
            (3, Ties::Mistake, Voters::LastHalf),
            (1, Ties::Mistake, Voters::LastHalf),
        ] {
            let asked = Options {
                vote: Some(voters),
                ..cyclic(Method::VotedPerceptron, passes, ties)
            };
            let model = train(&data, &asked);
            let scores = model.scores(&probes).unwrap();
            assert_eq!(scores.columns(), against_rest.len());
            for (k, &class) in against_rest.iter().enumerate() {
                let all = hyperplanes(&data, class, passes, ties);
                let voting = match voters {
                    Voters::All => &all[..],
                    _ => &all[all.len() / 2..],
                };
                for (row, scores) in probes.design().iter().zip(scores.rows()) {
                    let mut x = row.to_dense(data.features());
                    x.push(1.0);
                    let votes: f64 = voting
                        .iter()
                        .map(|w| naive_dot(w, &x))
                        .map(|score| {
                            if score > 0.0 || (score == 0.0 && ties == Ties::Positive) {
                                1.0
                            } else {
                                -1.0
                            }
                        })
                        .sum();
                    assert_eq!(scores[k], votes / voting.len() as f64);
                }
            }
            let from_sparse = train(&sparse(&data), &asked);
            assert_eq!(from_sparse.predictor(), model.predictor());
            assert_eq!(from_sparse.scores(&sparse(&probes)).unwrap(), scores);
            // With two classes, a positive score means the last class; a score of 0 means the first.
            if against_rest.len() == 1 {
                let decided = model.classify(&probes).unwrap();
                let expected: Vec<u32> = scores.values().iter().map(|&v| u32::from(v > 0.0)).collect();
                assert_eq!(decided, expected);
            }
        }
    }
}

#[test]
fn the_vote_on_one_row_equals_that_on_many_and_ends_its_history() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let data = noise(&mut random, 4, 37, &["a", "b"]);
    let model = train(&data, &cyclic(Method::VotedPerceptron, 2, Ties::Mistake));
    let Predictor::Committee { committees } = model.predictor() else {
        panic!("no committee");
    };
    let all = hyperplanes(&data, 1, 2, Ties::Mistake);
    let after = [0, 5, 37, 74];
    for (x, vote) in data.design().iter().zip(committees[0].votes(data.design())) {
        let history = committees[0].history(x, &after);
        assert_eq!(committees[0].vote(x), vote);
        assert_eq!(history[3].1, vote);
        let mut lifted = x.to_dense(4);
        lifted.push(1.0);
        for (&moment, (score, vote)) in after.iter().zip(history) {
            let scores: Vec<f64> = all[..=moment as usize]
                .iter()
                .map(|w| naive_dot(w, &lifted))
                .collect();
            assert_eq!(scores[moment as usize], score);
            let votes: f64 = scores.iter().map(|&s| if s > 0.0 { 1.0 } else { -1.0 }).sum();
            assert_eq!(votes / scores.len() as f64, vote);
        }
    }
}

#[test]
fn real_numbers_average_the_same_sparse_and_dense() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    for _ in 0..20 {
        let set = separable(&mut random, 12, 40, 0.01, 1.7, true);
        let (data, asked) = (set.data(), settings(Method::AveragedPerceptron));
        let (dense, thin) = (train(&data, &asked), train(&sparse(&data), &asked));
        for (a, b) in hyperplane(&dense).lifted().iter().zip(hyperplane(&thin).lifted()) {
            assert!((a - b).abs() <= 1e-12 * (1.0 + a.abs()), "{a} {b}");
        }
        let asked = settings(Method::VotedPerceptron);
        let scores = |data: &Dataset| train(data, &asked).scores(data).unwrap();
        for (a, b) in scores(&data)
            .values()
            .iter()
            .zip(scores(&sparse(&data)).into_values())
        {
            assert!((a - b).abs() <= 1e-12, "{a} {b}");
        }
    }
}

#[test]
fn any_online_learner_can_be_made_to_vote() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let data = noise(&mut random, 3, 25, &["a", "b"]);
    let votes = |method: Method, epochs: f64| {
        let asked = Options {
            vote: Some(Voters::All),
            epochs: Some(epochs),
            rule: Some(Rule::Cyclic),
            ..settings(method)
        };
        train(&data, &asked).scores(&data).unwrap()
    };
    // Perceptrons that see the same examples produce the same committee, whatever the name of their method.
    let voted = votes(Method::VotedPerceptron, 4.0);
    assert_eq!(votes(Method::Perceptron, 4.0), voted);
    assert_eq!(votes(Method::OnlinePerceptron, 4.0), voted);

    // Kozinec's hyperplanes, taken from its trace.
    let set = separable(&mut random, 2, 30, 0.1, 1.0, true);
    let data = set.data();
    let plain = Options {
        epsilon: Some(0.1),
        ..settings(Method::Kozinec)
    };
    let voting = Options {
        vote: Some(Voters::All),
        ..plain.clone()
    };
    let (notebook, _) = follow(&data, &plain);
    let model = train(&data, &voting);
    assert_eq!(model.record().status, Status::Converged);
    assert!(verify(&model, &data).unwrap().holds());
    let scores = model.scores(&data).unwrap();
    let moments = notebook.steps.len() as f64 + 1.0;
    for (x, score) in data.design().iter().zip(scores.into_values()) {
        let mut lifted = vec![1.0];
        lifted.extend(x.to_dense(2));
        let of = |w: &Vec<f64>| if naive_dot(w, &lifted) > 0.0 { 1.0 } else { -1.0 };
        // Before the first example the hyperplane is zero, which votes for the negative class.
        let total: f64 = notebook.steps.iter().map(|(.., w)| of(w)).sum::<f64>() - 1.0;
        assert!(
            (score - total / moments).abs() < 1e-12,
            "{score} {}",
            total / moments
        );
    }
}

#[test]
fn the_pocket_is_never_worse_than_its_perceptron() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let mut better = 0;
    for trial in 0..300u64 {
        let features = random.random_range(1..5);
        let rows = random.random_range(4..40);
        let mut data = noise(&mut random, features, rows, &["a", "b"]);
        if trial % 3 == 0 {
            let weights: Vec<f64> = (0..rows)
                .map(|_| f64::from(random.random_range(1..5u8)))
                .collect();
            data = data.with_weights(weights).unwrap();
        }
        let run = |method: Method, epochs: f64| {
            let asked = Options {
                epochs: Some(epochs),
                rule: Some([Rule::Cyclic, Rule::Shuffled, Rule::Worst][(trial % 3) as usize]),
                ties: Some([Ties::Mistake, Ties::Positive][(trial % 2) as usize]),
                seed: trial,
                ..settings(method)
            };
            let model = train(&data, &asked);
            (evaluate(&model, &data).unwrap().error(), model)
        };
        let mut last = f64::INFINITY;
        for epochs in [1.0, 2.0, 5.0, 20.0] {
            let (perceptron, plain) = run(Method::Perceptron, epochs);
            let (pocket, model) = run(Method::Pocket, epochs);
            assert!(pocket <= perceptron, "{pocket} {perceptron}");
            assert!(
                pocket <= last,
                "the training error increased from {last} to {pocket}"
            );
            assert_eq!(
                model.record().iterations,
                plain.record().iterations,
                "not the same run"
            );
            last = pocket;
            better += u32::from(pocket < perceptron);
            let verdict = verify(&model, &data).unwrap();
            let worst = model.settings().rule() == Some(Rule::Worst);
            assert!(verdict.holds() || worst, "{:?}", verdict.objections());
        }
    }
    assert!(better > 300, "the pocket was better only {better} times");
}

#[test]
fn a_pocket_that_converged_separates() {
    // During the run (1) − scores 0: the predicted class is correct, but a score of 0 counts as a mistake.
    let data = Dataset::labelled(&[vec![1.0], vec![2.0]], &["a", "b"]).unwrap();
    let asked = Options {
        rule: Some(Rule::Cyclic),
        ..settings(Method::Pocket)
    };
    let model = train(&data, &asked);
    assert_eq!(model.record().status, Status::Converged);
    let verdict = verify(&model, &data).unwrap();
    assert!(verdict.holds(), "{:?}", verdict.objections());
}

#[test]
fn fractions_of_passes_are_counted_in_examples() {
    let mut random = ChaCha8Rng::seed_from_u64(13);
    let data = noise(&mut random, 3, 40, &["a", "b"]);
    for (epochs, seen, passes) in [
        (0.1, 4, 1),
        (0.5, 20, 1),
        (1.0, 40, 1),
        (2.25, 90, 3),
        (3.0, 120, 3),
    ] {
        let asked = Options {
            epochs: Some(epochs),
            ..settings(Method::OnlinePerceptron)
        };
        let model = train(&data, &asked);
        assert_eq!((model.record().seen, model.record().passes), (seen, passes));
        assert_eq!(model.record().status, Status::Completed);
        assert_eq!(model.record().mistakes_by_pass.len() as u64, passes);
        let all = hyperplanes(&data, 1, 4, Ties::Mistake);
        assert_eq!(hyperplane(&model).lifted(), all[seen as usize]);
        assert!(verify(&model, &data).unwrap().holds());
    }
}

#[test]
fn updates_stay_within_the_limit() {
    let mut random = ChaCha8Rng::seed_from_u64(14);
    for names in [&["a", "b"][..], &["a", "b", "c", "d"]] {
        let data = noise(&mut random, 3, 40, names);
        for most in [1, 2, 3, 17] {
            for (method, rule) in [
                (Method::Perceptron, Rule::Cyclic),
                (Method::Perceptron, Rule::Worst),
                (Method::AveragedPerceptron, Rule::Shuffled),
                (Method::Kozinec, Rule::Worst),
            ] {
                let asked = Options {
                    max_iter: Some(most),
                    rule: Some(rule),
                    ..settings(method)
                };
                let model = train(&data, &asked);
                assert_eq!(model.record().iterations, most);
                assert_eq!(model.record().status, Status::IterationLimit);
                let verdict = verify(&model, &data).unwrap();
                let provable = method != Method::Kozinec && rule != Rule::Worst;
                assert!(verdict.holds() || !provable, "{:?}", verdict.objections());
            }
        }
    }
}

#[test]
fn time_runs_out() {
    let mut random = ChaCha8Rng::seed_from_u64(15);
    let data = noise(&mut random, 3, 400, &["a", "b"]);
    for (method, rule) in [
        (Method::Perceptron, Rule::Cyclic),
        (Method::Perceptron, Rule::Worst),
        (Method::VotedPerceptron, Rule::Shuffled),
        (Method::Kozinec, Rule::Cyclic),
    ] {
        let asked = Options {
            max_seconds: Some(0.02),
            epochs: Some(1e9),
            rule: Some(rule),
            ..settings(method)
        };
        let model = train(&data, &asked);
        assert_eq!(model.record().status, Status::TimeLimit, "{method:?} {rule:?}");
    }
}

#[test]
fn a_watcher_can_stop_a_run_and_the_bound_still_holds() {
    let mut random = ChaCha8Rng::seed_from_u64(16);
    let set = separable(&mut random, 4, 40, 0.002, 1.0, true);
    let data = set.data();
    for rule in [Rule::Cyclic, Rule::Shuffled] {
        for method in [
            Method::Perceptron,
            Method::OnlinePerceptron,
            Method::AveragedPerceptron,
            Method::VotedPerceptron,
            Method::Pocket,
        ] {
            for stop_after in [1, 7, 40, 41] {
                let mut notebook = Notebook {
                    stop_after: Some(stop_after),
                    ..Notebook::default()
                };
                let asked = Options {
                    rule: Some(rule),
                    epochs: Some(50.0),
                    ..settings(method)
                };
                let model = fit(&data, &asked, &mut notebook).unwrap();
                assert_eq!(model.record().status, Status::Stopped);
                assert_eq!(notebook.steps.len(), stop_after);
                let verdict = verify(&model, &data).unwrap();
                assert!(verdict.holds(), "{:?}", verdict.objections());
            }
        }
    }

    struct Impatient(u64);
    impl Watch for Impatient {
        fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
            match progress.seen >= self.0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let model = fit(&data, &settings(Method::Perceptron), &mut Impatient(64)).unwrap();
    assert_eq!(
        (model.record().status, model.record().seen),
        (Status::Stopped, 64)
    );
}

#[test]
fn watching_changes_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(17);
    let set = separable(&mut random, 3, 40, 0.05, 1.0, true);
    let data = set.data();
    for method in Method::ALL.into_iter().filter(|method| method.is_online()) {
        for rule in [Rule::Cyclic, Rule::Worst] {
            let asked = Options {
                rule: Some(rule),
                ..settings(method)
            };
            let Ok(plain) = fit(&data, &asked, &mut Unwatched) else {
                assert_eq!(rule, Rule::Worst);
                continue;
            };
            assert_eq!(follow(&data, &asked).1, plain, "{method:?} {rule:?}");
        }
    }
}

#[test]
fn rows_of_weight_0_do_not_exist() {
    let mut random = ChaCha8Rng::seed_from_u64(18);
    for names in [&["a", "b"][..], &["a", "b", "c"]] {
        let mut data = noise(&mut random, 3, 30, names);
        let kept: Vec<usize> = (0..30).filter(|&i| i < 3 || random.random_bool(0.7)).collect();
        let weight = |i: usize| {
            if kept.contains(&i) {
                1.0 + (i % 3) as f64
            } else {
                0.0
            }
        };
        let weights: Vec<f64> = (0..30).map(weight).collect();
        data = data.with_weights(weights).unwrap();
        let without = data.select(&kept);
        for method in Method::ALL.into_iter().filter(|method| method.is_online()) {
            let asked = Options {
                rule: Some(Rule::Cyclic),
                epochs: Some(5.0),
                ..settings(method)
            };
            let (model, expected) = (train(&data, &asked), train(&without, &asked));
            assert_eq!(model.predictor(), expected.predictor(), "{method:?}");
            assert_eq!(model.record(), expected.record(), "{method:?}");
            if method != Method::Kozinec {
                assert_eq!(model.certificate(), expected.certificate(), "{method:?}");
                assert!(verify(&model, &data).unwrap().holds());
            }
        }
    }
}

#[test]
fn weights_multiply_the_rate() {
    // One pass: (1) + with weight 3 → (3, 3); (−1) − scores 0, a mistake with weight 2 → (3+2, 3−2).
    let mut data = Dataset::labelled(&[vec![1.0], vec![-1.0]], &["b", "a"]).unwrap();
    data = data.with_weights(vec![3.0, 2.0]).unwrap();
    let model = train(&data, &settings(Method::OnlinePerceptron));
    assert_eq!(hyperplane(&model).lifted(), [5.0, 1.0]);
}

#[test]
fn rates_follow_their_schedule() {
    // The same row in both classes: if every visit were a mistake, w = α·(f(1) − f(2) + f(3) − …).
    let data = Dataset::labelled(&[vec![1.0], vec![1.0]], &["b", "a"]).unwrap();
    let asked = |schedule: Schedule| Options {
        schedule: Some(schedule),
        learning_rate: Some(12.0),
        epochs: Some(2.0),
        ..settings(Method::OnlinePerceptron)
    };
    // That would be 12·(1 − ½ + ⅓ − ¼) = 7. The third visit is no mistake, because its score 12 − 6 = 6 is positive.
    // Then (1) − scores 6, and the third update, at rate 12/3 = 4, gives 2.
    let model = train(&data, &asked(Schedule::Inverse));
    assert_eq!(
        (hyperplane(&model).weights[0], model.record().iterations),
        (2.0, 3)
    );
    // With first = 1: 12, then the second at rate 6: 12 − 6 = 6; the third is no mistake; the fourth at rate 6: 0.
    let model = train(&data, &asked(Schedule::Halving { first: 1 }));
    assert_eq!(
        (hyperplane(&model).weights[0], model.record().iterations),
        (0.0, 3)
    );
}

#[test]
fn conflicting_settings_are_refused() {
    let data = spam();
    let three = Dataset::labelled(&[vec![0.0], vec![1.0], vec![2.0]], &["a", "b", "c"]).unwrap();
    let perceptron = || settings(Method::Perceptron);
    let refused = |data: &Dataset, settings: Options, words: &[&str]| {
        let error = fit(data, &settings, &mut Unwatched).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Settings);
        let message = error.to_string();
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
        assert!(!message.contains('\n'));
    };
    let start = |numbers: &[f64]| Options {
        start: Some(numbers.to_vec()),
        ..perceptron()
    };
    refused(
        &data,
        start(&[1.0, 2.0]),
        &["start", "2 numbers", "3 are needed", "intercept"],
    );
    refused(&data, start(&[]), &["start", "0 numbers"]);
    refused(&data, start(&[1.0, f64::NAN, 2.0]), &["start", "finite"]);
    refused(
        &three,
        start(&[1.0, 2.0]),
        &["start", "2 numbers", "6 are needed", "class by class"],
    );
    let through_origin = Options {
        no_intercept: true,
        ..start(&[1.0, 2.0, 3.0])
    };
    refused(&data, through_origin, &["start", "3 numbers", "2 are needed"]);
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let asked = Options {
            learning_rate: Some(rate),
            ..perceptron()
        };
        refused(&data, asked, &["learning-rate", "positive"]);
    }
    for epochs in [0.0, -1.0, f64::NAN] {
        let asked = Options {
            epochs: Some(epochs),
            ..perceptron()
        };
        refused(&data, asked, &["epochs", "positive"]);
    }
    for epsilon in [0.0, 1.0, f64::NAN] {
        let asked = Options {
            epsilon: Some(epsilon),
            ..settings(Method::Kozinec)
        };
        refused(&data, asked, &["epsilon", "between 0 and 1"]);
    }
    let none = Options {
        max_iter: Some(0),
        ..perceptron()
    };
    refused(&data, none, &["max-iter", "at least 1"]);
    let halving = Options {
        schedule: Some(Schedule::Halving { first: 0 }),
        ..perceptron()
    };
    refused(&data, halving, &["halving"]);
    for method in [
        Method::OnlinePerceptron,
        Method::VotedPerceptron,
        Method::AveragedPerceptron,
    ] {
        let asked = Options {
            rule: Some(Rule::Worst),
            ..settings(method)
        };
        refused(&data, asked, &["rule = worst", method.name()]);
    }
    let kozinec = || settings(Method::Kozinec);
    let pairs: [(Options, &str); 6] = [
        (
            Options {
                epsilon: Some(0.1),
                ..perceptron()
            },
            "epsilon",
        ),
        (
            Options {
                ties: Some(Ties::Mistake),
                ..kozinec()
            },
            "ties",
        ),
        (
            Options {
                learning_rate: Some(1.0),
                ..kozinec()
            },
            "learning-rate",
        ),
        (
            Options {
                vote: Some(Voters::All),
                ..settings(Method::Pocket)
            },
            "vote",
        ),
        (
            Options {
                vote: Some(Voters::All),
                ..settings(Method::AveragedPerceptron)
            },
            "vote",
        ),
        (
            Options {
                rule: Some(Rule::Cyclic),
                ..settings(Method::Lda)
            },
            "rule",
        ),
    ];
    for (asked, option) in pairs {
        let method = asked.method.unwrap().name();
        refused(&data, asked, &[option, method]);
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let mut random = ChaCha8Rng::seed_from_u64(19);
    for names in [&["a", "b"][..], &["a", "b", "c"]] {
        // More rows than one block of the pocket algorithm, so that several threads share the blocks.
        let mut data = noise(&mut random, 5, 5_000, names);
        let weights: Vec<f64> = (0..5_000).map(|_| random.random_range(0.1..2.0)).collect();
        data = data.with_weights(weights).unwrap();
        for method in Method::ALL.into_iter().filter(|method| method.is_online()) {
            for rule in [Rule::Shuffled, Rule::Worst] {
                let asked = Options {
                    rule: Some(rule),
                    epochs: Some(3.0),
                    seed: 5,
                    ..settings(method)
                };
                let json = |threads: usize| {
                    let pool = rayon::ThreadPoolBuilder::new()
                        .num_threads(threads)
                        .build()
                        .unwrap();
                    pool.install(|| {
                        let model = fit(&data, &asked, &mut Unwatched).ok()?;
                        let scores = model.scores(&data).unwrap();
                        let bits: Vec<u64> = scores.values().iter().map(|v| v.to_bits()).collect();
                        Some((serde_json::to_string(&model).unwrap(), bits))
                    })
                };
                assert!(json(1) == json(2), "{method:?} {rule:?}");
            }
        }
    }
    let other = |seed: u64| {
        let data = noise(&mut ChaCha8Rng::seed_from_u64(20), 5, 100, &["a", "b"]);
        let asked = Options {
            seed,
            ..settings(Method::VotedPerceptron)
        };
        train(&data, &asked).predictor().clone()
    };
    assert_ne!(other(1), other(2), "the seed shuffles");
}

#[test]
fn a_model_survives_its_file() {
    let mut random = ChaCha8Rng::seed_from_u64(21);
    let set = separable(&mut random, 3, 30, 0.05, 1.0, true);
    for method in Method::ALL.into_iter().filter(|method| method.is_online()) {
        let model = train(&set.data(), &settings(method));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        model.save(&path).unwrap();
        let loaded = Model::load(&path).unwrap();
        assert_eq!(loaded, model);
        assert!(verify(&loaded, &set.data()).unwrap().holds());
        assert_ne!(loaded.certificate(), &Certificate::None);
    }
}
