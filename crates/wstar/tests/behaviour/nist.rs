//! Linear regressions with certified values, from NIST's Statistical Reference Datasets.
#![allow(clippy::unwrap_used, clippy::excessive_precision, clippy::print_stdout)]

use std::borrow::Cow;

use crate::common::solve_in_memory;
use wstar::data::Design;
use wstar::data::linear::Layout;
use wstar::data::run::Status;
use wstar::inference::{self, Inference};
use wstar::problem::loss::LossName;
use wstar::problem::objective::{Rows, Weights};
use wstar::problem::penalty::Penalty;
use wstar::problem::problem::{Intercept, Problem};
use wstar::solve::{ClosedForm, Qr, Solver, Svd};

/// A data set with its certified values; the coefficient of the intercept comes first, then those of the columns.
struct Certified {
    name: &'static str,
    design: Vec<Vec<f64>>,
    targets: Vec<f64>,
    intercept: bool,
    coefficients: Vec<f64>,
    errors: Vec<f64>,
    deviation: f64,
    r_squared: f64,
}

/// −log₁₀ of the relative error, or of the absolute error if the certified value is 0; at most 15.
fn digits(found: f64, certified: f64) -> f64 {
    let error = if certified == 0.0 {
        found.abs()
    } else {
        ((found - certified) / certified).abs()
    };
    if error == 0.0 {
        15.0
    } else {
        (-error.log10()).min(15.0)
    }
}

fn powers(x: f64, degree: i32) -> Vec<f64> {
    let mut power = 1.0;
    (0..degree)
        .map(|_| {
            power *= x;
            power
        })
        .collect()
}

