//! One informer, what its handlers were told, and what both are held to at the end.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use listwatch::{
    Bound, HandlerOptions, Index, LabelSelector, Notification, Object, SharedInformer, Snapshot,
    Version, lister_watcher::BoxFuture, reflector::Counts,
};
use parking_lot::Mutex;
use tokio::{sync::watch, time::timeout};

use super::{
    fold::Fold,
    listed::{Choice, Kind, Listed, Truth, Versions, differences},
};

/// How long an informer may take to reach the end once nothing breaks any more.
const PATIENCE: Duration = Duration::from_secs(300);

/// What is the same of observers of all types.
pub(super) trait Observer: Send + Sync {
    /// What it follows, and how.
    fn name(&self) -> &str;

    /// Adds a handler, which begins with the present.
    fn add_handler(&self, bound: Bound) -> anyhow::Result<()>;

    /// Waits until the first list has been applied.
    fn synced(&self) -> BoxFuture<'_, anyhow::Result<()>>;

    /// Waits for the end and holds everything against it.
    fn judge<'a>(&'a self, truth: &'a Truth) -> BoxFuture<'a, anyhow::Result<Observed>>;
}

/// What an observer went through.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) counts: Counts,
    pub(super) notifications: u64,
    pub(super) objects: usize,
}

/// An informer with its handlers.
pub(super) struct Watched<T> {
    informer: SharedInformer<T>,
    kind: Kind,
    choice: Choice,
    by_tier: Index<T, String>,
    folds: Mutex<Vec<Arc<watch::Sender<Fold>>>>,
}

impl<T: Send + Sync + 'static> Watched<T> {
    /// Begins to follow.
    pub(super) fn start(
        informer: SharedInformer<T>,
        kind: Kind,
        choice: Choice,
    ) -> anyhow::Result<Self> {
        let tier = |object: &Object<T>| object.labels.get("tier").map(str::to_owned);
        let by_tier = informer.add_index("tier", tier)?;
        informer.start()?;
        Ok(Self {
            informer,
            kind,
            choice,
            by_tier,
            folds: Mutex::default(),
        })
    }

    async fn compare(&self, listed: &Listed) -> anyhow::Result<Observed> {
        let snapshot = self
            .informer
            .read_at_least(&listed.version, PATIENCE)
            .await?;
        let expected = listed.versions(self.choice, |_| true);
        agree("the cache", &expected, &versions(snapshot.iter()))?;
        self.compare_indexes(listed, &snapshot)?;
        let folds = self.folds.lock().clone();
        let mut notifications = 0;
        for fold in &folds {
            notifications += fold_agrees(fold, &expected).await?;
        }
        let status = self.informer.reflector_status();
        let counts = status.context("it has a reflector")?.counts;
        ensure!(counts.set_aside == 0, "{} set aside", counts.set_aside);
        Ok(Observed {
            counts,
            notifications,
            objects: expected.len(),
        })
    }

    fn compare_indexes(&self, listed: &Listed, snapshot: &Snapshot<T>) -> anyhow::Result<()> {
        for tier in ["front", "back", "nowhere"] {
            let expected = listed.versions(self.choice, |item| item.label("tier") == Some(tier));
            let found = snapshot.by_index(&self.by_tier, tier);
            let what = format!("the index at {tier}");
            agree(&what, &expected, &versions(found.iter()))?;
            let selected = snapshot.select(&LabelSelector::parse(&format!("tier={tier}"))?);
            let what = format!("the selection of {tier}");
            agree(&what, &expected, &versions(selected.iter()))?;
        }
        Ok(())
    }
}

impl<T: Send + Sync + 'static> Observer for Watched<T> {
    fn name(&self) -> &str {
        self.informer.name()
    }

    fn add_handler(&self, bound: Bound) -> anyhow::Result<()> {
        let fold = Arc::new(watch::Sender::new(Fold::default()));
        self.folds.lock().push(Arc::clone(&fold));
        let options = HandlerOptions {
            bound,
            ..HandlerOptions::default()
        };
        let handler = move |notification: Notification<T>| {
            fold.send_modify(|fold| fold.take(&notification));
        };
        self.informer.add_handler_with(handler, options)?;
        Ok(())
    }

    fn synced(&self) -> BoxFuture<'_, anyhow::Result<()>> {
        Box::pin(async {
            let synced = timeout(PATIENCE, self.informer.wait_until_synced()).await;
            let synced = synced.with_context(|| format!("{} does not sync", self.name()))?;
            Ok(synced?)
        })
    }

    fn judge<'a>(&'a self, truth: &'a Truth) -> BoxFuture<'a, anyhow::Result<Observed>> {
        Box::pin(async {
            let judged = self.compare(truth.of(self.kind)).await;
            judged.with_context(|| {
                let status = self.informer.reflector_status();
                format!("the informer {}, {status:?}", self.name())
            })
        })
    }
}

