//! Exact circuits, null vectors and proofs of separability, compared with a separate elimination over the rationals.

#![allow(clippy::unwrap_used)] // a test fails by panicking, in its helpers too

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed as _, ToPrimitive, Zero};
use serde_json::Value;
use wstar::data::Design;
use wstar::data::linear::Hyperplane;
use wstar::separate::exact::{
    Circuit, Deadline, ExactOutcome, Plane, Signed, circuit, cleared, null_vectors, rank_at_least, sign,
    vanishing,
};
use wstar::separate::proof::{ClassNames, Combination, Fraction, Hulls, Normal, Proof};

/// A xorshift generator of random numbers.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 11) as usize % n
    }

    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the given kind: small integers, integers to 2⁵³, reals, or dyadics of any size.
    fn number(&mut self, kind: usize) -> f64 {
        match kind {
            0 => self.below(7) as f64 - 3.0,
            1 => (self.bits() >> 10) as f64 - (1u64 << 53) as f64,
            2 => 2.0 * self.unit() - 1.0,
            3 => {
                let exponent = self.below(400) as i32 - 200;
                (self.below(2001) as f64 - 1000.0) * 2f64.powi(exponent)
            }
            _ => self.below(2) as f64,
        }
    }
}

fn rational(value: f64) -> BigRational {
    BigRational::from_float(value).unwrap()
}

/// `aᵢ` as rationals.
fn lifted(signed: &Signed<'_>, i: usize) -> Vec<BigRational> {
    let y = rational(signed.signs[i].into());
    let mut row: Vec<BigRational> = signed
        .design
        .row(i)
        .to_dense(signed.design.features())
        .into_iter()
        .map(|x| rational(x) * &y)
        .collect();
    if signed.intercept {
        row.push(y);
    }
    row
}

/// A basis of the null space of `M`, by Gauss–Jordan elimination.
fn null_space(mut matrix: Vec<Vec<BigRational>>, width: usize) -> Vec<Vec<BigRational>> {
    let mut pivots = Vec::new();
    for j in 0..width {
        let k = pivots.len();
        let Some(at) = (k..matrix.len()).find(|&i| !matrix[i][j].is_zero()) else {
            continue;
        };
        matrix.swap(k, at);
        let pivot = matrix[k][j].clone();
        matrix[k].iter_mut().for_each(|v| *v /= &pivot);
        let pivot_row = matrix[k].clone();
        for (i, row) in matrix.iter_mut().enumerate() {
            if i != k && !row[j].is_zero() {
                let factor = row[j].clone();
                row.iter_mut()
                    .zip(&pivot_row)
                    .for_each(|(a, b)| *a -= &factor * b);
            }
        }
        pivots.push(j);
    }
    (0..width)
        .filter(|j| !pivots.contains(j))
        .map(|j| {
            let mut vector = vec![BigRational::zero(); width];
            vector[j] = BigRational::one();
            for (k, &pivot) in pivots.iter().enumerate() {
                vector[pivot] = -matrix[k][j].clone();
            }
            vector
        })
        .collect()
}

/// A basis of the linear relations among the lifted rows.
fn relations(signed: &Signed<'_>, rows: &[usize]) -> Vec<Vec<BigRational>> {
    let lifted: Vec<Vec<BigRational>> = rows.iter().map(|&i| lifted(signed, i)).collect();
    let transposed = (0..signed.width())
        .map(|j| lifted.iter().map(|row| row[j].clone()).collect())
        .collect();
    null_space(transposed, rows.len())
}

fn rank(signed: &Signed<'_>, rows: &[usize]) -> usize {
    rows.len() - relations(signed, rows).len()
}

fn is_circuit(signed: &Signed<'_>, circuit: &Circuit) {
    assert!(circuit.points().is_sorted_by(|a, b| a < b) && circuit.points().len() == circuit.weights().len());
    assert!(circuit.weights().iter().all(|w| w.is_positive()));
    let mut sum = vec![BigRational::zero(); signed.width()];
    let mut totals = [BigRational::zero(), BigRational::zero()];
    for (&i, weight) in circuit.points().iter().zip(circuit.weights()) {
        for (sum, a) in sum.iter_mut().zip(lifted(signed, i as usize)) {
            *sum += a * weight;
        }
        totals[usize::from(signed.signs[i as usize] < 0)] += weight;
    }
    assert!(sum.iter().all(Zero::is_zero));
    if signed.intercept {
        assert!(totals.iter().all(One::is_one));
    } else {
        assert!((&totals[0] + &totals[1]).is_one());
    }
}

fn names() -> ClassNames {
    ClassNames {
        positive: "yes".to_owned(),
        negative: "no".to_owned(),
    }
}

