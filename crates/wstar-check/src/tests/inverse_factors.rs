//! ‖RHRᵀ − I‖ against exact arithmetic.

use crate::design::Design;
use crate::linear::{Frame, Information, gram, identity_defect, inverse_factor};
use crate::mutant::{Mutant, with};
use crate::tests::exact::{Big, big, zero};
use crate::tests::random_problems::Random;

/// The number of matrices whose ε is too small, of those with a finite one.
fn wrong(seed: u64) -> (usize, usize) {
    let mut random = Random(seed);
    let (mut wrong, mut finite) = (0, 0);
    for _ in 0..60 {
        let (n, d) = (6 + random.below(30), 2 + random.below(4));
        // Columns that nearly depend on each other, so that rounding errors count.
        let near = 10f64.powi(-(random.below(8) as i32));
        let values: Vec<f64> = (0..n)
            .flat_map(|_| {
                let first = random.normal();
                let rest: Vec<f64> = (0..d).map(|_| 3.0 + first + near * random.normal()).collect();
                rest
            })
            .collect();
        let design = Design {
            features: d,
            starts: (0..=n).map(|i| i * d).collect(),
            columns: Vec::new(),
            values,
        };
        let weights: Vec<f64> = (0..n).map(|_| random.uniform()).collect();
        let frame = Frame::new(&design, d + 1, true, |i| weights[i]);
        let p = frame.width();
        let h = gram(p, 0..n, |i, x| {
            frame.map(design.row(i), x);
            weights[i]
        });
        let Some(r) = inverse_factor(&h, p) else { continue };
        let epsilon = identity_defect(&h, &r, p, n, 0.0);
        if !epsilon.is_finite() {
            continue;
        }
        finite += 1;
        let exact_row = |i: usize| -> Vec<Big> {
            let x = design.row(i).values;
            let mut row: Vec<Big> = (0..d)
                .map(|j| (big(x[j]) - big(frame.shift[j])) * big(frame.scale[j]))
                .collect();
            row.push(big(1.0));
            row
        };
        let rows: Vec<Vec<Big>> = (0..n).map(exact_row).collect();
        let product = |k: usize, x: &[Big]| (0..=k).fold(zero(), |sum, a| sum + big(r[k * p + a]) * &x[a]);
        let t: Vec<Vec<Big>> = rows
            .iter()
            .map(|x| (0..p).map(|k| product(k, x)).collect())
            .collect();
        let mut norm = zero();
        for a in 0..p {
            for b in 0..p {
                let entry = t
                    .iter()
                    .zip(&weights)
                    .fold(zero(), |sum, (t, &k)| sum + big(k) * &t[a] * &t[b]);
                let entry = entry - big(f64::from(u8::from(a == b)));
                norm = norm + &entry * &entry;
            }
        }
        // ε bounds the spectral norm, which is at least the Frobenius norm over √p.
        let too_small = norm > big(epsilon) * big(epsilon) * big(p as f64);
        let (mut x, mut information) = (vec![0.0; p], Information::new(1, p));
        for i in 0..n {
            frame.map(design.row(i), &mut x);
            information.add(&[weights[i]], &x);
        }
        let bound = information.largest_range(&r);
        let exact_norm = |t: &Vec<Big>| t.iter().fold(zero(), |sum, t| sum + t * t);
        let too_long = t.iter().any(|t| exact_norm(t) > big(bound) * big(bound));
        wrong += usize::from(too_small) + usize::from(too_long);
    }
    (wrong, finite)
}

#[test]
fn inverse_factors_are_as_near_as_proved() {
    let (found, finite) = wrong(1);
    assert_eq!(found, 0);
    assert!(finite > 40, "{finite}");
    // Without the rounding errors of H and of the products, ε is too small.
    let (found, _) = with(Mutant::TinyRoundoff, || wrong(1));
    assert!(found > 0);
}
