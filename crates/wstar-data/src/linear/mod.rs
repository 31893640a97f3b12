//! Linear models: the geometry of a hyperplane, and the layout of parameters in one vector.
//!
//! - `hyperplane`: scores, distances, margins and projections.
//! - `layout`: the positions of weights and intercepts in one vector.

mod hyperplane;
mod layout;

pub use hyperplane::Hyperplane;
pub use layout::Layout;