/// Random rows, some of which repeat earlier ones.
fn random_rows(random: &mut Random, count: usize, features: usize, kind: usize) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for _ in 0..count {
        if !rows.is_empty() && random.below(8) == 0 {
            let again = rows[random.below(rows.len())].clone();
            rows.push(again);
        } else {
            rows.push((0..features).map(|_| random.number(kind)).collect());
        }
    }
    rows
}

#[test]
fn single_circuits_are_those_of_plain_elimination() {
    let mut random = Random(88_172_645_463_325_252);
    let mut found = 0;
    for case in 0..3000 {
        let (kind, features, intercept) = (case % 5, 1 + random.below(6), case % 3 != 0);
        let width = features + usize::from(intercept);
        let design = Design::from_rows(&random_rows(&mut random, width + 1, features, kind)).unwrap();
        let rows: Vec<usize> = (0..width + 1).collect();
        let plus = vec![1; width + 1];
        let unsigned = Signed {
            design: &design,
            signs: &plus,
            intercept,
        };
        let basis = relations(&unsigned, &rows);
        // A relation becomes a circuit on its support when each row takes the sign of its weight.
        let relation = &basis[random.below(basis.len())];
        let signs: Vec<i8> = relation
            .iter()
            .map(|r| if r.is_negative() { -1 } else { 1 })
            .collect();
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept,
        };
        let hint: Vec<f64> = relation.iter().map(|r| r.abs().to_f64().unwrap()).collect();
        // If coordinates differ too much in size, the small weights cannot be distinguished from rounding errors.
        let largest = hint.iter().copied().fold(0.0, f64::max);
        if hint
            .iter()
            .any(|&h| h != 0.0 && (h < 1e-9 * largest || !h.is_finite()))
        {
            continue;
        }
        if intercept && relation.iter().all(|r| !r.is_negative()) {
            unreachable!("the weights of an affine relation have both signs");
        }
        let outcome = circuit(&signed, &rows, &hint, &Deadline::unlimited())
            .found()
            .expect("a circuit");
        is_circuit(&signed, &outcome);
        // A basis relation from the elimination is the only relation on its support.
        let support: Vec<u64> = (0..)
            .zip(relation)
            .filter(|(_, r)| !r.is_zero())
            .map(|(i, _)| i)
            .collect();
        assert_eq!(outcome.points(), support);
        let first = &outcome.weights()[0] / relation[support[0] as usize].abs();
        for (&i, weight) in support.iter().zip(outcome.weights()) {
            assert_eq!(*weight, relation[i as usize].abs() * &first);
        }
        found += 1;
    }
    assert!(found > 2000, "{found} cases were suitable");
}

#[test]
fn sums_of_circuits_are_made_exact() {
    let mut random = Random(1_234_567);
    let mut found = 0;
    for case in 0..3000 {
        let (kind, features, intercept) = (case % 5, 1 + random.below(4), case % 2 == 0);
        let count = 3 + features + random.below(6);
        let design = Design::from_rows(&random_rows(&mut random, count, features, kind)).unwrap();
        let signs: Vec<i8> = (0..count)
            .map(|_| if random.below(2) == 0 { 1 } else { -1 })
            .collect();
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept,
        };
        // Sum of the relations with nonnegative weights among random small subsets of the rows, each normalised.
        let mut total = vec![BigRational::zero(); count];
        for _ in 0..12 {
            let size = 2 + random.below(features + 1);
            let mut rows: Vec<usize> = (0..size).map(|_| random.below(count)).collect();
            rows.sort_unstable();
            rows.dedup();
            for relation in relations(&signed, &rows) {
                if relation.iter().all(|r| !r.is_negative()) {
                    let sum: BigRational = relation.iter().sum();
                    rows.iter()
                        .zip(&relation)
                        .for_each(|(&i, r)| total[i] += r / &sum);
                }
            }
        }
        let hint: Vec<f64> = total.iter().map(|r| r.to_f64().unwrap()).collect();
        if hint.iter().all(|&h| h == 0.0) || hint.iter().any(|&h| h != 0.0 && h < 1e-9) {
            continue;
        }
        let rows: Vec<usize> = (0..count).collect();
        let noise: Vec<f64> = hint.iter().map(|h| h + 1e-17 * random.unit()).collect();
        let outcome = circuit(&signed, &rows, &noise, &Deadline::unlimited()).found();
        // With coordinates that differ by a factor of 10¹²⁰, the last bit of one weight can exceed another weight.
        if kind == 3 && outcome.is_none() {
            continue;
        }
        let outcome = outcome.expect("a sum of circuits");
        is_circuit(&signed, &outcome);
        // The circuit must keep the whole support: without one of its rows the rank would be lower.
        let support: Vec<u64> = (0..)
            .zip(&hint)
            .filter(|(_, h)| **h > 0.0)
            .map(|(i, _)| i)
            .collect();
        assert!(
            outcome.points() == support || kind == 3,
            "{:?} of {support:?} in case {case}",
            outcome.points()
        );
        found += 1;
    }
    assert!(found > 300, "{found} cases were suitable");
}

