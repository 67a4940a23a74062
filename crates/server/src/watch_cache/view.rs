//! All objects of a kind at one moment, and the indexes that find them. Cloning is free.

use std::sync::Arc;

use listwatch_store::{Key, Revision};

use super::{
    cached_object::CachedObject, counted_tree::CountedTree, event::Event, kind_layout::KindLayout,
    term_index::TermIndex,
};

/// One state of a kind.
#[derive(Clone)]
pub(super) struct View {
    pub(super) objects: CountedTree<Arc<CachedObject>>,
    pub(super) terms: TermIndex,
    /// Holds everything of the kind up to here. Nothing of the kind may have happened since.
    pub(super) revision: Revision,
    /// How many events of the kind have led to it, counted from when the cache was loaded.
    pub(super) sequence: u64,
}

impl View {
    /// The state that was read at a revision.
    pub(super) fn loaded(
        objects: &[Arc<CachedObject>],
        revision: Revision,
        layout: &KindLayout,
    ) -> Self {
        let mut terms = TermIndex::new();
        for object in objects {
            terms.replace(None, Some(object), layout);
        }
        Self {
            objects: CountedTree::from_sorted(objects),
            terms,
            revision,
            sequence: 0,
        }
    }

    /// Puts a new state in the place of an object's present one, which it gives back.
    pub(super) fn replace(
        &mut self,
        key: &Key,
        object: Option<Arc<CachedObject>>,
        layout: &KindLayout,
    ) -> Option<Arc<CachedObject>> {
        let new = object.clone();
        let old = match object {
            Some(object) => self.objects.insert(object),
            None => self.objects.remove(key.as_bytes()),
        };
        self.terms.replace(old.as_deref(), new.as_deref(), layout);
        old
    }

    /// Takes back the newest event in it.
    pub(super) fn undo(&mut self, event: &Event, layout: &KindLayout) {
        self.replace(event.key(), event.previous().cloned(), layout);
        self.sequence -= 1;
    }
}
