//! What a handler was told, added up.

use std::collections::HashMap;

use listwatch::{Notification, ObjectKey, Version};

/// Faults that are remembered. One would do; a few tell more.
const FAULTS_MAX: usize = 5;

/// The state that follows from what a handler was told.
#[derive(Debug, Default)]
pub(super) struct Fold {
    /// The objects that it knows, each with the version it was told last.
    pub(super) versions: HashMap<ObjectKey, Version>,
    /// How much it was told.
    pub(super) notifications: u64,
    /// What it should not have been told after what it knew.
    pub(super) faults: Vec<String>,
}

impl Fold {
    /// Takes in one notification.
    pub(super) fn take<T>(&mut self, notification: &Notification<T>) {
        self.notifications += 1;
        match notification {
            Notification::Added { object, .. } => {
                let known = self
                    .versions
                    .insert(object.key.clone(), object.version.clone());
                if known.is_some() {
                    self.fault(notification, known.as_ref());
                }
            }
            Notification::Updated { old, new } => {
                let known = self.versions.insert(new.key.clone(), new.version.clone());
                let follows = known.as_ref() == Some(&old.version);
                if !follows || !new.version.reaches(&old.version) {
                    self.fault(notification, known.as_ref());
                }
            }
            // The source's word of the deletion of an object that nobody knew is passed on.
            Notification::Deleted(deleted) => {
                self.versions.remove(&deleted.key);
            }
            Notification::Lagged { .. } => {}
        }
    }

    fn fault<T>(&mut self, notification: &Notification<T>, known: Option<&Version>) {
        if self.faults.len() < FAULTS_MAX {
            let known = known.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let fault = format!("told {notification} while {known} was known");
            self.faults.push(fault);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use listwatch::{Deleted, FinalState, Labels, Object, Origin};

    use super::*;

    fn object(version: u64) -> Arc<Object<()>> {
        Arc::new(Object {
            key: "default/a".into(),
            version: version.into(),
            uid: None,
            labels: Labels::default(),
            body: (),
        })
    }

    fn added(version: u64) -> Notification<()> {
        Notification::Added {
            object: object(version),
            origin: Origin::Later,
        }
    }

    fn updated(old: u64, new: u64) -> Notification<()> {
        Notification::Updated {
            old: object(old),
            new: object(new),
        }
    }

    fn folded(notifications: &[Notification<()>]) -> Fold {
        let mut fold = Fold::default();
        notifications.iter().for_each(|told| fold.take(told));
        fold
    }

    #[test]
    fn what_follows_adds_up() {
        let fold = folded(&[added(1), updated(1, 2)]);
        assert_eq!(fold.faults, [""; 0]);
        assert_eq!(fold.versions[&ObjectKey::from("default/a")], 2.into());
        let gone = Notification::Deleted(Deleted {
            key: "default/a".into(),
            last: Some(object(2)),
            final_state: FinalState::Known,
        });
        let fold = folded(&[added(1), updated(1, 2), gone, added(4)]);
        assert_eq!((fold.faults.len(), fold.notifications), (0, 4));
    }

    #[test]
    fn what_does_not_follow_is_a_fault() {
        for told in [
            [added(1), added(2)],
            [added(1), updated(2, 3)],
            [added(2), updated(2, 1)],
            [updated(1, 2), updated(2, 3)],
        ] {
            assert_eq!(folded(&told).faults.len(), 1, "{told:?}");
        }
    }
}