#[test]
fn circuits_found_from_any_hint_are_valid() {
    let mut random = Random(31);
    let mut found = 0;
    for case in 0..3000 {
        let (kind, features, intercept) = (case % 5, 1 + random.below(4), case % 2 == 0);
        let count = 2 + random.below(10);
        let design = Design::from_rows(&random_rows(&mut random, count, features, kind)).unwrap();
        let signs: Vec<i8> = (0..count).map(|_| random.below(3) as i8 - 1).collect();
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept,
        };
        let rows: Vec<usize> = (0..count).map(|_| random.below(count)).collect();
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300, 1e300];
        let hint: Vec<f64> = (0..count)
            .map(|_| {
                if random.below(6) == 0 {
                    odd[random.below(6)]
                } else {
                    random.unit()
                }
            })
            .collect();
        match circuit(&signed, &rows, &hint, &Deadline::unlimited()) {
            ExactOutcome::Found(outcome) => {
                is_circuit(&signed, &outcome);
                assert!(
                    outcome
                        .points()
                        .iter()
                        .all(|&i| rows.contains(&(i as usize)) && signs[i as usize] != 0)
                );
                found += 1;
            }
            outcome => assert_eq!(outcome, ExactOutcome::Absent),
        }
    }
    assert!(found > 300, "{found} circuits were found");
}

#[test]
fn independent_rows_hold_no_circuit() {
    let design = Design::from_rows(&[vec![1.0, 0.0], vec![0.0, 1.0], vec![0.1, 0.3]]).unwrap();
    let signed = Signed {
        design: &design,
        signs: &[1, -1, 1],
        intercept: true,
    };
    assert_eq!(
        circuit(&signed, &[0, 1, 2], &[1.0, 1.0, 1.0], &Deadline::unlimited()),
        ExactOutcome::Absent
    );
    // The rows are dependent, but their relation has a negative weight.
    let design = Design::from_rows(&[vec![0.0], vec![1.0], vec![2.0]]).unwrap();
    let signed = Signed {
        design: &design,
        signs: &[1, 1, -1],
        intercept: true,
    };
    assert_eq!(
        circuit(&signed, &[0, 1, 2], &[1.0, 1.0, 1.0], &Deadline::unlimited()),
        ExactOutcome::Absent
    );
    let spent = Deadline::within(std::time::Duration::ZERO);
    assert_eq!(
        circuit(&signed, &[0, 1, 2], &[1.0, 1.0, 1.0], &spent),
        ExactOutcome::BudgetSpent
    );
}

#[test]
fn ranks_and_null_vectors_agree_with_plain_elimination() {
    let mut random = Random(99);
    for case in 0..1500 {
        let (kind, features, intercept) = (case % 5, 1 + random.below(6), case % 3 != 0);
        let count = 1 + random.below(9);
        let mut rows = random_rows(&mut random, count, features, kind);
        // Columns that are 0, constant, or a copy of the first column with the opposite sign.
        for j in 0..features {
            match random.below(6) {
                0 => rows.iter_mut().for_each(|row| row[j] = 0.0),
                1 => rows.iter_mut().for_each(|row| row[j] = 3.0),
                2 => rows.iter_mut().for_each(|row| row[j] = -row[0]),
                _ => {}
            }
        }
        let design = Design::from_rows(&rows).unwrap();
        let signs: Vec<i8> = (0..count).map(|_| random.below(3) as i8 - 1).collect();
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept,
        };
        let rows: Vec<usize> = signed.participants().collect();
        let truth = rank(&signed, &rows);
        assert_eq!(rank_at_least(&signed, &rows), truth);
        let vectors = null_vectors(&signed, &Deadline::unlimited())
            .found()
            .expect("null vectors");
        assert_eq!(vectors.len(), signed.width() - truth);
        let exact: Vec<Vec<BigRational>> = vectors
            .iter()
            .map(|v| v.iter().map(|n| BigRational::from(n.clone())).collect())
            .collect();
        for &i in &rows {
            for vector in &exact {
                let product: BigRational = lifted(&signed, i).iter().zip(vector).map(|(a, b)| a * b).sum();
                assert!(product.is_zero());
            }
        }
        let width = signed.width();
        assert_eq!(
            width - null_space(exact, width).len(),
            vectors.len(),
            "they are independent"
        );
    }
}

