//! Separability verdicts, compared on thousands of small sets with an independent linear programme over the rationals.
#![allow(clippy::unwrap_used, missing_docs)]

use num_rational::BigRational;
use num_traits::{One, Signed as _, Zero};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wstar::data::Design;
use wstar::data::run::{Budget, Status, Unwatched};
use wstar::separate::exact::Signed;
use wstar::separate::margin::{Question, separate};
use wstar::separate::proof::{ClassNames, Fraction, Proof, Verdict};

type Rows = Vec<Vec<f64>>;

/// Maximises Σtᵢ subject to aᵢ·v ≥ tᵢ and 0 ≤ tᵢ ≤ 1, with a simplex tableau over the rationals and Bland's rule. Since
/// v can be scaled up freely, every tᵢ is 0 or 1 at the optimum; tᵢ = 1 if some feasible hyperplane has row i off it.
fn oracle(rows: &Rows, signs: &[i8], intercept: bool) -> Verdict {
    let exact = |x: f64| BigRational::from_float(x).unwrap();
    let a: Vec<Vec<BigRational>> = rows
        .iter()
        .zip(signs)
        .filter(|&(_, &y)| y != 0)
        .map(|(x, &y)| {
            let one = intercept.then_some(1.0);
            x.iter()
                .chain(one.iter())
                .map(|&x| exact(f64::from(y) * x))
                .collect()
        })
        .collect();
    let (n, d) = (a.len(), a[0].len());
    // Columns: v⁺, v⁻, t, the slacks of −aᵢ·v + tᵢ ≤ 0 and of tᵢ ≤ 1, the right-hand side.
    let (variables, constraints) = (2 * d + n, 2 * n);
    let width = variables + constraints + 1;
    let zero = BigRational::zero;
    let mut tableau: Vec<Vec<BigRational>> = vec![vec![zero(); width]; constraints];
    for i in 0..n {
        for j in 0..d {
            tableau[i][j] = -a[i][j].clone();
            tableau[i][d + j] = a[i][j].clone();
        }
        tableau[i][2 * d + i] = BigRational::one();
        tableau[i][variables + i] = BigRational::one();
        tableau[n + i][2 * d + i] = BigRational::one();
        tableau[n + i][variables + n + i] = BigRational::one();
        tableau[n + i][width - 1] = BigRational::one();
    }
    let mut objective = vec![zero(); width];
    objective[2 * d..2 * d + n]
        .iter_mut()
        .for_each(|c| *c = BigRational::one());
    let mut basis: Vec<usize> = (variables..variables + constraints).collect();
    while let Some(entering) = (0..width - 1).find(|&j| objective[j].is_positive()) {
        let leaving = (0..constraints)
            .filter(|&i| tableau[i][entering].is_positive())
            .min_by_key(|&i| (&tableau[i][width - 1] / &tableau[i][entering], basis[i]))
            .expect("the sum is at most n");
        let pivot = tableau[leaving][entering].clone();
        tableau[leaving].iter_mut().for_each(|v| *v /= &pivot);
        let row = tableau[leaving].clone();
        let reduce = |other: &mut Vec<BigRational>| {
            let factor = other[entering].clone();
            if !factor.is_zero() {
                other
                    .iter_mut()
                    .zip(&row)
                    .filter(|(_, r)| !r.is_zero())
                    .for_each(|(o, r)| *o -= &factor * r);
            }
        };
        tableau
            .iter_mut()
            .enumerate()
            .filter(|(i, _)| *i != leaving)
            .for_each(|(_, other)| reduce(other));
        reduce(&mut objective);
        basis[leaving] = entering;
    }
    let sum = -objective[width - 1].clone();
    if sum == BigRational::from_integer(n.into()) {
        Verdict::Separable
    } else if sum.is_zero() {
        Verdict::Inseparable
    } else {
        Verdict::QuasiSeparable
    }
}

fn classes() -> ClassNames {
    ClassNames {
        positive: "b".into(),
        negative: "a".into(),
    }
}

fn decide(design: &Design, signs: &[i8], intercept: bool) -> Option<Proof> {
    let signed = Signed {
        design,
        signs,
        intercept,
    };
    let found = separate(
        &signed,
        classes(),
        Question::Margin,
        Budget::default(),
        &mut Unwatched,
    )
    .unwrap();
    assert_eq!(found.proof.is_some(), found.status == Status::Converged);
    found.proof
}

