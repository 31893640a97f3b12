//! Conversion between options and settings. The family of a method takes the options that it knows; an option that is
//! left over does not belong to the method.

use super::checks::misplaced;
use super::{
    Densities, Family, KozinecMargin, MaximumMargin, Method, MinError, Options, Perceptrons, Regularized,
    Settings,
};
use wstar_data::Target;
use wstar_data::error::Result;

impl Settings {
    /// The settings of a method from the options that it knows, which are removed from `options`.
    pub(crate) fn take(method: Method, options: &mut Options) -> Result<Self> {
        Ok(match method.family() {
            Family::Regularized => Settings::Regularized(Regularized::take(method, options)?),
            Family::Perceptrons => Settings::Perceptrons(Perceptrons::take(method, options)),
            Family::Kozinec => Settings::Kozinec(KozinecMargin::take(options)),
            Family::Densities => Settings::Densities(Densities::take(method, options)),
            Family::MaximumMargin => Settings::MaximumMargin(MaximumMargin::take(options)),
            Family::MinError => Settings::MinError(MinError::take(options)),
        })
    }

    /// The options that give these settings. Settings at their defaults are left out.
    pub fn options(&self) -> Options {
        let mut options = Options::of(self.method());
        self.common().give(&mut options);
        match self {
            Settings::Regularized(settings) => settings.give(&mut options),
            Settings::Perceptrons(settings) => settings.give(&mut options),
            Settings::Kozinec(settings) => settings.give(&mut options),
            Settings::Densities(settings) => settings.give(&mut options),
            Settings::MaximumMargin(settings) => settings.give(&mut options),
            Settings::MinError(settings) => settings.give(&mut options),
        }
        options
    }
}

impl Options {
    /// The checked settings of a method. Numbers out of range, options that exclude each other and options that do not
    /// belong to the method are errors.
    pub fn for_method(&self, method: Method) -> Result<Settings> {
        let mut rest = self.clone();
        let settings = Settings::take(method, &mut rest)?;
        settings.check()?;
        match rest.given().into_iter().next() {
            Some(left) => Err(misplaced(left.setting, method)),
            None => Ok(settings),
        }
    }

    /// The checked settings of the given method, or else of the [first choice](Options::first_choice) for the target.
    pub fn for_target(&self, target: &Target) -> Result<Settings> {
        self.for_method(self.method.unwrap_or_else(|| self.first_choice(target)))
    }

    /// The default method. The target decides, unless an option does not belong to the method of the target. Then other
    /// methods are tried in order, and the first that takes every option is chosen.
    pub fn first_choice(&self, target: &Target) -> Method {
        let first = match target {
            Target::Real(_) => Method::LeastSquares,
            Target::Classes { classes, .. } if classes.len() > 2 => Method::Softmax,
            _ => Method::Logistic,
        };
        let others = [
            Method::Lad,
            Method::Svm,
            Method::AveragedPerceptron,
            Method::Perceptron,
        ];
        let mut candidates = [first].into_iter().chain(others);
        candidates.find(|&method| self.belong_to(method)).unwrap_or(first)
    }

    /// Whether the method takes every option that is given.
    fn belong_to(&self, method: Method) -> bool {
        let mut rest = self.clone();
        // A wrong value is reported for the method that takes the option.
        Settings::take(method, &mut rest).is_err() || rest.given().is_empty()
    }
}