#[test]
fn many_rows_span_no_more_than_few() {
    // 5,000 rows in 12 dimensions that span a space of dimension 7. Only one row each spans its last two dimensions.
    let mut random = Random(5);
    let basis: Vec<Vec<f64>> = (0..5)
        .map(|_| (0..11).map(|_| random.number(0)).collect())
        .collect();
    let mut rows: Vec<Vec<f64>> = (0..5000)
        .map(|_| {
            let weights: Vec<f64> = basis.iter().map(|_| random.number(0)).collect();
            (0..11)
                .map(|j| weights.iter().zip(&basis).map(|(w, b)| w * b[j]).sum())
                .collect()
        })
        .collect();
    rows[3333][4] += 1.0;
    let design = Design::from_rows(&rows).unwrap();
    let signs: Vec<i8> = (0..5000).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
    let signed = Signed {
        design: &design,
        signs: &signs,
        intercept: true,
    };
    let all: Vec<usize> = (0..5000).collect();
    assert_eq!(rank_at_least(&signed, &all), 7);
    let vectors = null_vectors(&signed, &Deadline::unlimited())
        .found()
        .expect("null vectors");
    assert_eq!(vectors.len(), 5);
    for vector in vectors {
        let plane = Plane::lifted(&vector, true);
        assert!(all.iter().all(|&i| plane.sign(design.row(i)).is_eq()));
    }
}

#[test]
fn planes_vanish_on_their_face() {
    let mut random = Random(7);
    for case in 0..1500 {
        let (kind, features, intercept) = (case % 4, 2 + random.below(5), case % 3 != 0);
        let width = features + usize::from(intercept);
        let count = 1 + random.below(width);
        let design = Design::from_rows(&random_rows(&mut random, count, features, kind)).unwrap();
        let signs = vec![1; count];
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept,
        };
        let face: Vec<usize> = (0..count).collect();
        // A rounded combination of the null vectors: the most accurate hint that doubles allow.
        let basis = null_space(face.iter().map(|&i| lifted(&signed, i)).collect(), width);
        let mut truth = vec![BigRational::zero(); width];
        for vector in &basis {
            let weight = rational(random.number(2));
            truth.iter_mut().zip(vector).for_each(|(t, v)| *t += &weight * v);
        }
        let guess: Vec<f64> = truth.iter().map(|t| t.to_f64().unwrap()).collect();
        let v = vanishing(&signed, &face, &guess, &Deadline::unlimited())
            .found()
            .expect("a plane");
        for &i in &face {
            let product: BigRational = lifted(&signed, i).iter().zip(&v).map(|(a, b)| a * b).sum();
            assert!(product.is_zero());
        }
        if kind == 0 || kind == 2 {
            for (v, guess) in v.iter().zip(&guess) {
                assert!(
                    (v.to_f64().unwrap() - guess).abs() < 1e-6 * guess.abs().max(1.0),
                    "{v} for {guess}"
                );
            }
        }
        // The plane with integer coefficients gives the same signs as the plane with fractions.
        let plane = Plane::lifted(&cleared(&v), intercept);
        for &i in &face {
            assert!(plane.sign(design.row(i)).is_eq());
        }
    }
}

/// d + 2 random points, signed by their only affine relation, and its weights by elimination in doubles.
fn simplex(random: &mut Random, d: usize, kind: usize) -> (Design, Vec<i8>, Vec<f64>) {
    let points: Vec<Vec<f64>> = (0..d + 2)
        .map(|_| (0..d).map(|_| random.number(kind)).collect())
        .collect();
    let mut matrix: Vec<Vec<f64>> = (0..=d)
        .map(|j| points.iter().map(|x| if j < d { x[j] } else { 1.0 }).collect())
        .collect();
    for k in 0..=d {
        let at = (k..=d)
            .max_by(|&a, &b| matrix[a][k].abs().total_cmp(&matrix[b][k].abs()))
            .unwrap();
        matrix.swap(k, at);
        let pivot = matrix[k].clone();
        for (i, row) in matrix.iter_mut().enumerate() {
            let factor = row[k] / pivot[k];
            if i != k && factor != 0.0 {
                row[k..]
                    .iter_mut()
                    .zip(&pivot[k..])
                    .for_each(|(a, b)| *a -= factor * b);
            }
        }
    }
    let mut weights: Vec<f64> = (0..=d).map(|k| -matrix[k][d + 1] / matrix[k][k]).collect();
    weights.push(1.0);
    let signs = weights.iter().map(|&w| if w > 0.0 { 1 } else { -1 }).collect();
    (
        Design::from_rows(&points).unwrap(),
        signs,
        weights.iter().map(|w| w.abs()).collect(),
    )
}

