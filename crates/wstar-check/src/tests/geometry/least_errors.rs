//! Least errors: by hand, and against the least cost over all ways to classify the points.

use crate::dyadic::Dyadic;
use crate::mutant::{Mutant, with};
use crate::tests::geometry::{Set, SplitMix, circuits, set};

struct ErrorClaim {
    plane: (Vec<f64>, f64),
    errors: u64,
    cost: f64,
    lower_bound: f64,
    proof: String,
}

fn model(set: &Set, claim: &ErrorClaim) -> String {
    let counted = set.weights.iter().filter(|weight| **weight > 0.0).count();
    format!(
        r#"{{"format":"wstar-model","version":2,"classes":["a","b"],"schema":{},
        "settings":{{"family":"min-error","intercept":{},"common":{{"seed":0}}}},
        "predictor":{{"kind":"linear","discriminants":[{{"weights":{:?},"intercept":{:e}}}],"ties":"mistake","link":"margin"}},
        "fit":{{"rows":{counted},"objective":{:e}}},
        "certificate":{{"kind":"min-error","errors":{},"cost":{:e},"lower_bound":{:e},"proof":{}}}}}"#,
        set.schema(),
        set.intercept,
        claim.plane.0,
        claim.plane.1,
        claim.cost,
        claim.errors,
        claim.cost,
        claim.lower_bound,
        claim.proof
    )
}

fn is_proved(set: &Set, claim: &ErrorClaim) -> bool {
    set.check(&model(set, claim))
        .is_ok_and(|verdict| verdict.is_proved())
}

/// Whether the lower bound alone is proved.
fn is_bound(set: &Set, lower_bound: f64, proof: &str) -> bool {
    let claim = ErrorClaim {
        plane: (vec![0.0; set.features()], 0.0),
        errors: 0,
        cost: 0.0,
        lower_bound,
        proof: proof.into(),
    };
    let verdict = set.check(&model(set, &claim)).unwrap();
    verdict
        .statements
        .iter()
        .any(|statement| statement.about == "lower bound" && statement.proved == Some(true))
}

