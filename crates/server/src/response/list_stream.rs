//! A list from its head to its end, made of stored bytes while it is sent.

use std::sync::Arc;

use jiff::Timestamp;
use listwatch_api::{ContinueToken, Status, protobuf};
use prometheus_client::metrics::counter::Counter;

use super::{
    cbor_items::CborItems,
    format::{Format, ListWriter},
    messages::{Messages, not_writable},
    partial_metadata::ListMetadata,
};
use crate::{
    custom::{Conversions, Unconverted},
    registry::Definition,
    watch_cache::{CachedObject, Interest, Judge, Snapshot, resource_version},
};

/// Bytes that are made and sent together.
const CHUNK_BYTES: usize = 128 * 1024;

/// Objects that are measured before others get their turn: some hundred microseconds when none of
/// them was asked for before.
const MEASURED_PER_TURN: usize = 64;

/// Objects that are counted before others get their turn.
const COUNTED_PER_TURN: usize = 4 * 1024;

/// Objects that are converted together while they are looked through.
const JUDGED_TOGETHER: usize = 500;

/// Part of a collection at one moment.
pub(crate) struct ListPage {
    snapshot: Snapshot,
    extent: Extent,
    continue_token: Option<String>,
    remaining: Option<u64>,
    content: Content,
}

/// In which version the objects of a page are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// In that in which they are stored.
    Stored,
    /// In that of the request.
    Converted,
}

/// Who converts the objects of a kind into the version of a request, and judges them by what the
/// request selects.
pub(crate) struct Converted<'a> {
    pub(crate) conversions: &'a Arc<Conversions>,
    pub(crate) definition: &'a Arc<Definition>,
    pub(crate) judge: Judge,
}

/// A place in a page to go on from.
enum Place {
    /// After this many objects of a page with a limit.
    Number(usize),
    /// At the first object whose key is not less.
    Key(Vec<u8>),
}

/// Whether more of a page is wanted at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Appetite {
    More,
    Later,
}

/// Which objects are on a page.
enum Extent {
    /// These.
    Some(Vec<Arc<CachedObject>>),
    /// All of interest from a key on, found while they are sent.
    Rest { interest: Interest, start: Vec<u8> },
}

impl ListPage {
    /// The page of a snapshot that begins at a key and has at most `limit` objects.
    ///
    /// `prefix` is the beginning of the collection's keys, which tokens leave out.
    pub(crate) fn cut(
        snapshot: Snapshot,
        interest: Interest,
        (prefix, start): (&str, Vec<u8>),
        limit: Option<usize>,
    ) -> Self {
        let Some(limit) = limit else {
            let extent = Extent::Rest { interest, start };
            return Self {
                snapshot,
                extent,
                continue_token: None,
                remaining: None,
                content: Content::Stored,
            };
        };
        let mut selected = snapshot.select(&interest, &start);
        let objects: Vec<_> = selected.by_ref().take(limit).cloned().collect();
        let has_more = selected.next().is_some();
        drop(selected);
        let last = objects.last().filter(|_| has_more);
        let counts = interest.labels.is_everything() && interest.fields.is_everything();
        let remaining = last.filter(|_| counts).map(|object| {
            let after = [object.key().as_bytes(), b"\0"].concat();
            snapshot.count(&interest.area, &after) as u64
        });
        let continue_token = last.map(|object| token_after(object, prefix, &snapshot));
        Self {
            snapshot,
            extent: Extent::Some(objects),
            continue_token,
            remaining,
            content: Content::Stored,
        }
    }

