//! Tail probabilities and quantiles of the normal, Student's t and Fisher's F distributions, accurate in the far tails.
//!
//! The tails of t and F are incomplete beta functions, evaluated as a continued fraction by Lentz's method. One argument of
//! the beta function is half an integer, so 1/B(a, b) is a product of ratios and one Γ(a+½)/Γ(a). This avoids the
//! difference of log Γ values, which loses one digit for every factor of ten in the degrees of freedom.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// P(|Z| ≥ |z|) of a standard normal Z.
pub fn normal_two_sided(z: f64) -> f64 {
    libm::erfc(z.abs() * FRAC_1_SQRT_2)
}

/// P(|T| ≥ |t|) of Student's T.
pub fn student_two_sided(t: f64, degrees_of_freedom: f64) -> f64 {
    fisher_tail(t * t, 1, degrees_of_freedom)
}

/// P(F ≥ f) of Fisher's F with `of` degrees of freedom in the numerator and `over` in the denominator.
pub fn fisher_tail(f: f64, of: usize, over: f64) -> f64 {
    let (a, b) = (0.5 * over, 0.5 * of as f64);
    let ratio = of as f64 * f / over;
    if ratio == f64::INFINITY {
        return 0.0;
    }
    if ratio <= 0.0 || of == 0 {
        return 1.0;
    }
    let (x, y) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
    let front = (inverse_beta_ln(a, of) - a * ratio.ln_1p() + b * y.ln()).exp();
    let tail = if x * (a + b + 2.0) < a + 1.0 {
        front / fraction(a, b, x, y)
    } else {
        1.0 - front / fraction(b, a, y, x)
    };
    tail.clamp(0.0, 1.0)
}

/// The q with P(|Z| ≥ q) = `tail`, for 0 < `tail` < 1.
pub fn normal_quantile(tail: f64) -> f64 {
    quantile(tail, normal_two_sided)
}

/// The q with P(|T| ≥ q) = `tail`, for 0 < `tail` < 1.
pub fn student_quantile(tail: f64, degrees_of_freedom: f64) -> f64 {
    quantile(tail, |t| student_two_sided(t, degrees_of_freedom))
}

