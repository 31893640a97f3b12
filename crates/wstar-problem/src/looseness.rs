//! The expected ratio of the certified duality gap P − D to the suboptimality P − P\*.
//!
//! The certificate corrects the multipliers of one row in [`ONE_IN`] (`moved_rows` in `wstar-certify`), so its gap is
//! about [`ONE_IN`] times P − P\*. A solver that stops by an estimate of P − P\* needs this ratio.

use crate::loss::LossName;
use crate::penalty::Penalty;
use wstar_data::linear::Layout;

/// The multipliers of one row in this many are corrected, if there are enough rows. Heuristic: a smaller value narrows the gap
/// and makes the correction cost more; not measured yet.
pub const ONE_IN: u64 = 16;

/// Cap: with more parameters there is no correction, because it factorises a Gram matrix of this order.
const MOST_PARAMETERS: usize = 1000;

/// The expected ratio (P − D)/(P − P\*). Derived: P − P\* itself plus [`ONE_IN`] times as much from the dual point.
pub const EXPECTED_GAP_RATIO: f64 = 1.0 + ONE_IN as f64;

/// Whether the certificate can correct the multipliers of such problems: convex smooth losses of one output, with a pure ℓ2
/// penalty and at most `MOST_PARAMETERS` parameters.
pub fn has_newton_correction(loss: LossName, penalty: Penalty, layout: Layout) -> bool {
    let curved = loss.is_convex() && loss.is_smooth() && loss != LossName::Softmax;
    let bare = penalty.l2 > 0.0 && penalty.l1 == 0.0;
    curved && bare && layout.outputs == 1 && layout.width() <= MOST_PARAMETERS
}
