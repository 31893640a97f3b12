//! Online-to-batch conversion: every hyperplane of an online learner votes, weighted by the number of examples
//! for which it was the current one. With a perceptron this is the voted perceptron (Y. Freund and R. E.
//! Schapire, Large margin classification using the perceptron algorithm, Machine Learning 37, 1999).
//!
//! Consecutive hyperplanes differ by one example, so they are stored as the examples that were added. A committee
//! of thousands takes no more memory than the misclassified rows, and scoring a point takes one dot product with
//! each of those rows.

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::online::{Change, Learner, Seen, Ties};
use wstar_data::error::{Error, Result};
use wstar_data::linear::Hyperplane;
use wstar_data::{Design, Row};
use wstar_numeric::sparse;

/// Which hyperplanes vote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Voters {
    /// All hyperplanes.
    #[default]
    All,
    /// The hyperplanes of the second half of the run.
    LastHalf,
}

/// A hyperplane of the committee, relative to the previous one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// How it differs from the previous hyperplane.
    pub(crate) step: MemberStep,
    /// The number of examples for which it was the current hyperplane.
    pub(crate) survived: u64,
}

/// How a hyperplane differs from the previous one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MemberStep {
    /// A multiple of an example was added.
    Add {
        /// The index of the stored row.
        row: u32,
        /// The multiple.
        scale: f64,
    },
    /// The hyperplane was replaced.
    Set(Hyperplane),
}

/// All hyperplanes of a run, with their numbers of votes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Committee {
    start: Hyperplane,
    start_survived: u64,
    intercept: bool,
    ties: Ties,
    members: Vec<Member>,
    rows: KeptRows,
}

/// The rows that were added to hyperplanes, in sparse storage whatever the format of the data.
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

/// Points scored together, so that the stored rows are read once per block.
/// Heuristic: trades memory for the block against memory traffic; not measured yet.
const POINTS: usize = 8;
/// Features of a point scored in a block. Cap: points with more features are scored one at a time, which bounds the
/// memory.
const WIDEST_BLOCK: usize = 1 << 17;

/// Buffers that are reused from block to block.
#[derive(Debug, Default)]
struct Scratch<const N: usize> {
    /// The points, feature by feature.
    points: Vec<[f64; N]>,
    /// The dot products of the points with the stored rows, row by row.
    dots: Vec<[f64; N]>,
}

/// The votes on a block of points counted so far.
#[derive(Debug, Clone, Copy)]
struct Votes<const N: usize> {
    totals: [f64; N],
    voters: u64,
}

impl<const N: usize> Votes<N> {
    fn count(&mut self, voters: u64, opinions: &[f64; N]) {
        for (total, opinion) in self.totals.iter_mut().zip(opinions) {
            *total += opinion * voters as f64;
        }
        // The sum saturates only for a forged model file.
        self.voters = self.voters.saturating_add(voters);
    }

    /// The mean votes, from −1 (all against) to 1 (all in favour); 0 if there are no votes.
    fn means(self) -> [f64; N] {
        self.totals.map(|total| {
            if self.voters > 0 {
                total / self.voters as f64
            } else {
                0.0
            }
        })
    }
}

impl Committee {
    /// The number of hyperplanes that vote.
    pub fn len(&self) -> usize {
        usize::from(self.start_survived > 0)
            + self.members.iter().filter(|member| member.survived > 0).count()
    }

    /// Whether no hyperplane votes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of distinct examples in the hyperplanes.
    pub fn kept_rows(&self) -> usize {
        self.rows.len()
    }

    /// The mean vote on every row of a design, from −1 (all against) to 1 (all in favour).
    pub fn votes(&self, design: &Design) -> Vec<f64> {
        if design.features() <= WIDEST_BLOCK {
            by_blocks(design, |scratch, rows| self.count::<POINTS>(rows, scratch))
        } else {
            by_blocks(design, |scratch, rows| self.count::<1>(rows, scratch))
        }
    }

    /// The mean vote on one row.
    pub fn vote(&self, x: Row<'_>) -> f64 {
        self.count::<1>(&[x], &mut Scratch::default())[0]
    }

    /// The score of the newest hyperplane on one row and the mean vote after each of the given numbers of examples
    /// (increasing).
    pub fn history(&self, x: Row<'_>, after: &[u64]) -> Vec<(f64, f64)> {
        let mut history = Vec::with_capacity(after.len());
        let mut votes = Votes {
            totals: [0.0],
            voters: 0,
        };
        let mut moments = after.iter().peekable();
        self.walk::<1>(&[x], &mut Scratch::default(), |survived, scores| {
            let opinions = self.opinions(scores);
            while let Some(&moment) = moments.next_if(|&&moment| moment < votes.voters + survived) {
                let mut by_then = votes;
                by_then.count(moment + 1 - votes.voters, &opinions);
                let ([score], [vote]) = (*scores, by_then.means());
                history.push((score, vote));
            }
            votes.count(survived, &opinions);
        });
        history
    }

