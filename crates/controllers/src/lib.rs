//! What makes an API server whole: namespaces that empty, owners that are collected, pods that
//! live.
