//! Fits the mistake-driven methods: chooses the learner, runs it on the examples, and certifies the run.

use rayon::prelude::*;
use wstar_data::error::Remedy;
use wstar_data::setting::Setting;

use crate::certificate;
use crate::certificate::{Certificate, RunConditions};
use crate::estimate::example_source::ExampleSource;
use crate::estimate::outcome::Outcome;
use crate::model::{FitRecord, Link, Model, Predictor};
use crate::online::{
    Averaged, Hulls, Kozinec, KozinecRule, Learner, PassLimits, Passes, Perceptron, PerceptronRule, Pocket,
    Run, Voters, Voting,
};
use crate::settings::{self, Method, Rule};
use wstar_data::discriminants;
use wstar_data::error::{Error, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::read::dataset_stream::DatasetStream;
use wstar_data::run::{Budget, Status, Unwatched, Watch};
use wstar_data::{Dataset, refuse_huge};

/// What a run of a mistake-driven method depends on, besides the examples.
#[derive(Clone)]
pub(super) struct RunSettings<'a> {
    method: Method,
    /// The perceptron's update rule; of Kozinec's algorithm only the intercept matters.
    pub(super) rule: PerceptronRule,
    /// The relative tolerance on the margin, for Kozinec's algorithm.
    pub(super) epsilon: f64,
    epochs: Option<f64>,
    budget: Budget,
    order: Option<Rule>,
    multiset: bool,
    start: Option<&'a [f64]>,
    pub(super) vote: Option<Voters>,
    seed: u64,
}

impl<'a> From<&'a settings::Perceptrons> for RunSettings<'a> {
    fn from(own: &'a settings::Perceptrons) -> Self {
        RunSettings {
            method: own.method,
            rule: own.update_rule(),
            epsilon: 0.0,
            epochs: own.epochs,
            budget: own.budget(),
            order: own.rule,
            multiset: own.multiset,
            start: own.start.as_deref(),
            vote: own.vote,
            seed: own.common.seed,
        }
    }
}

impl<'a> From<&'a settings::KozinecMargin> for RunSettings<'a> {
    fn from(own: &'a settings::KozinecMargin) -> Self {
        RunSettings {
            method: Method::Kozinec,
            rule: PerceptronRule {
                intercept: own.intercept,
                ..PerceptronRule::default()
            },
            epsilon: own.epsilon,
            epochs: own.epochs,
            budget: own.budget(),
            order: own.rule,
            multiset: own.multiset,
            start: None,
            vote: own.vote,
            seed: own.common.seed,
        }
    }
}

/// Fits a mistake-driven method to data in memory.
pub(super) fn fit_in_memory(
    data: &Dataset,
    settings: &RunSettings<'_>,
    watch: &mut dyn Watch,
) -> Result<Outcome> {
    let (codes, classes) = data.require_classes()?;
    let rule = settings.order.unwrap_or(match settings.method {
        Method::VotedPerceptron | Method::AveragedPerceptron | Method::Pocket => Rule::Shuffled,
        _ => Rule::Cyclic,
    });
    let may_choose = matches!(
        settings.method,
        Method::Perceptron | Method::Pocket | Method::Kozinec
    );
    if rule == Rule::Worst && !may_choose {
        return Err(Error::conflict(
            Setting::Rule.to("worst"),
            Setting::Method.to(settings.method.name()),
        )
        .because("which takes the examples as they come")
        .remedy(Setting::Method.any(["perceptron", "pocket", "kozinec"])));
    }
    refuse_huge(data)?;
    let feed = ExampleSource::Memory {
        data,
        codes,
        rule,
        seed: settings.seed,
        multiset: settings.multiset,
    };
    Fit::new(settings, classes.len(), data.features(), feed)?.fit(watch)
}

/// The largest squared norm of a row.
pub(super) fn largest_square(data: &Dataset) -> f64 {
    (0..data.rows())
        .into_par_iter()
        .map(|i| data.design().row(i).squared_norm())
        .max_by(f64::total_cmp)
        .unwrap_or_default()
}

