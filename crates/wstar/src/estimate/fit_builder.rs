//! The functions of every builder that fit a model.

use crate::estimate::{Start, fit_settings};
use crate::model::Model;
use crate::settings::{
    Densities, KozinecMargin, Lad, LeastSquares, Logistic, MaximumMargin, MinError, MseClassifier,
    Perceptrons, Softmax, Svm,
};
use wstar_data::Dataset;
use wstar_data::error::Result;
use wstar_data::run::{Unwatched, Watch};

/// Data that every classifier can be fitted to.
macro_rules! classes {
    () => {
        r#"let data = Dataset::labelled(&[[0.0], [1.0], [2.0], [3.0]], &["a", "a", "b", "b"])?;"#
    };
}

/// Data for a regression.
macro_rules! numbers {
    () => {
        "let data = Dataset::measured(&[[0.0], [1.0], [2.0], [3.0]], vec![0.5, 1.5, 2.0, 3.5])?;"
    };
}

macro_rules! fits {
    ($($builder:ident: $constructor:literal on $data:ident;)*) => {$(
        impl $builder {
            /// Fits a model to data and certifies it.
            ///
            /// ```
            /// use wstar::prelude::*;
            #[doc = $data!()]
            #[doc = concat!("let model = ", $constructor, ".fit(&data)?;")]
            /// assert!(model.verify(&data)?.holds());
            /// # Ok::<(), wstar::Error>(())
            /// ```
            pub fn fit(self, data: &Dataset) -> Result<Model> {
                self.fit_watched(data, &mut Unwatched)
            }

            /// Fits a model like `fit`, and reports every step to an observer, which can stop the fit.
            ///
            /// ```
            /// use wstar::prelude::*;
            /// struct Certifying(bool);
            /// impl Watch for Certifying {
            ///     fn certifying(&mut self) {
            ///         self.0 = true;
            ///     }
            /// }
            #[doc = $data!()]
            /// let mut watch = Certifying(false);
            #[doc = concat!("let model = ", $constructor, ".fit_watched(&data, &mut watch)?;")]
            /// assert!(watch.0 && model.certificate().holds());
            /// # Ok::<(), wstar::Error>(())
            /// ```
            pub fn fit_watched(self, data: &Dataset, watch: &mut dyn Watch) -> Result<Model> {
                fit_settings(data, &self.into(), &Start::default(), watch)
            }
        }
    )*};
}

fits! {
    Logistic: "Logistic::l2()" on classes;
    Softmax: "Softmax::l2()" on classes;
    Svm: "Svm::l2()" on classes;
    LeastSquares: "LeastSquares::l2()" on numbers;
    Lad: "Lad::l2()" on numbers;
    MseClassifier: "MseClassifier::l2()" on classes;
    Perceptrons: "Perceptrons::until_separated()" on classes;
    KozinecMargin: "KozinecMargin::within(0.01)" on classes;
    Densities: "Densities::lda()" on classes;
    MaximumMargin: "MaximumMargin::new()" on classes;
    MinError: "MinError::new()" on classes;
}
