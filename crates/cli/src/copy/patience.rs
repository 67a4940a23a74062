//! Trying again while a store is busy or away.

use std::{fmt::Display, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

/// How long a store may be busy or away. After that the copy ends, and can be gone on with later.
const PATIENCE: Duration = Duration::from_secs(60);

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What is being waited for, for those who look on.
pub(crate) type Waiting = watch::Sender<Option<String>>;

/// Tries until it succeeds, fails for good, or has taken too long.
pub(crate) async fn patiently<T, E: Display>(
    waiting: &Waiting,
    passing: impl Fn(&E) -> bool,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, E> {
    let give_up = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt().await {
            Err(error) if passing(&error) && Instant::now() < give_up => {
                waiting.send_replace(Some(error.to_string()));
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
            answer => {
                waiting.send_if_modified(|waiting| waiting.take().is_some());
                return answer;
            }
        }
    }
}