/// Fits a mistake-driven method to a stream in constant memory. If the stream can be read only once, the model has no
/// certificate.
pub(super) fn fit_stream(
    stream: &mut DatasetStream,
    settings: &settings::Perceptrons,
    watch: &mut dyn Watch,
) -> Result<Model> {
    if settings.method == Method::Pocket {
        return Err(not_streamed(settings.method));
    }
    if settings.rule.is_some_and(|rule| rule != Rule::Cyclic) {
        return Err(Error::conflict(Setting::Rule.given(), Setting::Stream.given())
            .because("which is read in its own order")
            .remedy(Setting::Rule.to("cyclic")));
    }
    let again = stream.can_rewind();
    if !again && settings.epochs.is_some_and(|epochs| epochs != 1.0) {
        return Err(
            Error::settings("standard input can be read only once").remedy(Remedy::Either(vec![
                Setting::Epochs.to(1).into(),
                "use a file".into(),
            ])),
        );
    }
    let classes = stream.classes().clone();
    if classes.is_empty() {
        return Err(Error::data("the target is a real number, not a class"));
    }
    let feed = ExampleSource::Stream {
        examples: stream,
        again,
    };
    let run = RunSettings::from(settings);
    let mut outcome = Fit::new(&run, classes.len(), 0, feed)?.fit(watch)?;
    let schema = stream.schema().clone();
    let starts = RunConditions::of(&run.rule, run.start, None, discriminants(classes.len()));
    if let Some(start) = starts.iter().find_map(|conditions| conditions.start.as_ref())
        && start.weights.len() > schema.features
    {
        return Err(Error::misuse(
            Setting::Start.given(),
            format!(
                "has {} weights, and the stream has {} features",
                start.weights.len(),
                schema.features
            ),
        ));
    }
    if let Predictor::Linear { discriminants, .. } = &mut outcome.predictor {
        discriminants
            .iter_mut()
            .for_each(|plane| plane.widen(schema.features));
    }
    Ok(outcome.into_model(settings.clone().into(), schema, classes))
}

/// The error for a method that needs all rows in memory.
pub(super) fn not_streamed(method: Method) -> Error {
    Error::conflict(Setting::Stream.given(), Setting::Method.to(method.name())).remedy(Setting::Method.any([
        "perceptron",
        "online-perceptron",
        "voted-perceptron",
        "averaged-perceptron",
    ]))
}

/// A fit of one of the mistake-driven methods.
pub(super) struct Fit<'a> {
    pub(super) settings: &'a RunSettings<'a>,
    pub(super) discriminants: usize,
    pub(super) features: usize,
    /// The start of each discriminant.
    pub(super) starts: Vec<Hyperplane>,
    pub(super) feed: ExampleSource<'a>,
}

/// The result of the learners.
struct Learnt {
    predictor: Predictor,
    /// For each discriminant the chosen hyperplane, and others that may have a larger margin.
    candidates: Vec<Vec<Hyperplane>>,
}

impl<'a> Fit<'a> {
    fn new(
        settings: &'a RunSettings<'a>,
        classes: usize,
        features: usize,
        feed: ExampleSource<'a>,
    ) -> Result<Self> {
        let rule = &settings.rule;
        rule.check()?;
        let streamed = matches!(feed, ExampleSource::Stream { .. });
        if let Some(numbers) = settings.start {
            check_start(numbers, classes, (!streamed).then_some(features), rule.intercept)?;
        }
        Ok(Fit {
            settings,
            discriminants: discriminants(classes),
            features,
            starts: RunConditions::of(rule, settings.start, None, discriminants(classes))
                .into_iter()
                .map(|conditions| conditions.start.unwrap_or_else(|| Hyperplane::zero(features)))
                .collect(),
            feed,
        })
    }

