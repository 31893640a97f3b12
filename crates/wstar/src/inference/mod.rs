//! Statistics of unpenalised fits: standard errors, tests, confidence intervals, and information criteria.
//!
//! The statistics hold for maximum likelihood only. A penalty biases the coefficients and invalidates them, so the
//! caller omits them for penalised fits. Weights are frequencies (2 is the same row twice), so they must be the sample
//! weights without the factor C; n below is their sum.
//!
//! **Least squares** (normal errors): Student's t with n − p degrees of freedom, from (X̃ᵀCX̃)⁻¹ times the
//! residual variance. The log-likelihood uses the maximum-likelihood variance RSS/n, and σ counts as a
//! parameter: AIC = −2 ln L + 2(p + 1), BIC = −2 ln L + (p + 1) ln n, as in R's `AIC(lm(…))`.
//!
//! **Logistic**: z statistics from the inverse of the Fisher information Σ cᵢ pᵢ(1 − pᵢ) x̃ᵢx̃ᵢᵀ at the estimate;
//! AIC = −2 ln L + 2p, BIC = −2 ln L + p ln n, as in R's `glm(…, family = binomial)`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use wstar_data::linear::Layout;
use wstar_numeric::double_double::DoubleDouble;
use wstar_problem::loss::{Logistic, Loss};
use wstar_problem::objective::{Rows, Weights};
use wstar_solve::least_squares::Diagnostics;

/// The default level of confidence intervals: 95 %, by convention.
pub const DEFAULT_LEVEL: f64 = 0.95;

/// The distribution of the test statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestDistribution {
    /// Student's t distribution.
    T,
    /// The normal distribution.
    Z,
}

/// A coefficient with its standard error, test and confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Coefficient {
    /// The estimate.
    pub(crate) estimate: f64,
    /// Its standard error.
    pub(crate) standard_error: f64,
    /// Estimate over standard error: t or z. `None` for a perfect fit, where the standard error is 0.
    pub(crate) statistic: Option<f64>,
    /// The two-sided p-value: the probability of a statistic at least that far from 0 if the coefficient is 0.
    pub(crate) p_value: Option<f64>,
    /// The lower end of the confidence interval.
    pub(crate) lower: f64,
    /// The upper end of the confidence interval.
    pub(crate) upper: f64,
}

impl Coefficient {
    /// The estimate.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }

    /// Its standard error.
    pub fn standard_error(&self) -> f64 {
        self.standard_error
    }

    /// Estimate over standard error: t or z. `None` for a perfect fit, where the standard error is 0.
    pub fn statistic(&self) -> Option<f64> {
        self.statistic
    }

    /// The two-sided p-value: the probability of a statistic at least that far from 0 if the coefficient is 0.
    pub fn p_value(&self) -> Option<f64> {
        self.p_value
    }

    /// The lower end of the confidence interval.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The upper end of the confidence interval.
    pub fn upper(&self) -> f64 {
        self.upper
    }
}

/// The F test that all coefficients except the intercept are 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FTest {
    /// The ratio of explained to residual variance.
    pub(crate) statistic: f64,
    /// The degrees of freedom of the explained variance.
    pub(crate) explained: usize,
    /// The degrees of freedom of the residual variance.
    pub(crate) residual: f64,
    /// The p-value: the probability of a statistic at least that large if all coefficients are 0.
    pub(crate) p_value: f64,
}

impl FTest {
    /// The ratio of explained to residual variance.
    pub fn statistic(&self) -> f64 {
        self.statistic
    }

    /// The degrees of freedom of the explained variance.
    pub fn explained(&self) -> usize {
        self.explained
    }

    /// The degrees of freedom of the residual variance.
    pub fn residual(&self) -> f64 {
        self.residual
    }

    /// The p-value: the probability of a statistic at least that large if all coefficients are 0.
    pub fn p_value(&self) -> f64 {
        self.p_value
    }
}

/// The statistics of a fit. Coefficients are ordered as the parameters: the weights, then the intercept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Inference {
    /// Student's t or the normal z.
    pub(crate) kind: TestDistribution,
    /// The level of the confidence intervals.
    pub(crate) level: f64,
    /// The statistics of each parameter.
    pub(crate) coefficients: Vec<Coefficient>,
    /// ln L at the estimate; `None` for a perfect fit, where it is unbounded.
    pub(crate) log_likelihood: Option<f64>,
    /// Akaike's information criterion (AIC).
    pub(crate) aic: Option<f64>,
    /// The Bayesian information criterion (BIC).
    pub(crate) bic: Option<f64>,
    /// n − p.
    pub(crate) degrees_of_freedom: f64,
    /// √(RSS/(n − p)), for least squares.
    pub(crate) residual_deviation: Option<f64>,
    /// 1 − RSS/TSS, for least squares.
    pub(crate) r_squared: Option<f64>,
    /// R² with each sum of squares divided by its degrees of freedom.
    pub(crate) adjusted_r_squared: Option<f64>,
    /// The F test of all weights, for least squares.
    pub(crate) f_test: Option<FTest>,
}

impl Inference {
    /// Student's t or the normal z.
    pub fn kind(&self) -> TestDistribution {
        self.kind
    }

    /// The level of the confidence intervals.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The statistics of each parameter.
    pub fn coefficients(&self) -> &[Coefficient] {
        &self.coefficients
    }

