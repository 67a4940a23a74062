//! What stands in the store, whoever wrote it, made an object of the kind that its key belongs to.
//!
//! Values of this server are taken at their word. Others may be JSON in any form, or protobuf as
//! Kubernetes keeps it, in any served version. What cannot be read is named, with the reason.

use std::sync::Arc;

use listwatch_api::{
    json,
    metadata::Scope,
    object::{LayoutError, append_escaped, to_canonical},
    protobuf::{self, Envelope},
};
use listwatch_store::{COMMIT_BYTES_MAX, Key};
use serde_json::{Map, Value};

use super::{Conversion, CustomKind, Definition, Expected, Home, Registry};

/// What protobuf values begin with.
const PROTOBUF: &[u8] = b"k8s\0";
/// What encrypted values begin with.
const ENCRYPTED: &[u8] = b"k8s:enc:";
/// Bytes of a reason; what is longer is cut, so that values cannot fill logs and answers.
const REASON_BYTES_MAX: usize = 300;

/// Why a stored value is no object of its kind, for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(Box<str>);

impl Unreadable {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        let mut reason = reason.into();
        if reason.len() > REASON_BYTES_MAX {
            reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
            reason.push_str(" ...");
        }
        Self(reason.into())
    }
}

impl From<LayoutError> for Unreadable {
    fn from(error: LayoutError) -> Self {
        Self::new(error.to_string())
    }
}

/// How a value is written in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As this server writes it.
    Canonical,
    /// In another way. The next write makes it canonical.
    Foreign,
}

/// Reads the values of one kind.
#[derive(Debug)]
pub struct ValueReader {
    registry: Arc<Registry>,
    storage_prefix: Box<str>,
    scope: Scope,
    versions: Versions,
    /// How this server begins every object of the kind, up to its version if that may differ, else
    /// up to its name.
    beginning: Box<[u8]>,
}

/// In which versions the values of a kind may be.
#[derive(Debug)]
enum Versions {
    /// In these, the stored one first.
    BuiltIn(Vec<Arc<Definition>>),
    /// In any: the versions of a custom kind come and go while its values stay as they are.
    Custom { group: Box<str>, kind: Box<str> },
}

/// What a value says it is.
struct Claimed<'a> {
    expected: Expected<'a>,
    conversion: Conversion,
}

/// What a key says of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place<'a> {
    namespace: Option<&'a str>,
    name: &'a str,
}

