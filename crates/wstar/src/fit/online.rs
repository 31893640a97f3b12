//! Fits the mistake-driven methods: chooses the learner, feeds it, and certifies the run.

use rayon::prelude::*;

use crate::certify::{self, Certificate, RunConditions};
use crate::data::{Dataset, refuse_huge};
use crate::error::{Error, Result};
use crate::fit::Outcome;
use crate::fit::feed::Feed;
use crate::model::{FitRecord, Hyperplane, Link, Model, Predictor};
use crate::online::{
    Averaged, Hulls, Kozinec, KozinecRule, Learner, Passes, Perceptron, PerceptronRule, Plan, Pocket, Run,
    Streamed, Voters, Voting, discriminants,
};
use crate::settings::{Method, Rule, Settings};
use crate::watch::{Budget, Status, Unwatched, Watch};

/// Fits a mistake-driven method to data in memory.
pub(super) fn fit_in_memory(data: &Dataset, settings: &Settings, watch: &mut dyn Watch) -> Result<Outcome> {
    let (codes, classes) = data.require_classes()?;
    let rule = settings.rule.unwrap_or(match settings.method() {
        Method::VotedPerceptron | Method::AveragedPerceptron | Method::Pocket => Rule::Shuffled,
        _ => Rule::Cyclic,
    });
    let may_choose = matches!(
        settings.method(),
        Method::Perceptron | Method::Pocket | Method::Kozinec
    );
    if rule == Rule::Worst && !may_choose {
        return Err(Error::settings(format!(
            "--rule worst does not go with --method {}, which takes the examples as they come",
            settings.method().name()
        ))
        .hint("use it with perceptron, pocket or kozinec"));
    }
    refuse_huge(data)?;
    let feed = Feed::Memory {
        data,
        codes,
        rule,
        seed: settings.seed,
        multiset: settings.multiset,
    };
    Fit::new(settings, classes.len(), data.features(), feed)?.fit(watch)
}

/// The squared length of the longest row.
pub(super) fn largest_square(data: &Dataset) -> f64 {
    (0..data.rows())
        .into_par_iter()
        .map(|i| data.design.row(i).squared_norm())
        .max_by(f64::total_cmp)
        .unwrap_or_default()
}

/// Fits a mistake-driven method to a stream in constant memory. A stream that goes by only once gives a
/// model without a certificate.
pub(super) fn fit_stream(stream: &mut Streamed, settings: &Settings, watch: &mut dyn Watch) -> Result<Model> {
    let method = settings.method();
    if !method.is_online() || matches!(method, Method::Pocket | Method::Kozinec) {
        return Err(
            Error::settings(format!("--stream does not go with --method {}", method.name()))
                .hint("use perceptron, online-perceptron, voted-perceptron or averaged-perceptron"),
        );
    }
    if settings.rule.is_some_and(|rule| rule != Rule::Cyclic) {
        return Err(Error::settings(
            "a stream is read in its own order: only --rule cyclic goes with --stream",
        ));
    }
    let again = stream.can_rewind();
    if !again && settings.epochs.is_some_and(|epochs| epochs != 1.0) {
        return Err(Error::settings(
            "standard input goes by only once: use --epochs 1 or a file",
        ));
    }
    let classes = stream.classes().clone();
    if classes.is_empty() {
        return Err(Error::data("the target is a real number, not a class"));
    }
    let feed = Feed::Stream {
        examples: stream,
        again,
    };
    let mut outcome = Fit::new(settings, classes.len(), 0, feed)?.fit(watch)?;
    let schema = stream.schema().clone();
    let starts = RunConditions::of(settings, None, discriminants(classes.len()));
    if let Some(start) = starts.iter().find_map(|conditions| conditions.start.as_ref())
        && start.weights.len() > schema.features
    {
        return Err(Error::settings(format!(
            "--start has {} weights, and the stream has {} features",
            start.weights.len(),
            schema.features
        )));
    }
    if let Predictor::Linear { discriminants, .. } = &mut outcome.predictor {
        discriminants
            .iter_mut()
            .for_each(|plane| plane.widen(schema.features));
    }
    Ok(outcome.into_model(settings, schema, classes))
}

/// A fit of one of the mistake-driven methods.
pub(super) struct Fit<'a> {
    pub(super) settings: &'a Settings,
    pub(super) method: Method,
    pub(super) discriminants: usize,
    pub(super) features: usize,
    pub(super) rule: PerceptronRule,
    /// Where each discriminant starts.
    pub(super) starts: Vec<Hyperplane>,
    pub(super) feed: Feed<'a>,
}

/// What a team learnt.
struct Learnt {
    predictor: Predictor,
    /// The last hyperplanes, and others that may separate well.
    candidates: Vec<Vec<Hyperplane>>,
}

impl<'a> Fit<'a> {
    fn new(settings: &'a Settings, classes: usize, features: usize, feed: Feed<'a>) -> Result<Self> {
        let rule = PerceptronRule {
            rate: settings.learning_rate.unwrap_or(1.0),
            schedule: settings.schedule.unwrap_or_default(),
            ties: settings.ties.unwrap_or_default(),
            intercept: !settings.no_intercept,
        };
        rule.check()?;
        let streamed = matches!(feed, Feed::Stream { .. });
        if let Some(numbers) = &settings.start {
            check_start(numbers, classes, (!streamed).then_some(features), rule.intercept)?;
        }
        Ok(Fit {
            settings,
            method: settings.method(),
            discriminants: discriminants(classes),
            features,
            rule,
            starts: RunConditions::of(settings, None, discriminants(classes))
                .into_iter()
                .map(|conditions| conditions.start.unwrap_or_else(|| Hyperplane::zero(features)))
                .collect(),
            feed,
        })
    }

