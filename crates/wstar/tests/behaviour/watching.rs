//! What a `Watch` receives at each step of a run, compared with steps computed here.

use std::ops::ControlFlow;

use wstar::data::Dataset;
use wstar::data::run::{Status, Step, Stride, Watch};
use wstar::fit;
use wstar::settings::{Method, Options};
use wstar::solve::SolverName;
use wstar::solve::learning_rate::Schedule;

/// Records what it receives, and stops after `most` strides.
struct Keeper {
    most: usize,
    strides: Vec<(u64, f64, Vec<f64>)>,
    uppers: Vec<Option<f64>>,
}

impl Keeper {
    fn new(most: usize) -> Self {
        Keeper {
            most,
            strides: Vec::new(),
            uppers: Vec::new(),
        }
    }
}

impl Watch for Keeper {
    fn wants_steps(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        self.uppers.push(step.interval.map(|(_, upper)| upper));
        ControlFlow::Continue(())
    }

    fn stride(&mut self, stride: &Stride<'_>) -> ControlFlow<()> {
        self.strides
            .push((stride.step, stride.rate, stride.parameters.to_vec()));
        match self.strides.len() < self.most {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

fn stochastic() -> Options {
    Options {
        solver: Some(SolverName::Sgd),
        learning_rate: Some(0.25),
        schedule: Some(Schedule::Halving { first: 2 }),
        epochs: Some(5.0),
        ..Options::of(Method::LeastSquares)
    }
}

#[test]
fn every_batch_of_a_stochastic_descent_is_reported() {
    let (x, y) = ([1.0, -2.0, 0.5], [2.0, 1.0, -1.0]);
    let data = Dataset::measured(&x.map(|x| vec![x]), y.to_vec()).unwrap();
    let mut keeper = Keeper::new(usize::MAX);
    fit(&data, &stochastic(), &mut keeper).unwrap();
    assert_eq!(keeper.strides.len(), 15, "five epochs of three rows");
    let (mut w, mut b) = (0.0, 0.0);
    let mut seen = Vec::new();
    for (at, (step, rate, point)) in keeper.strides.iter().enumerate() {
        assert_eq!(*step, at as u64 + 1);
        // Two steps at the full rate, four at half of it, eight at a quarter, one at an eighth.
        let expected = [0.25, 0.25, 0.125, 0.125, 0.125, 0.125].get(at);
        let later = if at < 14 { 0.0625 } else { 0.03125 };
        assert_eq!(*rate, *expected.unwrap_or(&later));
        // One of the three rows gives this step: θ − a·(z − y)·(x, 1).
        let row = (0..3).find(|&i| {
            let slope = w * x[i] + b - y[i];
            (w - rate * slope * x[i] - point[0]).abs() < 1e-12 && (b - rate * slope - point[1]).abs() < 1e-12
        });
        seen.push(row.expect("no row explains this step"));
        (w, b) = (point[0], point[1]);
    }
    for epoch in seen.chunks_mut(3) {
        epoch.sort_unstable();
        assert_eq!(epoch, [0, 1, 2], "each row once an epoch");
    }
}

#[test]
fn a_descent_can_be_stopped_between_two_batches() {
    let data = Dataset::measured(&[vec![1.0], vec![2.0]], vec![1.0, 3.0]).unwrap();
    let mut keeper = Keeper::new(3);
    let model = fit(&data, &stochastic(), &mut keeper).unwrap();
    assert_eq!(keeper.strides.len(), 3);
    assert_eq!(model.record().status, Status::Stopped);
}

#[test]
fn the_margin_that_kozinec_allows_only_shrinks() {
    let rows = [[0.0, 0.0], [1.0, 0.5], [4.0, 1.0], [3.0, 3.0]].map(Vec::from);
    let data = Dataset::labelled(&rows, &["a", "a", "b", "b"]).unwrap();
    let mut keeper = Keeper::new(usize::MAX);
    fit(&data, &Options::of(Method::Kozinec), &mut keeper).unwrap();
    // The rows come in order, so the first two steps have no distance: a hull is still empty until the third row.
    let (before, after) = keeper.uppers.split_at(2);
    assert_eq!(before, [None, None]);
    let known: Vec<f64> = after.iter().map(|upper| upper.unwrap()).collect();
    assert!(known.len() > 2);
    assert!(known.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)));
    // The shortest segment between the hulls joins (1, 0.5) and (3.6, 1.8); its squared length is 8.45.
    let squared = (known[known.len() - 1] * 2.0).powi(2);
    assert!((8.45 - 1e-9..8.65).contains(&squared), "{squared}");
}
