//! The worst-classified rule: every step scores the whole set and updates on the example with the smallest `y·score`.

use rayon::prelude::*;

use crate::online::{Change, Learner, PassLimits, Passes, Run, label};
use wstar_data::Dataset;
use wstar_data::run::{BudgetClock, Status, Step, Watch};

/// Runs each learner of a team by the worst-classified rule, one learner after the other.
pub fn run_worst<L: Learner + Sync>(
    team: &mut [L],
    data: &Dataset,
    codes: &[u32],
    plan: &PassLimits,
    watch: &mut dyn Watch,
) -> Run {
    let spending = BudgetClock::start(plan.budget);
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
            let seen = learner.see(i as u64, data.design().row(i), y, data.weight(i));
            learner.end_pass();
            let mut step = Step::new(steps, i as u64, learner.hyperplane());
            (step.discriminant, step.discriminants) = (k, discriminants);
            (step.score, step.mistake) = (seen.score, seen.change != Change::None);
            step.interval = learner.interval();
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
        // The limit on passes applies to each learner separately; time and updates are shared.
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

/// The row with the smallest `y·score`. Ties go to the first row that is a mistake, or else to the first row. `None`
/// if no row has positive weight.
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
        // Splitting fewer rows across threads would cost more than scoring them. Heuristic: not measured yet.
        .with_min_len(1024)
        .filter(|&i| data.weight(i) > 0.0)
        .map(|i| {
            let y = label(codes[i], discriminant, discriminants);
            let score = hyperplane.score(data.design().row(i));
            // Adding 0 turns −0 into 0, so that `total_cmp` treats the two as equal.
            (y * score + 0.0, !learner.errs(score, y), i)
        })
        .min_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))))
        .map(|(.., i)| i)
}
