//! A list, read while it arrives.

use bytes::{Bytes, BytesMut};
use serde::Deserialize;

use super::{
    FRAME_BYTES_MAX,
    cursor::Cursor,
    header::{Header, Malformed},
    label_pool::LabelPool,
    structure::Nesting,
};
use crate::{
    RawObject, SourceError, Version,
    lister_watcher::{ListEnd, Unreadable},
};

/// Bytes of anything that is neither an item nor an array or object, at the most: names of members,
/// and texts like the kind. A list with a longer one cannot be read.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// Reads the body of a list piece by piece.
///
/// It keeps at most one item that has begun: an item that came within one piece is a slice of that
/// piece, and one that came in several is put together once.
#[derive(Debug, Default)]
pub struct ListParser {
    place: Place,
    /// What has begun and not ended.
    begun: BytesMut,
    /// How far the array or object in `begun` has been looked at; `None` if something else begins
    /// there, to be read anew when there is more of it.
    nesting: Option<Nesting>,
    metadata: ListMetadata,
    has_items: bool,
}

/// Where in the list the parser is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before the opening brace.
    #[default]
    Begin,
    /// Before a member, or the closing brace.
    Members,
    /// Before the value of a member.
    Value(Member),
    /// Before an item, or the bracket that closes the items.
    Items,
    /// Behind the closing brace.
    End,
}

/// The members of a list that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Kind,
    Metadata,
    Items,
    Other,
}

/// Whether there was enough to go one step.
enum Step {
    /// It ended behind this byte.
    Done(usize),
    /// More bytes are needed.
    Starved,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListMetadata {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

/// The items found in one piece.
struct Found<'a> {
    items: Vec<Result<RawObject, Unreadable>>,
    labels: &'a mut LabelPool,
}

impl ListParser {
    /// Takes the next piece of the body; gives the items that it completes.
    pub fn push(
        &mut self,
        piece: Bytes,
        labels: &mut LabelPool,
    ) -> Result<Vec<Result<RawObject, Unreadable>>, SourceError> {
        let items = Vec::new();
        let mut found = Found { items, labels };
        let Some(piece) = self.complete(piece, &mut found)? else {
            return Ok(found.items);
        };
        let mut at = 0;
        while let Step::Done(end) = self.step(&piece, at, &mut found)? {
            at = end;
        }
        self.begun.extend_from_slice(piece[at..].trim_ascii_start());
        self.check_bound()?;
        Ok(found.items)
    }

    /// What stands behind the items; the body has ended.
    pub fn finish(self) -> Result<ListEnd, SourceError> {
        if self.place != Place::End {
            return Err(SourceError::Disconnected {
                reason: "the list ends too early".to_owned(),
            });
        }
        if !self.has_items {
            return Err(unreadable("the answer has no items: it is no list"));
        }
        let version = self.metadata.resource_version;
        Ok(ListEnd {
            version: version.as_deref().and_then(Version::parse),
            continue_token: self.metadata.r#continue.filter(|token| !token.is_empty()),
        })
    }

    /// Joins what has begun with its continuation. What remains to be read; `None` if that is
    /// nothing.
    fn complete(
        &mut self,
        mut piece: Bytes,
        found: &mut Found<'_>,
    ) -> Result<Option<Bytes>, SourceError> {
        if self.begun.is_empty() {
            return Ok(Some(piece));
        }
        let Some(nesting) = &mut self.nesting else {
            self.begun.extend_from_slice(&piece);
            return Ok(Some(self.begun.split().freeze()));
        };
        let Some(end) = nesting.advance(&piece) else {
            self.begun.extend_from_slice(&piece);
            self.check_bound()?;
            return Ok(None);
        };
        self.nesting = None;
        self.begun.extend_from_slice(&piece.split_to(end));
        let value = self.begun.split().freeze();
        self.take(value, found)?;
        Ok(Some(piece))
    }

