//! The lab: an interactive web page that shows linear models as they are trained, and its local HTTP server.
//!
//! The page is embedded in the binary and computes nothing itself: it sends the requests defined in `request.rs` to the
//! library. The server listens on the loopback interface only and is stateless.
//!
//! - `server`, `request`: the HTTP server, and the JSON requests of the page.
//! - `page`: the embedded files of the page.
//! - `fit`, `separate`, `compare`, `judge`, `surface`: the answers to the requests, one file each.
//! - `plane`, `generate`: the points of a request, and synthetic data sets.
//! - `trace`: the recorded steps of a fit, and its progress messages.
//! - `wording`: the page's names of settings and commands.

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
mod wording;

pub use server::Lab;
