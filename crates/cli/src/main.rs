//! The `listwatch` command.
fn main() {}
