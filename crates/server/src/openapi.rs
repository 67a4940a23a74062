//! OpenAPI documents made from the registry.