#[test]
fn lifting_goes_to_hundreds_of_dimensions() {
    let mut random = Random(42);
    for (d, kind) in [(30, 1), (50, 2), (120, 2), (300, 0), (300, 2)] {
        let (design, signs, hint) = simplex(&mut random, d, kind);
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept: true,
        };
        let rows: Vec<usize> = (0..d + 2).collect();
        let found = circuit(&signed, &rows, &hint, &Deadline::unlimited())
            .found()
            .expect("a circuit");
        assert_eq!(found.points().len(), d + 2);
        let total: f64 = hint
            .iter()
            .zip(&signs)
            .filter(|(_, y)| **y > 0)
            .map(|(h, _)| h)
            .sum();
        for (weight, h) in found.weights().iter().zip(&hint) {
            assert!((weight.to_f64().unwrap() - h / total).abs() < 1e-8);
        }
        // The check of the proof multiplies everything out exactly.
        let proof = Proof::inseparable(&signed, names(), Combination::exact(&found), &[]);
        let checked = proof.check(&design, &signs).unwrap();
        assert!(checked.holds && checked.exact, "{:?}", checked.reason);
    }
}

/// Proofs of every kind, each with its data.
fn proofs() -> Vec<(Design, Vec<i8>, Proof)> {
    let mut all = Vec::new();
    // Separable, with and without an intercept.
    let rows = [
        [0.5, 1.25],
        [1.1, 3.0],
        [0.3, 2.7],
        [-1.0, -0.7],
        [-2.2, 0.1],
        [-0.4, -1.9],
    ];
    let design = Design::from_rows(&rows.map(Vec::from)).unwrap();
    let signs = vec![1, 1, 1, -1, -1, -1];
    for intercept in [true, false] {
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept,
        };
        let plane = Hyperplane::new(vec![1.3, 1.1], if intercept { -0.25 } else { 0.0 });
        let hulls = if intercept {
            Hulls {
                positive: vec![(0, 0.75), (2, 0.25)],
                negative: vec![(3, 0.5), (4, 0.25)],
            }
        } else {
            Hulls {
                positive: vec![(0, 0.7), (3, 0.2), (4, 0.3)],
                negative: vec![],
            }
        };
        all.push((
            design.clone(),
            signs.clone(),
            Proof::separable(&signed, names(), &plane, hulls),
        ));
    }
    // Quasi-separable by a plane whose coefficients are doubles.
    let rows = [
        vec![0.0, 1.0],
        vec![0.0, -2.0],
        vec![0.0, 0.0],
        vec![2.0, 5.0],
        vec![-1.0, 3.0],
    ];
    let design = Design::from_rows(&rows).unwrap();
    let signs = vec![1, 1, -1, 1, -1];
    let signed = Signed {
        design: &design,
        signs: &signs,
        intercept: true,
    };
    let found = circuit(&signed, &[0, 1, 2], &[0.66, 0.33, 1.0], &Deadline::unlimited())
        .found()
        .unwrap();
    let normal = Normal::from(&Hyperplane::new(vec![1.0, 0.0], 0.0));
    let proof = Proof::quasi_separable(&signed, names(), normal, Combination::exact(&found));
    all.push((design.clone(), signs.clone(), proof));
    // Quasi-separable by a line whose coefficients contain thirds, which are not doubles.
    let design =
        Design::from_rows(&[vec![3.0, 1.0], vec![-3.0, -1.0], vec![0.0, 0.0], vec![5.0, 9.0]]).unwrap();
    let signs = vec![1, 1, -1, 1];
    let signed = Signed {
        design: &design,
        signs: &signs,
        intercept: true,
    };
    let found = circuit(&signed, &[0, 1, 2], &[0.5, 0.5, 1.0], &Deadline::unlimited())
        .found()
        .unwrap();
    let v = vanishing(&signed, &[0, 1, 2], &[-0.3, 0.9, 0.0], &Deadline::unlimited())
        .found()
        .unwrap();
    let normal = Normal::from_rationals(&v, true);
    assert!(normal.weights.iter().all(|w| matches!(w, Fraction::Fraction(_))));
    let proof = Proof::quasi_separable(&signed, names(), normal, Combination::exact(&found));
    all.push((design.clone(), signs.clone(), proof));
    // Inseparable, of full rank. Some rows belong to neither class.
    let mut random = Random(17);
    let (design, mut signs, hint) = simplex(&mut random, 3, 2);
    let mut rows: Vec<Vec<f64>> = design.iter().map(|row| row.to_dense(3)).collect();
    rows.push(vec![9.0, 9.0, 9.0]);
    signs.push(0);
    let design = Design::from_rows(&rows).unwrap();
    let signed = Signed {
        design: &design,
        signs: &signs,
        intercept: true,
    };
    let found = circuit(&signed, &[0, 1, 2, 3, 4], &hint, &Deadline::unlimited())
        .found()
        .unwrap();
    all.push((
        design.clone(),
        signs.clone(),
        Proof::inseparable(&signed, names(), Combination::exact(&found), &[]),
    ));
    // The same combination with its weights rounded to doubles.
    let total = |y: i8| -> f64 {
        hint.iter()
            .zip(&signs)
            .filter(|(_, s)| **s == y)
            .map(|(h, _)| h)
            .sum()
    };
    let decimal: Vec<(u64, f64)> = (0..)
        .zip(&hint)
        .zip(&signs)
        .map(|((i, h), &y)| (i, h / total(y)))
        .collect();
    all.push((
        design.clone(),
        signs.clone(),
        Proof::inseparable(&signed, names(), Combination::decimal(&decimal), &[]),
    ));
    // Inseparable, rank-deficient: the third feature is the sum of the first two, the fourth is always 0.
    let plane = |x: f64, y: f64| vec![x, y, x + y, 0.0];
    let rows = [
        plane(0.0, 0.0),
        plane(4.0, 0.0),
        plane(0.0, 4.0),
        plane(1.0, 2.0),
        plane(-3.0, 7.0),
    ];
    let design = Design::from_rows(&rows).unwrap();
    let signs = vec![1, 1, 1, -1, -1];
    let signed = Signed {
        design: &design,
        signs: &signs,
        intercept: true,
    };
    let found = circuit(
        &signed,
        &[0, 1, 2, 3],
        &[0.25, 0.25, 0.5, 1.0],
        &Deadline::unlimited(),
    )
    .found()
    .unwrap();
    let null = null_vectors(&signed, &Deadline::unlimited()).found().unwrap();
    assert_eq!(null.len(), 2);
    let proof = Proof::inseparable(&signed, names(), Combination::exact(&found), &null);
    all.push((design.clone(), signs.clone(), proof));
    all
}