    fn step(
        &mut self,
        piece: &Bytes,
        at: usize,
        found: &mut Found<'_>,
    ) -> Result<Step, SourceError> {
        let mut cursor = Cursor::new(&piece[at..]);
        let Some(first) = cursor.peek() else {
            return Ok(Step::Starved);
        };
        let here = at + cursor.position();
        let (place, end) = match (self.place, first) {
            (Place::Begin, b'{') => (Place::Members, here + 1),
            (Place::Members, b'}') => (Place::End, here + 1),
            (Place::Members | Place::Items, b',') => (self.place, here + 1),
            (Place::Members, b'"') => match complete(cursor.name())? {
                Some(name) => (Place::Value(Member::of(&name)), at + cursor.position()),
                None => return Ok(Step::Starved),
            },
            (Place::Value(Member::Items), b'[') => {
                self.has_items = true;
                (Place::Items, here + 1)
            }
            (Place::Items, b']') => (Place::Members, here + 1),
            (Place::Items, b'{') => {
                return self.item(piece, here, found);
            }
            (Place::Value(_), _) => return self.value(piece, here, found),
            (Place::Begin | Place::Members | Place::Items | Place::End, _) => {
                return Err(unreadable("the answer is not the JSON of a list"));
            }
        };
        self.place = place;
        Ok(Step::Done(end))
    }

    /// An item that begins here. Most are complete, and looked at once.
    fn item(
        &mut self,
        piece: &Bytes,
        here: usize,
        found: &mut Found<'_>,
    ) -> Result<Step, SourceError> {
        match Header::scan(&piece[here..]) {
            Ok(header) => {
                let end = here + header.end;
                let body = piece.slice(here..end);
                let object = header.object(&body, found.labels);
                found
                    .items
                    .push(object.map_err(|malformed| malformed.into_unreadable(body)));
                Ok(Step::Done(end))
            }
            Err(_) => self.value(piece, here, found),
        }
    }

    /// A value of any kind that begins here.
    fn value(
        &mut self,
        piece: &Bytes,
        here: usize,
        found: &mut Found<'_>,
    ) -> Result<Step, SourceError> {
        let end = match piece[here] {
            b'{' | b'[' => self.bracketed(&piece[here..]),
            _ => token(&piece[here..])?,
        };
        let Some(end) = end else {
            return Ok(Step::Starved);
        };
        self.take(piece.slice(here..here + end), found)?;
        Ok(Step::Done(here + end))
    }

    /// Behind which byte an array or object ends. If it goes on, it is remembered how far it came.
    fn bracketed(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut nesting = Nesting::default();
        let end = nesting.advance(bytes);
        self.nesting = end.is_none().then_some(nesting);
        end
    }

    /// A complete value.
    fn take(&mut self, value: Bytes, found: &mut Found<'_>) -> Result<(), SourceError> {
        let Place::Value(member) = self.place else {
            found.items.push(RawObject::from_json(value, found.labels));
            return Ok(());
        };
        self.place = Place::Members;
        match member {
            Member::Kind if *value == *br#""Table""# => {
                return Err(unreadable(
                    "the server answered with a table, not with objects",
                ));
            }
            Member::Metadata => {
                let metadata: Option<ListMetadata> = serde_json::from_slice(&value)
                    .map_err(|error| unreadable(&format!("the list's metadata: {error}")))?;
                self.metadata = metadata.unwrap_or_default();
            }
            Member::Items if *value == *b"null" => self.has_items = true,
            Member::Items => return Err(unreadable("the items of the list are no array")),
            Member::Kind | Member::Other => {}
        }
        Ok(())
    }

    fn check_bound(&self) -> Result<(), SourceError> {
        let bound = match self.nesting {
            Some(_) => FRAME_BYTES_MAX,
            None => TOKEN_BYTES_MAX,
        };
        match self.begun.len() <= bound {
            true => Ok(()),
            false => Err(unreadable(&format!(
                "a part of the list has more than {bound} bytes"
            ))),
        }
    }
}

impl Member {
    fn of(name: &[u8]) -> Self {
        match name {
            b"kind" => Self::Kind,
            b"metadata" => Self::Metadata,
            b"items" => Self::Items,
            _ => Self::Other,
        }
    }
}

/// Behind which byte a text, a number or the like ends; `None` if it goes on.
fn token(bytes: &[u8]) -> Result<Option<usize>, SourceError> {
    let mut cursor = Cursor::new(bytes);
    complete(cursor.skip()).map(|done| done.map(|()| cursor.position()))
}

/// What was read; `None` if more bytes are needed to read it.
fn complete<T>(read: Result<T, Malformed>) -> Result<Option<T>, SourceError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(Malformed::TRUNCATED) => Ok(None),
        Err(malformed) => Err(unreadable(&malformed.to_string())),
    }
}

fn unreadable(reason: &str) -> SourceError {
    SourceError::Unreadable {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