    fn fit(mut self, watch: &mut dyn Watch) -> Result<Outcome> {
        if self.method == Method::Kozinec {
            return self.fit_kozinec(watch);
        }
        let perceptrons = || -> Vec<Perceptron> {
            let starts = self.starts.iter();
            starts
                .map(|start| Perceptron::new(self.rule, start.clone()))
                .collect()
        };
        let vote = self.settings.vote;
        let (learnt, mut run) = match (self.method, vote) {
            (Method::AveragedPerceptron, _) => {
                let mut team: Vec<Averaged> = perceptrons().into_iter().map(Averaged::new).collect();
                let run = self.feed.run(&mut team, &self.plan(), watch)?;
                let means: Vec<Hyperplane> = team.iter().map(Averaged::mean).collect();
                (self.linear(means, &team), run)
            }
            (Method::Pocket, _) => {
                let Feed::Memory { data, codes, .. } = self.feed else {
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
                    .map(|perceptron| Voting::new(perceptron, voters, self.rule.ties, self.rule.intercept))
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
        if self.method == Method::Pocket && run.status == Status::IterationLimit {
            // The pocket promises the best that the run has seen, and that it has.
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
                    // A plain perceptron has only one, and looking at it twice takes as long as at two.
                    candidates.extend((learner.hyperplane() != chosen).then(|| learner.hyperplane().clone()));
                    candidates
                })
                .collect(),
            predictor: Predictor::Linear {
                discriminants,
                ties: self.rule.ties,
                link: Link::Margin,
            },
        }
    }

    pub(super) fn plan(&self) -> Plan {
        let epochs = self.settings.epochs;
        let worst = matches!(
            self.feed,
            Feed::Memory {
                rule: Rule::Worst,
                ..
            }
        );
        let until_clean = |default: u64| Passes::UntilClean {
            at_most: epochs.map_or(default, |epochs| epochs.ceil() as u64),
        };
        let once = matches!(self.feed, Feed::Stream { again: false, .. });
        Plan {
            passes: match self.method {
                _ if once => Passes::Exactly(1.0),
                // A step of the worst rule takes a pass of its own.
                _ if worst => until_clean(100_000),
                Method::Perceptron => until_clean(1_000),
                Method::Pocket => until_clean(100),
                Method::Kozinec => until_clean(10_000),
                Method::OnlinePerceptron => Passes::Exactly(epochs.unwrap_or(1.0)),
                _ => Passes::Exactly(epochs.unwrap_or(10.0)),
            },
            budget: Budget {
                max_updates: self.settings.max_iter,
                max_time: self.settings.max_time(),
            },
        }
    }

    pub(super) fn outcome(&self, predictor: Predictor, run: Run, certificate: Certificate) -> Outcome {
        let rows = match &self.feed {
            Feed::Memory { data, codes, .. } => {
                (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64
            }
            Feed::Stream { .. } => run.rows,
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
            least_squares: None,
        }
    }

    fn bound_mistakes(&mut self, run: &Run, mut candidates: Vec<Vec<Hyperplane>>) -> Result<Certificate> {
        let worst = matches!(
            self.feed,
            Feed::Memory {
                rule: Rule::Worst,
                ..
            }
        );
        let repeats = (!worst).then_some(run.passes);
        let conditions = RunConditions::of(self.settings, repeats, self.discriminants);
        if run.separated() {
            self.widen_margins(run, &mut candidates)?;
        }
        let parts = self.feed.look_again(|examples| {
            certify::bound_mistakes(examples, &run.updates, &conditions, &candidates)
        })?;
        Ok(match parts {
            Some(parts) => Certificate::MistakeBound { parts },
            None => Certificate::None,
        })
    }

    /// A perceptron stops at the first hyperplane that separates, however thin its margin, and a thin
    /// margin makes a loose bound. On separable data Kozinec's algorithm finds a wider one, for about as
    /// much work as the run took.
    fn widen_margins(&mut self, run: &Run, candidates: &mut [Vec<Hyperplane>]) -> Result<()> {
        if !matches!(self.feed, Feed::Memory { .. }) {
            return Ok(());
        }
        let rule = KozinecRule {
            epsilon: 0.05,
            hulls: if self.rule.intercept {
                Hulls::OneLifted
            } else {
                Hulls::One
            },
        };
        let mut team = vec![Kozinec::new(rule, self.features); self.discriminants];
        let plan = Plan {
            passes: Passes::UntilClean {
                at_most: 20 + 2 * run.passes,
            },
            budget: Budget {
                max_updates: None,
                max_time: self.settings.max_time(),
            },
        };
        self.feed
            .look_again(|examples| crate::online::run(&mut team, examples, &plan, &mut Unwatched))?;
        for (candidates, learner) in candidates.iter_mut().zip(team) {
            candidates.push(learner.hyperplane().clone());
        }
        Ok(())
    }
}

/// Refuses a start that does not fit: for each discriminant the intercept first, if there is one, then the weights.
fn check_start(numbers: &[f64], classes: usize, features: Option<usize>, intercept: bool) -> Result<()> {
    if numbers.iter().any(|number| !number.is_finite()) {
        return Err(Error::settings("--start takes finite numbers only"));
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
        return Err(Error::settings(format!(
            "--start has {} numbers, and {} are needed: {what}",
            numbers.len(),
            wanted.unwrap_or(discriminants * offset)
        )));
    }
    Ok(())
}