    fn fit(mut self, watch: &mut dyn Watch) -> Result<Outcome> {
        if self.settings.method == Method::Kozinec {
            return self.fit_kozinec(watch);
        }
        let perceptrons = || -> Vec<Perceptron> {
            let starts = self.starts.iter();
            starts
                .map(|start| Perceptron::new(self.settings.rule, start.clone()))
                .collect()
        };
        let vote = self.settings.vote;
        let (learnt, mut run) = match (self.settings.method, vote) {
            (Method::AveragedPerceptron, _) => {
                let mut team: Vec<Averaged> = perceptrons().into_iter().map(Averaged::new).collect();
                let run = self.feed.run(&mut team, &self.plan(), watch)?;
                let means: Vec<Hyperplane> = team.iter().map(Averaged::mean).collect();
                (self.linear(means, &team), run)
            }
            (Method::Pocket, _) => {
                let ExampleSource::Memory { data, codes, .. } = self.feed else {
                    return Err(Error::settings("the pocket needs all rows in memory"));
                };
                let mut team: Vec<Pocket<'_>> = (0..)
                    .zip(perceptrons())
                    .map(|(k, perceptron)| Pocket::new(perceptron, data, codes, k, self.discriminants))
                    .collect();
                let run = self.feed.run(&mut team, &self.plan(), watch)?;
                let best = team.iter().map(|pocket| pocket.best().clone()).collect();
                (self.linear(best, &team), run)
            }
            (Method::VotedPerceptron, _) | (_, Some(_)) => {
                let voters = vote.unwrap_or(Voters::All);
                let mut team: Vec<_> = perceptrons()
                    .into_iter()
                    .map(|perceptron| {
                        Voting::new(
                            perceptron,
                            voters,
                            self.settings.rule.ties,
                            self.settings.rule.intercept,
                        )
                    })
                    .collect();
                let run = self.feed.run(&mut team, &self.plan(), watch)?;
                let candidates = team
                    .iter()
                    .map(|voting| vec![voting.hyperplane().clone()])
                    .collect();
                let predictor = Predictor::Committee {
                    committees: team.into_iter().map(Voting::into_committee).collect(),
                };
                (
                    Learnt {
                        predictor,
                        candidates,
                    },
                    run,
                )
            }
            _ => {
                let mut team = perceptrons();
                let run = self.feed.run(&mut team, &self.plan(), watch)?;
                let last = team
                    .iter()
                    .map(|perceptron| perceptron.hyperplane().clone())
                    .collect();
                (self.linear(last, &team), run)
            }
        };
        if self.settings.method == Method::Pocket && run.status == Status::IterationLimit {
            // The pocket returns the best hyperplane of the run, so reaching a limit is a normal end.
            run.status = Status::Completed;
        }
        watch.certifying();
        let certificate = self.bound_mistakes(&run, learnt.candidates)?;
        Ok(self.outcome(learnt.predictor, run, certificate))
    }

    fn linear<L: Learner>(&self, discriminants: Vec<Hyperplane>, team: &[L]) -> Learnt {
        Learnt {
            candidates: discriminants
                .iter()
                .zip(team)
                .map(|(chosen, learner)| {
                    let mut candidates = vec![chosen.clone()];
                    // Without averaging or a pocket the two are equal, and a second copy would double the work.
                    candidates.extend((learner.hyperplane() != chosen).then(|| learner.hyperplane().clone()));
                    candidates
                })
                .collect(),
            predictor: Predictor::Linear {
                discriminants,
                ties: self.settings.rule.ties,
                link: Link::Margin,
            },
        }
    }

    pub(super) fn plan(&self) -> PassLimits {
        let epochs = self.settings.epochs;
        let worst = matches!(
            self.feed,
            ExampleSource::Memory {
                rule: Rule::Worst,
                ..
            }
        );
        let until_clean = |default: u64| Passes::UntilClean {
            at_most: epochs.map_or(default, |epochs| epochs.ceil() as u64),
        };
        let once = matches!(self.feed, ExampleSource::Stream { again: false, .. });
        // The numbers of passes if the option `epochs` is absent. Caps: the run ends there, converged or not.
        PassLimits {
            passes: match self.settings.method {
                _ if once => Passes::Exactly(1.0),
                // Each update of the worst-example rule takes a whole pass.
                _ if worst => until_clean(100_000),
                Method::Perceptron => until_clean(1_000),
                Method::Pocket => until_clean(100),
                Method::Kozinec => until_clean(10_000),
                Method::OnlinePerceptron => Passes::Exactly(epochs.unwrap_or(1.0)),
                _ => Passes::Exactly(epochs.unwrap_or(10.0)),
            },
            budget: self.settings.budget,
        }
    }

