//! Statistics of unpenalised fits: standard errors, tests, confidence intervals, likelihood criteria.
//!
//! They hold for maximum likelihood only. A penalty biases the coefficients, so none of this is valid then
//! and the caller leaves it out. Weights count rows (2 is the same row twice), so they must be the plain
//! weights of the sample, without C; n below is their sum.
//!
//! **Least squares** (normal errors): Student's t with n − p degrees of freedom, from (X̃ᵀCX̃)⁻¹ times the
//! residual variance; the log-likelihood is at the maximum-likelihood variance RSS/n, and σ counts as a
//! parameter: AIC = −2 ln L + 2(p + 1), BIC = −2 ln L + (p + 1) ln n, like R's `AIC(lm(…))`.
//!
//! **Logistic**: z from the inverse of the Fisher information Σ cᵢ pᵢ(1 − pᵢ) x̃ᵢx̃ᵢᵀ at the estimate;
//! AIC = −2 ln L + 2p, BIC = −2 ln L + p ln n, like R's `glm(…, family = binomial)`.

pub mod distribution;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::kernel::double_double::DoubleDouble;
use crate::loss::{Logistic, Loss};
use crate::oracle::{Layout, Rows, Weights};
use crate::solve::least_squares::Solved;

/// The level of confidence intervals unless another is asked for.
pub const DEFAULT_LEVEL: f64 = 0.95;

/// Which distribution the tests are by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Student's.
    T,
    /// The normal.
    Z,
}

/// One coefficient and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Estimate over standard error: t or z. None where the fit is perfect, so that no error is left.
    pub statistic: Option<f64>,
    /// The probability of a statistic at least that far from 0 if the coefficient were 0.
    pub p_value: Option<f64>,
    /// The lower end of the confidence interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// A test of all coefficients but the intercept at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FTest {
    /// Explained over residual variance.
    pub statistic: f64,
    /// Degrees of freedom of what is explained.
    pub explained: usize,
    /// Degrees of freedom of what is left.
    pub residual: f64,
    /// The probability of a statistic at least that large if all coefficients were 0.
    pub p_value: f64,
}

/// The statistics of a fit. Coefficients lie as the parameters do: the weights, then the intercept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Inference {
    /// Student's t or the normal z.
    pub kind: Kind,
    /// The level of the confidence intervals.
    pub level: f64,
    /// Each parameter.
    pub coefficients: Vec<Coefficient>,
    /// ln L at the estimate; none where the fit is perfect, so that it is unbounded.
    pub log_likelihood: Option<f64>,
    /// Akaike's criterion.
    pub aic: Option<f64>,
    /// The Bayesian criterion.
    pub bic: Option<f64>,
    /// n − p.
    pub degrees_of_freedom: f64,
    /// √(RSS/(n − p)), for least squares.
    pub residual_deviation: Option<f64>,
    /// 1 − RSS/TSS, for least squares.
    pub r_squared: Option<f64>,
    /// The same with each sum over its degrees of freedom.
    pub adjusted_r_squared: Option<f64>,
    /// All weights against none, for least squares.
    pub f_test: Option<FTest>,
}

/// Why there are no statistics, in words.
pub type Reason = String;

/// Statistics of an unpenalised least-squares fit, or why there are none.
pub fn least_squares(
    rows: &Rows<'_>,
    layout: Layout,
    parameters: &[f64],
    level: f64,
) -> Result<Inference, Reason> {
    let solved = Solved::new(rows, layout, parameters).map_err(|error| error.to_string())?;
    of_least_squares(&solved, layout, parameters, level)
}