fn sparse(rows: &Rows) -> Design {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j as u32);
            values.push(v);
        }
        starts.push(values.len());
    }
    Design::from_csr(starts, indices, values, rows[0].len()).unwrap()
}

/// Decides, and compares with the linear programme. The proof must hold, with a bounded number of points.
#[track_caller]
fn agrees(rows: &Rows, signs: &[i8], intercept: bool) -> Verdict {
    let expected = oracle(rows, signs, intercept);
    let design = Design::from_rows(rows).unwrap();
    let show = || format!("{rows:?} {signs:?} intercept {intercept}: {expected:?}");
    let proof = decide(&design, signs, intercept).unwrap_or_else(|| panic!("undecided: {}", show()));
    assert_eq!(proof.verdict, expected, "{}", show());
    let checked = proof.check(&design, signs).unwrap();
    assert!(checked.holds && checked.exact, "{:?}: {}", checked.reason, show());
    let width = rows[0].len() + usize::from(intercept);
    if let Some(combination) = &proof.proof {
        let most = if expected == Verdict::Inseparable {
            2 * width
        } else {
            width + 1
        };
        assert!(
            combination.points.len() <= most,
            "{} points: {}",
            combination.points.len(),
            show()
        );
    }
    assert!(proof.margin.lower <= proof.margin.upper);
    if expected == Verdict::Separable {
        // Outside this range, rounding of the hyperplane or of a score to double may leave no measurable margin.
        let moderate = rows
            .iter()
            .flatten()
            .all(|&x| x == 0.0 || (1e-250..1e15).contains(&x.abs()));
        let plane = proof.hyperplane.as_ref().unwrap();
        let mut numbers = plane.weights.iter().chain([&plane.intercept]);
        let doubles = numbers.all(|w| matches!(w, Fraction::Double(_)));
        assert!(proof.margin.lower > 0.0 || !doubles || !moderate, "{}", show());
    }
    let other = sparse(rows);
    let again = decide(&other, signs, intercept).unwrap();
    assert_eq!(again.verdict, expected, "stored sparsely: {}", show());
    assert!(again.check(&other, signs).unwrap().holds);
    expected
}

fn labels(random: &mut ChaCha8Rng, n: usize) -> Vec<i8> {
    let mut signs: Vec<i8> = (0..n)
        .map(|_| if random.random_range(0..2) == 0 { 1 } else { -1 })
        .collect();
    signs[0] = 1;
    signs[n - 1] = -1;
    signs
}

fn integers(random: &mut ChaCha8Rng, n: usize, d: usize, most: i32) -> Rows {
    (0..n)
        .map(|_| {
            (0..d)
                .map(|_| f64::from(random.random_range(-most..=most)))
                .collect()
        })
        .collect()
}

/// Labels from a hyperplane with small integer coefficients; a row on the hyperplane gets its label from `tie`.
fn by_plane(random: &mut ChaCha8Rng, rows: &Rows, mut tie: impl FnMut(&mut ChaCha8Rng) -> i8) -> Vec<i8> {
    let w: Vec<f64> = rows[0]
        .iter()
        .map(|_| f64::from(random.random_range(-2..=2)))
        .collect();
    let b = f64::from(random.random_range(-2..=2));
    rows.iter()
        .map(|x| {
            let score = x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + b;
            if score == 0.0 {
                tie(random)
            } else {
                score.signum() as i8
            }
        })
        .collect()
}

fn both(signs: &mut [i8]) {
    let n = signs.len();
    if !signs.contains(&-1) {
        signs[n - 1] = -1;
    }
    if !signs.contains(&1) {
        signs[0] = 1;
    }
}

#[test]
fn small_integers_with_any_labels() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut seen = [0; 3];
    for trial in 0..1500 {
        let d = random.random_range(1..=4);
        let n = random.random_range(2..=12);
        let rows = integers(&mut random, n, d, 1 + trial % 3);
        let signs = labels(&mut random, n);
        seen[agrees(&rows, &signs, trial % 2 == 0) as usize] += 1;
    }
    assert!(seen.iter().all(|&count| count > 100), "{seen:?}");
}

