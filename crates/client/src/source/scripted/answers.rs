//! How a scripted source answers lists and watches.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};

use super::{
    ScriptedSource, Shared,
    request::{Request, RequestKind},
    state::{End, Items, Said},
};
use crate::{
    InitialEvents, ListerWatcher, RawEvent, SourceError,
    lister_watcher::{
        BoxFuture, EventStream, ListEnd, ListOptions, ListPart, ListStream, WatchOptions,
    },
};

struct ScriptedList {
    items: Items,
    end: ListEnd,
}

struct ScriptedWatch {
    shared: Arc<Shared>,
    name: u64,
    until: Option<Instant>,
}

impl ListerWatcher for ScriptedSource {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async {
            self.ask(Request::List(options.clone())).await?;
            let (items, end) = self.with(|state| state.list(options))?;
            let list: Box<dyn ListStream> = Box::new(ScriptedList { items, end });
            Ok(list)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async {
            self.ask(Request::Watch(options.clone())).await?;
            let timeout = self.look(|state| state.timeout(options));
            let watch: Box<dyn EventStream> = Box::new(ScriptedWatch {
                shared: Arc::clone(&self.shared),
                name: self.with(|state| state.watch(options))?,
                until: timeout.map(|timeout| Instant::now() + timeout),
            });
            Ok(watch)
        })
    }

    fn initial_events(&self) -> InitialEvents {
        self.look(|state| state.initial_events)
    }
}

impl ScriptedSource {
    async fn ask(&self, request: Request) -> Result<(), SourceError> {
        let kind = request.kind();
        let answer = self.with(|state| state.ask(request));
        self.unheld(kind).await;
        answer
    }

    async fn unheld(&self, kind: RequestKind) {
        loop {
            let changed = self.shared.changed.notified();
            if !self.look(|state| state.is_held(kind)) {
                return;
            }
            changed.await;
        }
    }
}

impl ListStream for ScriptedList {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        Box::pin(async {
            if self.items.is_empty() {
                return Ok(ListPart::End(self.end.clone()));
            }
            Ok(ListPart::Items(std::mem::take(&mut self.items)))
        })
    }
}

impl EventStream for ScriptedWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async {
            let shared = Arc::clone(&self.shared);
            loop {
                let changed = shared.changed.notified();
                let said = shared.state.lock().say(self.name);
                match said {
                    Said::Nothing => {}
                    Said::Events(events) => {
                        shared.changed.notify_waiters();
                        return Some(Ok(events));
                    }
                    Said::End(End::InGoodOrder) => return None,
                    Said::End(End::Failed(error)) => return Some(Err(error)),
                }
                let ended = match self.until {
                    Some(until) => timeout_at(until, changed).await.is_err(),
                    None => {
                        changed.await;
                        false
                    }
                };
                if ended {
                    return None;
                }
            }
        })
    }
}

impl Drop for ScriptedWatch {
    fn drop(&mut self) {
        self.shared.with(|state| state.forget(self.name));
    }
}