    fn count<const N: usize>(&self, rows: &[Row<'_>], scratch: &mut Scratch<N>) -> [f64; N] {
        let mut votes = Votes {
            totals: [0.0; N],
            voters: 0,
        };
        self.walk(rows, scratch, |survived, scores| {
            votes.count(survived, &self.opinions(scores));
        });
        votes.means()
    }

    fn opinions<const N: usize>(&self, scores: &[f64; N]) -> [f64; N] {
        scores.map(|score| if self.ties.is_positive(score) { 1.0 } else { -1.0 })
    }

    /// Visits the hyperplanes in the order of the run, with the number of examples for which each was the current
    /// one and its scores on up to `N` points.
    fn walk<const N: usize>(
        &self,
        rows: &[Row<'_>],
        scratch: &mut Scratch<N>,
        mut visit: impl FnMut(u64, &[f64; N]),
    ) {
        self.meet(rows, scratch);
        let all = |hyperplane: &Hyperplane| {
            let mut scores = [0.0; N];
            for (score, &x) in scores.iter_mut().zip(rows) {
                *score = hyperplane.score(x);
            }
            scores
        };
        let lift = if self.intercept { 1.0 } else { 0.0 };
        let mut scores = all(&self.start);
        visit(self.start_survived, &scores);
        for member in &self.members {
            match &member.step {
                MemberStep::Add { row, scale } => {
                    for (score, dot) in scores.iter_mut().zip(&scratch.dots[*row as usize]) {
                        *score += scale * (dot + lift);
                    }
                }
                MemberStep::Set(hyperplane) => scores = all(hyperplane),
            }
            visit(member.survived, &scores);
        }
    }

    /// Computes the dot products of up to `N` points with all stored rows.
    fn meet<const N: usize>(&self, rows: &[Row<'_>], scratch: &mut Scratch<N>) {
        let Scratch { points, dots } = scratch;
        let width = rows.iter().map(|x| x.width()).max().unwrap_or_default();
        if points.len() < width {
            points.resize(width, [0.0; N]);
        }
        for (lane, x) in rows.iter().enumerate() {
            x.for_each(|j, value| points[j][lane] = value);
        }
        dots.clear();
        dots.extend((0..self.rows.len()).map(|kept| {
            let (indices, values) = self.rows.row(kept);
            sparse::dot_each(indices, values, points)
        }));
        for (lane, x) in rows.iter().enumerate() {
            x.for_each(|j, _| points[j][lane] = 0.0);
        }
    }

    /// Rejects a committee whose fields are inconsistent, which a damaged file may contain.
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
            Err(Error::model("the committee is inconsistent"))
        }
    }
}

/// Applies `judge` to the rows of a design in blocks of `N`.
fn by_blocks<T: Send, const N: usize>(
    design: &Design,
    judge: impl Fn(&mut Scratch<N>, &[Row<'_>]) -> [T; N] + Sync,
) -> Vec<T> {
    (0..design.rows().div_ceil(N))
        .into_par_iter()
        .map_init(Scratch::default, |scratch, block| {
            let rows: Vec<Row<'_>> = (block * N..design.rows().min((block + 1) * N))
                .map(|i| design.row(i))
                .collect();
            judge(scratch, &rows).into_iter().take(rows.len())
        })
        .flatten_iter()
        .collect()
}

/// A learner whose hyperplanes are recorded as a committee.
#[derive(Debug, Clone)]
pub struct Voting<L> {
    /// The learner whose hyperplanes vote.
    pub(crate) learner: L,
    voters: Voters,
    committee: Committee,
    kept: FxHashMap<u64, u32>,
}

impl<L: Learner> Voting<L> {
    /// Records the hyperplanes of this learner, starting with the current one.
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

    /// The committee of all hyperplanes so far. The last hyperplane gets one more vote, for the next example.
    pub fn into_committee(self) -> Committee {
        let mut committee = self.committee;
        // Trailing zeros are removed, so that a start at 0 takes no space and does not depend on whether the number of
        // features was known.
        let used = committee
            .start
            .weights
            .iter()
            .rposition(|&w| w != 0.0)
            .map_or(0, |last| last + 1);
        committee.start.weights.truncate(used);
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

    fn errs(&self, score: f64, y: f64) -> bool {
        self.learner.errs(score, y)
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
