//! The lab: a page on which linear models learn before one's eyes, and the server behind it.
//!
//! The page is embedded; all it shows it asks of the engine (`request.rs` has the questions). The server listens on this
//! machine alone and keeps nothing between two questions.

mod compare;
mod fit;
mod generate;
mod judge;
mod page;
mod plane;
mod request;
mod separate;
mod server;
mod surface;
mod trace;

pub use server::Lab;