#[test]
fn proofs_hold_and_survive_a_round_trip() {
    let all = proofs();
    assert_eq!(all.len(), 7);
    for (design, signs, proof) in all {
        let checked = proof.check(&design, &signs).unwrap();
        assert!(checked.holds, "{:?}: {:?}", proof.verdict, checked.reason);
        assert_eq!(checked.margin, proof.margin);
        let back = Proof::from_json(&proof.to_json().unwrap()).unwrap();
        assert_eq!(back, proof);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proof.json");
        proof.save(&path).unwrap();
        assert_eq!(Proof::load(&path).unwrap(), proof);
        assert!(Proof::is_one(&std::fs::read(&path).unwrap()));
        // With other data the proof is invalid or does not hold.
        let mut other: Vec<Vec<f64>> = design.iter().map(|row| row.to_dense(design.features())).collect();
        for row in &mut other {
            row[0] += 1.0 + row[0] * row[0];
        }
        assert!(
            !proof
                .check(&Design::from_rows(&other).unwrap(), &signs)
                .unwrap()
                .holds
        );
        assert!(
            proof
                .check(&Design::from_rows(&other[1..]).unwrap(), &signs[1..])
                .is_err()
        );
    }
}

/// Calls `visit` once for every number in the document, with a copy of the document in which that number differs.
fn change_each(value: &Value, visit: &mut dyn FnMut(&str, Value)) {
    let changed: Vec<Value> = match value {
        Value::Number(n) if n.is_u64() => vec![
            (n.as_u64().unwrap() + 1).into(),
            (n.as_u64().unwrap() / 2 + 3).into(),
        ],
        Value::Number(n) => {
            let x = n.as_f64().unwrap();
            vec![
                (x.next_up()).into(),
                (x + 1.0).into(),
                (-x - 0.5).into(),
                (x * 2.0 + 0.25).into(),
            ]
        }
        Value::String(text) if text.bytes().any(|b| b.is_ascii_digit()) => (0..text.len())
            .filter(|&at| text.as_bytes()[at].is_ascii_digit())
            .map(|at| {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = if bytes[at] == b'9' { b'1' } else { bytes[at] + 1 };
                Value::String(String::from_utf8(bytes).unwrap())
            })
            .collect(),
        _ => Vec::new(),
    };
    changed
        .into_iter()
        .filter(|changed| changed != value)
        .for_each(|changed| visit("", changed));
    match value {
        Value::Array(items) => {
            for (k, item) in items.iter().enumerate() {
                change_each(item, &mut |path, changed| {
                    let mut items = items.clone();
                    items[k] = changed;
                    visit(&format!("/{k}{path}"), Value::Array(items));
                });
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                change_each(field, &mut |path, changed| {
                    let mut fields = fields.clone();
                    fields[name] = changed;
                    visit(&format!("/{name}{path}"), Value::Object(fields));
                });
            }
        }
        _ => {}
    }
}

