//! Objects of any kind as `PartialObjectMetadata`: their metadata and nothing else.

use serde::Serialize;
use serde_json::Error;

use super::members::Members;

/// The version of `meta.k8s.io` that a client asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    /// `meta.k8s.io/v1`.
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// The `apiVersion` of the documents.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The metadata of a list document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMetadata<'a> {
    /// The resourceVersion the list was read at; what is not stored has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<&'a str>,
    /// Where the next page begins.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<&'a str>,
    /// How many objects the following pages hold, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_item_count: Option<u64>,
}

impl ListMetadata<'_> {
    /// Writes the members as clients expect them.
    pub fn write(&self, buffer: &mut Vec<u8>) {
        serde_json::to_writer(buffer, self).expect("texts and a number encode into memory");
    }
}

/// Writes one object as `PartialObjectMetadata`: the answer to a get, an item of a list, the
/// object of an event.
///
/// # Errors
/// When `object` is not one JSON object.
pub fn write_object(
    version: MetaVersion,
    object: &[u8],
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    write_members(version, &Members::of(object)?, buffer);
    Ok(())
}

pub(super) fn write_members(version: MetaVersion, members: &Members<'_>, buffer: &mut Vec<u8>) {
    write_kind("PartialObjectMetadata", version, buffer);
    buffer.extend_from_slice(members.metadata().as_bytes());
    buffer.push(b'}');
}

/// Begins a document of a kind, up to the value of its metadata.
pub(super) fn write_kind(kind: &str, version: MetaVersion, buffer: &mut Vec<u8>) {
    let api_version = version.api_version();
    let head = format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":"#);
    buffer.extend_from_slice(head.as_bytes());
}

/// A `PartialObjectMetadataList`, written item by item.
#[derive(Debug)]
#[must_use]
pub struct PartialList {
    version: MetaVersion,
    separator: &'static [u8],
}

impl PartialList {
    /// Writes all that comes before the first item.
    pub fn begin(version: MetaVersion, metadata: &ListMetadata<'_>, buffer: &mut Vec<u8>) -> Self {
        write_kind("PartialObjectMetadataList", version, buffer);
        metadata.write(buffer);
        buffer.extend_from_slice(br#","items":["#);
        Self {
            version,
            separator: b"",
        }
    }

    /// Writes one item. After an error the buffer is as it was.
    ///
    /// # Errors
    /// When `object` is not one JSON object.
    pub fn item(&mut self, object: &[u8], buffer: &mut Vec<u8>) -> Result<(), Error> {
        let members = Members::of(object)?;
        buffer.extend_from_slice(self.separator);
        self.separator = b",";
        write_members(self.version, &members, buffer);
        Ok(())
    }

    /// Writes all that comes after the last item.
    pub fn end(self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(b"]}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] =
        br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c1","uid":"u"},"data":{}}"#;

    fn text(buffer: Vec<u8>) -> String {
        String::from_utf8(buffer).unwrap()
    }

    #[test]
    fn an_object_is_reduced_to_its_metadata() {
        let mut buffer = Vec::new();
        write_object(MetaVersion::V1, OBJECT, &mut buffer).unwrap();
        assert_eq!(
            text(buffer),
            r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"c1","uid":"u"}}"#
        );
    }

    #[test]
    fn items_of_a_list_say_their_kind() {
        let metadata = ListMetadata {
            resource_version: Some("180"),
            continue_token: Some("abc"),
            remaining_item_count: Some(8),
        };
        let mut buffer = Vec::new();
        let mut list = PartialList::begin(MetaVersion::V1Beta1, &metadata, &mut buffer);
        list.item(OBJECT, &mut buffer).unwrap();
        list.item(OBJECT, &mut buffer).unwrap();
        list.end(&mut buffer);
        let item = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1beta1","metadata":{"name":"c1","uid":"u"}}"#;
        assert_eq!(
            text(buffer),
            format!(
                r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1beta1","metadata":{{"resourceVersion":"180","continue":"abc","remainingItemCount":8}},"items":[{item},{item}]}}"#
            )
        );
    }

    #[test]
    fn an_empty_list_has_an_empty_array() {
        let mut buffer = Vec::new();
        let metadata = ListMetadata {
            resource_version: Some("5"),
            ..ListMetadata::default()
        };
        PartialList::begin(MetaVersion::V1, &metadata, &mut buffer).end(&mut buffer);
        assert!(text(buffer).ends_with(r#""metadata":{"resourceVersion":"5"},"items":[]}"#));
    }

    #[test]
    fn a_broken_object_leaves_the_list_as_it_was() {
        let mut buffer = Vec::new();
        let mut list = PartialList::begin(MetaVersion::V1, &ListMetadata::default(), &mut buffer);
        assert!(list.item(b"{", &mut buffer).is_err());
        list.end(&mut buffer);
        assert!(text(buffer).ends_with(r#""items":[]}"#));
    }
}
