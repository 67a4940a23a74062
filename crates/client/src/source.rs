//! Where objects come from.

pub mod scripted;

pub use scripted::ScriptedSource;
