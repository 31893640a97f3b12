//! The methods and their families.

use serde::{Deserialize, Serialize};

use wstar_problem::loss::LossName;

/// The families of methods. All methods of a family take the same settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Methods that minimise a loss and a penalty over all rows.
    Regularized,
    /// Rosenblatt's perceptron and its variants.
    Perceptrons,
    /// Kozinec's algorithm.
    Kozinec,
    /// Bayes rules with estimated class-conditional densities.
    Densities,
    /// The maximum-margin hyperplane of separable classes.
    MaximumMargin,
    /// The hyperplane with the fewest training errors.
    MinError,
}

/// The methods, by the names used in settings and model files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Method {
    /// Rosenblatt's perceptron: passes over the data until no mistake is left.
    Perceptron,
    /// A perceptron that sees each example once, or a given number of times.
    OnlinePerceptron,
    /// All hyperplanes of an online perceptron vote.
    VotedPerceptron,
    /// The mean of all hyperplanes of an online perceptron.
    AveragedPerceptron,
    /// A perceptron that keeps the hyperplane with the least training error.
    Pocket,
    /// Kozinec's algorithm: the nearest points of the convex hulls, hence the maximum margin up to a relative ε.
    Kozinec,
    /// Class-conditional Gaussians, each with its own covariance: quadratic discriminant analysis.
    Gaussian,
    /// Class-conditional Gaussians with a shared covariance: linear discriminant analysis.
    Lda,
    /// Naive Bayes: features are independent within each class.
    NaiveBayes,
    /// The mean of a Gaussian that maximises the smallest likelihood of any example of the class.
    Minimax,
    /// Logistic regression; with more than two classes, softmax.
    Logistic,
    /// Multinomial logistic regression: one linear score per class, probabilities proportional to their exponentials.
    Softmax,
    /// The soft-margin support vector machine.
    Svm,
    /// Least-squares regression.
    LeastSquares,
    /// Least absolute deviations, or quantile regression.
    Lad,
    /// Least squares on the targets −1 and +1; the sign of the score is the class.
    MseClassifier,
    /// The hyperplane with the fewest training errors.
    MinError,
    /// The maximum-margin hyperplane of separable classes.
    HardMargin,
}

impl Method {
    /// All methods, in the order of the help text.
    pub const ALL: [Method; 18] = [
        Method::Logistic,
        Method::Softmax,
        Method::Svm,
        Method::HardMargin,
        Method::LeastSquares,
        Method::Lad,
        Method::MseClassifier,
        Method::MinError,
        Method::Perceptron,
        Method::OnlinePerceptron,
        Method::VotedPerceptron,
        Method::AveragedPerceptron,
        Method::Pocket,
        Method::Kozinec,
        Method::Gaussian,
        Method::Lda,
        Method::NaiveBayes,
        Method::Minimax,
    ];

    /// The name on the command line and in model files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Perceptron => "perceptron",
            Method::OnlinePerceptron => "online-perceptron",
            Method::VotedPerceptron => "voted-perceptron",
            Method::AveragedPerceptron => "averaged-perceptron",
            Method::Pocket => "pocket",
            Method::Kozinec => "kozinec",
            Method::Gaussian => "gaussian",
            Method::Lda => "lda",
            Method::NaiveBayes => "naive-bayes",
            Method::Minimax => "minimax",
            Method::Logistic => "logistic",
            Method::Softmax => "softmax",
            Method::Svm => "svm",
            Method::LeastSquares => "least-squares",
            Method::Lad => "lad",
            Method::MseClassifier => "mse-classifier",
            Method::MinError => "min-error",
            Method::HardMargin => "hard-margin",
        }
    }

    /// A short description.
    pub fn description(self) -> &'static str {
        match self {
            Method::Perceptron => "Until no mistake is left",
            Method::OnlinePerceptron => "Each example once",
            Method::VotedPerceptron => "All its hyperplanes vote",
            Method::AveragedPerceptron => "The mean of its hyperplanes",
            Method::Pocket => "The best hyperplane it has held",
            Method::Kozinec => "Maximum margin up to epsilon",
            Method::Gaussian => "Gaussian classes, quadratic boundaries",
            Method::Lda => "Gaussian classes, linear boundaries",
            Method::NaiveBayes => "Independent features",
            Method::Minimax => "Smallest balls around the classes",
            Method::Logistic => "Log-odds linear in the features",
            Method::Softmax => "Log-odds for any number of classes",
            Method::Svm => "Soft margin: hinge or squared hinge",
            Method::LeastSquares => "Regression: squared deviations",
            Method::Lad => "Regression: absolute deviations",
            Method::MseClassifier => "Least squares on -1 and +1",
            Method::MinError => "The fewest errors of all hyperplanes",
            Method::HardMargin => "The largest margin of separable classes",
        }
    }

    /// The family whose settings the method takes.
    pub fn family(self) -> Family {
        match self {
            Method::Logistic
            | Method::Softmax
            | Method::Svm
            | Method::LeastSquares
            | Method::Lad
            | Method::MseClassifier => Family::Regularized,
            Method::Perceptron
            | Method::OnlinePerceptron
            | Method::VotedPerceptron
            | Method::AveragedPerceptron
            | Method::Pocket => Family::Perceptrons,
            Method::Kozinec => Family::Kozinec,
            Method::Gaussian | Method::Lda | Method::NaiveBayes | Method::Minimax => Family::Densities,
            Method::HardMargin => Family::MaximumMargin,
            Method::MinError => Family::MinError,
        }
    }

    /// Whether the method learns one row at a time and updates on its mistakes.
    pub fn is_online(self) -> bool {
        matches!(self.family(), Family::Perceptrons | Family::Kozinec)
    }

    /// Whether the method minimises a loss and a penalty over all rows.
    pub fn is_convex(self) -> bool {
        self.family() == Family::Regularized
    }

    /// Whether the method predicts a real target.
    pub fn is_regression(self) -> bool {
        matches!(self, Method::LeastSquares | Method::Lad)
    }

    /// Whether the method is a Bayes rule with estimated densities.
    pub fn is_bayes(self) -> bool {
        self.family() == Family::Densities
    }

    /// The losses that the method can minimise; the first is the default.
    pub fn losses(self) -> &'static [LossName] {
        match self {
            Method::Logistic => &[LossName::Logistic, LossName::SigmoidMse],
            Method::Softmax => &[LossName::Softmax],
            Method::Svm => &[LossName::Hinge, LossName::SquaredHinge, LossName::ModifiedHuber],
            Method::LeastSquares | Method::MseClassifier => &[LossName::Squared],
            Method::Lad => &[LossName::Absolute],
            _ => &[],
        }
    }
}