fn tree(circuits: &str, steps: &str) -> String {
    format!(r#"{{"circuits":{{"circuits":{circuits},"steps":{steps}}}}}"#)
}

const ENUMERATION: &str = "\"enumeration\"";

/// a, b, a, b, a on a line: two errors.
fn alternating() -> Set {
    set(
        &[(&[0.0], 0), (&[1.0], 1), (&[2.0], 0), (&[3.0], 1), (&[4.0], 0)],
        true,
    )
}

#[test]
fn by_hand() {
    let set = alternating();
    let claim = |cost: f64, lower_bound: f64, proof: &str| ErrorClaim {
        plane: (vec![1.0], -0.5),
        errors: cost as u64,
        cost,
        lower_bound,
        proof: proof.into(),
    };
    let verdict = set.check(&model(&set, &claim(2.0, 2.0, ENUMERATION))).unwrap();
    assert!(verdict.is_proved(), "{verdict:?}");
    assert!(
        is_proved(&set, &claim(2.0, 1.0, ENUMERATION)),
        "a stated bound may be weaker than the proved one"
    );
    assert!(!is_proved(
        &set,
        &claim(2.0, 1.0, &tree("[[0,1,2]]", r#"[{"pack":[0]}]"#))
    ));
    assert!(!is_proved(&set, &claim(1.0, 1.0, ENUMERATION)), "the cost is 2");
    assert!(!is_proved(&set, &claim(3.0, 3.0, ENUMERATION)));
    let mut other = claim(2.0, 2.0, ENUMERATION);
    other.errors = 1;
    assert!(!is_proved(&set, &other));
    // Every circuit of this line has three points, so two disjoint ones need six.
    assert!(is_bound(&set, 1.0, &tree("[[0,1,2]]", r#"[{"pack":[0]}]"#)));
    assert!(
        !is_bound(&set, 2.0, &tree("[[0,1,2],[2,3,4]]", r#"[{"pack":[0,1]}]"#)),
        "row 2 is shared"
    );
    let shared = tree("[[0,1,2],[2,3,4]]", r#"[{"pack":[0,1]}]"#);
    assert!(with(Mutant::SharedCosts, || is_bound(&set, 2.0, &shared)));
    // If row 0 is wrong, 1 3 4 remain; if row 1 is, 0 3 4 and 2 3 4; if row 2 is, 1 3 4 do not contradict, but 0 1 4 do.
    let circuits = "[[0,1,2],[2,3,4],[0,1,4],[0,3,4],[0,1,3]]";
    let steps = r#"[{"split":{"circuit":0,"order":[0,1,2]}},{"pack":[1]},{"pack":[1]},{"pack":[2]}]"#;
    assert!(is_bound(&set, 2.0, &tree("[[0,1,2],[2,3,4],[0,1,4]]", steps)));
    assert!(
        !is_bound(&set, 2.0, &tree(circuits, steps)),
        "0, 1, 3 can be separated"
    );
    for steps in [
        r#"[{"split":{"circuit":0,"order":[0,1,2]}},{"pack":[1]},{"pack":[1]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1,2]}},{"pack":[1]},{"pack":[1]},{"pack":[2]},{"pack":[]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1]}},{"pack":[1]},{"pack":[1]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1,1]}},{"pack":[1]},{"pack":[1]},{"pack":[1]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1,2,3]}},{"pack":[1]},{"pack":[1]},{"pack":[2]},{"pack":[]}]"#,
        r#"[{"split":{"circuit":9,"order":[0,1,2]}},{"pack":[1]},{"pack":[1]},{"pack":[2]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1,2]}},{"pack":[0]},{"pack":[1]},{"pack":[2]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1,2]}},{"pack":[1]},{"pack":[1]},{"pack":[]}]"#,
        r#"[{"split":{"circuit":0,"order":[0,1,9]}},{"pack":[1]},{"pack":[1]},{"pack":[2]}]"#,
        "[]",
    ] {
        assert!(
            !is_bound(&set, 2.0, &tree("[[0,1,2],[2,3,4],[0,1,4]]", steps)),
            "{steps}"
        );
    }
    let missing = r#"[{"split":{"circuit":0,"order":[0,1]}},{"pack":[1]},{"pack":[1]}]"#;
    assert!(with(Mutant::MissingCase, || is_bound(
        &set,
        2.0,
        &tree("[[0,1,2],[2,3,4]]", missing)
    )));
    let wrong_twice =
        r#"[{"split":{"circuit":0,"order":[0,1,2]}},{"pack":[0,1]},{"pack":[0,1]},{"pack":[0]}]"#;
    assert!(with(Mutant::WrongTwice, || is_bound(
        &set,
        2.0,
        &tree("[[0,1,2],[2,3,4]]", wrong_twice)
    )));
    // A set that is no circuit: the multipliers have both signs.
    let apart = tree("[[0,1]]", r#"[{"pack":[0]}]"#);
    assert!(!is_bound(&set, 1.0, &apart));
    let line = super::set(&[(&[0.0], 0), (&[1.0], 0), (&[3.0], 1)], true);
    let both_signs = tree("[[0,1,2]]", r#"[{"pack":[0]}]"#);
    assert!(!is_bound(&line, 1.0, &both_signs));
    assert!(with(Mutant::AnySign, || is_bound(&line, 1.0, &both_signs)));
}

#[test]
fn points_known_to_be_right_free_their_costs() {
    // Row 2 is right in the first two cases, so that the circuits there may share it.
    let set = alternating();
    let steps = r#"[{"split":{"circuit":0,"order":[2,0,1]}},{"pack":[2]},{"pack":[1]},{"pack":[1]}]"#;
    let document = tree("[[0,1,2],[2,3,4],[0,1,4]]", steps);
    assert!(is_bound(&set, 2.0, &document));
    // Without that knowledge a case distinction over the remaining points of a circuit is not complete.
    let steps = r#"[{"split":{"circuit":0,"order":[2,0,1]}},{"pack":[2]},{"split":{"circuit":1,"order":[3,4]}},{"pack":[]},{"pack":[]},{"pack":[1]}]"#;
    let document = tree("[[0,1,2],[2,3,4],[0,1,4]]", steps);
    assert!(is_bound(&set, 2.0, &document));
    assert!(!with(Mutant::NothingRight, || is_bound(&set, 2.0, &document)));
}

#[test]
fn without_intercept_negatives_may_have_score_zero() {
    let set = set(&[(&[1.0], 0), (&[-1.0], 0), (&[0.0], 1), (&[2.0], 1)], false);
    let negatives = tree("[[0,1]]", r#"[{"pack":[0]}]"#);
    assert!(!is_bound(&set, 1.0, &negatives));
    assert!(with(Mutant::NoPositive, || is_bound(&set, 1.0, &negatives)));
    // The row 0 of the positive class always has the score 0.
    assert!(is_bound(&set, 1.0, &tree("[[2]]", r#"[{"pack":[0]}]"#)));
    assert!(is_bound(&set, 2.0, ENUMERATION) && !is_bound(&set, 3.0, ENUMERATION));
}

#[test]
fn points_on_a_hyperplane_are_separated_by_a_turn() {
    // Four points on a line in the plane, and one beside it: the best hyperplane crosses the line between them.
    let set = set(
        &[
            (&[0.0, 0.0], 0),
            (&[1.0, 0.0], 0),
            (&[2.0, 0.0], 1),
            (&[3.0, 0.0], 1),
            (&[0.0, 1.0], 0),
            (&[1.0, 0.0], 1),
        ],
        true,
    );
    assert!(is_bound(&set, 1.0, ENUMERATION) && !is_bound(&set, 2.0, ENUMERATION));
    let positive = super::set(&[(&[0.0], 1), (&[1.0], 1), (&[2.0], 1)], true);
    assert!(is_bound(&positive, 0.0, ENUMERATION) && !is_bound(&positive, 1.0, ENUMERATION));
    assert!(with(Mutant::NoTurn, || is_bound(&positive, 1.0, ENUMERATION)));
}

#[test]
fn predictions_round() {
    // 3·(1/3) rounds to 1, so the score of the positive row is 0 as a prediction, and the exact score is below 0.
    let third = 1.0 / 3.0;
    let row = set(&[(&[third], 1), (&[-5.0], 0)], true);
    let claim = |errors: u64, b: f64| ErrorClaim {
        plane: (vec![3.0], b),
        errors,
        cost: errors as f64,
        lower_bound: 0.0,
        proof: ENUMERATION.into(),
    };
    assert!(!is_proved(&row, &claim(0, -1.0)), "as a prediction it is wrong");
    let just_below = (-1.0f64).next_up();
    assert!(
        is_proved(&row, &claim(0, just_below)),
        "as a prediction it is right"
    );
    // The exact score 3·fl(1/3) − (1 − 2⁻⁵³) is 1 − 2⁻⁵⁴ − (1 − 2⁻⁵³) > 0 too. Two products: the order of the sum matters.
    let two = set(&[(&[third, 1e-17], 1), (&[-5.0, 0.0], 0)], true);
    let claim = |errors: u64, lower: f64| ErrorClaim {
        plane: (vec![3.0, 1.0], -1.0),
        errors,
        cost: errors as f64,
        lower_bound: lower,
        proof: ENUMERATION.into(),
    };
    // The exact score is 1e-17 − 5.6e-17 < 0; the prediction may be 0 or above.
    let verdict = two.check(&model(&two, &claim(0, 0.0))).unwrap();
    assert!(
        !verdict.is_proved() && verdict.objections.is_empty(),
        "{verdict:?}"
    );
    let verdict = two.check(&model(&two, &claim(1, 0.0))).unwrap();
    assert!(
        !verdict.is_proved() && verdict.objections.is_empty(),
        "{verdict:?}"
    );
    assert!(!is_proved(&two, &claim(2, 0.0)));
    assert!(!with(Mutant::NoPredictions, || {
        let verdict = two.check(&model(&two, &claim(0, 0.0))).unwrap();
        verdict.objections.is_empty()
    }));
}

/// The least cost over all classifications of the points that no circuit contradicts.
fn least_cost(set: &Set) -> Dyadic {
    let n = set.rows.len();
    let mut best: Option<Dyadic> = None;
    // Rows that differ from these classes are misclassified.
    for pattern in 0..1u32 << n {
        let predicted = Set {
            classes: (0..n).map(|i| (pattern >> i & 1) as usize).collect(),
            ..set.clone()
        };
        let wrong = (0..n).filter(|&i| predicted.classes[i] != set.classes[i]);
        let cost: Dyadic = wrong.map(|i| Dyadic::double(set.weights[i])).sum();
        if best.as_ref().is_some_and(|best| *best <= cost) {
            continue;
        }
        let all: Vec<usize> = (0..n).collect();
        let contradicts =
            |circuit: &Vec<(usize, Dyadic)>| circuit.iter().any(|(i, _)| predicted.classes[*i] == 1);
        if !circuits(&predicted.points(), &all).iter().any(contradicts) {
            best = Some(cost);
        }
    }
    best.unwrap()
}

/// A tree that splits until all points that are not wrong can be classified.
fn full_tree(set: &Set) -> String {
    let own: Vec<usize> = (0..set.rows.len()).filter(|&i| set.weights[i] > 0.0).collect();
    let all = circuits(&set.points(), &own);
    let all: Vec<Vec<usize>> = all
        .iter()
        .filter(|circuit| circuit.iter().any(|(i, _)| set.classes[*i] == 1))
        .map(|circuit| circuit.iter().map(|(i, _)| *i).collect())
        .collect();
    let same = |i: usize, j: usize| set.rows[i] == set.rows[j] && set.classes[i] == set.classes[j];
    let mut steps = Vec::new();
    let mut cases = vec![(Vec::<usize>::new(), Vec::<usize>::new())];
    while let Some((wrong, right)) = cases.pop() {
        let within = |list: &Vec<usize>, i: usize| list.iter().any(|&j| same(i, j));
        let open = all
            .iter()
            .position(|circuit| circuit.iter().all(|&i| !within(&wrong, i)));
        let Some(k) = open else {
            steps.push(r#"{"pack":[]}"#.to_owned());
            continue;
        };
        let order: Vec<usize> = all[k].iter().copied().filter(|&i| !within(&right, i)).collect();
        if order.is_empty() {
            steps.push(format!(r#"{{"pack":[{k}]}}"#));
            continue;
        }
        steps.push(format!(r#"{{"split":{{"circuit":{k},"order":{order:?}}}}}"#));
        for at in (0..order.len()).rev() {
            let wrong = wrong.iter().chain([&order[at]]).copied().collect();
            cases.push((wrong, right.iter().chain(&order[..at]).copied().collect()));
        }
    }
    tree(&format!("{all:?}"), &format!("[{}]", steps.join(",")))
}

#[test]
fn bounds_of_random_sets() {
    let mut random = SplitMix(7);
    let (mut above, mut at) = (0, 0);
    for case in 0..900 {
        let set = Set::random(&mut random, 1 + case % 3, 6);
        let least = least_cost(&set);
        let value = crate::dyadic::quotient(&least, &Dyadic::integer(1)).middle();
        let tree = full_tree(&set);
        for proof in [ENUMERATION, &tree] {
            assert!(is_bound(&set, value, proof), "{case}: {value} {set:?} {proof}");
            // One unit more is only proved if no hyperplane is cheaper than the given one, which is not the case.
            let total: f64 = set.weights.iter().sum();
            if value < total * 0.99 {
                assert!(
                    !is_bound(&set, value + 0.04, proof),
                    "{case}: {value} {set:?} {proof}"
                );
                above += 1;
            }
        }
        at += usize::from(value > 0.0);
    }
    assert!(above > 1000 && at > 200, "{above} {at}");
}

#[test]
#[ignore = "measures time"]
fn speed_of_the_enumeration() {
    for (features, n) in [(1, 5000), (2, 300), (2, 1000), (3, 100), (3, 200)] {
        let mut random = SplitMix(11);
        let mut entry = || (random.next() >> 11) as f64 / 2f64.powi(53);
        let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..features).map(|_| entry()).collect()).collect();
        let classes = rows
            .iter()
            .map(|row| usize::from(row[0] > 0.5) ^ usize::from(entry() < 0.05))
            .collect();
        let mut plane = vec![0.0; features];
        plane[0] = 1.0;
        let set = Set {
            rows,
            classes,
            weights: vec![1.0; n],
            intercept: true,
        };
        let claim = ErrorClaim {
            plane: (plane, -0.5),
            errors: 0,
            cost: 0.0,
            lower_bound: 0.0,
            proof: ENUMERATION.into(),
        };
        let start = std::time::Instant::now();
        let verdict = set.check(&model(&set, &claim)).unwrap();
        println!(
            "{features} features, {n} points: {:?}, {}",
            start.elapsed(),
            verdict.statements[2].text
        );
    }
}