#[test]
fn a_file_with_any_number_changed_is_refused() {
    for (_, _, proof) in proofs() {
        let document: Value = serde_json::from_slice(&proof.to_json().unwrap()).unwrap();
        let mut count = 0;
        change_each(&document, &mut |path, changed| {
            let bytes = serde_json::to_vec(&changed).unwrap();
            assert!(Proof::from_json(&bytes).is_err(), "{path} was changed");
            count += 1;
        });
        assert!(count > 20);
    }
}

#[test]
fn a_proof_with_any_number_changed_fails_by_its_arithmetic() {
    for (design, signs, proof) in proofs() {
        let content = serde_json::to_value(&proof).unwrap();
        change_each(&content, &mut |path, changed| {
            let Ok(forged) = serde_json::from_value::<Proof>(changed) else {
                return;
            };
            if forged == proof {
                return;
            }
            let holds = forged.check(&design, &signs).is_ok_and(|checked| checked.holds);
            // Another hyperplane, or a null vector times 2, may give a valid proof too. Multipliers in doubles are
            // relative to their sum, and any such multipliers bound the margin.
            let may_hold = path.starts_with("/hyperplane")
                || path.starts_with("/null_vectors")
                || path.starts_with("/hulls")
                || (!proof.proof.as_ref().is_none_or(|c| c.exact) && path.starts_with("/proof/weights"));
            assert!(!holds || may_hold, "{:?}: {path} was changed", proof.verdict);
            // A large change of the separating plane must change the margin, because the margin is stated to the last
            // bit.
            if let (true, Some(plane), Some(old)) = (holds, &forged.hyperplane, &proof.hyperplane) {
                let far = |a: &Fraction, b: &Fraction| match (a, b) {
                    (Fraction::Double(a), Fraction::Double(b)) => (a - b).abs() > 1e-9,
                    _ => false,
                };
                let moved = plane.weights.iter().zip(&old.weights).any(|(a, b)| far(a, b))
                    || far(&plane.intercept, &old.intercept);
                assert!(!moved || forged.hulls.is_none(), "{path} was changed");
            }
        });
    }
}

#[test]
fn each_failure_has_its_reason() {
    let mut all = proofs();
    let reason = |design: &Design, signs: &[i8], proof: &Proof| {
        let checked = proof.check(design, signs).unwrap();
        assert!(!checked.holds);
        checked.reason.unwrap()
    };
    let (design, signs, proof) = &mut all[0];
    let mut flipped = signs.clone();
    flipped[4] = 1;
    assert_eq!(
        reason(design, &flipped, proof),
        "row 4 is not on its side of the hyperplane"
    );
    proof.margin.lower += 0.5;
    assert!(reason(design, signs, proof).starts_with("the margin is between"));
    let (design, signs, proof) = &mut all[4];
    let combination = proof.proof.as_mut().unwrap();
    let weights = combination.weights.clone();
    combination.weights[0].insert(0, '-');
    assert!(reason(design, signs, proof).contains("is not above 0"));
    let combination = proof.proof.as_mut().unwrap();
    combination.weights = weights.clone();
    combination.points[4] = 5;
    assert_eq!(
        reason(design, signs, proof),
        "row 5 is not a point of either class"
    );
    // Numbers with a million digits are rejected before any arithmetic.
    let combination = proof.proof.as_mut().unwrap();
    combination.points[4] = 4;
    combination.weights[0] = "9".repeat(1_000_000);
    assert!(proof.check(design, signs).is_err());
    for bad in [
        "", "1/0", "x", "1/-3", "1/2/3", "0x1", "01/3", " 1/3", "+1/3", "NaN",
    ] {
        proof.proof.as_mut().unwrap().weights = weights.clone();
        proof.proof.as_mut().unwrap().weights[1] = bad.to_owned();
        assert!(proof.check(design, signs).is_err(), "{bad:?}");
    }
    // Weights that are reduced fractions, each with its own denominator, are accepted too.
    let combination = proof.proof.as_mut().unwrap();
    combination.weights = weights
        .iter()
        .map(|text| {
            let (p, q) = text.split_once('/').unwrap();
            BigRational::new(p.parse().unwrap(), q.parse().unwrap()).to_string()
        })
        .collect();
    assert!(proof.check(design, signs).unwrap().holds);
    // In the rank-deficient case the null vectors are required, and they must be independent.
    let (design, signs, proof) = &mut all[6];
    let vectors = proof.null_vectors.clone();
    proof.null_vectors.pop();
    assert!(reason(design, signs, proof).starts_with("the points span 3 dimensions"));
    proof.null_vectors = vec![vectors[0].clone(), vectors[0].clone()];
    assert_eq!(
        reason(design, signs, proof),
        "the null vectors are not independent"
    );
    proof.null_vectors = vec![vectors[0].clone(), vec![(0, "1".to_owned())]];
    assert!(reason(design, signs, proof).ends_with("is not orthogonal to the null vectors"));
    // Quasi-separable data have such combinations too. A combination alone does not prove overlap.
    let (design, signs, proof) = &mut all[3];
    proof.verdict = wstar::separate::proof::Verdict::Inseparable;
    proof.hyperplane = None;
    assert!(reason(design, signs, proof).starts_with("the points span 2 dimensions"));
}