    /// ln L at the estimate; `None` for a perfect fit, where it is unbounded.
    pub fn log_likelihood(&self) -> Option<f64> {
        self.log_likelihood
    }

    /// Akaike's information criterion (AIC).
    pub fn aic(&self) -> Option<f64> {
        self.aic
    }

    /// The Bayesian information criterion (BIC).
    pub fn bic(&self) -> Option<f64> {
        self.bic
    }

    /// n − p.
    pub fn degrees_of_freedom(&self) -> f64 {
        self.degrees_of_freedom
    }

    /// √(RSS/(n − p)), for least squares.
    pub fn residual_deviation(&self) -> Option<f64> {
        self.residual_deviation
    }

    /// 1 − RSS/TSS, for least squares.
    pub fn r_squared(&self) -> Option<f64> {
        self.r_squared
    }

    /// R² with each sum of squares divided by its degrees of freedom.
    pub fn adjusted_r_squared(&self) -> Option<f64> {
        self.adjusted_r_squared
    }

    /// The F test of all weights, for least squares.
    pub fn f_test(&self) -> Option<FTest> {
        self.f_test
    }
}

/// Why there are no statistics, as a sentence for the user.
pub type Reason = String;

/// The statistics of an unpenalised least-squares fit, or the reason why there are none.
pub fn least_squares(
    rows: &Rows<'_>,
    layout: Layout,
    parameters: &[f64],
    level: f64,
) -> Result<Inference, Reason> {
    let solved = Diagnostics::new(rows, layout, parameters).map_err(|error| error.to_string())?;
    of_least_squares(&solved, layout, parameters, level)
}

/// [`least_squares`] from a factorisation that already exists.
pub(crate) fn of_least_squares(
    solved: &Diagnostics,
    layout: Layout,
    parameters: &[f64],
    level: f64,
) -> Result<Inference, Reason> {
    check(layout, parameters, level)?;
    let report = solved.report();
    let diagonal = solved.inverse_diagonal().ok_or_else(|| {
        format!(
            "the columns depend on each other (rank {} of {}), so that the coefficients are not unique",
            report.rank(),
            report.parameters()
        )
    })?;
    let deviation = report.residual_deviation().ok_or_else(|| {
        format!(
            "{} parameters leave no degrees of freedom in {} rows",
            report.parameters(),
            report.total_weight()
        )
    })?;
    let (n, p, freedom) = (
        report.total_weight(),
        report.rank() as f64,
        report.degrees_of_freedom(),
    );
    let rss = report.residual_sum_of_squares();
    let quantile = wstar_numeric::tail_probabilities::student_quantile(1.0 - level, freedom);
    let errors = diagonal.iter().map(|v| deviation * v.sqrt());
    let log_likelihood =
        (rss > 0.0).then(|| -0.5 * n * ((2.0 * std::f64::consts::PI).ln() + (rss / n).ln() + 1.0));
    let constant = f64::from(u8::from(layout.intercept));
    let explained = report.rank() - usize::from(layout.intercept);
    let f_test = (rss > 0.0 && explained > 0).then(|| {
        let gained = (report.total_sum_of_squares() - rss).max(0.0) / explained as f64;
        let statistic = gained / (rss / freedom);
        FTest {
            statistic,
            explained,
            residual: freedom,
            p_value: wstar_numeric::tail_probabilities::fisher_tail(statistic, explained, freedom),
        }
    });
    Ok(Inference {
        kind: TestDistribution::T,
        level,
        coefficients: coefficients(parameters, errors, quantile, |t| {
            wstar_numeric::tail_probabilities::student_two_sided(t, freedom)
        })?,
        log_likelihood,
        aic: log_likelihood.map(|l| -2.0 * l + 2.0 * (p + 1.0)),
        bic: log_likelihood.map(|l| -2.0 * l + n.ln() * (p + 1.0)),
        degrees_of_freedom: freedom,
        residual_deviation: Some(deviation),
        r_squared: report.r_squared(),
        adjusted_r_squared: report
            .r_squared()
            .map(|r| 1.0 - (1.0 - r) * (n - constant) / freedom),
        f_test,
    })
}

/// The statistics of an unpenalised logistic fit, or the reason why there are none; targets are −1 or +1.
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
    let solved = Diagnostics::new(&informed, layout, parameters).map_err(|error| error.to_string())?;
    let diagonal = solved.inverse_diagonal().ok_or_else(|| {
        format!(
            "the information matrix is singular (rank {} of {}): columns depend on each other, or the classes \
             are separated",
            solved.report().rank(), solved.report().parameters()
        )
    })?;
    let (n, p) = (rows.total_weight(), layout.len() as f64);
    let quantile = wstar_numeric::tail_probabilities::normal_quantile(1.0 - level);
    let log_likelihood = likelihood.value();
    Ok(Inference {
        kind: TestDistribution::Z,
        level,
        coefficients: coefficients(
            parameters,
            diagonal.iter().map(|v| v.sqrt()),
            quantile,
            wstar_numeric::tail_probabilities::normal_two_sided,
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
            // The coefficient of a column of subnormal or nearly subnormal values may overflow.
            if !(quantile * standard_error).is_finite() {
                return Err(
                    "a column is so small that the standard error of its coefficient overflows".into(),
                );
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
