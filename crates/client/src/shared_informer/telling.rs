//! The way from one state to another, told object by object.

use std::sync::Arc;

use crate::{
    Deleted, FinalState, Notification, Origin, Snapshot,
    indexed_cache::{Difference, Differences},
};

/// What is left to tell of the difference between two states: first what is gone, then what
/// changed or came, both in the order of keys. Found lazily, in memory for the names alone.
pub(super) struct Telling<T> {
    upcoming: Option<Notification<T>>,
    rest: Option<Differences<T>>,
    form: Form,
}

/// What an object is called that only the later state has.
#[derive(Clone, Copy)]
enum Form {
    Added(Origin),
    /// It is told again.
    Same,
}

impl<T> Telling<T> {
    /// Nothing to tell.
    pub(super) fn nothing() -> Self {
        Self {
            upcoming: None,
            rest: None,
            form: Form::Same,
        }
    }

    /// What leads from one state to another.
    pub(super) fn way(before: &Snapshot<T>, after: &Snapshot<T>, origin: Origin) -> Self {
        Self::new(before, after, Form::Added(origin))
    }

    /// Every object as an update to the state that it is in.
    pub(super) fn again(empty: &Snapshot<T>, present: &Snapshot<T>) -> Self {
        Self::new(empty, present, Form::Same)
    }

    fn new(before: &Snapshot<T>, after: &Snapshot<T>, form: Form) -> Self {
        let mut telling = Self {
            upcoming: None,
            rest: Some(Snapshot::diff(before, after)),
            form,
        };
        telling.upcoming = telling.find();
        telling
    }

    pub(super) fn is_empty(&self) -> bool {
        self.upcoming.is_none()
    }

    fn find(&mut self) -> Option<Notification<T>> {
        let form = self.form;
        let differences = self.rest.as_mut()?;
        let found = differences.find_map(|difference| tell(difference, form));
        if found.is_none() {
            // Lets go of both states.
            self.rest = None;
        }
        found
    }
}

impl<T> Iterator for Telling<T> {
    type Item = Notification<T>;

    fn next(&mut self) -> Option<Notification<T>> {
        let told = self.upcoming.take()?;
        self.upcoming = self.find();
        Some(told)
    }
}

fn tell<T>(difference: Difference<T>, form: Form) -> Option<Notification<T>> {
    match (difference, form) {
        (Difference::Deleted(last), _) => Some(Notification::Deleted(Deleted {
            key: last.key.clone(),
            last: Some(last),
            final_state: FinalState::Unknown,
        })),
        (Difference::Updated { old, new }, _) => Some(Notification::Updated { old, new }),
        (Difference::Added(object), Form::Added(origin)) => {
            Some(Notification::Added { object, origin })
        }
        (Difference::Added(object), Form::Same) => Some(Notification::Updated {
            old: Arc::clone(&object),
            new: object,
        }),
    }
}