impl ValueReader {
    /// The reader of the kind whose keys begin with this prefix; `None` if there is no such kind.
    pub fn new(registry: &Arc<Registry>, storage_prefix: &str) -> Option<Self> {
        let mut versions: Vec<Arc<Definition>> = registry
            .definitions()
            .iter()
            .filter(|definition| *definition.storage_prefix == *storage_prefix)
            .cloned()
            .collect();
        versions.sort_by_key(|definition| definition.conversion != Conversion::None);
        let stored = versions.first()?;
        let (kind, api_version) = (&stored.kind, stored.api_version());
        let beginning =
            format!(r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{{"name":""#);
        Some(Self {
            beginning: beginning.into_bytes().into(),
            registry: Arc::clone(registry),
            storage_prefix: storage_prefix.into(),
            scope: stored.scope,
            versions: Versions::BuiltIn(versions),
        })
    }

    /// The reader of a custom kind.
    pub fn of_custom(registry: &Arc<Registry>, custom: &CustomKind) -> Self {
        let CustomKind { kind, group, .. } = custom;
        let beginning = format!(r#"{{"kind":"{kind}","apiVersion":"{group}/"#);
        Self {
            beginning: beginning.into_bytes().into(),
            registry: Arc::clone(registry),
            storage_prefix: custom.storage_prefix.clone(),
            scope: custom.scope,
            versions: Versions::Custom {
                group: group.clone(),
                kind: kind.clone(),
            },
        }
    }

    /// Whether the value begins as this server begins the object of this key: kind and version,
    /// name, namespace and uid, in its order. Costs next to nothing.
    pub fn looks_canonical(&self, key: &Key, value: &[u8]) -> bool {
        self.place(key)
            .is_ok_and(|place| self.begins_with(place, value).is_some())
    }

    /// The canonical bytes of the object in a value that was written in another form: in the
    /// stored version of its kind, without a resourceVersion.
    pub fn normalize(&self, key: &Key, value: &[u8]) -> Result<Vec<u8>, Unreadable> {
        self.decode(key, value).map(|object| to_canonical(&object))
    }

    fn decode(&self, key: &Key, value: &[u8]) -> Result<Value, Unreadable> {
        let place = self.place(key)?;
        let bytes = value.len();
        if bytes > COMMIT_BYTES_MAX {
            let reason = format!("it has {bytes} bytes, {COMMIT_BYTES_MAX} at the most");
            return Err(Unreadable::new(reason));
        }
        let (api_version, kind, mut object) = match value {
            [] => return Err(Unreadable::new("it is empty")),
            _ if value.starts_with(ENCRYPTED) => {
                let reason = "it is encrypted, and there is no key for it here";
                return Err(Unreadable::new(reason));
            }
            _ if value.starts_with(PROTOBUF) => self.decode_protobuf(value)?,
            _ => self.decode_json(value)?,
        };
        if !object["metadata"].is_object() {
            return Err(Unreadable::new("it has no metadata"));
        }
        let Claimed {
            expected,
            conversion,
        } = self.version(&api_version, &kind)?;
        object["apiVersion"] = expected.api_version().into();
        self.registry
            .decode(expected, &mut object, value)
            .map_err(|error| Unreadable::new(error.to_string()))?;
        self.registry.to_stored(conversion, &mut object);
        settle_metadata(place, &mut object)?;
        Ok(object)
    }

    fn decode_json(&self, value: &[u8]) -> Result<(String, String, Value), Unreadable> {
        let document = json::decode(value).map_err(|error| {
            Unreadable::new(format!("it is neither JSON nor protobuf: {error}"))
        })?;
        let mut object = document.value;
        Registry::modernize(&mut object);
        if !object.is_object() {
            return Err(Unreadable::new("it is no JSON object"));
        }
        let text = |member| object.get(member).and_then(Value::as_str);
        let text = |member| text(member).unwrap_or_default().to_owned();
        Ok((text("apiVersion"), text("kind"), object))
    }

    fn decode_protobuf(&self, value: &[u8]) -> Result<(String, String, Value), Unreadable> {
        let broken = |error: protobuf::ProtobufError| Unreadable::new(error.to_string());
        let envelope = Envelope::parse(value).map_err(broken)?;
        let claimed = self.version(envelope.api_version, envelope.kind)?;
        let type_id = claimed
            .expected
            .schema
            .ok_or_else(|| Unreadable::new("its kind has no protobuf form"))?;
        let mut members =
            protobuf::decode(self.registry.schema(), type_id, envelope.raw).map_err(broken)?;
        members.insert("kind".to_owned(), envelope.kind.into());
        let (api_version, kind) = (envelope.api_version, envelope.kind);
        Ok((
            api_version.to_owned(),
            kind.to_owned(),
            Value::Object(members),
        ))
    }

    /// The version in which a value says that it is.
    fn version<'a>(
        &'a self,
        api_version: &'a str,
        kind: &'a str,
    ) -> Result<Claimed<'a>, Unreadable> {
        let wrong = |stored_kind: &str, stored_as: &str| {
            Unreadable::new(format!(
                "it says that it is {kind:?} of {api_version:?}, and belongs to {stored_kind:?} \
                 of {stored_as:?}"
            ))
        };
        match &self.versions {
            Versions::BuiltIn(versions) => {
                let found = find_version(versions, api_version, kind);
                let stored = &versions[0];
                let found = found.ok_or_else(|| wrong(&stored.kind, &stored.api_version()))?;
                Ok(Claimed {
                    expected: Expected::from(found),
                    conversion: found.conversion,
                })
            }
            Versions::Custom { group, kind: own } => {
                let split = api_version.split_once('/');
                let is_own = |(named, _): &(&str, &str)| **named == **group && kind == &**own;
                let (group, version) = split.filter(is_own).ok_or_else(|| wrong(own, group))?;
                Ok(Claimed {
                    expected: Expected {
                        group,
                        version,
                        kind,
                        schema: None,
                        home: Home::OwnVersion,
                    },
                    conversion: Conversion::None,
                })
            }
        }
    }

    fn place<'a>(&self, key: &'a Key) -> Result<Place<'a>, Unreadable> {
        let foreign = || Unreadable::new("its key is not one of an object of this kind");
        let tail = key
            .as_bytes()
            .strip_prefix(self.storage_prefix.as_bytes())
            .and_then(|tail| std::str::from_utf8(tail).ok())
            .ok_or_else(foreign)?;
        let place = match self.scope {
            Scope::Cluster => Place {
                namespace: None,
                name: tail,
            },
            Scope::Namespaced => {
                let (namespace, name) = tail.split_once('/').ok_or_else(foreign)?;
                Place {
                    namespace: Some(namespace).filter(|namespace| !namespace.is_empty()),
                    name,
                }
            }
        };
        let is_whole = place.namespace.is_some() == (self.scope == Scope::Namespaced);
        match is_whole && !place.name.is_empty() && !place.name.contains('/') {
            true => Ok(place),
            false => Err(foreign()),
        }
    }