    /// The same where only converted objects can be judged. They are converted some at a time,
    /// until there are enough.
    pub(crate) async fn cut_converted(
        snapshot: Snapshot,
        Converted {
            conversions,
            definition,
            judge,
        }: Converted<'_>,
        (prefix, mut start): (&str, Vec<u8>),
        limit: Option<usize>,
    ) -> Result<Self, Unconverted> {
        let everything = judge.everything();
        let mut selected: Vec<Arc<CachedObject>> = Vec::new();
        let has_more = 'page: loop {
            let some = snapshot.select(&everything, &start).take(JUDGED_TOGETHER);
            let some: Vec<_> = some.cloned().collect();
            let Some(last) = some.last() else {
                break false;
            };
            start = [last.key().as_bytes(), b"\0"].concat();
            for object in conversions.objects(definition, some).await? {
                if !judge.selects(&object) {
                    continue;
                }
                if limit == Some(selected.len()) {
                    break 'page true;
                }
                selected.push(object);
            }
        };
        let last = selected.last().filter(|_| has_more);
        Ok(Self {
            continue_token: last.map(|object| token_after(object, prefix, &snapshot)),
            snapshot,
            extent: Extent::Some(selected),
            remaining: None,
            content: Content::Converted,
        })
    }

    /// The page with its objects in the version of a request.
    pub(crate) async fn converted(
        self,
        conversions: &Arc<Conversions>,
        definition: &Arc<Definition>,
    ) -> Result<Self, Unconverted> {
        if self.content == Content::Converted {
            return Ok(self);
        }
        let objects = conversions.objects(definition, self.objects()).await?;
        Ok(Self {
            extent: Extent::Some(objects),
            content: Content::Converted,
            ..self
        })
    }

    /// All objects of the page.
    pub(crate) fn objects(&self) -> Vec<Arc<CachedObject>> {
        match &self.extent {
            Extent::Some(objects) => objects.clone(),
            Extent::Rest { interest, start } => {
                self.snapshot.select(interest, start).cloned().collect()
            }
        }
    }

    fn beginning(&self) -> Place {
        match &self.extent {
            Extent::Some(_) => Place::Number(0),
            Extent::Rest { start, .. } => Place::Key(start.clone()),
        }
    }

    /// Shows objects from a place on. Says where to go on; `None` after the last.
    fn visit(
        &self,
        from: &Place,
        mut show: impl FnMut(&CachedObject) -> Appetite,
    ) -> Option<Place> {
        match (&self.extent, from) {
            (Extent::Some(objects), Place::Number(shown)) => {
                let rest = objects.iter().enumerate().skip(*shown);
                for (number, object) in rest {
                    if show(object) == Appetite::Later {
                        return Some(Place::Number(number + 1));
                    }
                }
            }
            (Extent::Rest { interest, .. }, Place::Key(start)) => {
                for object in self.snapshot.select(interest, start) {
                    if show(object) == Appetite::Later {
                        let after = [object.key().as_bytes(), b"\0"].concat();
                        return Some(Place::Key(after));
                    }
                }
            }
            _ => unreachable!("the places of a page are of one sort"),
        }
        None
    }

    /// Finds out what a list in this format begins with. Only protobuf and CBOR cost something
    /// here: they begin with the length of all that follows, or with its number.
    pub(crate) async fn measure(&self, format: &Format) -> Result<Beginning, Status> {
        if let Some(items) = format.cbor_items() {
            let count = self.count().await;
            let items = Arc::clone(items);
            return Ok(Beginning::Items { items, count });
        }
        let Some(messages) = format.messages() else {
            return Ok(Beginning::Text);
        };
        let (mut items_length, mut failed) = (0, None);
        let mut place = Some(self.beginning());
        while let Some(from) = place {
            let mut left = MEASURED_PER_TURN;
            place = self.visit(&from, |object| {
                left -= 1;
                match messages.message(format, object) {
                    Ok(message) => items_length += protobuf::item_length(message.len()),
                    Err(error) => failed = Some(not_writable(&error)),
                }
                match left == 0 || failed.is_some() {
                    true => Appetite::Later,
                    false => Appetite::More,
                }
            });
            if let Some(status) = failed {
                return Err(status);
            }
            if place.is_some() {
                tokio::task::yield_now().await;
            }
        }
        let messages = Arc::clone(messages);
        Ok(Beginning::Messages {
            messages,
            items_length,
        })
    }
}

impl ListPage {
    async fn count(&self) -> usize {
        let (mut count, mut place) = (0_usize, Some(self.beginning()));
        while let Some(from) = place {
            place = self.visit(&from, |_| {
                count += 1;
                match count.is_multiple_of(COUNTED_PER_TURN) {
                    true => Appetite::Later,
                    false => Appetite::More,
                }
            });
            if place.is_some() {
                tokio::task::yield_now().await;
            }
        }
        count
    }
}

/// The token of the page after the one that ends with this object.
fn token_after(object: &CachedObject, prefix: &str, snapshot: &Snapshot) -> String {
    let below = String::from_utf8_lossy(&object.key().as_bytes()[prefix.len()..]);
    ContinueToken::after(&below, resource_version(snapshot.revision())).encode()
}

/// What a list begins with.
pub(crate) enum Beginning {
    /// Nothing that depends on its items.
    Text,
    /// The length of all its items.
    Messages {
        messages: Arc<Messages>,
        items_length: usize,
    },
    /// The number of its items.
    Items { items: Arc<CborItems>, count: usize },
}

/// Writes a page in pieces.
pub(crate) struct ListStream {
    page: ListPage,
    /// How it goes on, and where; `None` after the end.
    rest: Option<(ListWriter, Place)>,
    counter: Counter,
}

impl ListStream {
    /// A stream of the page, and its first piece.
    pub(crate) fn begin(
        page: ListPage,
        format: &Format,
        beginning: Beginning,
        (now, counter): (Timestamp, Counter),
    ) -> (Self, Vec<u8>) {
        let mut buffer = Vec::with_capacity(4 * 1024);
        let metadata = ListMetadata {
            resource_version: resource_version(page.snapshot.revision()),
            continue_token: page.continue_token.as_deref(),
            remaining_item_count: page.remaining,
        };
        let writer = match beginning {
            Beginning::Text => format.begin_list(&metadata, now, &mut buffer),
            Beginning::Items { items, count } => {
                format.begin_cbor_list(items, (&metadata, count), &mut buffer)
            }
            Beginning::Messages {
                messages,
                items_length,
            } => {
                let around = messages.around_items(&metadata, items_length);
                buffer.extend(around.before);
                ListWriter::Messages {
                    format: format.clone(),
                    messages,
                    end: around.after,
                }
            }
        };
        let mut stream = Self {
            rest: Some((writer, page.beginning())),
            page,
            counter,
        };
        stream.fill(&mut buffer);
        (stream, buffer)
    }

    /// Whether everything has been written.
    pub(crate) fn is_complete(&self) -> bool {
        self.rest.is_none()
    }

    /// The next piece; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.rest.as_ref()?;
        let mut buffer = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 8);
        self.fill(&mut buffer);
        Some(buffer)
    }

    /// Appends objects until the piece is large enough or none is left.
    fn fill(&mut self, buffer: &mut Vec<u8>) {
        let Some((mut writer, from)) = self.rest.take() else {
            return;
        };
        let left = self.page.visit(&from, |object| {
            writer.item(object, buffer);
            self.counter.inc();
            match buffer.len() >= CHUNK_BYTES {
                true => Appetite::Later,
                false => Appetite::More,
            }
        });
        match left {
            Some(place) => self.rest = Some((writer, place)),
            None => writer.end(buffer),
        }
    }
}
