//! Largest margins: by hand, with changed numbers, and random multipliers against the definitions.

use crate::dyadic::{Dyadic, quotient};
use crate::mutant::{Mutant, with};
use crate::tests::geometry::{Set, SplitMix, set};

/// The numbers of a claim.
#[derive(Clone)]
struct MarginClaim {
    plane: (Vec<f64>, f64),
    support: Vec<(usize, f64)>,
    primal: f64,
    dual: f64,
    relative_gap: f64,
    slackness: f64,
    imbalance: f64,
    tol: f64,
}

fn model(set: &Set, claim: &MarginClaim) -> String {
    let support: Vec<String> = claim
        .support
        .iter()
        .map(|(i, alpha)| format!("[{i},{alpha:e}]"))
        .collect();
    let counted = set.weights.iter().filter(|weight| **weight > 0.0).count();
    format!(
        r#"{{"format":"wstar-model","version":2,"classes":["a","b"],"schema":{},
        "settings":{{"family":"maximum-margin","tol":{:e},"intercept":{},"common":{{"seed":0}}}},
        "predictor":{{"kind":"linear","discriminants":[{{"weights":{:?},"intercept":{:e}}}],"ties":"mistake","link":"margin"}},
        "fit":{{"rows":{counted},"objective":{:e}}},
        "certificate":{{"kind":"hard-margin","parts":[{{"primal":{:e},"dual":{:e},"relative_gap":{:e},"tol":{:e},"rows":{counted},
        "intercept":{},"support":[{}],"slackness":{:e},"imbalance":{:e}}}]}}}}"#,
        set.schema(),
        claim.tol,
        set.intercept,
        claim.plane.0,
        claim.plane.1,
        claim.primal,
        claim.primal,
        claim.dual,
        claim.relative_gap,
        claim.tol,
        set.intercept,
        support.join(","),
        claim.slackness,
        claim.imbalance
    )
}

fn is_proved(set: &Set, claim: &MarginClaim) -> bool {
    set.check(&model(set, claim))
        .is_ok_and(|verdict| verdict.is_proved())
}

/// Points 0, 1 against 3, 4: the margin is 1 and w = 1.
fn line() -> (Set, MarginClaim) {
    let claim = MarginClaim {
        plane: (vec![1.0], -2.0),
        support: vec![(1, 0.5), (2, 0.5)],
        primal: 0.5,
        dual: 0.5,
        relative_gap: 0.0,
        slackness: 0.0,
        imbalance: 0.0,
        tol: 1e-8,
    };
    (
        set(&[(&[0.0], 0), (&[1.0], 0), (&[3.0], 1), (&[4.0], 1)], true),
        claim,
    )
}

