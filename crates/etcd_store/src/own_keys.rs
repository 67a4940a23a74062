//! The names of the keys that the store keeps for itself.

/// What is added to a revision of etcd to get a revision of the store: decimal digits.
pub(crate) const REVISION_OFFSET: &str = "revision-offset";
/// Written to see the write come back, when etcd cannot be asked how far a watch is.
pub(crate) const PROGRESS: &str = "progress";
/// Whose turn it is to compact, and up to where: decimal digits.
pub(crate) const COMPACTOR: &str = "compactor";
/// Never written.
pub(crate) const NOTHING: &str = "nothing";
