//! The oracle: Newton's method in floats of 256 bits, about 77 digits.

use dashu_float::FBig;
use dashu_float::round::mode::HalfEven;

use wstar_problem::loss::LossName;
use wstar_problem::objective::Rows;
use wstar_problem::problem::Problem;

pub(super) type Big = FBig<HalfEven, 2>;
const BITS: usize = 256;

/// A double, exactly.
pub(super) fn big(x: f64) -> Big {
    Big::try_from(x).unwrap().with_precision(BITS).value()
}

pub(super) fn abs(x: &Big) -> Big {
    if *x < big(0.0) { -x.clone() } else { x.clone() }
}

pub(super) fn rounded(x: &Big) -> f64 {
    x.to_f64().value()
}

/// x̃ of the rows with a weight.
fn rows_of(rows: &Rows<'_>, problem: &Problem) -> Vec<(Vec<Big>, Big, Big)> {
    (0..rows.len())
        .filter(|&i| rows.weights.get(i) > 0.0)
        .map(|i| {
            let mut x: Vec<Big> = rows
                .design
                .row(i)
                .to_dense(problem.layout().features)
                .into_iter()
                .map(big)
                .collect();
            x.extend(problem.layout().intercept.then(|| big(1.0)));
            (x, big(rows.targets[i]), big(rows.weights.get(i)))
        })
        .collect()
}

fn dot(a: &[Big], b: &[Big]) -> Big {
    a.iter().zip(b).fold(big(0.0), |sum, (a, b)| sum + a * b)
}

/// ℓ' and ℓ''.
fn derivatives(loss: LossName, y: &Big, z: &Big) -> (Big, Big) {
    let (zero, one, two) = (big(0.0), big(1.0), big(2.0));
    let k = &one - y * z;
    match loss {
        LossName::Squared => (z - y, one),
        LossName::Logistic => {
            let m = y * z;
            let e = (-abs(&m)).exp();
            let smaller = &e / (&one + &e);
            let larger = &one - &smaller;
            let wrong = if m > zero { smaller.clone() } else { larger.clone() };
            (-(y * wrong), smaller * larger)
        }
        _ if k <= zero => (zero.clone(), zero),
        LossName::ModifiedHuber if k >= two => (-(big(4.0) * y), zero),
        _ => (-(&two * y * k), two),
    }
}

/// The solution of a linear system by Gaussian elimination with pivoting; nothing if it is singular.
pub(super) fn solve(mut a: Vec<Vec<Big>>, mut b: Vec<Big>) -> Option<Vec<Big>> {
    let p = b.len();
    for k in 0..p {
        let pivot = (k..p).max_by(|&i, &j| abs(&a[i][k]).cmp(&abs(&a[j][k])))?;
        if a[pivot][k] == big(0.0) {
            return None;
        }
        a.swap(k, pivot);
        b.swap(k, pivot);
        let (above, below) = a.split_at_mut(k + 1);
        for (row, i) in below.iter_mut().zip(k + 1..) {
            let factor = &row[k] / &above[k][k];
            let pairs = row.iter_mut().zip(&above[k]).skip(k);
            pairs.for_each(|(entry, top)| *entry = &*entry - &factor * top);
            b[i] = &b[i] - &factor * &b[k];
        }
    }
    for k in (0..p).rev() {
        let known = (k + 1..p).fold(big(0.0), |sum, j| sum + &a[k][j] * &b[j]);
        b[k] = (&b[k] - known) / &a[k][k];
    }
    Some(b)
}

/// An optimum, the inverse information's diagonal there, and Σc(y − z)².
pub(super) struct Optimum {
    pub(super) point: Vec<Big>,
    pub(super) variances: Vec<Big>,
    pub(super) squares: Big,
    /// Σc − p.
    pub(super) freedom: Big,
}

/// Newton's method from a point in doubles, until the steps are below 10⁻⁶⁰.
pub(super) fn optimum(rows: &Rows<'_>, problem: &Problem, start: &[f64]) -> Option<Optimum> {
    let known = rows_of(rows, problem);
    let p = start.len();
    let mut point: Vec<Big> = start.iter().map(|&w| big(w)).collect();
    for _ in 0..60 {
        let mut g: Vec<Big> = (0..p)
            .map(|j| big(problem.penalty_of(j).l2) * &point[j])
            .collect();
        let mut h = vec![vec![big(0.0); p]; p];
        let mut squares = big(0.0);
        for (x, y, c) in &known {
            let z = dot(x, &point);
            let (slope, curvature) = derivatives(problem.loss(), y, &z);
            squares += c * (y - &z) * (y - &z);
            for ((g, h), xa) in g.iter_mut().zip(&mut h).zip(x) {
                *g = &*g + c * &slope * xa;
                for (h, xb) in h.iter_mut().zip(x) {
                    *h = &*h + c * &curvature * xa * xb;
                }
            }
        }
        for (j, h) in h.iter_mut().enumerate() {
            h[j] = &h[j] + big(problem.penalty_of(j).l2);
        }
        let step = solve(h.clone(), g)?;
        let is_small = |(step, w): (&Big, &Big)| abs(step) <= (abs(w) + big(1e-30)) * big(1e-60);
        if step.iter().zip(&point).all(is_small) {
            let unit = |j: usize| (0..p).map(|k| big(f64::from(u8::from(j == k)))).collect();
            let variances = (0..p)
                .map(|j| solve(h.clone(), unit(j)).map(|column| column[j].clone()))
                .collect::<Option<Vec<Big>>>()?;
            let weights = known.iter().fold(big(0.0), |sum, row| sum + &row.2);
            return Some(Optimum {
                point,
                variances,
                squares,
                freedom: weights - big(p as f64),
            });
        }
        point = point.iter().zip(&step).map(|(w, step)| w - step).collect();
    }
    None
}
