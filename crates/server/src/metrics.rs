//! What happened, counted.
