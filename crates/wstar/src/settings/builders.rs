//! Builders: one type for each method that minimises a loss and a penalty. A setting that a method does not have is
//! not a function of its type.

use super::common::common_setters;
use super::{Method, Prove, Regularized, Settings, Strength};
use wstar_problem::loss::{LossName, Quantile};
use wstar_problem::multiclass::{ClassWeights, Multiclass};
use wstar_problem::penalty::PenaltyName;
use wstar_problem::problem::Intercept;
use wstar_solve::SolverName;
use wstar_solve::learning_rate::Schedule;

/// The builder of a method: its type, its constructors by penalty, and the setters of every such method.
macro_rules! builder {
    ($(#[$doc:meta])* $name:ident, $method:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[must_use]
        pub struct $name(Regularized);

        impl $name {
            fn penalized(penalty: PenaltyName) -> Self {
                $name(Regularized {
                    penalty,
                    ..Regularized::new($method)
                })
            }

            /// The penalty ½‖w‖².
            ///
            /// All penalties and settings are chosen like this:
            ///
            /// ```
            /// use wstar::prelude::*;
            /// use wstar::settings::Settings;
            #[doc = concat!("let settings: Settings = ", stringify!($name), "::l2().c(0.5).tol(1e-8).seed(7).into();")]
            /// assert_eq!(settings.tol(), Some(1e-8));
            #[doc = concat!("let by_sgd = ", stringify!($name), "::elastic_net(0.5).solver(SolverName::Sgd).epochs(5.0).batch(32);")]
            /// assert_ne!(Settings::from(by_sgd), settings);
            /// ```
            pub fn l2() -> Self {
                $name::penalized(PenaltyName::L2)
            }

            /// The penalty ‖w‖₁, under which many weights are exactly 0.
            pub fn l1() -> Self {
                $name::penalized(PenaltyName::L1)
            }

            /// The elastic net ρ‖w‖₁ + (1 − ρ)/2 ‖w‖².
            pub fn elastic_net(l1_ratio: f64) -> Self {
                let mut builder = $name::penalized(PenaltyName::ElasticNet);
                builder.0.l1_ratio = l1_ratio;
                builder
            }

            /// No penalty.
            pub fn unpenalized() -> Self {
                $name::penalized(PenaltyName::None)
            }

            /// Sets C, the factor of the sum of losses; by default 1.
            pub fn c(mut self, c: f64) -> Self {
                self.0.strength = Strength::C(c);
                self
            }

            /// Sets λ, the factor of the penalty against the mean loss: C = 1/(nλ).
            pub fn lambda(mut self, lambda: f64) -> Self {
                self.0.strength = Strength::Lambda(lambda);
                self
            }

            /// Sets the relative duality gap to reach; by default 10⁻⁶.
            pub fn tol(mut self, tol: f64) -> Self {
                self.0.tol = tol;
                self
            }

            /// Chooses the solver; by default the shape of the data decides.
            pub fn solver(mut self, solver: SolverName) -> Self {
                self.0.solver = Some(solver);
                self
            }

            /// Sets the most iterations over all rows.
            pub fn max_iter(mut self, iterations: u64) -> Self {
                self.0.max_iter = Some(iterations);
                self
            }

            /// Sets the passes of a stochastic solver over the rows.
            pub fn epochs(mut self, epochs: f64) -> Self {
                self.0.epochs = Some(epochs);
                self
            }

            /// Sets the rows in each batch of a stochastic gradient.
            pub fn batch(mut self, rows: usize) -> Self {
                self.0.batch = Some(rows);
                self
            }

            /// Sets the learning rate of the first gradient step.
            pub fn learning_rate(mut self, first: f64) -> Self {
                self.0.learning_rate = Some(first);
                self
            }

            /// Sets how the learning rate changes with the gradient steps.
            pub fn schedule(mut self, schedule: Schedule) -> Self {
                self.0.schedule = Some(schedule);
                self
            }

            /// Sets the momentum of gradient steps: the share of the last step that is added to the next.
            pub fn momentum(mut self, share: f64) -> Self {
                self.0.momentum = Some(share);
                self
            }

            /// Proves intervals for the parameters of the optimum and their standard errors, whatever it costs: see
            /// [`Model::proved`](crate::Model::proved).
            pub fn prove(mut self, what: Prove) -> Self {
                self.0.prove = Some(what);
                self
            }

            /// Asks for so many significant digits of every parameter, with their proof.
            pub fn digits(mut self, digits: u32) -> Self {
                self.0.digits = Some(digits);
                self
            }

            /// Penalises the intercept like a weight.
            pub fn penalize_intercept(mut self) -> Self {
                self.0.intercept = Intercept::Penalized;
                self
            }

            /// Fits without an intercept.
            pub fn no_intercept(mut self) -> Self {
                self.0.intercept = Intercept::Absent;
                self
            }

            /// Sets the starting point: the intercept first (if there is one), then the weights.
            pub fn start(mut self, numbers: impl Into<Vec<f64>>) -> Self {
                self.0.start = Some(numbers.into());
                self
            }
        }

        impl From<$name> for Settings {
            fn from(builder: $name) -> Self {
                Settings::Regularized(builder.0)
            }
        }

        common_setters!($name, this => this.0.common);
    };
}

/// Adds the setters of classifiers to a builder.
macro_rules! classifier {
    ($name:ident) => {
        impl $name {
            /// Sets the weight of each class.
            ///
            /// ```
            /// use wstar::prelude::*;
            /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["ham", "spam", "ham", "spam"])?;
            /// let weights = ClassWeights::Given(vec![("spam".into(), 5.0)]);
            #[doc = concat!("let model = ", stringify!($name), "::l2().class_weight(weights).fit(&data)?;")]
            /// assert!(model.verify(&data)?.holds());
            /// # Ok::<(), wstar::Error>(())
            /// ```
            pub fn class_weight(mut self, weights: ClassWeights) -> Self {
                self.0.class_weight = Some(weights);
                self
            }

            /// Weights the classes by n/(K·nₖ), so that all have the same total weight.
            pub fn balanced(self) -> Self {
                self.class_weight(ClassWeights::Balanced)
            }
        }
    };
}

