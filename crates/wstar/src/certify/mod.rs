//! Certificates: claims about a fit, recomputed from the data by code that shares nothing with the fit.

pub mod likelihood;
