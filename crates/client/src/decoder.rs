//! Bytes to what the user wants to keep, once per object.

use std::{borrow::Cow, fmt, sync::Arc};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::{
    Object, ObjectKey, RawObject, Version,
    wire::{DroppedFields, text_at},
};

/// Makes a body of an object's bytes. Called once for each state of each object.
///
/// Decoding is also the place to transform: a type with three fields keeps three fields, and what
/// it leaves out is never allocated.
pub struct Decoder<T> {
    decode: Arc<Decode<T>>,
}

type Decode<T> = dyn Fn(&RawObject) -> Result<T, DecodeError> + Send + Sync;

/// Why a body could not be made.
#[derive(Clone, Debug, Error)]
#[error("cannot decode: {reason}")]
pub struct DecodeError {
    /// What is wrong, for a person.
    pub reason: String,
}

/// An object that was left out of the cache because it could not be decoded.
#[derive(Clone, Debug)]
pub struct SetAside {
    /// Its name, if that much could be read.
    pub key: Option<ObjectKey>,
    /// Its version, if that much could be read.
    pub version: Option<Version>,
    /// Its bytes.
    pub raw: Bytes,
    /// What is wrong, for a person.
    pub reason: String,
}

/// An object kept as the bytes that came, in exactly as much memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Box<[u8]>);

impl<T> Decoder<T> {
    /// A decoder of one's own.
    pub fn new(
        decode: impl Fn(&RawObject) -> Result<T, DecodeError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            decode: Arc::new(decode),
        }
    }

    /// The object with its body decoded.
    pub fn decode(&self, raw: &RawObject) -> Result<Object<T>, DecodeError> {
        let body = (self.decode)(raw)?;
        Ok(Object {
            key: raw.key.clone(),
            version: raw.version.clone(),
            uid: raw.uid.clone(),
            labels: raw.labels.clone(),
            body,
        })
    }
}

impl<T: 'static> Decoder<T> {
    /// The same, but it never sees these fields of a JSON object: the bytes are copied without them
    /// before anything is allocated for what they say. [`DroppedFields`] tells how paths are
    /// written.
    ///
    /// ```
    /// # use listwatch::Decoder;
    /// let decoder = Decoder::raw().without(&[
    ///     "metadata.managedFields",
    ///     r"metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration",
    /// ]);
    /// ```
    #[must_use]
    pub fn without(self, paths: &[&str]) -> Self {
        let fields = DroppedFields::new(paths.iter().copied());
        Self::new(move |raw| {
            let body = fields
                .drop_from(&raw.body)
                .map_err(|malformed| DecodeError {
                    reason: malformed.to_string(),
                })?;
            (self.decode)(&RawObject {
                body: body.into(),
                ..raw.clone()
            })
        })
    }
}

impl<T: DeserializeOwned> Decoder<T> {
    /// Reads JSON into any type that serde can read. Fields that the type has not are skipped.
    pub fn json() -> Self {
        Self::new(|raw| from_json(&raw.body))
    }
}

impl Decoder<Raw> {
    /// Keeps the bytes.
    pub fn raw() -> Self {
        Self::new(|raw| Ok(Raw(raw.body.as_ref().into())))
    }
}

impl Raw {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The string at a path of member names, such as `["spec", "nodeName"]`, found without reading
    /// the rest; `None` if there is none.
    pub fn text_at(&self, path: &[&str]) -> Option<Cow<'_, str>> {
        text_at(&self.0, path)
    }

    /// Reads them as JSON.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        from_json(&self.0)
    }
}

/// Text is checked as a whole, which is faster than string by string.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let text = std::str::from_utf8(bytes).map_err(DecodeError::because)?;
    serde_json::from_str(text).map_err(DecodeError::because)
}

impl DecodeError {
    fn because(error: impl fmt::Display) -> Self {
        Self {
            reason: error.to_string(),
        }
    }
}

impl From<Vec<u8>> for Raw {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl<T> Clone for Decoder<T> {
    fn clone(&self) -> Self {
        Self {
            decode: Arc::clone(&self.decode),
        }
    }
}

impl<T> fmt::Debug for Decoder<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Decoder").finish_non_exhaustive()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::LabelPool;

    fn raw(body: &Value) -> RawObject {
        RawObject::from_json(body.to_string().into(), &mut LabelPool::default()).unwrap()
    }

    #[test]
    fn fields_that_nobody_wants_are_gone_before_decoding() {
        let metadata = json!({"name": "a", "resourceVersion": "7", "managedFields": [{"a": 1}]});
        let object = raw(&json!({"metadata": metadata, "data": {"b": "c"}}));
        let left = json!({"metadata": {"name": "a", "resourceVersion": "7"}, "data": {"b": "c"}});
        let fields = ["metadata.managedFields", "status"];
        let kept = Decoder::raw().without(&fields).decode(&object).unwrap();
        assert_eq!(kept.body.decode::<Value>().unwrap(), left);
        assert_eq!(kept.key, object.key);
        let json = Decoder::<Value>::json().without(&fields);
        assert_eq!(json.decode(&object).unwrap().body, left);
    }

    #[test]
    fn an_object_that_cannot_be_copied_cannot_be_decoded() {
        let mut object = raw(&json!({"metadata": {"name": "a", "resourceVersion": "7"}}));
        object.body = Bytes::from_static(b"{\"a\":");
        let decoder = Decoder::raw().without(&["a.b"]);
        assert_eq!(
            decoder.decode(&object).unwrap_err().reason,
            "it ends too early"
        );
    }
}
