//! The whole state as a list, in pages where that is good for the source.

use std::sync::Arc;

use super::{
    Reflector,
    error::ReflectorError,
    intake::{Known, Taken},
};
use crate::{
    Object, ObjectKey, RawObject, Replacement, SourceError,
    lister_watcher::{Freshness, ListEnd, ListOptions, ListPart, Unreadable},
};

/// Objects per page when nothing else is chosen.
const PAGE_SIZE: u32 = 500;

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
            (None, _, _) => Some(PAGE_SIZE),
        }
    }

    fn learn(&mut self, freshness: &Freshness, first: &ListEnd) {
        if *freshness == Freshness::Any && first.continue_token.is_some() {
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
        let limit = self.paging.limit(freshness);
        let mut pages = self.no_pages();
        let first = self.page(&mut pages, freshness, limit, None).await?;
        self.paging.learn(freshness, &first);
        let mut token = first.continue_token.clone();
        while token.is_some() {
            token = match self.page(&mut pages, freshness, limit, token).await {
                Ok(end) => end.continue_token,
                Err(SourceError::Expired { .. }) => return self.list_whole(freshness).await,
                Err(error) => return Err(error),
            };
        }
        Ok(pages.into_replacement(first))
    }

    /// Lists without pages, since they take longer than the source keeps a version.
    async fn list_whole(&self, freshness: &Freshness) -> Result<Replacement<T>, SourceError> {
        let mut pages = self.no_pages();
        let end = self.page(&mut pages, freshness, None, None).await?;
        Ok(pages.into_replacement(end))
    }

    async fn page(
        &self,
        pages: &mut Pages<T>,
        freshness: &Freshness,
        limit: Option<u32>,
        continue_token: Option<String>,
    ) -> Result<ListEnd, SourceError> {
        self.reporter.list_begun();
        let options = ListOptions {
            freshness: freshness.clone(),
            limit,
            continue_token,
        };
        let mut stream = self.source.list(&options).await?;
        loop {
            match stream.next().await? {
                ListPart::Items(items) => self.take_items(pages, items),
                ListPart::End(end) => return Ok(end),
            }
        }
    }

    fn take_items(&self, pages: &mut Pages<T>, items: Vec<Result<RawObject, Unreadable>>) {
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
    fn into_replacement(self, first: ListEnd) -> Replacement<T> {
        Replacement {
            objects: self.objects,
            set_aside: self.set_aside,
            version: first.version,
        }
    }
}
