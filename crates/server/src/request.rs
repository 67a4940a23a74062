//! URL and headers to a typed request.