#[test]
fn damaged_files_are_errors() {
    let (_, _, proof) = proofs().remove(2);
    let bytes = proof.to_json().unwrap();
    for end in 0..bytes.len() {
        assert!(Proof::from_json(&bytes[..end]).is_err());
    }
    let text = String::from_utf8(bytes).unwrap();
    for (from, to) in [
        ("wstar-proof", "wstar-model"),
        ("\"version\":1", "\"version\":2"),
        ("\"verdict\"", "\"x\""),
    ] {
        assert!(text.contains(from));
        assert!(Proof::from_json(text.replace(from, to).as_bytes()).is_err());
    }
}

#[test]
fn margins_are_rounded_outwards() {
    let mut random = Random(3);
    for _ in 0..500 {
        let features = 1 + random.below(4);
        let w: Vec<f64> = (0..features).map(|_| random.number(2)).collect();
        let b = random.number(2);
        let rows: Vec<Vec<f64>> = (0..12)
            .map(|_| (0..features).map(|_| random.number(2)).collect())
            .collect();
        let design = Design::from_rows(&rows).unwrap();
        let signs: Vec<i8> = design
            .iter()
            .map(|row| if sign(row, &w, b).is_gt() { 1 } else { -1 })
            .collect();
        let signed = Signed {
            design: &design,
            signs: &signs,
            intercept: true,
        };
        let of = |y: i8| -> Vec<(u64, f64)> {
            (0..12)
                .filter(|&i| signs[i as usize] == y)
                .map(|i| (i, random_share(i)))
                .collect()
        };
        let hulls = Hulls {
            positive: of(1),
            negative: of(-1),
        };
        if hulls.positive.is_empty() || hulls.negative.is_empty() {
            continue;
        }
        let proof = Proof::separable(&signed, names(), &Hyperplane::new(w.clone(), b), hulls.clone());
        // In rational arithmetic: lower²·‖w‖² ≤ (smallest score)², and upper² ≥ ‖p − q‖²/4.
        let norm: BigRational = w.iter().map(|&w| rational(w) * rational(w)).sum();
        let score = |i: usize| -> BigRational {
            let terms = rows[i].iter().zip(&w).map(|(&x, &w)| rational(x) * rational(w));
            (terms.sum::<BigRational>() + rational(b)).abs()
        };
        let least = (0..12).map(score).min().unwrap();
        let lower = rational(proof.margin.lower);
        assert!(&lower * &lower * &norm <= &least * &least);
        assert!(&lower * &lower * &norm >= &least * &least * rational(1.0 - 1e-13));
        let point = |list: &[(u64, f64)], j: usize| -> BigRational {
            let total: BigRational = list.iter().map(|&(_, m)| rational(m)).sum();
            list.iter()
                .map(|&(i, m)| rational(m) * rational(rows[i as usize][j]))
                .sum::<BigRational>()
                / total
        };
        let squared: BigRational = (0..features)
            .map(|j| {
                let difference = point(&hulls.positive, j) - point(&hulls.negative, j);
                &difference * &difference
            })
            .sum();
        let upper = rational(proof.margin.upper);
        let four = BigRational::from(BigInt::from(4));
        assert!(&upper * &upper * &four >= squared);
        assert!(&upper * &upper * &four <= squared * rational(1.0 + 1e-13));
        assert!(proof.check(&design, &signs).unwrap().holds);
    }
}

fn random_share(i: u64) -> f64 {
    1.0 / (1.0 + i as f64)
}
