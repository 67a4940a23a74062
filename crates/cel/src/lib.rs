//! The Common Expression Language as Kubernetes speaks it: parsed, checked against types, metered
//! and evaluated.