    /// The rest of a value behind the uid, if everything before it is as this server writes it.
    fn begins_with<'a>(&self, place: Place<'_>, value: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = value.strip_prefix(&*self.beginning)?;
        if let Versions::Custom { .. } = self.versions {
            let end = rest.iter().position(|byte| *byte == b'"')?;
            rest = rest[end..].strip_prefix(br#"","metadata":{"name":""#)?;
        }
        let mut rest = strip_text(rest, place.name)?;
        if let Some(base) = rest.strip_prefix(br#","generateName":""#) {
            let mut length = 0;
            while *base.get(length)? != b'"' {
                length += if base[length] == b'\\' { 2 } else { 1 };
            }
            rest = &base[length + 1..];
        }
        if let Some(namespace) = place.namespace {
            rest = rest.strip_prefix(br#","namespace":""#)?;
            rest = strip_text(rest, namespace)?;
        }
        rest.strip_prefix(br#","uid":""#)
    }
}

fn find_version<'a>(
    versions: &'a [Arc<Definition>],
    api_version: &str,
    kind: &str,
) -> Option<&'a Definition> {
    let served = |it: &&Arc<Definition>| it.api_version() == api_version;
    let known = |it: &&Arc<Definition>| it.also_stored_as.iter().any(|v| **v == *api_version);
    let mut versions = versions.iter().filter(|it| *it.kind == *kind);
    let found = versions
        .clone()
        .find(served)
        .or_else(|| versions.find(known));
    found.map(|definition| &**definition)
}

/// What follows the text, as it stands in stored objects, and the quote behind it.
fn strip_text<'a>(value: &'a [u8], text: &str) -> Option<&'a [u8]> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.:_".contains(byte);
    let rest = match text.as_bytes().iter().all(is_plain) {
        true => value.strip_prefix(text.as_bytes()),
        false => {
            let mut escaped = Vec::with_capacity(text.len());
            append_escaped(text, &mut escaped);
            value.strip_prefix(&*escaped)
        }
    };
    rest?.strip_prefix(b"\"")
}

/// Holds the metadata against the key, which decides where they say nothing, and takes out what
/// the store or nobody keeps.
fn settle_metadata(place: Place<'_>, object: &mut Value) -> Result<(), Unreadable> {
    let metadata = object["metadata"].as_object_mut();
    let metadata = metadata.ok_or_else(|| Unreadable::new("it has no metadata"))?;
    settle_text(metadata, "name", place.name)?;
    settle_text(metadata, "namespace", place.namespace.unwrap_or_default())?;
    metadata.remove("resourceVersion");
    metadata.remove("selfLink");
    Ok(())
}

fn settle_text(
    metadata: &mut Map<String, Value>,
    member: &str,
    expected: &str,
) -> Result<(), Unreadable> {
    let found = metadata.get(member).and_then(Value::as_str);
    match found.unwrap_or_default() {
        found if found == expected => {}
        "" => drop(metadata.insert(member.to_owned(), expected.into())),
        found => {
            let reason =
                format!("its metadata.{member} is {found:?}, and its key says {expected:?}");
            return Err(Unreadable::new(reason));
        }
    }
    if expected.is_empty() {
        metadata.remove(member);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