#[test]
fn small_integers_that_a_hyperplane_separates_or_touches() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut seen = [0; 3];
    for trial in 0..1500 {
        let d = random.random_range(1..=4);
        let n = random.random_range(2..=14);
        let rows = integers(&mut random, n, d, 2);
        let mut signs = match trial % 3 {
            0 => by_plane(&mut random, &rows, |_| 1),
            1 => by_plane(&mut random, &rows, |random| {
                if random.random_range(0..2) == 0 { 1 } else { -1 }
            }),
            // Rows on the hyperplane belong to neither class.
            _ => by_plane(&mut random, &rows, |_| 0),
        };
        both(&mut signs);
        seen[agrees(&rows, &signs, trial % 4 < 3) as usize] += 1;
    }
    assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
}

#[test]
fn columns_that_repeat_are_constant_or_of_huge_scale() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for trial in 0..500 {
        let d = random.random_range(1..=3);
        let n = random.random_range(2..=10);
        let base = integers(&mut random, n, d, 2);
        let scales: Vec<f64> = (0..d + 2)
            .map(|_| 2f64.powi(random.random_range(-60..60)))
            .collect();
        let thousands: Vec<f64> = (0..d).map(|_| 10f64.powi(random.random_range(-3..=3))).collect();
        let rows: Rows = base
            .iter()
            .map(|x| {
                let mut row: Vec<f64> = x.iter().zip(&thousands).map(|(x, s)| x * s).collect();
                row.push(x[0] * 3.0);
                row.push(5.0);
                row.iter_mut().zip(&scales).for_each(|(v, s)| *v *= s);
                row
            })
            .collect();
        let mut signs = if trial % 2 == 0 {
            labels(&mut random, n)
        } else {
            by_plane(&mut random, &base, |_| 1)
        };
        both(&mut signs);
        agrees(&rows, &signs, trial % 3 != 0);
    }
}

#[test]
fn the_ends_of_the_range_of_doubles() {
    let mut random = ChaCha8Rng::seed_from_u64(12);
    let values = [0.0, 1.0, 3.0, 1e300, 1e200, 1e-300, 5e-324, 2.5e-310, 1e16];
    for trial in 0..200 {
        let d = random.random_range(1..=3);
        let n = random.random_range(2..=7);
        let rows: Rows = (0..n)
            .map(|_| {
                (0..d)
                    .map(|_| {
                        let sign = if random.random_range(0..2) == 0 { 1.0 } else { -1.0 };
                        sign * values[random.random_range(0..values.len())]
                    })
                    .collect()
            })
            .collect();
        let signs = labels(&mut random, n);
        agrees(&rows, &signs, trial % 2 == 0);
    }
}

#[test]
fn corner_cases() {
    let (plus, minus) = (1, -1);
    for intercept in [true, false] {
        // One point per class; equal points; all points equal; a point at the origin.
        agrees(&vec![vec![1.0, 2.0], vec![1.5, -2.0]], &[plus, minus], intercept);
        agrees(&vec![vec![1.0, 2.0], vec![1.0, 2.0]], &[plus, minus], intercept);
        agrees(
            &vec![vec![0.1; 3]; 7],
            &[plus, minus, plus, plus, minus, minus, plus],
            intercept,
        );
        agrees(&vec![vec![0.0, 0.0], vec![1.0, 0.0]], &[plus, minus], intercept);
        agrees(&vec![vec![0.0], vec![0.0]], &[plus, minus], intercept);
        // d = 1: separated, touching, overlapping, and a gap that contains no double.
        agrees(
            &vec![vec![1.0], vec![2.0], vec![3.0]],
            &[minus, plus, plus],
            intercept,
        );
        agrees(
            &vec![vec![1.0], vec![1.0], vec![3.0]],
            &[minus, plus, plus],
            intercept,
        );
        agrees(
            &vec![vec![1.0], vec![2.0], vec![3.0]],
            &[minus, plus, minus],
            intercept,
        );
        agrees(
            &vec![vec![0.5], vec![0.5 + f64::EPSILON / 2.0]],
            &[minus, plus],
            intercept,
        );
        // Exclusive or; one corner of the square against the other three.
        let square = vec![vec![0.0, 0.0], vec![1.0, 1.0], vec![0.0, 1.0], vec![1.0, 0.0]];
        agrees(&square, &[plus, plus, minus, minus], intercept);
        agrees(&square, &[plus, minus, minus, minus], intercept);
    }
    // Through the origin, only v = 0 satisfies the constraints.
    assert_eq!(
        agrees(&vec![vec![0.0], vec![0.0]], &[plus, minus], false),
        Verdict::Inseparable
    );
}

