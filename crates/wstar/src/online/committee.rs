//! Online-to-batch conversion: every hyperplane that an online learner held votes, with the number of
//! examples for which it was the current one. With a perceptron it is the voted perceptron
//! (Freund and Schapire 1999).
//!
//! The hyperplanes differ by one example each, so they are kept as the examples that were added: a
//! committee of thousands takes no more room than the rows that were mistaken, and scoring a point needs
//! its dot product with each of those rows only once.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::data::{Design, Row};
use crate::error::{Error, Result};
use crate::kernel::sparse;
use crate::model::Hyperplane;
use crate::online::{Change, Learner, Seen, Ties};

/// Which hyperplanes vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Voters {
    /// All of them.
    #[default]
    All,
    /// Those of the second half of the run.
    LastHalf,
}

/// A hyperplane that came after another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// How it differs from the one before.
    pub step: MemberStep,
    /// For how many examples it was the current one.
    pub survived: u64,
}

/// How a hyperplane differs from the one before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberStep {
    /// A multiple of an example was added.
    Add {
        /// Which of the kept rows.
        row: u32,
        /// The multiple.
        scale: f64,
    },
    /// It is another one altogether.
    Set(Hyperplane),
}

/// All hyperplanes of a run, with their votes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Committee {
    start: Hyperplane,
    start_survived: u64,
    intercept: bool,
    ties: Ties,
    members: Vec<Member>,
    rows: KeptRows,
}

/// The rows that were added to hyperplanes, sparse whatever the data were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct KeptRows {
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl KeptRows {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn push(&mut self, x: Row<'_>) {
        x.for_each(|j, value| {
            if value != 0.0 {
                self.indices.push(j as u32);
                self.values.push(value);
            }
        });
        self.starts.push(self.indices.len());
    }

    fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let span = self.starts[i]..self.starts[i + 1];
        (&self.indices[span.clone()], &self.values[span])
    }
}

/// Room for scoring one point after the other.
#[derive(Debug, Default)]
struct Scratch {
    point: Vec<f64>,
    dots: Vec<f64>,
}

impl Committee {
    /// How many hyperplanes vote.
    pub fn len(&self) -> usize {
        usize::from(self.start_survived > 0)
            + self.members.iter().filter(|member| member.survived > 0).count()
    }

    /// Whether nothing has been learnt, so that there is nothing to vote.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many different examples the hyperplanes are made of.
    pub fn kept_rows(&self) -> usize {
        self.rows.len()
    }

    /// The vote on every row of a design: from −1 (all against) to 1 (all in favour).
    pub fn votes(&self, design: &Design) -> Vec<f64> {
        (0..design.rows())
            .into_par_iter()
            .map_init(Scratch::default, |scratch, i| {
                let mut last = 0.0;
                self.walk(design.row(i), scratch, |_, _, votes| last = votes);
                last
            })
            .collect()
    }

    /// The vote on one row.
    pub fn vote(&self, x: Row<'_>) -> f64 {
        let mut last = 0.0;
        self.walk(x, &mut Scratch::default(), |_, _, votes| last = votes);
        last
    }

    /// How the score of the newest hyperplane and the vote on a row went with time: their values
    /// after each of the given numbers of examples (increasing).
    pub fn history(&self, x: Row<'_>, after: &[u64]) -> Vec<(f64, f64)> {
        let mut history = Vec::with_capacity(after.len());
        let mut total = 0.0;
        let mut seen = 0;
        self.walk(x, &mut Scratch::default(), |survived, score, _| {
            let opinion = if self.ties.is_positive(score) { 1.0 } else { -1.0 };
            while let Some(&moment) = after.get(history.len())
                && moment < seen + survived
            {
                history.push((score, total + opinion * (moment + 1 - seen) as f64));
            }
            total += opinion * survived as f64;
            seen += survived;
        });
        history
            .into_iter()
            .zip(after)
            .map(|((score, total), &moment)| (score, total / (moment + 1) as f64))
            .collect()
    }

