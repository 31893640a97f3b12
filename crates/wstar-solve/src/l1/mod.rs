//! Solvers for ℓ1 penalties and the elastic net: min l1·‖w‖₁ + l2·½‖w‖² + Σ cᵢ ℓ(yᵢ, zᵢ), ℓ smooth and
//! convex.
//!
//! The solvers:
//!
//! - `coordinate_descent`: coordinate descent, on the full Hessian or on working sets of columns
//! - `orthant_newton`: orthant-wise Newton
//!
//! The outer iterations:
//!
//! - `prox_newton`: prox-Newton with a quadratic model over all parameters
//! - `working_set`: prox-Newton on working sets of columns
//! - `reduced_newton`: orthant-wise Newton on a copy of the columns that matter, for sparse rows
//! - `kinked_line_search`: exact line search for an objective with kinks
//!
//! The quadratic model of a prox-Newton step:
//!
//! - `quadratic_model`: the model and its minimisation by sweeps, faces and proximal steps
//! - `quadratic`: the operations that the model needs of a Hessian
//! - `hessian_operator`: a Hessian stored in full, or applied by passes over the rows
//! - `column_quadratic`: a Hessian applied by the columns of a working set
//! - `conjugate_gradients`, `face_cholesky`: the linear system of a face
//!
//! Columns and rows:
//!
//! - `columns`: the design column by column
//! - `column_cache`: cached columns of a dense matrix stored row by row
//! - `correlations`: Xⱼᵀs for all columns j, recomputed only where it may matter
//! - `row_state`: score, slope and curvature of every row
//! - `working_set_gram`: the Gram matrix of a working set
//! - `shared_columns`: columns, norms and products of columns, shared by fits to the same rows

pub(crate) mod column_cache;
pub(crate) mod column_quadratic;
pub(crate) mod columns;
pub(crate) mod conjugate_gradients;
pub mod coordinate_descent;
pub(crate) mod correlations;
pub(crate) mod face_cholesky;
pub(crate) mod hessian_operator;
pub(crate) mod kinked_line_search;
pub mod orthant_newton;
pub(crate) mod prox_newton;
pub(crate) mod quadratic;
pub(crate) mod quadratic_model;
pub(crate) mod reduced_newton;
pub(crate) mod row_state;
pub(crate) mod shared_columns;
pub(crate) mod working_set;
pub(crate) mod working_set_gram;
