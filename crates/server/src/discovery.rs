//! What is served here, told to clients.
