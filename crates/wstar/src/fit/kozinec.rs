//! Fits Kozinec's algorithm: runs it, puts the hyperplane halfway, and certifies the margin interval.

use crate::certify::{self, Certificate, Separation};
use crate::error::Result;
use crate::fit::Outcome;
use crate::fit::feed::Feed;
use crate::fit::online::{Fit, largest_square};
use crate::model::{Link, Predictor};
use crate::online::{Hulls, Kozinec, KozinecRule, Learner, Voting};
use crate::watch::{Status, Watch};

/// How much margin Kozinec's algorithm may leave on the table unless told otherwise.
const DEFAULT_EPSILON: f64 = 0.01;
/// Points of two hulls that are nearer than this, measured by the longest row, are the same but for rounding.
const MET: f64 = 1e-13;

impl Fit<'_> {
    fn longest_row(&self) -> f64 {
        match &self.feed {
            Feed::Memory { data, .. } => largest_square(data).sqrt(),
            Feed::Stream { .. } => 0.0,
        }
    }

    pub(super) fn fit_kozinec(mut self, watch: &mut dyn Watch) -> Result<Outcome> {
        let rule = KozinecRule {
            epsilon: self.settings.epsilon.unwrap_or(DEFAULT_EPSILON),
            hulls: if self.rule.intercept {
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
                    .map(|learner| Voting::new(learner, voters, self.rule.ties, self.rule.intercept))
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
            if self.rule.intercept {
                let of = self.discriminants;
                self.feed
                    .look_again(|examples| certify::centre(examples, k, of, &mut hyperplane))?;
            }
            let [positive, negative] = learner.multipliers();
            claims.push(Separation {
                lower: 0.0,
                upper: 0.0,
                epsilon: rule.epsilon,
                intercept: self.rule.intercept,
                positive,
                negative,
                hyperplane,
            });
        }
        let parts = self
            .feed
            .look_again(|examples| certify::recompute_separation(examples, &claims))?
            .unwrap_or_default();
        if run.status == Status::Converged && !parts.iter().all(Separation::holds) {
            // Either the points have met, and there is no margin to find, or rounding hid the last steps:
            // the data lie too far from the origin for their margin.
            let met = |part: &Separation| part.upper <= MET * self.longest_row();
            run.status = if parts.iter().any(met) {
                Status::Diverging
            } else {
                Status::IterationLimit
            };
        }
        let predictor = match committees {
            Some(committees) => Predictor::Committee { committees },
            None => Predictor::Linear {
                discriminants: claims.into_iter().map(|claim| claim.hyperplane).collect(),
                ties: self.rule.ties,
                link: Link::Margin,
            },
        };
        Ok(self.outcome(predictor, run, Certificate::Separation { parts }))
    }
}