/// The argument at which a decreasing function reaches `tail`, by bisection.
fn quantile(tail: f64, tail_of: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    // Cap: the search for an upper end stops at 1e150, whose square does not overflow.
    while tail_of(high) > tail && high < 1e150 {
        high *= 2.0;
    }
    let mut low = 0.0;
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if tail_of(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// −ln B(a, n/2).
fn inverse_beta_ln(a: f64, n: usize) -> f64 {
    // 1/B(a, ½) = Γ(a+½)/(Γ(a)√π) and 1/B(a, 1) = a; raising b by 1 multiplies 1/B(a, b) by (a + b)/b.
    let (mut b, first) = if n % 2 == 1 {
        (0.5, half_step(a) / PI.sqrt())
    } else {
        (1.0, a)
    };
    let mut sum = first.ln();
    while b < 0.5 * n as f64 {
        sum += (a / b).ln_1p();
        b += 1.0;
    }
    sum
}

/// Γ(a+½)/Γ(a).
fn half_step(mut a: f64) -> f64 {
    let mut factor = 1.0;
    // Derived: from a = 30 on, the first omitted term of the series, of order a⁻⁸, is about the rounding of f64.
    while a < 30.0 {
        factor *= a / (a + 0.5);
        a += 1.0;
    }
    // The asymptotic series DLMF 5.11.13, Γ(a+½)/Γ(a) = √a (1 − 1/8a + 1/128a² + 5/1024a³ − 21/32768a⁴ − 399/262144a⁵ + …).
    let r = 1.0 / a;
    let coefficients = [
        1.0,
        -1.0 / 8.0,
        1.0 / 128.0,
        5.0 / 1024.0,
        -21.0 / 32768.0,
        -399.0 / 262_144.0,
        869.0 / 4_194_304.0,
        39325.0 / 33_554_432.0,
    ];
    let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * r + c);
    factor * a.sqrt() * series
}

/// x^a y^b / (B(a, b) I_x(a, b)) as a continued fraction, for x = 1 − y below about a/(a + b).
///
/// It is the even part of DLMF 8.17.22, written with y instead of 1 − x, which would lose digits (A. R. DiDonato,
/// A. H. Morris, Significant digit computation of the incomplete beta function ratios, ACM TOMS 18, 1992).
fn fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let partial = |m: f64| {
        let odd = a + 2.0 * m - 1.0;
        let middle = if m == 0.0 { 0.0 } else { m * (b - m) * x / odd };
        m + middle + (a + m) * (a * y - b * x + 1.0 + m * (1.0 + y)) / (a + 2.0 * m + 1.0)
    };
    let mut value = partial(0.0);
    let (mut c, mut d) = (value, 0.0);
    let mut m = 0.0;
    // Convergence takes about √max(a, b) terms. Cap: the loop ends here for arguments for which it would not converge.
    for _ in 0..10_000_000u32 {
        m += 1.0;
        let odd = a + 2.0 * m - 1.0;
        let numerator = ((a + m - 1.0) / odd) * ((a + b + m - 1.0) / odd) * m * (b - m) * x * x;
        let denominator = partial(m);
        d = 1.0 / (denominator + numerator * d);
        c = denominator + numerator / c;
        let change = c * d;
        value *= change;
        if (change - 1.0).abs() < 2.0 * f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
#[allow(clippy::excessive_precision)]
mod tests {
    use super::*;

    #[track_caller]
    fn near(found: f64, known: f64, relative: f64) {
        assert!(
            ((found - known) / known).abs() <= relative,
            "{found:e}, not {known:e}"
        );
    }

    /// The expected values were computed with 60 digits from hypergeometric series.
    #[test]
    fn tails_match_reference_values() {
        for (t, freedom, known) in [
            (1.0, 3.0, 0.39100221895577064),
            (2.5, 9.0, 0.033861827682985739),
            (-8.0, 34.0, 2.5329611735025988e-9),
            (30.0, 34.0, 4.7846477722594914e-26),
            (2000.0, 34.0, 8.5717292771947382e-88),
            (1e9, 15.0, 1.3407443236425796e-127),
            (3.0, 0.5, 0.36730815598594345),
            (0.001, 5.0, 0.99924078677219765),
            (2.0, 1000.0, 0.04577034649325164),
            (5.0, 1e6, 5.7339978708907416e-7),
            (30.0, 1e6, 1.2020094233663438e-197),
        ] {
            near(student_two_sided(t, freedom), known, 1e-12);
        }
        for (z, known) in [
            (0.1, 0.92034432544594203),
            (-2.0, 0.045500263896358414),
            (10.0, 1.5239706048321052e-23),
            (29.49, 3.8679072511070687e-191),
            (37.5, 9.2107060191639097e-308),
        ] {
            near(normal_two_sided(z), known, 1e-12);
        }
        near(
            fisher_tail(330.285339234588, 6, 9.0),
            4.9840305287248105e-10,
            1e-12,
        );
        near(fisher_tail(2.0, 3, 40.0), 0.12944169795428166, 1e-12);
        near(fisher_tail(50.0, 4, 100.0), 4.782480787238315e-23, 1e-12);
        near(fisher_tail(0.5, 7, 20.0), 0.82348138793096002, 1e-12);
    }

    #[test]
    fn extreme_arguments_give_0_or_1() {
        assert_eq!(student_two_sided(0.0, 4.0), 1.0);
        assert_eq!(student_two_sided(1e200, 4.0), 0.0);
        assert_eq!(fisher_tail(0.0, 3, 5.0), 1.0);
        assert_eq!(normal_two_sided(1e3), 0.0);
    }

    #[test]
    fn quantiles_match_reference_values() {
        near(normal_quantile(0.05), 1.959963984540054, 1e-14);
        near(normal_quantile(1e-6), 4.891638475698590, 1e-13);
        // One degree of freedom (Cauchy): tan(0.475π); two: 0.95·√(2/(1 − 0.95²)).
        near(student_quantile(0.05, 1.0), (0.475 * PI).tan(), 1e-13);
        near(
            student_quantile(0.05, 2.0),
            0.95 * (2.0f64 / (1.0 - 0.95 * 0.95)).sqrt(),
            1e-13,
        );
        near(student_quantile(0.05, 1e8), 1.959963984540054, 1e-7);
    }
}