    pub(super) fn outcome(&self, predictor: Predictor, run: Run, certificate: Certificate) -> Outcome {
        let rows = match &self.feed {
            ExampleSource::Memory { data, codes, .. } => {
                (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64
            }
            ExampleSource::Stream { .. } => run.rows,
        };
        Outcome {
            predictor,
            fit: FitRecord {
                status: run.status,
                rows,
                passes: run.passes,
                iterations: run.updates.iter().sum(),
                seen: run.seen,
                mistakes_by_pass: run.mistakes_by_pass,
                objective: None,
                solver: None,
                notes: Vec::new(),
            },
            certificate,
            inference: None,
            proved: None,
            least_squares: None,
        }
    }

    fn bound_mistakes(&mut self, run: &Run, mut candidates: Vec<Vec<Hyperplane>>) -> Result<Certificate> {
        let worst = matches!(
            self.feed,
            ExampleSource::Memory {
                rule: Rule::Worst,
                ..
            }
        );
        let repeats = (!worst).then_some(run.passes);
        let conditions = RunConditions::of(
            &self.settings.rule,
            self.settings.start,
            repeats,
            self.discriminants,
        );
        if run.separated() {
            self.widen_margins(run, &mut candidates)?;
        }
        let parts = self.feed.look_again(|examples| {
            certificate::bound_mistakes(examples, &run.updates, &conditions, &candidates)
        })?;
        Ok(match parts {
            Some(parts) => Certificate::MistakeBound { parts },
            None => Certificate::None,
        })
    }

    /// Adds separators with larger margins to the candidates of the mistake bound. A perceptron stops at the first
    /// separating hyperplane. Its margin may be small, which makes the bound loose. On separable data Kozinec's
    /// algorithm finds a larger margin, for about as much work as the run took.
    fn widen_margins(&mut self, run: &Run, candidates: &mut [Vec<Hyperplane>]) -> Result<()> {
        if !matches!(self.feed, ExampleSource::Memory { .. }) {
            return Ok(());
        }
        // Heuristic: a smaller ε and more passes give a tighter bound and take longer; both are not measured yet.
        let rule = KozinecRule {
            epsilon: 0.05,
            hulls: if self.settings.rule.intercept {
                Hulls::OneLifted
            } else {
                Hulls::One
            },
        };
        let mut team = vec![Kozinec::new(rule, self.features); self.discriminants];
        let plan = PassLimits {
            passes: Passes::UntilClean {
                at_most: 20 + 2 * run.passes,
            },
            budget: Budget {
                max_updates: None,
                max_time: self.settings.budget.max_time,
            },
        };
        self.feed
            .look_again(|examples| crate::online::passes::run(&mut team, examples, &plan, &mut Unwatched))?;
        for (candidates, learner) in candidates.iter_mut().zip(team) {
            candidates.push(learner.hyperplane().clone());
        }
        Ok(())
    }
}

/// Rejects a start of the wrong length: for each discriminant the intercept first, if there is one, then the weights.
fn check_start(numbers: &[f64], classes: usize, features: Option<usize>, intercept: bool) -> Result<()> {
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(Error::misuse(Setting::Start.given(), "takes finite numbers only"));
    }
    let (offset, discriminants) = (usize::from(intercept), discriminants(classes));
    let wanted = features.map(|features| discriminants * (features + offset));
    let uneven = !numbers.len().is_multiple_of(discriminants);
    if wanted.is_some_and(|wanted| wanted != numbers.len())
        || uneven
        || numbers.len() < discriminants * offset
    {
        let what = match (intercept, discriminants) {
            (true, 1) => "the intercept, then the weights",
            (false, 1) => "the weights",
            (true, _) => "the intercept, then the weights, class by class",
            (false, _) => "the weights, class by class",
        };
        return Err(Error::misuse(
            Setting::Start.given(),
            format!(
                "has {} numbers, and {} are needed: {what}",
                numbers.len(),
                wanted.unwrap_or(discriminants * offset)
            ),
        ));
    }
    Ok(())
}
