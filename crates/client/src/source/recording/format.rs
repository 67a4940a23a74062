//! The lines of a recording, as `docs/recording-format.md` describes them.

use std::{collections::BTreeMap, time::Duration};

use base64::{DecodeError, Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    InitialEvents, RawEvent, RawObject, SourceError, Uid, Version,
    lister_watcher::{Bookmark, ListEnd, Unreadable},
};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// The first line.
#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) listwatch_recording: u32,
    #[serde(with = "InitialEventsForm")]
    pub(super) initial_events: InitialEvents,
}

/// Any line between the first and the last.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// Microseconds since the recording began.
    pub(super) at_us: u64,
    /// Requests are numbered from 1.
    pub(super) request: u64,
    pub(super) what: What,
}

/// The last line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LastLine {
    pub(super) finished: Finished,
}

/// Why a recording ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Finished {
    /// Nobody asks the recorder any more.
    Complete,
    /// More was said than was to be kept.
    Full { bytes_max: u64 },
}

/// What happened to a request.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum What {
    /// A list began; in words, what was asked.
    List(String),
    /// A watch began; in words, what was asked.
    Watch(String),
    /// The source took the request.
    Answered,
    /// A part of a list.
    Items(Vec<ItemForm>),
    /// The end of a list.
    End(ListEndForm),
    /// Events of a watch that came together.
    Events(Vec<EventForm>),
    /// The request failed.
    Failed(#[serde(with = "SourceErrorForm")] SourceError),
    /// The source ended the watch in good order.
    Ended,
    /// Whoever asked wanted no more.
    Dropped,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "InitialEvents", rename_all = "snake_case")]
enum InitialEventsForm {
    Offered,
    Unsupported,
}

