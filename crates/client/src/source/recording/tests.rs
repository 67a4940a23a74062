mod damage;
mod property;
mod sessions;

use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::*;
use crate::{
    Decoder, HandlerOptions, ListerWatcher, Notification, RawEvent, ReflectorSettings,
    SharedInformer, SourceError,
    lister_watcher::{Freshness, ListOptions, ListPart, WatchOptions, WatchStart},
    reflector::Fill,
    source::ScriptedSource,
};

const BYTES_MAX: u64 = 1 << 20;

/// A file that a test can look into.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }

    fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    fn replay(&self) -> Replay {
        Replay::read(&**self.0.lock()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An informer, and what it tells at which time.
struct Listening {
    informer: SharedInformer<String>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Listening {
    /// Two informers of the same seed ask the same at the same time.
    fn to(source: Arc<dyn ListerWatcher>, fill: Fill) -> Self {
        let decoder = Decoder::new(|raw| Ok(String::from_utf8_lossy(&raw.body).into_owned()));
        let settings = ReflectorSettings {
            fill,
            random: fastrand::Rng::with_seed(7),
            ..ReflectorSettings::default()
        };
        let builder = SharedInformer::builder(source, decoder).reflector(settings);
        let informer = builder.random(fastrand::Rng::with_seed(8)).build();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let mut subscription = informer.subscribe(&HandlerOptions::default()).unwrap();
        let (begun, log) = (Instant::now(), Arc::clone(&told));
        tokio::spawn(async move {
            while let Some(notification) = subscription.next().await {
                let line = line(&notification);
                log.lock()
                    .push(format!("{}ms {line}", begun.elapsed().as_millis()));
            }
        });
        informer.start().unwrap();
        Self { informer, told }
    }

    async fn end(self) -> Vec<String> {
        self.informer.shut_down().await;
        std::mem::take(&mut *self.told.lock())
    }
}

fn line(notification: &Notification<String>) -> String {
    match notification {
        Notification::Added { object, origin } => format!("{notification} {origin:?} {object:?}"),
        Notification::Updated { old, new } => format!("{notification} {old:?} {new:?}"),
        Notification::Deleted(deleted) => {
            let (last, final_state) = (&deleted.last, deleted.final_state);
            format!("{notification} {final_state:?} {last:?}")
        }
        Notification::Lagged { .. } => notification.to_string(),
    }
}

fn any_list() -> ListOptions {
    ListOptions {
        freshness: Freshness::Any,
        limit: None,
        continue_token: None,
    }
}

fn watch_after(version: u64) -> WatchOptions {
    WatchOptions {
        start: WatchStart::After(version.into()),
        timeout: Duration::from_secs(300),
    }
}

/// All parts of one list, and its error if it has one.
async fn whole_list(source: &dyn ListerWatcher, options: &ListOptions) -> Vec<String> {
    let mut list = match source.list(options).await {
        Ok(list) => list,
        Err(error) => return vec![error.to_string()],
    };
    let mut parts = Vec::new();
    loop {
        let part = list.next().await;
        let last = !matches!(part, Ok(ListPart::Items(_)));
        parts.push(format!("{part:?}"));
        if last {
            return parts;
        }
    }
}

/// All events of one watch, and its error if it has one.
async fn whole_watch(source: &dyn ListerWatcher, options: &WatchOptions) -> Vec<String> {
    let mut watch = match source.watch(options).await {
        Ok(watch) => watch,
        Err(error) => return vec![error.to_string()],
    };
    let mut answers = Vec::new();
    loop {
        let answer = watch.next().await;
        let last = !matches!(answer, Some(Ok(_)));
        answers.push(format!("{answer:?}"));
        if last {
            return answers;
        }
    }
}
