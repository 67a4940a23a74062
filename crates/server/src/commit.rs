//! Objects to bytes to the store.
