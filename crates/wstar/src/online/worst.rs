//! The worst-classified rule: every step scores the whole set and learns from the example with the least `y·score`.

use rayon::prelude::*;

use crate::data::Dataset;
use crate::online::{Change, Learner, Passes, Plan, Run, label};
use crate::watch::{Spending, Status, Step, Watch};

/// Runs each learner of a team by the worst-classified rule, one after the other.
pub fn run_worst<L: Learner + Sync>(
    team: &mut [L],
    data: &Dataset,
    codes: &[u32],
    plan: &Plan,
    watch: &mut dyn Watch,
) -> Run {
    let spending = Spending::start(plan.budget);
    let mut run = Run::new(team.len());
    run.status = Status::Converged;
    let most_scans = match plan.passes {
        Passes::UntilClean { at_most } => at_most,
        Passes::Exactly(passes) => passes.ceil() as u64,
    };
    let discriminants = team.len();
    let watched = watch.wants_steps();
    let rows = (0..codes.len()).filter(|&i| data.weight(i) > 0.0).count() as u64;
    let mut steps = 0;
    for (k, learner) in team.iter_mut().enumerate() {
        let mut status = Status::IterationLimit;
        for _ in 0..most_scans {
            let Some(i) = worst(learner, data, codes, k, discriminants) else {
                status = Status::Converged;
                break;
            };
            steps += 1;
            run.passes += 1;
            run.seen += rows;
            let y = label(codes[i], k, discriminants);
            let seen = learner.see(i as u64, data.design.row(i), y, data.weight(i));
            learner.end_pass();
            let step = Step {
                step: steps,
                row: i as u64,
                discriminant: k,
                discriminants,
                score: seen.score,
                mistake: seen.change != Change::None,
                hyperplane: learner.hyperplane(),
                interval: learner.interval(),
            };
            let stopped = watched && watch.step(&step).is_break();
            if seen.change == Change::None {
                status = Status::Converged;
                break;
            }
            run.updates[k] += 1;
            run.mistakes += u64::from(seen.wrong);
            let ended_by = (stopped || watch.progress(&run.progress(learner.interval())).is_break())
                .then_some(Status::Stopped)
                .or(spending.used_up(run.updates.iter().sum()));
            if let Some(ended_by) = ended_by {
                status = ended_by;
                break;
            }
        }
        if status != Status::Converged {
            run.status = status;
        }
        // The passes are counted for each learner anew; time and updates are shared.
        let over = (status == Status::Stopped)
            .then_some(status)
            .or_else(|| spending.used_up(run.updates.iter().sum()));
        if let Some(over) = over
            && k + 1 < discriminants
        {
            run.status = over;
            break;
        }
    }
    run
}

/// The row with the least `y·score`; on ties the first one that is a mistake, else the first one. `None`
/// if no row counts.
fn worst<L: Learner + Sync>(
    learner: &L,
    data: &Dataset,
    codes: &[u32],
    discriminant: usize,
    discriminants: usize,
) -> Option<usize> {
    let hyperplane = learner.hyperplane();
    (0..codes.len())
        .into_par_iter()
        // Sharing out a few rows would cost more than scoring them.
        .with_min_len(1024)
        .filter(|&i| data.weight(i) > 0.0)
        .map(|i| {
            let y = label(codes[i], discriminant, discriminants);
            let score = hyperplane.score(data.design.row(i));
            // Adding 0 turns −0 into 0, so that ties are ties.
            (y * score + 0.0, !learner.errs(score, y), i)
        })
        .min_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))))
        .map(|(.., i)| i)
}