/// A number, or any other text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum VersionForm {
    Number(u64),
    Text(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemForm {
    Object(ObjectForm),
    Unreadable(UnreadableForm),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum EventForm {
    Added(ObjectForm),
    Modified(ObjectForm),
    Deleted(ObjectForm),
    Bookmark(VersionForm),
    InitialEventsEnd(VersionForm),
    Unreadable(UnreadableForm),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ObjectForm {
    key: String,
    version: VersionForm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
    body: BodyForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnreadableForm {
    reason: String,
    raw: BodyForm,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListEndForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<VersionForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continue_token: Option<String>,
}

/// Bytes: as they are if they are one JSON document on one line, else in base64.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BodyForm {
    Json(Box<RawValue>),
    Base64(String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "SourceError", rename_all = "snake_case")]
enum SourceErrorForm {
    Expired {
        message: String,
    },
    TooLarge {
        message: String,
        #[serde(rename = "retry_after_us", with = "optional_microseconds", default)]
        retry_after: Option<Duration>,
    },
    TooManyRequests {
        message: String,
        #[serde(rename = "retry_after_us", with = "optional_microseconds", default)]
        retry_after: Option<Duration>,
    },
    ConnectionRefused {
        reason: String,
    },
    Disconnected {
        reason: String,
    },
    Denied {
        code: u16,
        message: String,
    },
    Internal {
        code: u16,
        message: String,
    },
    Refused {
        code: u16,
        message: String,
    },
    Unreadable {
        reason: String,
    },
}

/// Whole microseconds; more than fit into the number are as good as for ever.
pub(super) fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

mod optional_microseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ref_option, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let microseconds = duration.map(super::microseconds);
        microseconds.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let microseconds = Option::<u64>::deserialize(deserializer)?;
        Ok(microseconds.map(Duration::from_micros))
    }
}

impl From<&Version> for VersionForm {
    fn from(version: &Version) -> Self {
        match version {
            Version::Number(number) => Self::Number(*number),
            Version::Text(text) => Self::Text(text.to_string()),
        }
    }
}

impl From<VersionForm> for Version {
    fn from(form: VersionForm) -> Self {
        match form {
            VersionForm::Number(number) => Self::Number(number),
            VersionForm::Text(text) => Self::Text(text.into()),
        }
    }
}

impl From<&[u8]> for BodyForm {
    fn from(bytes: &[u8]) -> Self {
        let one_line = !bytes.contains(&b'\n') && !bytes.contains(&b'\r');
        let json = one_line.then(|| serde_json::from_slice::<&RawValue>(bytes));
        match json {
            // Space around the value would not come back.
            Some(Ok(json)) if json.get().len() == bytes.len() => Self::Json(json.to_owned()),
            Some(_) | None => Self::Base64(STANDARD.encode(bytes)),
        }
    }
}

impl TryFrom<BodyForm> for Bytes {
    type Error = DecodeError;

    fn try_from(form: BodyForm) -> Result<Self, DecodeError> {
        match form {
            BodyForm::Json(json) => Ok(String::from(Box::<str>::from(json)).into()),
            BodyForm::Base64(text) => Ok(STANDARD.decode(text)?.into()),
        }
    }
}

impl From<&RawObject> for ObjectForm {
    fn from(raw: &RawObject) -> Self {
        let labels = raw.labels.iter();
        Self {
            key: raw.key.to_string(),
            version: (&raw.version).into(),
            uid: raw.uid.as_ref().map(ToString::to_string),
            labels: labels
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: raw.body.as_ref().into(),
        }
    }
}

impl TryFrom<ObjectForm> for RawObject {
    type Error = DecodeError;

    fn try_from(form: ObjectForm) -> Result<Self, DecodeError> {
        Ok(Self {
            key: form.key.into(),
            version: form.version.into(),
            uid: form.uid.as_deref().and_then(Uid::parse),
            labels: form.labels.into_iter().collect(),
            body: form.body.try_into()?,
        })
    }
}

impl From<&Unreadable> for UnreadableForm {
    fn from(unreadable: &Unreadable) -> Self {
        Self {
            reason: unreadable.reason.clone(),
            raw: unreadable.raw.as_ref().into(),
        }
    }
}

impl TryFrom<UnreadableForm> for Unreadable {
    type Error = DecodeError;

    fn try_from(form: UnreadableForm) -> Result<Self, DecodeError> {
        Ok(Self {
            raw: form.raw.try_into()?,
            reason: form.reason,
        })
    }
}

impl From<&Result<RawObject, Unreadable>> for ItemForm {
    fn from(item: &Result<RawObject, Unreadable>) -> Self {
        match item {
            Ok(raw) => Self::Object(raw.into()),
            Err(unreadable) => Self::Unreadable(unreadable.into()),
        }
    }
}

impl ItemForm {
    pub(super) fn item(self) -> Result<Result<RawObject, Unreadable>, DecodeError> {
        match self {
            Self::Object(form) => form.try_into().map(Ok),
            Self::Unreadable(form) => form.try_into().map(Err),
        }
    }
}

impl From<&RawEvent> for EventForm {
    fn from(event: &RawEvent) -> Self {
        match event {
            RawEvent::Added(raw) => Self::Added(raw.into()),
            RawEvent::Modified(raw) => Self::Modified(raw.into()),
            RawEvent::Deleted(raw) => Self::Deleted(raw.into()),
            RawEvent::Bookmark(Bookmark::Progress(version)) => Self::Bookmark(version.into()),
            RawEvent::Bookmark(Bookmark::InitialEventsEnd(version)) => {
                Self::InitialEventsEnd(version.into())
            }
            RawEvent::Unreadable(unreadable) => Self::Unreadable(unreadable.into()),
        }
    }
}

impl TryFrom<EventForm> for RawEvent {
    type Error = DecodeError;

    fn try_from(form: EventForm) -> Result<Self, DecodeError> {
        Ok(match form {
            EventForm::Added(form) => Self::Added(form.try_into()?),
            EventForm::Modified(form) => Self::Modified(form.try_into()?),
            EventForm::Deleted(form) => Self::Deleted(form.try_into()?),
            EventForm::Bookmark(version) => Self::Bookmark(Bookmark::Progress(version.into())),
            EventForm::InitialEventsEnd(version) => {
                Self::Bookmark(Bookmark::InitialEventsEnd(version.into()))
            }
            EventForm::Unreadable(form) => Self::Unreadable(form.try_into()?),
        })
    }
}

impl From<&ListEnd> for ListEndForm {
    fn from(end: &ListEnd) -> Self {
        Self {
            version: end.version.as_ref().map(Into::into),
            continue_token: end.continue_token.clone(),
        }
    }
}

impl From<ListEndForm> for ListEnd {
    fn from(form: ListEndForm) -> Self {
        Self {
            version: form.version.map(Into::into),
            continue_token: form.continue_token,
        }
    }
}
