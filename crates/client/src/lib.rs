//! Informers for Rust.