#[test]
fn points_on_a_line() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for trial in 0..300 {
        let d = random.random_range(2..=4);
        let n = random.random_range(2..=10);
        let direction: Vec<f64> = (0..d).map(|_| f64::from(random.random_range(-3..=3))).collect();
        let at: Vec<f64> = (0..n).map(|_| f64::from(random.random_range(-4..=4))).collect();
        let rows: Rows = at
            .iter()
            .map(|t| direction.iter().map(|w| 1.0 + t * w).collect())
            .collect();
        let mut signs: Vec<i8> = match trial % 3 {
            0 => at.iter().map(|&t| if t > 0.5 { 1 } else { -1 }).collect(),
            1 => at
                .iter()
                .map(|&t| {
                    if t > 0.0 || t == 0.0 && random.random_range(0..2) == 0 {
                        1
                    } else {
                        -1
                    }
                })
                .collect(),
            _ => labels(&mut random, n),
        };
        both(&mut signs);
        agrees(&rows, &signs, trial % 2 == 0);
    }
}

#[test]
fn duplicated_points_with_opposite_labels() {
    let mut random = ChaCha8Rng::seed_from_u64(5);
    for trial in 0..300 {
        let d = random.random_range(1..=3);
        let n = random.random_range(2..=8);
        let mut rows = integers(&mut random, n, d, 3);
        let mut signs = by_plane(&mut random, &rows, |_| 1);
        for _ in 0..random.random_range(1..=3) {
            let k = random.random_range(0..rows.len());
            rows.push(rows[k].clone());
            signs.push(-signs[k]);
        }
        agrees(&rows, &signs, trial % 2 == 0);
    }
}

#[test]
fn integers_up_to_two_to_the_fifty_third() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    let large = 2f64.powi(53);
    for trial in 0..300 {
        let d = random.random_range(1..=3);
        let n = random.random_range(2..=9);
        // Points close together and far from the origin, where the rounding error of a score exceeds the score.
        let rows: Rows = (0..n)
            .map(|_| {
                (0..d)
                    .map(|_| {
                        if trial % 2 == 0 {
                            f64::from(random.random_range(-(1 << 30)..1 << 30)) * large / 2f64.powi(30)
                        } else {
                            large / 2.0 - 8.0 + f64::from(random.random_range(0..16))
                        }
                    })
                    .collect()
            })
            .collect();
        let signs = labels(&mut random, n);
        agrees(&rows, &signs, trial % 3 != 0);
    }
}

#[test]
fn margins_of_a_millionth_of_a_millionth() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for trial in 0..300 {
        let d = random.random_range(2..=4);
        let n = random.random_range(d + 1..=12);
        let w: Vec<f64> = (0..d).map(|_| random.random_range(0.2..1.0)).collect();
        // Points on a hyperplane up to rounding, moved off it by 10⁻¹¹ or less, some of them to the wrong side.
        let push = 10f64.powi(-random.random_range(11..=16));
        let mut signs = labels(&mut random, n);
        let rows: Rows = (0..n)
            .map(|i| {
                let mut x: Vec<f64> = (0..d).map(|_| random.random_range(-1.0..1.0)).collect();
                let score: f64 = x[1..].iter().zip(&w[1..]).map(|(x, w)| x * w).sum();
                let wrong = if trial % 3 == 0 && i == 1 { -1.0 } else { 1.0 };
                x[0] = (-score + wrong * f64::from(signs[i]) * push) / w[0];
                x
            })
            .collect();
        both(&mut signs);
        agrees(&rows, &signs, trial % 2 == 0);
    }
}

/// Decides a set that is too large for the rational tableau. A proof that holds is sufficient by itself.
#[track_caller]
fn proved(rows: &Rows, signs: &[i8], intercept: bool) -> Verdict {
    let design = Design::from_rows(rows).unwrap();
    let proof = decide(&design, signs, intercept).expect("a verdict");
    let checked = proof.check(&design, signs).unwrap();
    assert!(
        checked.holds && checked.exact,
        "{:?}: {:?}",
        proof.verdict,
        checked.reason
    );
    if let Some(combination) = &proof.proof {
        let width = rows[0].len() + usize::from(intercept);
        let most = if proof.verdict == Verdict::Inseparable {
            2 * width
        } else {
            width + 1
        };
        assert!(
            combination.points.len() <= most,
            "{} points",
            combination.points.len()
        );
    }
    proof.verdict
}

