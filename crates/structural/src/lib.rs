//! Structural schemas of custom resources: what they prune, fill in and refuse.
