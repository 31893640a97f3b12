//! Deliberate mistakes, for tests only. Each makes at least one test fail: this shows that the tests can fail. Outside of
//! tests [`is`] is the constant `false`.

/// A deliberate mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code)] // Only tests choose one.
pub(crate) enum Mutant {
    /// The unit roundoff of all a-priori bounds is 10⁻⁴⁰.
    TinyRoundoff,
    /// The defects of the rows are left out.
    NoRowDefects,
    /// The defects of the columns are left out.
    NoColumnDefects,
    /// The moves onto the equality constraints are not counted in the rows.
    NoMoves,
    /// The moves onto the equality constraints are not counted in the columns.
    NoMovesOfColumns,
    /// Half of the bound on the defect of a row.
    HalfRowDefect,
    /// The smaller end of an interval is taken for the larger one.
    FlippedMaximum,
    /// Multipliers outside of the range of their slopes are accepted.
    NoRange,
    /// Pure ℓ1: multipliers that violate |Xᵀα| ≤ l1 are not scaled.
    NoShrinking,
    /// Not a mistake: R is a poor inverse factor, which must be noticed.
    PoorFactor,
    /// R is a poor inverse factor, and ε is 0.
    ExactInverse,
    /// Digits: the error of the gradient is left out.
    ExactGradient,
    /// Digits: the change of the curvature within the ball is left out.
    ConstantCurvature,
    /// Mistake bound: the column of ones is left out of the radius.
    NoLift,
    /// Mistake bound: the slack is left out.
    NoSlack,
    /// Separation: the distance of two hulls is not halved.
    WholeDistance,
    /// Enclosing ball: ‖Σλ(x − c)‖² is left out.
    NoOffset,
    /// Maximum likelihood: the difference between the stored mean and the mean is left out of covariances.
    NoShift,
    /// Stationarity: the leverages of Firth's correction are left out.
    NoLeverages,
    /// Active set: the strictness of the inequalities is not checked.
    NoStrictness,
    /// Exact geometry: a linear dependence need not be the only one.
    NotUnique,
    /// Exact geometry: the sums of multipliers of the two classes are not balanced.
    NotMeans,
    /// Separability: rows on the hyperplane count as strictly on their side.
    NotStrict,
    /// Separability: multipliers of any sign are accepted.
    AnySign,
    /// Separability: the rank is not checked.
    NoRank,
    /// Separability: null vectors need not be independent.
    Dependent,
    /// Separability: null vectors need not be orthogonal to the rows.
    NotOrthogonal,
    /// Largest margin: the gap has the other sign.
    FlippedGap,
    /// Least error: rounded predictions are those of real numbers.
    NoPredictions,
    /// Least error: the points that are right are forgotten.
    NothingRight,
    /// Least error: a circuit is used where one of its points is wrong already.
    WrongTwice,
    /// Least error: circuits of a leaf share the costs of their points.
    SharedCosts,
    /// Least error: a split may leave out a case.
    MissingCase,
    /// Least error: a circuit needs no positive point.
    NoPositive,
    /// Least error: the points of a hyperplane are not separated by a turn.
    NoTurn,
}

#[cfg(test)]
thread_local! {
    static MISTAKE: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Whether this mistake is made.
#[cfg(test)]
pub(crate) fn is(mutant: Mutant) -> bool {
    MISTAKE.get() == Some(mutant)
}

/// Whether this mistake is made: never, outside of tests.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn is(_: Mutant) -> bool {
    false
}

/// Runs a test with a mistake.
#[cfg(test)]
pub(crate) fn with<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            MISTAKE.set(None);
        }
    }
    let _reset = Reset;
    MISTAKE.set(Some(mutant));
    run()
}
