//! Workloads against the server in this process, and proof that the checkers would notice.

mod sabotage;
mod seeds;
mod soak;
