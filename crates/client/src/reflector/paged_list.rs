//! The whole state as a list, in pages where that is good for the source.

use std::sync::Arc;

use super::{
    Reflector,
    error::ReflectorError,
    intake::{Known, Taken},
};
use crate::{
    Object, ObjectKey, Pager, PagerSettings, Replacement, SourceError, Version,
    lister_watcher::Freshness,
    pager::{ListedObject, OnExpired, PAGE_OBJECTS, PagedPart},
};

/// When to ask for pages.
///
/// A source with a cache answers `NotOlderThan` from memory, but only as a whole. One that has
/// answered `Any` in pages has no such cache, and is asked for pages from then on.
#[derive(Debug)]
pub(super) struct Paging {
    chosen: Option<u32>,
    answers: Answers,
}

#[derive(Debug)]
enum Answers {
    FromCache,
    InPages,
}

/// The pages of one list so far.
struct Pages<T> {
    known: Known<T>,
    objects: Vec<Arc<Object<T>>>,
    set_aside: Vec<ObjectKey>,
}

impl Paging {
    pub(super) fn new(chosen: Option<u32>) -> Self {
        Self {
            chosen,
            answers: Answers::FromCache,
        }
    }

    fn limit(&self, freshness: &Freshness) -> Option<u32> {
        match (self.chosen, &self.answers, freshness) {
            (Some(chosen), _, _) => Some(chosen),
            (None, Answers::FromCache, Freshness::NotOlderThan(_)) => None,
            (None, _, _) => Some(PAGE_OBJECTS),
        }
    }

    fn learn(&mut self, freshness: &Freshness, pages: u64) {
        if *freshness == Freshness::Any && pages > 1 {
            self.answers = Answers::InPages;
        }
    }
}

impl<T: Send + Sync + 'static> Reflector<T> {
    /// Lists at the position, or the most recent state if the source has no such version.
    pub(super) async fn list(&mut self) -> Result<Replacement<T>, SourceError> {
        let freshness = self.position.of_list();
        match self.list_at(&freshness).await {
            Err(error @ (SourceError::Expired { .. } | SourceError::TooLarge { .. }))
                if freshness != Freshness::MostRecent =>
            {
                self.trouble(&ReflectorError::List(error));
                self.position.refuse();
                self.list_at(&Freshness::MostRecent).await
            }
            answer => answer,
        }
    }

    async fn list_at(&mut self, freshness: &Freshness) -> Result<Replacement<T>, SourceError> {
        let settings = PagerSettings {
            freshness: freshness.clone(),
            page_objects: self.paging.limit(freshness),
            on_expired: OnExpired::ListWhole,
        };
        let mut pager = Pager::new(Arc::clone(&self.source), settings);
        let mut pages = self.no_pages();
        let mut counted = 0;
        loop {
            let part = pager.next().await;
            self.reporter.lists_begun(pager.pages_begun() - counted);
            counted = pager.pages_begun();
            self.paging.learn(freshness, counted);
            match part.transpose()? {
                Some(PagedPart::Items(items)) => self.take_items(&mut pages, items),
                // They take longer than the source keeps a version.
                Some(PagedPart::StartOver) => pages = self.no_pages(),
                None => return Ok(pages.into_replacement(pager.version().cloned())),
            }
        }
    }

    fn take_items(&self, pages: &mut Pages<T>, items: Vec<ListedObject>) {
        self.reporter.received_items(&items);
        pages.objects.reserve(items.len());
        for item in items {
            match item.map(|raw| self.intake.object(raw, &pages.known, &self.reporter)) {
                Ok(Taken::Object(object)) => pages.objects.push(object),
                Ok(Taken::SetAside(key)) => pages.set_aside.push(key),
                Err(unreadable) => self.intake.skip(unreadable, &self.reporter),
            }
        }
    }

    fn no_pages(&self) -> Pages<T> {
        Pages {
            known: self.intake.known(),
            objects: Vec::new(),
            set_aside: Vec::new(),
        }
    }
}

impl<T> Pages<T> {
    /// All pages show the state of the first.
    fn into_replacement(self, version: Option<Version>) -> Replacement<T> {
        Replacement {
            objects: self.objects,
            set_aside: self.set_aside,
            version,
        }
    }
}
