//! Tasks of the server's own that keep the objects of a kind as they should be.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use crate::{
    lifecycle::DrainSignal,
    registry::Definition,
    server::{Server, StartError},
    watch_cache::{Area, Interest, KindCache},
};

/// Bytes of news that are taken at a time; the objects are looked up anyway.
const NEWS_BYTES_MAX: usize = 64 * 1024;
/// How long after a failure it is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// What keeps the objects of a kind as they should be.
pub(crate) trait Upkeep: Send + 'static {
    /// The kind, as log lines name it.
    const WHAT: &'static str;

    /// Looks at all objects and mends what is not as it should be, or says why it could not.
    fn mend(&mut self, server: &Server) -> impl Future<Output = Result<(), String>> + Send;
}

/// Lets objects be mended now, and whenever they or the custom kinds have changed, until the
/// server goes.
pub(crate) fn start<U: Upkeep>(
    server: &Arc<Server>,
    definition: &Definition,
    make: impl FnOnce(KindCache) -> U,
) -> Result<(), StartError> {
    let objects = server.cache(definition);
    let objects = objects.map_err(|status| StartError::Store(status.message))?;
    let drain = server.lifecycle.drain_signal();
    let upkeep = make(objects.clone());
    tokio::spawn(run(upkeep, (Arc::downgrade(server), objects), drain));
    Ok(())
}

async fn run<U: Upkeep>(
    mut upkeep: U,
    (server, objects): (Weak<Server>, KindCache),
    mut drain: DrainSignal,
) {
    let everything = Interest::everything_in(Area::Everywhere);
    let Some(mut served) = server.upgrade().map(|server| server.custom.served()) else {
        return;
    };
    let mut watcher = objects.watch(&everything, objects.latest().revision());
    loop {
        let Some(present) = server.upgrade() else {
            return;
        };
        let mended = upkeep.mend(&present).await;
        // The server is not held while there is nothing to do, so that it can go.
        drop(present);
        if let Err(why) = mended {
            tracing::warn!("{} are not as they should be yet: {why}", U::WHAT);
            tokio::select! {
                () = drain.draining() => return,
                () = tokio::time::sleep(RETRY_PAUSE) => continue,
            }
        }
        tokio::select! {
            biased;
            () = drain.draining() => return,
            changed = served.changed() => if changed.is_err() {
                return;
            },
            news = watcher.next(NEWS_BYTES_MAX) => if news.is_err() {
                // What was missed is found by looking.
                watcher = objects.watch(&everything, objects.latest().revision());
            },
        }
    }
}