    /// Walks through the hyperplanes: how long each survived, its score, and the vote so far.
    fn walk(&self, x: Row<'_>, scratch: &mut Scratch, mut visit: impl FnMut(u64, f64, f64)) {
        let width = x.width();
        if scratch.point.len() < width {
            scratch.point.resize(width, 0.0);
        }
        x.for_each(|j, value| scratch.point[j] = value);
        scratch.dots.clear();
        scratch.dots.extend((0..self.rows.len()).map(|i| {
            let (indices, values) = self.rows.row(i);
            sparse::dot(indices, values, &scratch.point)
        }));
        x.for_each(|j, _| scratch.point[j] = 0.0);

        let lift = if self.intercept { 1.0 } else { 0.0 };
        let mut score = self.start.score(x);
        let (mut total, mut voters) = (0.0, 0u64);
        let mut count = |survived: u64, score: f64| {
            let opinion = if self.ties.is_positive(score) { 1.0 } else { -1.0 };
            total += opinion * survived as f64;
            voters += survived;
            visit(
                survived,
                score,
                if voters > 0 { total / voters as f64 } else { 0.0 },
            );
        };
        count(self.start_survived, score);
        for member in &self.members {
            match &member.step {
                MemberStep::Add { row, scale } => score += scale * (scratch.dots[*row as usize] + lift),
                MemberStep::Set(hyperplane) => score = hyperplane.score(x),
            }
            count(member.survived, score);
        }
    }

    /// Refuses a committee whose parts do not fit each other, as a damaged file may hold.
    pub fn check(&self, features: usize) -> Result<()> {
        let rows = &self.rows;
        let starts_fit = rows.starts.first() == Some(&0)
            && rows.starts.is_sorted()
            && rows.starts.last() == Some(&rows.indices.len())
            && rows.indices.len() == rows.values.len();
        let rows_fit = starts_fit && rows.indices.iter().all(|&j| (j as usize) < features);
        let members_fit = self.members.iter().all(|member| match &member.step {
            MemberStep::Add { row, .. } => starts_fit && (*row as usize) < rows.len(),
            MemberStep::Set(hyperplane) => hyperplane.weights.len() <= features,
        });
        if rows_fit && members_fit && self.start.weights.len() <= features {
            Ok(())
        } else {
            Err(Error::model("the committee's parts do not fit each other"))
        }
    }
}

/// Lets every hyperplane of a learner vote.
#[derive(Debug, Clone)]
pub struct Voting<L> {
    /// The learner whose hyperplanes vote.
    pub learner: L,
    voters: Voters,
    committee: Committee,
    kept: FxHashMap<u64, u32>,
}

impl<L: Learner> Voting<L> {
    /// Records the hyperplanes of this learner from now on.
    pub fn new(learner: L, voters: Voters, ties: Ties, intercept: bool) -> Self {
        Voting {
            committee: Committee {
                start: learner.hyperplane().clone(),
                start_survived: 0,
                intercept,
                ties,
                members: Vec::new(),
                rows: KeptRows {
                    starts: vec![0],
                    indices: Vec::new(),
                    values: Vec::new(),
                },
            },
            learner,
            voters,
            kept: FxHashMap::default(),
        }
    }

    /// The committee of all hyperplanes so far. The last one has been the current one for the example
    /// that is still to come.
    pub fn into_committee(self) -> Committee {
        let mut committee = self.committee;
        *last_survived(&mut committee) += 1;
        if self.voters == Voters::LastHalf {
            let total = committee.start_survived
                + committee
                    .members
                    .iter()
                    .map(|member| member.survived)
                    .sum::<u64>();
            let mut silent = total / 2;
            let all = std::iter::once(&mut committee.start_survived)
                .chain(committee.members.iter_mut().map(|member| &mut member.survived));
            for survived in all {
                let taken = silent.min(*survived);
                *survived -= taken;
                silent -= taken;
            }
        }
        committee
    }
}

fn last_survived(committee: &mut Committee) -> &mut u64 {
    match committee.members.last_mut() {
        Some(member) => &mut member.survived,
        None => &mut committee.start_survived,
    }
}

impl<L: Learner> Learner for Voting<L> {
    fn see(&mut self, id: u64, x: Row<'_>, y: f64, weight: f64) -> Seen {
        *last_survived(&mut self.committee) += 1;
        let seen = self.learner.see(id, x, y, weight);
        let step = match seen.change {
            Change::None => return seen,
            Change::Add(scale) => {
                let rows = &mut self.committee.rows;
                let row = *self.kept.entry(id).or_insert_with(|| {
                    rows.push(x);
                    (rows.len() - 1) as u32
                });
                MemberStep::Add { row, scale }
            }
            Change::Replace => {
                self.learner.settle();
                MemberStep::Set(self.learner.hyperplane().clone())
            }
        };
        self.committee.members.push(Member { step, survived: 0 });
        seen
    }

    fn hyperplane(&self) -> &Hyperplane {
        self.learner.hyperplane()
    }

    fn settle(&mut self) {
        self.learner.settle();
    }

    fn end_pass(&mut self) {
        self.learner.end_pass();
    }

    fn interval(&self) -> Option<(f64, f64)> {
        self.learner.interval()
    }
}