/// Waits until what a handler was told adds up to this, and says how much that was.
async fn fold_agrees(fold: &watch::Sender<Fold>, expected: &Versions) -> anyhow::Result<u64> {
    let mut told = fold.subscribe();
    let equal = |fold: &Fold| {
        fold.versions.len() == expected.len() && differences(expected, &fold.versions).is_empty()
    };
    // What it was told instead is looked at below.
    let _ = timeout(PATIENCE, told.wait_for(equal)).await;
    let fold = fold.borrow();
    agree("what a handler was told", expected, &fold.versions)?;
    ensure!(fold.faults.is_empty(), "a handler was {:?}", fold.faults);
    Ok(fold.notifications)
}

fn agree(what: &str, expected: &Versions, found: &Versions) -> anyhow::Result<()> {
    let differences = differences(expected, found);
    ensure!(
        differences.is_empty(),
        "{what} has {} objects instead of {}: {differences:#?}",
        found.len(),
        expected.len()
    );
    Ok(())
}

fn versions<'a, T: 'a>(objects: impl Iterator<Item = &'a Arc<Object<T>>>) -> Versions {
    let version = |object: &Object<T>| -> Version { object.version.clone() };
    objects
        .map(|object| (object.key.clone(), version(object)))
        .collect()
}

#[cfg(test)]
mod tests {
    use listwatch::{Decoder, Raw, source::ScriptedSource};
    use serde_json::json;

    use super::*;

    /// An informer of a source that it is told the truth by, so far.
    async fn observed() -> (Arc<ScriptedSource>, Watched<Raw>) {
        let source = Arc::new(ScriptedSource::new());
        let front = [("tier", "front")].into_iter().collect();
        source.put_labelled("soak-a/one", front, "{}");
        source.put("soak-a/two", "{}");
        let informer = SharedInformer::new(Arc::clone(&source) as _, Decoder::raw());
        let watched = Watched::start(informer, Kind::ConfigMaps, Choice::Everything).unwrap();
        watched.add_handler(Bound::Coalesce).unwrap();
        watched.synced().await.unwrap();
        (source, watched)
    }

    /// What a list of the source shows.
    fn truth(source: &ScriptedSource) -> Truth {
        let objects = source.objects().into_iter().map(|(key, version, _)| {
            let tier = (key.name() == "one").then_some("front");
            json!({"metadata": {
                "namespace": key.namespace(),
                "name": key.name(),
                "resourceVersion": version.to_string(),
                "labels": tier.map(|tier| json!({"tier": tier})),
            }})
        });
        Truth::of_configmaps(source.version(), &objects.collect::<Vec<_>>())
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_was_told_everything_passes() {
        let (source, watched) = observed().await;
        source.put("soak-b/three", "{}");
        source.delete("soak-a/two");
        let observed = watched.judge(&truth(&source)).await.unwrap();
        assert_eq!((observed.objects, observed.notifications), (2, 4));
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_missed_something_is_found() {
        for miss in [
            |source: &ScriptedSource| source.delete_unseen("soak-a/two"),
            |source: &ScriptedSource| source.put_unseen("soak-a/two", "{}"),
            |source: &ScriptedSource| source.put_unseen("soak-b/three", "{}"),
        ] {
            let (source, watched) = observed().await;
            miss(&source);
            source.bookmark();
            let error = watched.judge(&truth(&source)).await.unwrap_err();
            assert!(format!("{error:?}").contains("the cache has"), "{error:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_was_told_something_else_is_found() {
        let (source, watched) = observed().await;
        let fold = Arc::clone(&watched.folds.lock()[0]);
        let truth = truth(&source);
        watched.judge(&truth).await.unwrap();
        fold.send_modify(|fold| drop(fold.versions.remove("soak-a/two")));
        let error = watched.judge(&truth).await.unwrap_err();
        assert!(format!("{error:?}").contains("what a handler"), "{error:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_index_that_is_wrong_is_found() {
        let (source, watched) = observed().await;
        let mut objects = truth(&source);
        objects.relabel("soak-a/two", "back");
        let error = watched.judge(&objects).await.unwrap_err();
        assert!(format!("{error:?}").contains("the index at"), "{error:?}");
    }
}
