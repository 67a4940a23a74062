//! Changes an object, then judges it.
