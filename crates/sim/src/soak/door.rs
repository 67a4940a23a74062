//! Whatever server runs in this process at the moment, as a source that outlives it.

use std::sync::Arc;

use listwatch::{
    ListerWatcher, RawEvent, SourceError,
    lister_watcher::{BoxFuture, EventStream, ListOptions, ListStream, WatchOptions},
};
use listwatch_in_process::ServerSource;
use listwatch_server::{RunningServer, watch_cache::Interest};
use tokio::sync::watch;

/// A door that leads to one server after the other.
pub(super) struct Door {
    interest: Interest,
    current: watch::Sender<Option<Arc<ServerSource>>>,
}

impl Door {
    pub(super) fn new(interest: Interest) -> Arc<Self> {
        Arc::new(Self {
            interest,
            current: watch::Sender::new(None),
        })
    }

    /// Leads to this server from now on, or nowhere.
    pub(super) fn leads_to(&self, server: Option<&RunningServer>) -> anyhow::Result<()> {
        let kind = ("", "v1", "configmaps");
        let source =
            server.map(|server| ServerSource::new(&server.handle(), kind, self.interest.clone()));
        self.current.send_replace(source.transpose()?.map(Arc::new));
        Ok(())
    }
}

impl ListerWatcher for Door {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async move {
            let (source, mut changes) = self.open()?;
            tokio::select! {
                _ = changes.changed() => Err(gone()),
                list = source.list(options) => list,
            }
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async move {
            let (source, mut changes) = self.open()?;
            tokio::select! {
                _ = changes.changed() => Err(gone()),
                stream = source.watch(options) => {
                    Ok(Box::new(Events { stream: stream?, changes: changes.clone() }) as _)
                }
            }
        })
    }
}

type Current = watch::Receiver<Option<Arc<ServerSource>>>;

impl Door {
    fn open(&self) -> Result<(Arc<ServerSource>, Current), SourceError> {
        let mut changes = self.current.subscribe();
        let source = changes.borrow_and_update().clone();
        Ok((source.ok_or_else(gone)?, changes))
    }
}

struct Events {
    stream: Box<dyn EventStream>,
    changes: Current,
}

impl EventStream for Events {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async move {
            tokio::select! {
                _ = self.changes.changed() => Some(Err(gone())),
                events = self.stream.next() => events,
            }
        })
    }
}

fn gone() -> SourceError {
    SourceError::Disconnected {
        reason: "the server has stopped".to_owned(),
    }
}
