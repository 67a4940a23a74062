//! Small programs that show how listwatch is used: run them with `cargo run --example NAME`.
