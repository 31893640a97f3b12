//! Scales that bring columns to about the same size.

use crate::fixed_order::{add, pass};
use wstar_data::Row;
use wstar_data::linear::Layout;
use wstar_problem::objective::Rows;

/// Rows from which the scale of dense columns is estimated. Heuristic: trades the cost of a full pass against
/// an exact norm; a power of two needs no exact norm; not measured yet.
const SCALE_ROWS: usize = 4096;

/// Powers of two near 1/√(mean square of a column's nonzeros). For dense rows the mean is taken over a
/// subset, since a power of two needs no exact mean.
pub(crate) fn column_scales(rows: &Rows<'_>, layout: Layout) -> Vec<f64> {
    let step = match rows.design.is_sparse() {
        true => 1,
        false => (rows.len() / SCALE_ROWS).max(1),
    };
    let (mut squares, mut counts) = column_squares(rows, layout, step);
    if step > 1 && squares[..layout.features].contains(&0.0) {
        // A column that is nearly always 0 may be all 0 in the subset.
        (squares, counts) = column_squares(rows, layout, 1);
    }
    let scale = |square: f64, count: f64| {
        if square > 0.0 && square.is_finite() {
            (-0.5 * (square / count).log2()).round().exp2()
        } else {
            1.0
        }
    };
    squares.iter().zip(&counts).map(|(&s, &c)| scale(s, c)).collect()
}

/// The sum of squares of every column, and its number of nonzeros, over every `step`-th row.
fn column_squares(rows: &Rows<'_>, layout: Layout, step: usize) -> (Vec<f64>, Vec<f64>) {
    let width = layout.len();
    let mut nothing = vec![(); rows.len()];
    type Sums = (Vec<f64>, Vec<f64>);
    let lanes = pass(
        rows.design,
        &mut nothing,
        width,
        |range, _, (squares, counts): &mut Sums| {
            squares.resize(width, 0.0);
            counts.resize(width, 0.0);
            let taken = range.start.next_multiple_of(step)..range.end;
            for i in taken.step_by(step).filter(|&i| rows.weights.get(i) > 0.0) {
                match rows.design.row(i) {
                    Row::Dense32(x) => add_squares(x, squares, counts),
                    Row::Dense64(x) => add_squares(x, squares, counts),
                    row => row.for_each(|j, v| add_squares(&[v], &mut squares[j..], &mut counts[j..])),
                }
            }
        },
    );
    let (mut squares, mut counts) = (vec![0.0; width], vec![0.0; width]);
    for (square, count) in &lanes {
        add(&mut squares, square);
        add(&mut counts, count);
    }
    (squares, counts)
}

fn add_squares<T: Copy + Into<f64>>(x: &[T], squares: &mut [f64], counts: &mut [f64]) {
    for ((&x, square), count) in x.iter().zip(squares).zip(counts) {
        let x: f64 = x.into();
        *square += x * x;
        *count += f64::from(u8::from(x != 0.0));
    }
}
