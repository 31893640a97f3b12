//! Kozinec's algorithm: runs it, centres the threshold, and certifies the interval of the margin.

use crate::certificate;
use crate::certificate::{Certificate, Separation};
use crate::estimate::example_source::ExampleSource;
use crate::estimate::outcome::Outcome;
use crate::estimate::perceptrons::{Fit, largest_square};
use crate::model::{Link, Predictor};
use crate::online::{Hulls, Kozinec, KozinecRule, Learner, Voting};
use wstar_data::error::Result;
use wstar_data::run::{Status, Watch};

/// Two hulls with a distance below this multiple of the longest row intersect up to rounding. Heuristic: trades
/// a missed intersection against a missed tiny margin; not measured yet.
const MET: f64 = 1e-13;

impl Fit<'_> {
    fn longest_row(&self) -> f64 {
        match &self.feed {
            ExampleSource::Memory { data, .. } => largest_square(data).sqrt(),
            ExampleSource::Stream { .. } => 0.0,
        }
    }

    pub(super) fn fit_kozinec(mut self, watch: &mut dyn Watch) -> Result<Outcome> {
        let rule = KozinecRule {
            epsilon: self.settings.epsilon,
            hulls: if self.settings.rule.intercept {
                Hulls::Two
            } else {
                Hulls::One
            },
        };
        rule.check()?;
        let team = vec![Kozinec::new(rule, self.features); self.discriminants];
        let plan = self.plan();
        let (team, committees, mut run) = match self.settings.vote {
            Some(voters) => {
                let mut team: Vec<_> = team
                    .into_iter()
                    .map(|learner| {
                        Voting::new(
                            learner,
                            voters,
                            self.settings.rule.ties,
                            self.settings.rule.intercept,
                        )
                    })
                    .collect();
                let run = self.feed.run(&mut team, &plan, watch)?;
                let learners: Vec<Kozinec> = team.iter().map(|voting| voting.learner.clone()).collect();
                let committees = team.into_iter().map(Voting::into_committee).collect();
                (learners, Some(committees), run)
            }
            None => {
                let mut team = team;
                let run = self.feed.run(&mut team, &plan, watch)?;
                (team, None, run)
            }
        };
        watch.certifying();
        let mut claims = Vec::new();
        for (k, mut learner) in team.into_iter().enumerate() {
            learner.settle();
            let mut hyperplane = learner.hyperplane().clone();
            if self.settings.rule.intercept {
                let of = self.discriminants;
                self.feed
                    .look_again(|examples| certificate::centre(examples, k, of, &mut hyperplane))?;
            }
            let [positive, negative] = learner.multipliers();
            claims.push(Separation {
                lower: 0.0,
                upper: 0.0,
                epsilon: rule.epsilon,
                intercept: self.settings.rule.intercept,
                positive,
                negative,
                hyperplane,
            });
        }
        let parts = self
            .feed
            .look_again(|examples| certificate::recompute_separation(examples, &claims))?
            .unwrap_or_default();
        if run.status == Status::Converged && !parts.iter().all(Separation::holds) {
            // Either the hulls intersect and there is no margin, or rounding hid the last steps because the data lie
            // too far from the origin relative to their margin.
            let intersects = |part: &Separation| part.upper <= MET * self.longest_row();
            run.status = if parts.iter().any(intersects) {
                Status::Diverging
            } else {
                Status::IterationLimit
            };
        }
        let predictor = match committees {
            Some(committees) => Predictor::Committee { committees },
            None => Predictor::Linear {
                discriminants: claims.into_iter().map(|claim| claim.hyperplane).collect(),
                ties: self.settings.rule.ties,
                link: Link::Margin,
            },
        };
        Ok(self.outcome(predictor, run, Certificate::Separation { parts }))
    }
}
