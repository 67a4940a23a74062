//! Objects of any kind as `PartialObjectMetadata`: their metadata and nothing else.

use bytes::BufMut;
use listwatch_api::{
    ResourceVersion,
    media_type::MetaVersion,
    object::{StoredObject, append_escaped},
};

/// The metadata of a list document.
#[derive(Clone, Copy, Debug)]
pub struct ListMetadata<'a> {
    /// The version that the whole list was read at.
    pub resource_version: ResourceVersion,
    /// Where the next page begins.
    pub continue_token: Option<&'a str>,
    /// How many objects the following pages hold, where that is known.
    pub remaining_item_count: Option<u64>,
}

impl ListMetadata<'_> {
    /// The metadata of a document that holds all there is.
    pub fn complete(resource_version: ResourceVersion) -> Self {
        Self {
            resource_version,
            continue_token: None,
            remaining_item_count: None,
        }
    }

    /// Appends the JSON object.
    pub fn append(&self, buffer: &mut impl BufMut) {
        let version = format!(r#"{{"resourceVersion":"{}""#, self.resource_version);
        buffer.put_slice(version.as_bytes());
        if let Some(token) = self.continue_token {
            let mut escaped = Vec::new();
            append_escaped(token, &mut escaped);
            buffer.put_slice(br#","continue":""#);
            buffer.put_slice(&escaped);
            buffer.put_u8(b'"');
        }
        if let Some(count) = self.remaining_item_count {
            buffer.put_slice(format!(r#","remainingItemCount":{count}"#).as_bytes());
        }
        buffer.put_u8(b'}');
    }
}

impl ListMetadata<'_> {
    /// Appends the JSON object with its members sorted by name, and `continue` always there.
    pub fn append_sorted(&self, buffer: &mut Vec<u8>) {
        buffer.put_slice(br#"{"continue":""#);
        append_escaped(self.continue_token.unwrap_or_default(), buffer);
        buffer.put_u8(b'"');
        if let Some(count) = self.remaining_item_count {
            buffer.put_slice(format!(r#","remainingItemCount":{count}"#).as_bytes());
        }
        let version = format!(r#","resourceVersion":"{}"}}"#, self.resource_version);
        buffer.put_slice(version.as_bytes());
    }
}

/// Appends one object as `PartialObjectMetadata`: the answer to a get, an item of a list, the
/// object of an event.
pub(super) fn append_object(
    version: MetaVersion,
    object: &StoredObject,
    resource_version: ResourceVersion,
    buffer: &mut impl BufMut,
) {
    let header = header("PartialObjectMetadata", version);
    object.append_metadata_only(header.as_bytes(), resource_version, buffer);
}

/// Appends the beginning of a list document, up to the end of its metadata.
pub(super) fn append_head(
    kind: &str,
    version: MetaVersion,
    metadata: &ListMetadata<'_>,
    buffer: &mut impl BufMut,
) {
    buffer.put_u8(b'{');
    buffer.put_slice(header(kind, version).as_bytes());
    buffer.put_slice(br#","metadata":"#);
    metadata.append(buffer);
}

fn header(kind: &str, version: MetaVersion) -> String {
    format!(
        r#""kind":"{kind}","apiVersion":"{}""#,
        version.api_version()
    )
}

/// A `PartialObjectMetadataList`, written item by item.
#[derive(Debug)]
#[must_use]
pub struct PartialList {
    version: MetaVersion,
    separator: &'static [u8],
}

impl PartialList {
    /// Appends all that comes before the first item.
    pub fn begin(
        version: MetaVersion,
        metadata: &ListMetadata<'_>,
        buffer: &mut impl BufMut,
    ) -> Self {
        append_head("PartialObjectMetadataList", version, metadata, buffer);
        buffer.put_slice(br#","items":["#);
        Self {
            version,
            separator: b"",
        }
    }

    /// Appends one item.
    pub fn item(
        &mut self,
        object: &StoredObject,
        resource_version: ResourceVersion,
        buffer: &mut impl BufMut,
    ) {
        buffer.put_slice(self.separator);
        self.separator = b",";
        append_object(self.version, object, resource_version, buffer);
    }

    /// Appends all that comes after the last item.
    pub fn end(self, buffer: &mut impl BufMut) {
        buffer.put_slice(b"]}");
    }
}

#[cfg(test)]
mod tests {
    use listwatch_api::object::to_canonical;
    use serde_json::json;

    use super::*;

    const VERSION: ResourceVersion = ResourceVersion::new(140);

    fn config_map() -> StoredObject {
        let object = json!({
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "c1", "uid": "u", "labels": {"a": "<b>"}},
            "data": {"k": "v"},
        });
        StoredObject::scan(to_canonical(&object).into(), &[]).unwrap()
    }

    fn text(buffer: Vec<u8>) -> String {
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn an_object_is_reduced_to_its_metadata() {
        let mut buffer = Vec::new();
        append_object(MetaVersion::V1, &config_map(), VERSION, &mut buffer);
        let expected = concat!(
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","#,
            r#""metadata":{"name":"c1","uid":"u","resourceVersion":"140","#,
            r#""labels":{"a":"\u003cb\u003e"}}}"#
        );
        assert_eq!(text(buffer), expected);
    }

    #[test]
    fn items_of_a_list_say_their_kind() {
        let metadata = ListMetadata {
            resource_version: ResourceVersion::new(180),
            continue_token: Some("abc"),
            remaining_item_count: Some(8),
        };
        let mut buffer = Vec::new();
        let mut list = PartialList::begin(MetaVersion::V1Beta1, &metadata, &mut buffer);
        list.item(&config_map(), VERSION, &mut buffer);
        list.item(&config_map(), VERSION, &mut buffer);
        list.end(&mut buffer);
        let mut item = Vec::new();
        append_object(MetaVersion::V1Beta1, &config_map(), VERSION, &mut item);
        let item = text(item);
        let head = concat!(
            r#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1beta1","#,
            r#""metadata":{"resourceVersion":"180","continue":"abc","remainingItemCount":8},"#
        );
        assert_eq!(text(buffer), format!(r#"{head}"items":[{item},{item}]}}"#));
        assert!(item.contains(r#""apiVersion":"meta.k8s.io/v1beta1""#));
    }

    #[test]
    fn an_empty_list_has_an_empty_array() {
        let mut buffer = Vec::new();
        let metadata = ListMetadata::complete(ResourceVersion::new(5));
        PartialList::begin(MetaVersion::V1, &metadata, &mut buffer).end(&mut buffer);
        assert!(text(buffer).ends_with(r#""metadata":{"resourceVersion":"5"},"items":[]}"#));
    }
}