/// The same from what is known of the rows.
pub(crate) fn of_least_squares(
    solved: &Solved,
    layout: Layout,
    parameters: &[f64],
    level: f64,
) -> Result<Inference, Reason> {
    check(layout, parameters, level)?;
    let report = &solved.report;
    let diagonal = solved.inverse_diagonal.as_ref().ok_or_else(|| {
        format!(
            "the columns depend on each other (rank {} of {}), so that the coefficients are not unique",
            report.rank, report.parameters
        )
    })?;
    let deviation = report.residual_deviation.ok_or_else(|| {
        format!(
            "{} parameters leave no degrees of freedom in {} rows",
            report.parameters, report.total_weight
        )
    })?;
    let (n, p, freedom) = (report.total_weight, report.rank as f64, report.degrees_of_freedom);
    let rss = report.residual_sum_of_squares;
    let quantile = distribution::student_quantile(1.0 - level, freedom);
    let errors = diagonal.iter().map(|v| deviation * v.sqrt());
    let log_likelihood =
        (rss > 0.0).then(|| -0.5 * n * ((2.0 * std::f64::consts::PI).ln() + (rss / n).ln() + 1.0));
    let constant = f64::from(u8::from(layout.intercept));
    let explained = report.rank - usize::from(layout.intercept);
    let f_test = (rss > 0.0 && explained > 0).then(|| {
        let gained = (report.total_sum_of_squares - rss).max(0.0) / explained as f64;
        let statistic = gained / (rss / freedom);
        FTest {
            statistic,
            explained,
            residual: freedom,
            p_value: distribution::fisher_tail(statistic, explained, freedom),
        }
    });
    Ok(Inference {
        kind: Kind::T,
        level,
        coefficients: coefficients(parameters, errors, quantile, |t| {
            distribution::student_two_sided(t, freedom)
        })?,
        log_likelihood,
        aic: log_likelihood.map(|l| -2.0 * l + 2.0 * (p + 1.0)),
        bic: log_likelihood.map(|l| -2.0 * l + n.ln() * (p + 1.0)),
        degrees_of_freedom: freedom,
        residual_deviation: Some(deviation),
        r_squared: report.r_squared,
        adjusted_r_squared: report
            .r_squared
            .map(|r| 1.0 - (1.0 - r) * (n - constant) / freedom),
        f_test,
    })
}

/// Statistics of an unpenalised logistic fit, or why there are none; targets are −1 or +1.
pub fn logistic(
    rows: &Rows<'_>,
    layout: Layout,
    parameters: &[f64],
    level: f64,
) -> Result<Inference, Reason> {
    check(layout, parameters, level)?;
    let (weights, b) = layout.output(parameters, 0);
    let mut likelihood = DoubleDouble::ZERO;
    let information: Vec<f64> = (0..rows.len())
        .map(|i| {
            let weight = rows.weights.get(i);
            if weight == 0.0 {
                return 0.0;
            }
            let score = rows.design.row(i).dot(weights) + b;
            let (value, _, curvature) = Logistic.all(rows.targets[i], score);
            likelihood = likelihood + -weight * value;
            weight * curvature
        })
        .collect();
    let informed = Rows {
        design: rows.design,
        targets: Cow::Borrowed(&rows.targets),
        weights: Weights::Each(Cow::Owned(information)),
    };
    let solved = Solved::new(&informed, layout, parameters).map_err(|error| error.to_string())?;
    let diagonal = solved.inverse_diagonal.ok_or_else(|| {
        format!(
            "the information matrix is singular (rank {} of {}): columns depend on each other, or the classes \
             are separated",
            solved.report.rank, solved.report.parameters
        )
    })?;
    let (n, p) = (rows.total_weight(), layout.len() as f64);
    let quantile = distribution::normal_quantile(1.0 - level);
    let log_likelihood = likelihood.value();
    Ok(Inference {
        kind: Kind::Z,
        level,
        coefficients: coefficients(
            parameters,
            diagonal.iter().map(|v| v.sqrt()),
            quantile,
            distribution::normal_two_sided,
        )?,
        log_likelihood: Some(log_likelihood),
        aic: Some(-2.0 * log_likelihood + 2.0 * p),
        bic: Some(-2.0 * log_likelihood + p * n.ln()),
        degrees_of_freedom: (n - p).max(0.0),
        residual_deviation: None,
        r_squared: None,
        adjusted_r_squared: None,
        f_test: None,
    })
}

fn check(layout: Layout, parameters: &[f64], level: f64) -> Result<(), Reason> {
    if layout.outputs != 1 || parameters.len() != layout.len() {
        return Err(format!(
            "they are for one output, and there are {}",
            layout.outputs
        ));
    }
    if !(level > 0.0 && level < 1.0) {
        return Err(format!("a level of confidence of {level} is not between 0 and 1"));
    }
    if parameters.iter().any(|w| !w.is_finite()) {
        return Err("the fit did not reach finite coefficients".to_string());
    }
    Ok(())
}

fn coefficients(
    estimates: &[f64],
    errors: impl Iterator<Item = f64>,
    quantile: f64,
    p_value: impl Fn(f64) -> f64,
) -> Result<Vec<Coefficient>, Reason> {
    let pairs = estimates.iter().zip(errors);
    pairs
        .map(|(&estimate, standard_error)| {
            // Columns as small as numbers can be have coefficients that numbers cannot hold.
            if !(quantile * standard_error).is_finite() {
                return Err("a column is so small that its coefficient's error is beyond all numbers".into());
            }
            let statistic = (standard_error > 0.0).then(|| estimate / standard_error);
            Ok(Coefficient {
                estimate,
                standard_error,
                statistic,
                p_value: statistic.map(&p_value),
                lower: estimate - quantile * standard_error,
                upper: estimate + quantile * standard_error,
            })
        })
        .collect()
}
