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

/// How many points are scored together, so that one reading of the kept rows serves all of them.
const POINTS: usize = 8;
/// Points with more features than this come one by one: a block of them would fill the memory.
const WIDEST_BLOCK: usize = 1 << 17;

/// Room for scoring one block of points after the other.
#[derive(Debug, Default)]
struct Scratch<const N: usize> {
    /// The points, feature by feature.
    points: Vec<[f64; N]>,
    /// Their dot products with the kept rows, row by row.
    dots: Vec<[f64; N]>,
}

/// Votes on a block of points as they are counted.
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
        // Only a forged file has so many.
        self.voters = self.voters.saturating_add(voters);
    }

    /// From −1 (all against) to 1 (all in favour); 0 if nobody has voted.
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
        if design.features() <= WIDEST_BLOCK {
            by_blocks(design, |scratch, rows| self.count::<POINTS>(rows, scratch))
        } else {
            by_blocks(design, |scratch, rows| self.count::<1>(rows, scratch))
        }
    }

    /// The vote on one row.
    pub fn vote(&self, x: Row<'_>) -> f64 {
        self.count::<1>(&[x], &mut Scratch::default())[0]
    }

    /// How the score of the newest hyperplane and the vote went with time: for every row of a design,
    /// their values after each of the given numbers of examples (increasing).
    pub fn histories(&self, design: &Design, after: &[u64]) -> Vec<Vec<(f64, f64)>> {
        if design.features() <= WIDEST_BLOCK {
            by_blocks(design, |scratch, rows| self.trace::<POINTS>(rows, after, scratch))
        } else {
            by_blocks(design, |scratch, rows| self.trace::<1>(rows, after, scratch))
        }
    }

    /// The same for one row.
    pub fn history(&self, x: Row<'_>, after: &[u64]) -> Vec<(f64, f64)> {
        let [history] = self.trace::<1>(&[x], after, &mut Scratch::default());
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

    fn trace<const N: usize>(
        &self,
        rows: &[Row<'_>],
        after: &[u64],
        scratch: &mut Scratch<N>,
    ) -> [Vec<(f64, f64)>; N] {
        let mut traces = [const { Vec::new() }; N];
        let mut votes = Votes {
            totals: [0.0; N],
            voters: 0,
        };
        let mut moments = after.iter().peekable();
        self.walk(rows, scratch, |survived, scores| {
            let opinions = self.opinions(scores);
            while let Some(&moment) = moments.next_if(|&&moment| moment < votes.voters + survived) {
                let mut by_then = votes;
                by_then.count(moment + 1 - votes.voters, &opinions);
                for ((trace, &score), vote) in traces.iter_mut().zip(scores).zip(by_then.means()) {
                    trace.push((score, vote));
                }
            }
            votes.count(survived, &opinions);
        });
        traces
    }

    fn opinions<const N: usize>(&self, scores: &[f64; N]) -> [f64; N] {
        scores.map(|score| if self.ties.is_positive(score) { 1.0 } else { -1.0 })
    }

    /// Walks up to `N` points through the hyperplanes, in the order in which they came: for how many
    /// examples each was the current one, and its scores.
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

    /// Computes the dot products of up to `N` points with all kept rows.
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

/// Judges the rows of a design in blocks of `N`.
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
        // A start at 0 takes no room, and is the same whether or not the features were counted before.
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
