//! A whole list, in pages that the source can afford.

use std::{fmt, sync::Arc};

use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    ListerWatcher, RawObject, SourceError, Version,
    lister_watcher::{Freshness, ListEnd, ListOptions, ListPart, ListStream, Unreadable},
};

/// Objects in one page, unless told otherwise.
pub const PAGE_OBJECTS: u32 = 500;

/// Parts that [`Pager::prefetch`] reads ahead. At the bound it waits for its reader.
pub const PREFETCHED_PARTS_MAX: usize = 10;

/// An object of a list, or the bytes in which the source found none.
pub type ListedObject = Result<RawObject, Unreadable>;

/// Reads one list from its first page to its last.
///
/// All pages are at the version of the first. When the source no longer has that version on a
/// later page, the pager does as it is told by [`OnExpired`].
pub struct Pager {
    source: Arc<dyn ListerWatcher>,
    settings: PagerSettings,
    position: Position,
    version: Option<Version>,
    pages_begun: u64,
}

/// How to read a list.
#[derive(Clone, Debug)]
pub struct PagerSettings {
    /// How new the list has to be.
    pub freshness: Freshness,
    /// Objects in one page; `None` asks for everything at once.
    pub page_objects: Option<u32>,
    /// What to do when the list expires before its last page.
    pub on_expired: OnExpired,
}

/// What to do when a list expires before its last page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExpired {
    /// Says [`PagedPart::StartOver`] and lists everything in one piece, as new as first asked for.
    ListWhole,
    /// Returns the error.
    Fail,
}

/// What a paged list is made of.
#[derive(Debug)]
pub enum PagedPart {
    /// Some objects.
    Items(Vec<ListedObject>),
    /// The list expired and begins anew: everything that came so far is to be forgotten.
    StartOver,
}

/// A whole list.
#[derive(Debug)]
pub struct Listed {
    /// Every object, in the order of the source.
    pub items: Vec<ListedObject>,
    /// The version of the list; `None` if the source gave none.
    pub version: Option<Version>,
}

/// A list that is read ahead. Dropping it ends the reading.
pub struct Prefetched {
    messages: mpsc::Receiver<Message>,
    reading: JoinHandle<()>,
    version: Option<Version>,
}

enum Message {
    Part(Result<PagedPart, SourceError>),
    Complete(Option<Version>),
}

enum Position {
    Before(Page),
    Within(Page, Box<dyn ListStream>),
    Done,
}

#[derive(Clone)]
enum Page {
    First,
    Later(String),
    /// Everything at once, after the pages have expired.
    Whole,
}

impl Default for PagerSettings {
    fn default() -> Self {
        Self {
            freshness: Freshness::MostRecent,
            page_objects: Some(PAGE_OBJECTS),
            on_expired: OnExpired::ListWhole,
        }
    }
}

impl Pager {
    /// A list that has not begun.
    pub fn new(source: Arc<dyn ListerWatcher>, settings: PagerSettings) -> Self {
        Self {
            source,
            settings,
            position: Position::Before(Page::First),
            version: None,
            pages_begun: 0,
        }
    }

    /// The next part of the list; `None` when it is complete, or after an error.
    pub async fn next(&mut self) -> Option<Result<PagedPart, SourceError>> {
        loop {
            match &mut self.position {
                Position::Before(page) => {
                    let page = page.clone();
                    let options = self.options(&page);
                    let source = Arc::clone(&self.source);
                    self.pages_begun += 1;
                    match source.list(&options).await {
                        Ok(stream) => self.position = Position::Within(page, stream),
                        Err(error) => return Some(self.failed(&page, error)),
                    }
                }
                Position::Within(page, stream) => match stream.next().await {
                    Ok(ListPart::Items(items)) => return Some(Ok(PagedPart::Items(items))),
                    Ok(ListPart::End(end)) => {
                        let page = page.clone();
                        self.turn(&page, end);
                    }
                    Err(error) => {
                        let page = page.clone();
                        return Some(self.failed(&page, error));
                    }
                },
                Position::Done => return None,
            }
        }
    }

    /// The version of the list: that of its first page, known when that page has been read.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// How many pages were asked for.
    pub fn pages_begun(&self) -> u64 {
        self.pages_begun
    }

    /// The whole list.
    pub async fn collect(mut self) -> Result<Listed, SourceError> {
        let mut items = Vec::new();
        while let Some(part) = self.next().await {
            match part? {
                PagedPart::Items(more) => items.extend(more),
                PagedPart::StartOver => items.clear(),
            }
        }
        let version = self.version;
        Ok(Listed { items, version })
    }

    /// Reads ahead while the parts are worked on, [`PREFETCHED_PARTS_MAX`] of them at most.
    pub fn prefetch(mut self) -> Prefetched {
        let (sender, messages) = mpsc::channel(PREFETCHED_PARTS_MAX);
        let reading = tokio::spawn(async move {
            while let Some(part) = self.next().await {
                if sender.send(Message::Part(part)).await.is_err() {
                    return;
                }
            }
            // A reader that has gone away needs no version.
            let _ = sender.send(Message::Complete(self.version)).await;
        });
        Prefetched {
            messages,
            reading,
            version: None,
        }
    }

    fn options(&self, page: &Page) -> ListOptions {
        let (limit, continue_token) = match page {
            Page::First => (self.settings.page_objects, None),
            Page::Later(token) => (self.settings.page_objects, Some(token.clone())),
            Page::Whole => (None, None),
        };
        ListOptions {
            freshness: self.freshness_of(page),
            limit,
            continue_token,
        }
    }

    /// A continue token holds a version, and a server refuses a second one beside it.
    fn freshness_of(&self, page: &Page) -> Freshness {
        match page {
            Page::First | Page::Whole => self.settings.freshness.clone(),
            Page::Later(_) => Freshness::MostRecent,
        }
    }

    fn turn(&mut self, page: &Page, end: ListEnd) {
        match page {
            Page::First | Page::Whole => self.version = end.version,
            Page::Later(_) => {}
        }
        self.position = match end.continue_token {
            Some(token) => Position::Before(Page::Later(token)),
            None => Position::Done,
        };
    }

    fn failed(&mut self, page: &Page, error: SourceError) -> Result<PagedPart, SourceError> {
        match (page, self.settings.on_expired, &error) {
            (Page::Later(_), OnExpired::ListWhole, SourceError::Expired { .. }) => {
                self.position = Position::Before(Page::Whole);
                self.settings.on_expired = OnExpired::Fail;
                Ok(PagedPart::StartOver)
            }
            _ => {
                self.position = Position::Done;
                Err(error)
            }
        }
    }
}

impl Prefetched {
    /// The next part of the list; `None` when it is complete, or after an error.
    pub async fn next(&mut self) -> Option<Result<PagedPart, SourceError>> {
        match self.messages.recv().await? {
            Message::Part(part) => Some(part),
            Message::Complete(version) => {
                self.version = version;
                None
            }
        }
    }

    /// The version of the list, known when it is complete.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }
}

impl Drop for Prefetched {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl fmt::Debug for Pager {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pager")
            .field("settings", &self.settings)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Prefetched {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Prefetched")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
