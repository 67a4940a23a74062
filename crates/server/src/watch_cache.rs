//! The present and the recent past of each kind, and who wants to hear of it.
