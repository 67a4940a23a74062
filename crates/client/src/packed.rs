//! Objects kept compressed, with the fields that are read often beside them.

use std::{borrow::Cow, fmt, sync::OnceLock};

use bytes::Bytes;
use serde::de::DeserializeOwned;

use crate::{DecodeError, Decoder, Raw, RawObject, decoder::from_json, wire::text_at};

/// Bytes of an object that serve as a model for the others, at the most.
const MODEL_BYTES_MAX: usize = 16 * 1024;

/// An object of which a few fields are at hand and the rest is compressed.
///
/// Objects of one kind are much alike: each is written as its difference from the first one that
/// came, so that a pod of 4 KB takes less than one. Reading it back takes a few microseconds, which
/// is nothing for a lookup and much for a scan. Put what indexes and filters need into `hot`.
///
/// ```
/// # use listwatch::{Decoder, Packed};
/// # use serde::Deserialize;
/// #[derive(Deserialize)]
/// struct Placement {
///     spec: Spec,
/// }
/// #[derive(Deserialize)]
/// #[serde(rename_all = "camelCase")]
/// struct Spec {
///     node_name: Option<Box<str>>,
/// }
/// let decoder: Decoder<Packed<Placement>> = Decoder::packed();
/// ```
pub struct Packed<H = ()> {
    /// What is always at hand.
    pub hot: H,
    model: Bytes,
    packed: Box<[u8]>,
}

impl<H> Packed<H> {
    /// The object's bytes.
    pub fn unpack(&self) -> Raw {
        let bytes = lz4_flex::block::decompress_size_prepended_with_dict(&self.packed, &self.model);
        Raw::from(bytes.expect("this was compressed with the same model"))
    }

    /// Reads the object as JSON.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        self.unpack().decode()
    }

    /// How much memory the compressed bytes take.
    pub fn packed_len(&self) -> usize {
        self.packed.len()
    }
}

impl<H: DeserializeOwned + 'static> Decoder<Packed<H>> {
    /// Reads the fields of `H` and keeps the rest compressed.
    pub fn packed() -> Self {
        Self::packed_with(|raw| from_json(&raw.body))
    }
}

impl Decoder<Packed<Option<Box<str>>>> {
    /// Keeps one string at hand, such as `["spec", "nodeName"]`, and the rest compressed.
    pub fn packed_beside(path: &'static [&'static str]) -> Self {
        Self::packed_with(move |raw| {
            Ok(text_at(&raw.body, path)
                .map(Cow::into_owned)
                .map(Into::into))
        })
    }
}

impl<H: 'static> Decoder<Packed<H>> {
    /// Keeps what a function makes of the object at hand, and the rest compressed.
    pub fn packed_with(
        hot: impl Fn(&RawObject) -> Result<H, DecodeError> + Send + Sync + 'static,
    ) -> Self {
        let model = OnceLock::new();
        Self::new(move |raw| {
            let hot = hot(raw)?;
            let model: &Bytes = model.get_or_init(|| {
                let length = raw.body.len().min(MODEL_BYTES_MAX);
                Bytes::copy_from_slice(&raw.body[..length])
            });
            let packed = lz4_flex::block::compress_prepend_size_with_dict(&raw.body, model);
            Ok(Packed {
                hot,
                model: model.clone(),
                packed: packed.into(),
            })
        })
    }
}

impl<H: fmt::Debug> fmt::Debug for Packed<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Packed")
            .field("hot", &self.hot)
            .field("packed_len", &self.packed_len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Labels, ObjectKey, Version};

    fn raw(body: impl Into<Bytes>) -> RawObject {
        RawObject {
            key: ObjectKey::from("default/a"),
            version: Version::Number(1),
            uid: None,
            labels: Labels::default(),
            body: body.into(),
        }
    }

    fn pod(number: usize) -> String {
        let filling = "abcdefghij ".repeat(100);
        format!(r#"{{"spec":{{"nodeName":"node-{number}"}},"status":"{filling}{number}"}}"#)
    }

    #[test]
    fn what_was_packed_is_unpacked_to_the_byte() {
        let decoder = Decoder::<Packed>::packed_with(|_| Ok(()));
        let odd = [String::new(), "x".to_owned(), "y".repeat(70_000), pod(7)];
        for body in [pod(1), pod(2)].into_iter().chain(odd) {
            let packed = decoder.decode(&raw(body.clone())).unwrap();
            assert_eq!(packed.unpack().as_bytes(), body.as_bytes());
        }
    }

    #[test]
    fn an_object_like_the_first_takes_little() {
        let decoder = Decoder::packed_beside(&["spec", "nodeName"]);
        decoder.decode(&raw(pod(1))).unwrap();
        let second = decoder.decode(&raw(pod(2))).unwrap();
        assert!(second.packed_len() < 64, "{second:?}");
        assert_eq!(second.hot.as_deref(), Some("node-2"));
    }

    #[test]
    fn fields_at_hand_are_read_once_and_what_lacks_them_is_refused() {
        #[derive(serde::Deserialize)]
        struct Hot {
            spec: serde_json::Value,
        }
        let decoder: Decoder<Packed<Hot>> = Decoder::packed();
        let object = decoder.decode(&raw(pod(3))).unwrap();
        assert_eq!(object.hot.spec["nodeName"], "node-3");
        let whole: serde_json::Value = object.body.decode().unwrap();
        assert_eq!(whole["spec"]["nodeName"], "node-3");
        assert!(decoder.decode(&raw("{}")).is_err());
    }
}
