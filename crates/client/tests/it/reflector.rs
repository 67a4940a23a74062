//! The reflector against a scripted source.

mod command;
mod convergence;
mod requests;
mod scenario;
mod world;
