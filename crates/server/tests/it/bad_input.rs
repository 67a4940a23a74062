//! What nobody should send: the right answer in bounded time, and a server that goes on.

mod bodies;
mod floods;
mod mangled;
mod parameters;
mod patches;
mod places;
mod protobuf;
mod tokens;
mod wire;
mod yaml;

use std::time::Duration;

use tokio::time::Instant;

use crate::running::CONFIG_MAPS;

/// How long any single bad request may occupy the server, unoptimized and on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// Waits for an answer that must not take long to make.
async fn soon<T>(answer: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let answer = answer.await;
    assert!(begun.elapsed() < SOON, "it took {:?}", begun.elapsed());
    answer
}

/// A text as part of a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