fn read(name: &'static str, degree: i32) -> Option<Certified> {
    let folder = crate::common::real_data("nist")?;
    let text = std::fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    let design = rows.iter().map(|row| match degree {
        0 => row[1..].to_vec(),
        _ => powers(row[1], degree),
    });
    let json = std::fs::read_to_string(folder.join("certified.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let numbers = |key: &str| -> Vec<f64> {
        let list = json[name][key].as_array().unwrap().iter();
        list.map(|v| v.as_str().unwrap().parse().unwrap()).collect()
    };
    let number = |key: &str| json[name][key].as_str().unwrap().parse().unwrap();
    Some(Certified {
        name,
        design: design.collect(),
        targets: rows.iter().map(|row| row[0]).collect(),
        intercept: json[name]["intercept"].as_bool().unwrap(),
        coefficients: numbers("beta"),
        errors: numbers("se"),
        deviation: number("resid_sd"),
        r_squared: number("r_squared"),
    })
}

/// The smallest number of correct digits of coefficients and of standard errors. The other results must be no worse.
fn reached(set: &Certified, solver: &dyn Solver) -> (f64, f64) {
    let found = fit(set, solver);
    let reached = digits_of(set, solver);
    let least = reached.1.min(13.0);
    let deviation = found.residual_deviation().unwrap();
    assert!(
        digits(deviation, set.deviation) >= least,
        "{}: {deviation}",
        set.name
    );
    let r_squared = found.r_squared().unwrap();
    assert!(
        digits(r_squared, set.r_squared) >= least,
        "{}: {r_squared}",
        set.name
    );
    reached
}

/// The smallest number of correct digits of coefficients and of standard errors.
fn digits_of(set: &Certified, solver: &dyn Solver) -> (f64, f64) {
    // Certified values begin with the intercept, fitted coefficients end with it.
    let mut coefficients = fit(set, solver).coefficients().to_vec();
    coefficients.rotate_right(usize::from(set.intercept));
    let worst = |found: Vec<f64>, certified: &[f64]| {
        assert_eq!(found.len(), certified.len());
        let each = found.iter().zip(certified).map(|(&a, &b)| digits(a, b));
        each.fold(15.0, f64::min)
    };
    let estimates = coefficients.iter().map(|c| c.estimate()).collect();
    let errors = coefficients.iter().map(|c| c.standard_error()).collect();
    (worst(estimates, &set.coefficients), worst(errors, &set.errors))
}

fn fit(set: &Certified, solver: &dyn Solver) -> Inference {
    let design = Design::from_rows(&set.design).unwrap();
    let rows = Rows {
        design: &design,
        targets: Cow::Borrowed(&set.targets),
        weights: Weights::Same(1.0),
    };
    let layout = Layout {
        outputs: 1,
        features: design.features(),
        intercept: set.intercept,
    };
    let intercept = if set.intercept {
        Intercept::Free
    } else {
        Intercept::Absent
    };
    let problem = Problem::new(LossName::Squared, Penalty::NONE, intercept, layout).unwrap();
    let solution = solve_in_memory(problem, &rows, solver, 1e-12);
    assert_eq!(solution.status, Status::Converged, "{}", set.name);
    inference::least_squares(&rows, layout, &solution.parameters, 0.95).unwrap()
}

#[track_caller]
fn expect(set: &Certified, solver: &dyn Solver, least: f64) {
    let (coefficients, errors) = reached(set, solver);
    let name = solver.name().name();
    println!("{} by {name}: {coefficients:.1} and {errors:.1} digits", set.name);
    assert!(
        coefficients >= least && errors >= least,
        "{} by {name}: {coefficients:.1} and {errors:.1} digits",
        set.name
    );
}

#[test]
fn the_default_reaches_the_certified_digits() {
    for (name, degree, least) in [
        ("norris", 1, 13.0),
        ("pontius", 2, 12.0),
        ("noint1", 1, 13.0),
        ("longley", 0, 13.0),
        ("wampler1", 5, 13.0),
        ("wampler2", 5, 13.0),
        ("wampler3", 5, 13.0),
    ] {
        let Some(set) = read(name, degree) else { return };
        expect(&set, &Qr, least);
        expect(&set, &Svd, least);
        if degree == 1 {
            expect(&set, &ClosedForm, least);
        }
    }
}

#[test]
fn wampler4_and_wampler5_have_larger_residuals() {
    let Some(third) = read("wampler3", 5) else { return };
    for (name, factor, r_squared) in [
        ("wampler4", 100.0, 0.957478440825662),
        ("wampler5", 10_000.0, 0.224668921574940E-02),
    ] {
        // The same polynomial with the residuals of Wampler3 multiplied by the factor.
        let targets = third.design.iter().zip(&third.targets).map(|(row, y)| {
            let value = 1.0 + row.iter().sum::<f64>();
            value + factor * (y - value)
        });
        let set = Certified {
            name,
            design: third.design.clone(),
            targets: targets.collect(),
            intercept: true,
            coefficients: vec![1.0; 6],
            errors: third.errors.iter().map(|e| e * factor).collect(),
            deviation: third.deviation * factor,
            // Published with 15 digits only.
            r_squared,
        };
        let (coefficients, errors) = reached(&set, &Qr);
        println!("{name}: {coefficients:.1} and {errors:.1} digits");
        assert!(
            coefficients >= 13.0 && errors >= 13.0,
            "{name}: {coefficients} {errors}"
        );
    }
}

#[test]
fn noint2_has_three_points_and_no_intercept() {
    let set = Certified {
        name: "noint2",
        design: vec![vec![4.0], vec![5.0], vec![6.0]],
        targets: vec![3.0, 4.0, 4.0],
        intercept: false,
        // By hand: 56/77, and √(3/22/77/…) from RSS = 41 − 56²/77 = 3/11 and s² = 3/22.
        coefficients: vec![8.0 / 11.0],
        errors: vec![(3.0f64 / 22.0 / 77.0).sqrt()],
        deviation: (3.0f64 / 22.0).sqrt(),
        r_squared: 1.0 - 3.0 / 11.0 / 41.0,
    };
    expect(&set, &Qr, 14.0);
    expect(&set, &ClosedForm, 14.0);
}

/// The data of Filippelli's polynomial of degree 10: y, x.
const FILIP: &[(f64, f64)] = &[
    (0.8116, -6.860120914),
    (0.9072, -4.324130045),
    (0.9052, -4.358625055),
    (0.9039, -4.358426747),
    (0.8053, -6.955852379),
    (0.8377, -6.661145254),
    (0.8667, -6.355462942),
    (0.8809, -6.118102026),
    (0.7975, -7.115148017),
    (0.8162, -6.815308569),
    (0.8515, -6.519993057),
    (0.8766, -6.204119983),
    (0.8885, -5.853871964),
    (0.8859, -6.109523091),
    (0.8959, -5.79832982),
    (0.8913, -5.482672118),
    (0.8959, -5.171791386),
    (0.8971, -4.851705903),
    (0.9021, -4.517126416),
    (0.909, -4.143573228),
    (0.9139, -3.709075441),
    (0.9199, -3.499489089),
    (0.8692, -6.300769497),
    (0.8872, -5.953504836),
    (0.89, -5.642065153),
    (0.891, -5.031376979),
    (0.8977, -4.680685696),
    (0.9035, -4.329846955),
    (0.9078, -3.928486195),
    (0.7675, -8.56735134),
    (0.7705, -8.363211311),
    (0.7713, -8.107682739),
    (0.7736, -7.823908741),
    (0.7775, -7.522878745),
    (0.7841, -7.218819279),
    (0.7971, -6.920818754),
    (0.8329, -6.628932138),
    (0.8641, -6.323946875),
    (0.8804, -5.991399828),
    (0.7668, -8.781464495),
    (0.7633, -8.663140179),
    (0.7678, -8.473531488),
    (0.7697, -8.247337057),
    (0.77, -7.971428747),
    (0.7749, -7.676129393),
    (0.7796, -7.352812702),
    (0.7897, -7.072065318),
    (0.8131, -6.774174009),
    (0.8498, -6.478861916),
    (0.8741, -6.159517513),
    (0.8061, -6.835647144),
    (0.846, -6.53165267),
    (0.8751, -6.224098421),
    (0.8856, -5.910094889),
    (0.8919, -5.598599459),
    (0.8934, -5.290645224),
    (0.894, -4.974284616),
    (0.8957, -4.64454848),
    (0.9047, -4.290560426),
    (0.9129, -3.885055584),
    (0.9209, -3.408378962),
    (0.9219, -3.13200249),
    (0.7739, -8.726767166),
    (0.7681, -8.66695597),
    (0.7665, -8.511026475),
    (0.7703, -8.165388579),
    (0.7702, -7.886056648),
    (0.7761, -7.588043762),
    (0.7809, -7.283412422),
    (0.7961, -6.995678626),
    (0.8253, -6.691862621),
    (0.8602, -6.392544977),
    (0.8809, -6.067374056),
    (0.8301, -6.684029655),
    (0.8664, -6.378719832),
    (0.8834, -6.065855188),
    (0.8898, -5.752272167),
    (0.8964, -5.132414673),
    (0.8963, -4.811352704),
    (0.9074, -4.098269308),
    (0.9119, -3.66174277),
    (0.9228, -3.2644011),
];

fn filip() -> Certified {
    Certified {
        name: "filip",
        design: FILIP.iter().map(|&(_, x)| powers(x, 10)).collect(),
        targets: FILIP.iter().map(|&(y, _)| y).collect(),
        intercept: true,
        coefficients: vec![
            -1467.48961422980,
            -2772.17959193342,
            -2316.37108160893,
            -1127.97394098372,
            -354.478233703349,
            -75.1242017393757,
            -10.8753180355343,
            -1.06221498588947,
            -0.670191154593408E-01,
            -0.246781078275479E-02,
            -0.402962525080404E-04,
        ],
        errors: vec![
            298.084530995537,
            559.779865474950,
            466.477572127796,
            227.204274477751,
            71.6478660875927,
            15.2897178747400,
            2.23691159816033,
            0.221624321934227,
            0.142363763154724E-01,
            0.535617408889821E-03,
            0.896632837373868E-05,
        ],
        deviation: 0.334801051324544E-02,
        r_squared: 0.996727416185620,
    }
}

/// The same polynomial on the data that a program receives: x and its powers rounded to `f64`. Computed with 80 digits.
fn filip_as_rounded() -> Certified {
    Certified {
        coefficients: vec![
            -1467.4896313887715,
            -2772.1796242619316,
            -2316.3711086093589,
            -1127.9739541497518,
            -354.47823785523083,
            -75.124202624351735,
            -10.875318164699452,
            -1.0622149986404843,
            -0.067019116274456234,
            -0.0024678108132356482,
            -4.0296253014568074e-5,
        ],
        errors: vec![
            298.08453045643306,
            559.77986445819664,
            466.4775712737701,
            227.2042740568501,
            71.647865952748432,
            15.289717845386996,
            2.23691159376235,
            0.22162432148628003,
            0.014236376285786288,
            0.00053561740773385706,
            8.9663283536543461e-6,
        ],
        deviation: 0.0033480105018462085,
        r_squared: 0.99672741620790499,
        ..filip()
    }
}

#[test]
fn filip_is_not_taken_for_rank_deficient() {
    for solver in [&Qr as &dyn Solver, &Svd] {
        let (coefficients, errors) = reached(&filip_as_rounded(), solver);
        println!("filip as rounded: {coefficients:.1} and {errors:.1} digits");
        assert!(
            coefficients >= 13.0 && errors >= 12.0,
            "{coefficients:.1} and {errors:.1} digits"
        );
    }
    // Rounding the powers changes the exact solution, so no method reaches more of the certified digits.
    let (coefficients, errors) = digits_of(&filip(), &Qr);
    assert!(
        coefficients > 7.0 && errors > 8.0,
        "{coefficients:.1} and {errors:.1} digits"
    );
}
