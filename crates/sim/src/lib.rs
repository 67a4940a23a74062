//! Checkers for the watch guarantees.