#[test]
fn by_hand() {
    let (line, good) = line();
    let verdict = line.check(&model(&line, &good)).unwrap();
    assert!(verdict.is_proved(), "{verdict:?}");
    let changes: [fn(&mut MarginClaim); 10] = [
        |claim| claim.primal = 0.51,
        |claim| claim.dual = 0.49,
        |claim| claim.relative_gap = 1e-6,
        |claim| claim.slackness = 0.1,
        |claim| claim.imbalance = 0.1,
        |claim| claim.plane.1 = -2.1,
        |claim| claim.plane.0[0] = -1.0,
        |claim| claim.support[0].0 = 0,
        |claim| claim.support[0].1 = -0.5,
        |claim| claim.support = Vec::new(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut claim = good.clone();
        change(&mut claim);
        assert!(!is_proved(&line, &claim), "change {at}");
    }
    // A hyperplane that is not the best one: P = ½·(1/0.9)², with true numbers.
    let mut poor = good.clone();
    poor.plane.1 = -2.1;
    poor.primal = 0.5 / 0.81;
    poor.relative_gap = 1.0 - 0.81;
    poor.slackness = 0.5 * (1.1 / 0.9 - 1.0);
    let verdict = line.check(&model(&line, &poor)).unwrap();
    assert!(
        !verdict.is_proved() && verdict.objections.is_empty(),
        "{verdict:?}"
    );
    assert!(with(Mutant::FlippedGap, || {
        let mut flipped = poor.clone();
        flipped.relative_gap = -0.19;
        is_proved(&line, &flipped)
    }));
    // The gap is below this tolerance.
    poor.tol = 0.2;
    assert!(is_proved(&line, &poor));
    // Sums of the multipliers that differ: the bound holds, and the imbalance must be stated.
    let mut unbalanced = good.clone();
    unbalanced.support[1].1 = 1.5;
    assert!(!is_proved(&line, &unbalanced));
    unbalanced.imbalance = 0.5;
    assert!(is_proved(&line, &unbalanced));
    assert!(!with(Mutant::NotMeans, || is_proved(&line, &unbalanced)));
}

#[test]
fn gaps_are_those_of_the_definition() {
    let mut random = SplitMix(5);
    let mut proved = 0;
    for case in 0..3000 {
        let mut set = Set::random(&mut random, 1 + case % 3, 6);
        let mut weights: Vec<f64> = (0..set.features())
            .map(|_| random.below(7) as f64 - 3.0)
            .collect();
        let intercept = if set.intercept {
            -(weights.iter().sum::<f64>()) * set.rows[0][0]
        } else {
            0.0
        };
        weights[0] += 0.5;
        // Classes by the sides of the hyperplane, so that most sets are separable.
        let score = |row: &Vec<f64>| row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + intercept;
        set.classes = set.rows.iter().map(|row| usize::from(score(row) > 0.0)).collect();
        let points = set.points();
        let own: Vec<usize> = (0..points.len()).filter(|&i| set.weights[i] > 0.0).collect();
        let support: Vec<(usize, f64)> = own
            .iter()
            .map(|&i| (i, 0.1 * (1 + random.below(9)) as f64))
            .collect();
        let mut plane: Vec<Dyadic> = weights.iter().copied().map(Dyadic::double).collect();
        plane.extend(set.intercept.then_some(Dyadic::double(intercept)));
        let least = own
            .iter()
            .map(|&i| crate::tests::geometry::dot(&points[i], &plane))
            .min()
            .unwrap();
        let of = |class: usize| {
            support
                .iter()
                .filter(|(i, _)| set.classes[*i] == class)
                .map(|(_, a)| Dyadic::double(*a))
                .sum::<Dyadic>()
        };
        let (a, b) = (of(1), of(0));
        let valid = least.is_positive() && (!set.intercept || (a.is_positive() && b.is_positive()));
        // AB(p − q), or A·p.
        let mut v = vec![Dyadic::default(); set.features()];
        for (i, alpha) in &support {
            let share = match (set.intercept, set.classes[*i]) {
                (false, _) => Dyadic::integer(1),
                (true, 1) => b.clone(),
                _ => a.clone(),
            };
            let factor = &share * &Dyadic::double(*alpha);
            v.iter_mut()
                .zip(&points[*i])
                .for_each(|(v, x)| *v = &*v + &(x * &factor));
        }
        let squares = |v: &[Dyadic]| v.iter().map(Dyadic::square).sum::<Dyadic>();
        let norm = squares(&plane[..set.features()]);
        let total = &a + &b;
        let (over, under) = match set.intercept {
            true => ((&(&a * &b) * &Dyadic::integer(2)).square(), squares(&v)),
            false => (total.square(), squares(&v)),
        };
        let half = |x: &Dyadic| x * &Dyadic::double(0.5);
        let beyond = |(i, alpha): &(usize, f64)| {
            &Dyadic::double(*alpha) * &(&crate::tests::geometry::dot(&points[*i], &plane) - &least)
        };
        let primal = quotient(&half(&norm), &least.square());
        let dual = quotient(&half(&over), &under);
        let gap = quotient(
            &(&(&norm * &under) - &(&least.square() * &over)),
            &(&norm * &under),
        );
        let claim = MarginClaim {
            plane: (weights, intercept),
            primal: primal.middle(),
            dual: dual.middle(),
            relative_gap: gap.middle(),
            slackness: quotient(&support.iter().map(beyond).max().unwrap(), &(&least * &total)).middle(),
            imbalance: if set.intercept {
                quotient(&(&a - &b), &total).abs().middle()
            } else {
                0.0
            },
            support,
            tol: 2.0,
        };
        let finite = [
            claim.primal,
            claim.dual,
            claim.relative_gap,
            claim.slackness,
            claim.imbalance,
        ]
        .iter()
        .all(|x| x.is_finite());
        let mut claim = if finite && valid {
            claim
        } else {
            MarginClaim {
                primal: 1.0,
                dual: 1.0,
                relative_gap: 0.0,
                slackness: 0.0,
                imbalance: 0.0,
                ..claim
            }
        };
        assert_eq!(is_proved(&set, &claim), valid && finite, "{case}: {set:?}");
        if valid && finite {
            assert!(gap.hi >= 0.0, "weak duality");
            proved += 1;
            claim.tol = gap.lo * (1.0 - 1e-12);
            assert!(claim.tol <= 0.0 || !is_proved(&set, &claim), "{case}");
        }
    }
    assert!(proved > 500, "{proved}");
}
