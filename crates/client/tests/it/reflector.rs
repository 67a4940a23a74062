//! The reflector against a scripted source.

mod command;
mod scenario;
mod world;