/// Adds the choice of the reduction of several classes to a builder.
macro_rules! reducible {
    ($name:ident) => {
        impl $name {
            /// Reduces more than two classes to one binary problem for each class.
            pub fn one_vs_rest(mut self) -> Self {
                self.0.multiclass = Some(Multiclass::Ovr);
                self
            }

            /// Reduces more than two classes to one binary problem for each pair.
            pub fn one_vs_one(mut self) -> Self {
                self.0.multiclass = Some(Multiclass::Ovo);
                self
            }
        }
    };
}

builder! {
    /// Logistic regression; with more than two classes, softmax.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let rows = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]].map(Vec::from);
    /// let data = Dataset::labelled(&rows, &["ham", "spam", "ham", "spam"])?;
    /// let model = Logistic::l2().c(10.0).fit(&data)?;
    /// assert!(model.verify(&data)?.holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    Logistic, Method::Logistic
}
classifier!(Logistic);
reducible!(Logistic);

impl Logistic {
    /// No penalty, with Firth's correction. It removes the leading term of the bias, and the corrected fit exists for
    /// separated classes too.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Logistic::firth().fit(&data)?;
    /// assert_eq!(model.status(), Status::Converged);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn firth() -> Self {
        let mut builder = Logistic::unpenalized();
        builder.0.firth = true;
        builder
    }
}

builder! {
    /// Softmax regression: one linear score for each class, probabilities proportional to their exponentials.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let rows = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]].map(Vec::from);
    /// let data = Dataset::labelled(&rows, &["a", "a", "b", "b", "c", "c"])?;
    /// let model = Softmax::l2().fit(&data)?;
    /// assert_eq!(model.probabilities(&data)?.map(|shares| shares.columns()), Some(3));
    /// # Ok::<(), wstar::Error>(())
    /// ```
    Softmax, Method::Softmax
}
classifier!(Softmax);

builder! {
    /// The soft-margin support vector machine.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let rows = [[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]].map(Vec::from);
    /// let data = Dataset::labelled(&rows, &["ham", "ham", "spam", "spam"])?;
    /// let model = Svm::l2().c(10.0).fit(&data)?;
    /// assert!(model.certificate().holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    Svm, Method::Svm
}
classifier!(Svm);
reducible!(Svm);

impl Svm {
    /// Replaces the hinge loss by its square.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;
    /// let model = Svm::l2().squared_hinge().fit(&data)?;
    /// assert!(model.verify(&data)?.holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn squared_hinge(mut self) -> Self {
        self.0.loss = LossName::SquaredHinge;
        self
    }

    /// Replaces the hinge loss by the modified Huber loss.
    pub fn modified_huber(mut self) -> Self {
        self.0.loss = LossName::ModifiedHuber;
        self
    }
}

builder! {
    /// Least-squares regression: ordinary, ridge (`l2`), lasso (`l1`) or elastic net.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[vec![0.0], vec![1.0], vec![2.0]], vec![1.0, 3.0, 5.0])?;
    /// let model = LeastSquares::unpenalized().fit(&data)?;
    /// assert!((model.hyperplanes().unwrap()[0].weights[0] - 2.0).abs() < 1e-12);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    LeastSquares, Method::LeastSquares
}

builder! {
    /// Least absolute deviations, or quantile regression.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let data = Dataset::measured(&[0.0, 1.0, 2.0, 3.0, 4.0].map(|x| vec![x]), vec![0.0, 1.0, 2.0, 30.0, 4.0])?;
    /// let model = Lad::unpenalized().fit(&data)?;
    /// assert!((model.hyperplanes().unwrap()[0].weights[0] - 1.0).abs() < 1e-9);
    /// # Ok::<(), wstar::Error>(())
    /// ```
    Lad, Method::Lad
}

impl Lad {
    /// Estimates this quantile instead of the median.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let rows: Vec<[f64; 1]> = (0..100).map(|i| [f64::from(i)]).collect();
    /// let targets: Vec<f64> = (0..100).map(|i| f64::from(i % 10)).collect();
    /// let data = Dataset::measured(&rows, targets)?;
    /// let model = Lad::unpenalized().quantile(Quantile::new(0.9)?).fit(&data)?;
    /// assert!(model.certificate().holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    pub fn quantile(mut self, quantile: Quantile) -> Self {
        self.0.loss = LossName::Quantile(quantile);
        self
    }
}

builder! {
    /// Least squares on the targets −1 and +1; the sign of the score is the class.
    ///
    /// ```
    /// use wstar::prelude::*;
    /// let rows = [[0.0], [1.0], [2.0], [3.0]].map(Vec::from);
    /// let data = Dataset::labelled(&rows, &["low", "low", "high", "high"])?;
    /// assert!(MseClassifier::l2().fit(&data)?.certificate().holds());
    /// # Ok::<(), wstar::Error>(())
    /// ```
    MseClassifier, Method::MseClassifier
}
classifier!(MseClassifier);
reducible!(MseClassifier);
