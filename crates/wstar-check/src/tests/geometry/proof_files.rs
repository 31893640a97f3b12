//! Proof files: by hand, by a prover that tries all subsets, and with false evidence.

use crate::dyadic::{Dyadic, common_exponent, dependence, independent, quotient};
use crate::json::quote;
use crate::mutant::{Mutant, with};
use crate::tests::geometry::{Set, SplitMix, circuits, dot, proves, set, subsets};

/// A proof file about class b against class a, with these further fields.
fn file(set: &Set, verdict: &str, margin: (f64, f64), fields: &str) -> String {
    format!(
        r#"{{"format":"wstar-proof","version":1,"checksum":"","content":{{"verdict":{},"rows":{},"features":{},"intercept":{},
        "classes":{{"positive":"b","negative":"a"}},"margin":{{"lower":{:e},"upper":{:e}}},{fields},
        "points":{{"schema":{},"classes":["a","b"],"sides":{{"positive":1,"negative":null}}}}}}}}"#,
        quote(verdict),
        set.rows.len(),
        set.features(),
        set.intercept,
        margin.0,
        margin.1,
        set.schema()
    )
}

fn plane(weights: &str, intercept: &str) -> String {
    format!(r#""hyperplane":{{"weights":{weights},"intercept":{intercept}}}"#)
}

fn combination(points: &str, weights: &str, exact: bool) -> String {
    format!(r#""proof":{{"points":{points},"weights":{weights},"exact":{exact}}}"#)
}

fn is_proved(set: &Set, document: &str) -> bool {
    set.check(document).is_ok_and(|verdict| verdict.is_proved())
}

#[test]
fn separable_by_hand() {
    let line = set(&[(&[0.0], 0), (&[1.0], 0), (&[3.0], 1), (&[4.0], 1)], true);
    let hulls = r#""hulls":{"positive":[[2,1]],"negative":[[1,0.5]]}"#;
    let fields = |plane: String| format!("{plane},{hulls}");
    let good = file(&line, "separable", (1.0, 1.0), &fields(plane("[0.5]", "-1")));
    let verdict = line.check(&good).unwrap();
    assert!(verdict.is_proved(), "{verdict:?}");
    // The bounds may be weaker than what is proved, and not stronger.
    for (margin, holds) in [
        ((0.5, 1.5), true),
        ((1.0, 1.0 - 1e-16), false),
        ((1.0 + 3e-16, 1.5), false),
        ((0.0, 1.0), true),
    ] {
        let document = file(&line, "separable", margin, &fields(plane("[0.5]", "-1")));
        assert_eq!(is_proved(&line, &document), holds, "{margin:?}");
    }
    // Fractions; a hyperplane through a point; the wrong side.
    for (weights, intercept, margin, holds) in [
        (r#"["1/3"]"#, r#""-2/3""#, (1.0, 1.0), true),
        (r#"["1/3"]"#, r#""-1/3""#, (0.0, 1.0), false),
        ("[-0.5]", "1", (0.0, 1.0), false),
        ("[0]", "1", (0.0, 1.0), false),
    ] {
        let document = file(&line, "separable", margin, &fields(plane(weights, intercept)));
        assert_eq!(is_proved(&line, &document), holds, "{weights}");
    }
    let touching = file(&line, "separable", (0.0, 1.0), &fields(plane("[0.5]", "-0.5")));
    assert!(!is_proved(&line, &touching));
    assert!(with(Mutant::NotStrict, || is_proved(&line, &touching)));
    // A row in the hull of the other class; a multiplier below 0; an empty hull.
    for hulls in [
        r#""hulls":{"positive":[[2,1],[1,0]],"negative":[[1,0.5]]}"#,
        r#""hulls":{"positive":[[2,2],[3,-1]],"negative":[[1,0.5]]}"#,
        r#""hulls":{"positive":[[2,1]],"negative":[]}"#,
        r#""hulls":{"positive":[[2,1],[9,1]],"negative":[[1,0.5]]}"#,
    ] {
        let document = file(
            &line,
            "separable",
            (1.0, 9.0),
            &format!("{},{hulls}", plane("[0.5]", "-1")),
        );
        assert!(!is_proved(&line, &document), "{hulls}");
    }
}

#[test]
fn hulls_are_means_of_each_class() {
    // Multipliers of different sums: p = 3, q = (0 + 3·1)/4.
    let line = set(&[(&[0.0], 0), (&[1.0], 0), (&[3.0], 1)], true);
    let fields = format!(
        "{},{}",
        plane("[1]", "-2"),
        r#""hulls":{"positive":[[2,5]],"negative":[[0,1],[1,3]]}"#
    );
    let document = |upper: f64| file(&line, "separable", (1.0, upper), &fields);
    assert!(is_proved(&line, &document(1.125)));
    assert!(!is_proved(&line, &document(1.124)));
    assert!(with(Mutant::NotMeans, || !is_proved(&line, &document(1.125))));
    // Without an intercept there is one hull, of all yᵢxᵢ.
    let line = set(&[(&[-1.0], 0), (&[3.0], 1)], false);
    let document = |upper: f64, hulls: &str| {
        file(
            &line,
            "separable",
            (1.0, upper),
            &format!("{},{hulls}", plane("[2]", "0")),
        )
    };
    assert!(is_proved(
        &line,
        &document(2.0, r#""hulls":{"positive":[[0,1],[1,1]],"negative":[]}"#)
    ));
    assert!(!is_proved(
        &line,
        &document(1.999, r#""hulls":{"positive":[[0,1],[1,1]],"negative":[]}"#)
    ));
    assert!(!is_proved(
        &line,
        &document(2.0, r#""hulls":{"positive":[[0,1]],"negative":[[1,1]]}"#)
    ));
}

#[test]
fn not_separable_by_hand() {
    // A shared point, and one point on each side of it.
    let quasi = set(&[(&[0.0], 0), (&[1.0], 0), (&[1.0], 1), (&[2.0], 1)], true);
    let lambda = combination("[1,2]", r#"["1","1"]"#, true);
    let fields = format!("{lambda},{}", plane("[1]", "-1"));
    assert!(is_proved(
        &quasi,
        &file(&quasi, "quasi-separable", (0.0, 0.0), &fields)
    ));
    assert!(!is_proved(
        &quasi,
        &file(&quasi, "quasi-separable", (0.0, 0.1), &fields)
    ));
    assert!(
        !is_proved(&quasi, &file(&quasi, "inseparable", (0.0, 0.0), &lambda)),
        "the rank is too small"
    );
    let nothing = format!("{lambda},{}", plane("[0]", "0"));
    let nothing = file(&quasi, "quasi-separable", (0.0, 0.0), &nothing);
    assert!(!is_proved(&quasi, &nothing));
    assert!(with(Mutant::NotStrict, || is_proved(&quasi, &nothing)));
    assert!(with(Mutant::NoRank, || is_proved(
        &quasi,
        &file(&quasi, "inseparable", (0.0, 0.0), &lambda)
    )));
    // A claimed null vector that is not one.
    let with_null = format!(r#"{lambda},"null_vectors":[[[0,"1"]]]"#);
    let with_null = file(&quasi, "inseparable", (0.0, 0.0), &with_null);
    assert!(!is_proved(&quasi, &with_null));
    assert!(with(Mutant::NotOrthogonal, || is_proved(&quasi, &with_null)));

    // Exclusive or.
    let xor = set(
        &[
            (&[0.0, 0.0], 0),
            (&[1.0, 1.0], 0),
            (&[0.0, 1.0], 1),
            (&[1.0, 0.0], 1),
        ],
        true,
    );
    let document = |weights: &str| {
        file(
            &xor,
            "inseparable",
            (0.0, 0.0),
            &combination("[0,1,2,3]", weights, true),
        )
    };
    assert!(is_proved(&xor, &document(r#"["1/2","1/2","1/2","2/4"]"#)));
    for weights in [
        r#"["1/2","1/2","1/2","1/3"]"#,
        r#"["1/3","1/3","1/3","1/3"]"#,
        r#"["-1/2","-1/2","-1/2","-1/2"]"#,
        r#"["0","0","0","0"]"#,
    ] {
        assert!(!is_proved(&xor, &document(weights)), "{weights}");
    }
    let decimal = |upper: f64| {
        file(
            &xor,
            "inseparable",
            (0.0, upper),
            &combination("[0,1,2,3]", r#"["0.5","0.5","0.4","0.6"]"#, false),
        )
    };
    let verdict = xor.check(&decimal(0.1)).unwrap();
    assert!(
        verdict.is_proved() && verdict.summary.contains("no margin exceeds"),
        "{verdict:?}"
    );
    assert!(!is_proved(&xor, &decimal(0.07)), "0.1·√2/2 is the distance");

    // A column of zeros: the null vector is needed, and two equal ones are not independent.
    let flat = set(&[(&[0.0, 0.0], 0), (&[2.0, 0.0], 0), (&[1.0, 0.0], 1)], true);
    let document = |nulls: &str| {
        let lambda = combination("[0,1,2]", r#"["1/2","1/2","1"]"#, true);
        file(
            &flat,
            "inseparable",
            (0.0, 0.0),
            &format!(r#"{lambda},"null_vectors":{nulls}"#),
        )
    };
    assert!(is_proved(&flat, &document(r#"[[[1,"7"]]]"#)));
    assert!(!is_proved(&flat, &document("[]")));
    assert!(!is_proved(&flat, &document(r#"[[[1,"1"]],[[1,"2"]]]"#)));
    assert!(with(Mutant::Dependent, || is_proved(
        &flat,
        &document(r#"[[[1,"1"]],[[1,"2"]]]"#)
    )));
    // λ of both signs: the point of class b lies beside the two others.
    let beside = set(&[(&[0.0], 0), (&[1.0], 0), (&[2.0], 1)], true);
    let document = file(
        &beside,
        "inseparable",
        (0.0, 0.0),
        &combination("[0,1,2]", r#"["-1","2","1"]"#, true),
    );
    assert!(!is_proved(&beside, &document));
    assert!(with(Mutant::AnySign, || is_proved(&beside, &document)));
}

fn text(value: &Dyadic) -> String {
    // In units of a power of two that is the same for all, as an integer.
    let mut digits = Vec::new();
    let mut rest = value.clone().magnitude();
    let ten = Dyadic::integer(10);
    // Long division by ten: find the digit that leaves a multiple of ten.
    while !rest.is_zero() {
        let digit = (0..10u8)
            .find(|&digit| {
                let quotient = (&rest - &Dyadic::integer(u128::from(digit))).divided_by(&ten);
                quotient.is_some_and(|quotient| common_exponent(&[quotient]) >= 0)
            })
            .unwrap();
        digits.push(char::from(b'0' + digit));
        rest = (&rest - &Dyadic::integer(u128::from(digit)))
            .divided_by(&ten)
            .unwrap();
    }
    let sign = if value.is_negative() { "-" } else { "" };
    match digits.is_empty() {
        true => "0".into(),
        false => format!("{sign}{}", digits.iter().rev().collect::<String>()),
    }
}

/// Integers in the ratio of these numbers.
fn integers(values: &[Dyadic]) -> Vec<Dyadic> {
    let unit = common_exponent(values);
    values.iter().map(|value| value * &Dyadic::power(-unit)).collect()
}

/// The verdict and its proof, found by trying all subsets.
fn prove(set: &Set) -> (&'static str, String) {
    let points = set.points();
    let own: Vec<usize> = (0..points.len()).filter(|&i| set.weights[i] > 0.0).collect();
    let width = points[0].len();
    let circuits = circuits(&points, &own);
    let mut lambda = vec![Dyadic::default(); points.len()];
    for (i, value) in circuits.iter().flatten() {
        lambda[*i] = &lambda[*i] + value;
    }
    let support: Vec<usize> = own.iter().copied().filter(|&i| !lambda[i].is_zero()).collect();
    // Vectors that are orthogonal to all points, and the sum of all extreme rays with Av ≥ 0.
    let unit = |j: usize| {
        (0..width)
            .map(|k| Dyadic::integer(u128::from(j == k)))
            .collect::<Vec<_>>()
    };
    let mut best = vec![Dyadic::default(); width];
    let mut candidates: Vec<Vec<Dyadic>> = (0..width).map(unit).collect();
    for size in 0..width {
        for members in subsets(&own, size) {
            for columns in subsets(&(0..width).collect::<Vec<_>>(), size + 1) {
                let column = |&j: &usize| members.iter().map(|&i| points[i][j].clone()).collect();
                if let Some(v) = dependence(&columns.iter().map(column).collect::<Vec<_>>()) {
                    let mut full = vec![Dyadic::default(); width];
                    columns.iter().zip(v).for_each(|(&j, value)| full[j] = value);
                    candidates.push(full);
                }
            }
        }
    }
    for v in candidates {
        for v in [v.clone(), v.into_iter().map(|x| -x).collect()] {
            if own.iter().all(|&i| !dot(&points[i], &v).is_negative()) {
                best = best.iter().zip(&v).map(|(a, b)| a + b).collect();
            }
        }
    }
    let strictly = own.iter().all(|&i| dot(&points[i], &best).is_positive());
    let weakly = own.iter().any(|&i| dot(&points[i], &best).is_positive());
    let texts = |values: &[Dyadic]| {
        integers(values)
            .iter()
            .map(|v| quote(&text(v)))
            .collect::<Vec<_>>()
    };
    let mut normal = texts(&best);
    let intercept = if set.intercept {
        normal.pop().unwrap()
    } else {
        "0".into()
    };
    let plane = plane(&format!("[{}]", normal.join(",")), &intercept);
    if circuits.is_empty() {
        assert!(strictly, "Gordan");
        let hull = |class: Option<usize>| {
            let own = own
                .iter()
                .filter(|&&i| class.is_none_or(|class| set.classes[i] == class));
            own.map(|i| format!("[{i},{}]", 1 + i % 3))
                .collect::<Vec<_>>()
                .join(",")
        };
        let (positive, negative) = if set.intercept {
            (hull(Some(1)), hull(Some(0)))
        } else {
            (hull(None), String::new())
        };
        return (
            "separable",
            format!(r#"{plane},"hulls":{{"positive":[{positive}],"negative":[{negative}]}}"#),
        );
    }
    assert!(!strictly, "Gordan");
    let chosen: Vec<Dyadic> = integers(&support.iter().map(|&i| lambda[i].clone()).collect::<Vec<_>>());
    let total: Dyadic = support
        .iter()
        .zip(&chosen)
        .filter(|(i, _)| !set.intercept || set.classes[**i] == 1)
        .map(|(_, l)| l.clone())
        .sum();
    let weights: Vec<String> = chosen
        .iter()
        .map(|value| quote(&format!("{}/{}", text(value), text(&total))))
        .collect();
    let lambda = combination(&format!("{support:?}"), &format!("[{}]", weights.join(",")), true);
    if weakly {
        return ("quasi-separable", format!("{lambda},{plane}"));
    }
    let doubles: Vec<Vec<f64>> = (0..points.len())
        .map(|i| {
            let one = set.intercept.then_some(1.0);
            set.rows[i].iter().copied().chain(one).collect()
        })
        .collect();
    let basis = independent(own.iter().map(|&i| &doubles[i][..]), 9).unwrap();
    let columns: Vec<usize> = basis.iter().map(|(_, column)| *column).collect();
    // For each other column its dependence on the independent ones.
    let nulls = (0..width).filter(|j| !columns.contains(j)).map(|j| {
        let all: Vec<usize> = columns.iter().copied().chain([j]).collect();
        let column = |&j: &usize| own.iter().map(|&i| points[i][j].clone()).collect();
        let v = integers(&dependence(&all.iter().map(column).collect::<Vec<_>>()).unwrap());
        let mut entries: Vec<(usize, String)> = all.into_iter().zip(v.iter().map(text)).collect();
        entries.sort();
        let entries: Vec<String> = entries
            .iter()
            .filter(|(_, v)| v != "0")
            .map(|(j, v)| format!("[{j},{}]", quote(v)))
            .collect();
        format!("[{}]", entries.join(","))
    });
    let nulls: Vec<String> = nulls.collect();
    (
        "inseparable",
        format!(r#"{lambda},"null_vectors":[{}]"#, nulls.join(",")),
    )
}

/// The bound by the hulls of [`prove`], with intervals of the kernel for comparison only.
fn upper(set: &Set) -> f64 {
    let points = set.points();
    let mut sums = [
        (Dyadic::default(), vec![Dyadic::default(); set.features()]),
        (Dyadic::default(), vec![Dyadic::default(); set.features()]),
    ];
    for i in (0..points.len()).filter(|&i| set.weights[i] > 0.0) {
        let multiplier = Dyadic::integer(1 + (i % 3) as u128);
        let (total, sum) = &mut sums[if set.intercept { set.classes[i] } else { 0 }];
        *total = &*total + &multiplier;
        sum.iter_mut()
            .zip(&points[i])
            .for_each(|(s, a)| *s = &*s + &(a * &multiplier));
    }
    let [(a, p), (b, q)] = sums;
    let (numerator, denominator): (Dyadic, Dyadic) = match set.intercept {
        true => (
            p.iter()
                .zip(&q)
                .map(|(p, q)| (&(p * &b) + &(q * &a)).square())
                .sum(),
            (&(&a * &b) * &Dyadic::integer(2)).square(),
        ),
        false => (p.iter().map(Dyadic::square).sum(), a.square()),
    };
    quotient(&numerator, &denominator).sqrt().hi
}

#[test]
fn verdicts_of_random_sets() {
    let mut random = SplitMix(3);
    let mut counts = std::collections::BTreeMap::new();
    for case in 0..1500 {
        let set = Set::random(&mut random, 1 + case % 3, 6);
        let (verdict, fields) = prove(&set);
        let classes: std::collections::BTreeSet<usize> = (0..set.rows.len())
            .filter(|&i| set.weights[i] > 0.0)
            .map(|i| set.classes[i])
            .collect();
        let one_class = classes.len() == 1 && set.intercept;
        let bound = if verdict == "separable" && !one_class {
            upper(&set)
        } else {
            0.0
        };
        let document = file(&set, verdict, (0.0, bound), &fields);
        let found = set.check(&document).unwrap();
        // One class alone has no bound on its margin.
        assert_eq!(
            found.is_proved(),
            !(one_class && verdict == "separable"),
            "{case}: {set:?} {document} {found:?}"
        );
        if verdict == "separable" && bound > 0.0 && bound.is_finite() {
            let document = file(&set, verdict, (0.0, bound * (1.0 - 1e-14)), &fields);
            assert!(!is_proved(&set, &document));
        }
        // The same evidence never proves another verdict.
        for other in ["separable", "quasi-separable", "inseparable"]
            .into_iter()
            .filter(|other| *other != verdict)
        {
            let plane = plane(
                &format!("{:?}", vec!["1"; set.features()]),
                if set.intercept { "\"0\"" } else { "0" },
            );
            let fields = match fields.contains("hyperplane") {
                true => fields.clone(),
                false => format!("{fields},{plane}"),
            };
            let lambda = combination("[0]", r#"["1"]"#, true);
            let fields = if fields.contains("\"proof\"") {
                fields
            } else {
                format!("{fields},{lambda}")
            };
            let hulls = r#""hulls":{"positive":[[0,1]],"negative":[]}"#;
            let fields = if fields.contains("hulls") {
                fields
            } else {
                format!("{fields},{hulls}")
            };
            // Rows of the other class in a hull are refused.
            let Ok(found) = set.check(&file(&set, other, (0.0, 0.0), &fields)) else {
                assert!(other == "separable" && fields.contains(hulls));
                continue;
            };
            assert!(
                !found.is_proved(),
                "{case}: {other} for {verdict}: {set:?} {found:?}"
            );
            // Each statement that is proved is true.
            assert!(
                !proves(&found, "λ")
                    || found.statements.iter().all(|s| s.about != "λ")
                    || verdict != "separable"
            );
        }
        *counts.entry(verdict).or_insert(0) += 1;
    }
    assert!(
        counts.len() == 3 && counts.values().all(|count| *count > 100),
        "{counts:?}"
    );
}