#[test]
fn faces_of_larger_sets() {
    let mut random = ChaCha8Rng::seed_from_u64(9);
    for trial in 0..24 {
        let d = random.random_range(5..=25);
        let intercept = trial % 2 == 0;
        let w: Vec<f64> = (1..d).map(|_| f64::from(random.random_range(-3..=3))).collect();
        let (mut rows, mut signs) = (Vec::new(), labels(&mut random, 300));
        for (i, y) in signs.iter_mut().enumerate() {
            let mut x = integers(&mut random, 1, d - 1, 4).remove(0);
            // On the hyperplane with either label; one row in ten is off it, on its own side.
            let off = f64::from(u8::from(i % 10 == 0) * random.random_range(1..5)) * f64::from(*y);
            x.push(off - x.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>());
            rows.push(x);
        }
        assert_eq!(proved(&rows, &signs, intercept), Verdict::QuasiSeparable);
        // With a point on the wrong side, the face contains all rows.
        let y = if intercept { signs[0] } else { 1 };
        let mut far = vec![0.0; d];
        far[d - 1] = f64::from(-y);
        rows.push(far);
        signs.push(y);
        assert_eq!(proved(&rows, &signs, intercept), Verdict::Inseparable);
    }
}

#[test]
fn one_circuit_after_another() {
    let mut random = ChaCha8Rng::seed_from_u64(10);
    for trial in 0..12 {
        // d + 1 pairs of equal points with opposite labels: each pair is a circuit.
        let d = random.random_range(2..=30);
        let mut rows = integers(&mut random, d + 1, d, 9);
        rows.extend(rows.clone());
        let signs: Vec<i8> = (0..2 * (d + 1)).map(|i| if i <= d { 1 } else { -1 }).collect();
        assert_eq!(proved(&rows, &signs, trial % 2 == 0), Verdict::Inseparable);
    }
}

#[test]
fn zeros_and_ones() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut seen = [0; 3];
    for trial in 0..60 {
        let (n, groups) = (random.random_range(20..400), random.random_range(2..=6));
        let sizes: Vec<usize> = (0..groups).map(|_| random.random_range(2..=8)).collect();
        // One-hot categories: each group of columns has exactly one 1 per row, so the columns are linearly dependent.
        let rows: Rows = (0..n)
            .map(|_| {
                sizes
                    .iter()
                    .flat_map(|&size| {
                        let one = random.random_range(0..size);
                        (0..size).map(move |k| f64::from(u8::from(k == one)))
                    })
                    .collect()
            })
            .collect();
        let mut signs = if trial % 2 == 0 {
            labels(&mut random, n)
        } else {
            by_plane(&mut random, &rows, |random| {
                if random.random_range(0..2) == 0 { 1 } else { -1 }
            })
        };
        both(&mut signs);
        seen[proved(&rows, &signs, trial % 3 != 0) as usize] += 1;
    }
    assert!(seen.iter().all(|&count| count > 3), "{seen:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    for trial in 0..6 {
        let (n, d) = (3000, 6);
        let rows: Rows = (0..n)
            .map(|_| (0..d).map(|_| random.random_range(-1.0..1.0)).collect())
            .collect();
        let signs: Vec<i8> = rows
            .iter()
            .enumerate()
            .map(|(i, x)| {
                let score = x[0] + 0.5 * x[1] - x[2];
                let flipped = trial % 2 == 1 && i % 997 == 0;
                if (score > 0.0) != flipped { 1 } else { -1 }
            })
            .collect();
        let design = Design::from_rows(&rows).unwrap();
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| decide(&design, &signs, true).unwrap())
        };
        let one = run(1);
        assert_eq!(one, run(3));
        assert_eq!(
            one.verdict,
            if trial % 2 == 1 {
                Verdict::Inseparable
            } else {
                Verdict::Separable
            }
        );
        assert!(one.check(&design, &signs).unwrap().holds);
        let (lower, upper) = (one.margin.lower, one.margin.upper);
        assert!(upper - lower <= 1e-9 * upper, "{lower} {upper}");
    }
}

#[test]
fn one_class_alone_is_an_error_only_with_an_intercept() {
    let design = Design::from_rows(&[vec![1.0], vec![2.0]]).unwrap();
    let ask = |intercept| {
        let signed = Signed {
            design: &design,
            signs: &[1, 1],
            intercept,
        };
        separate(
            &signed,
            classes(),
            Question::Verdict,
            Budget::default(),
            &mut Unwatched,
        )
    };
    assert!(ask(true).is_err());
    assert_eq!(ask(false).unwrap().proof.unwrap().verdict, Verdict::Separable);
}
