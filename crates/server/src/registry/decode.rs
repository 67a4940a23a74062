//! Judges a parsed body: is it the kind that was asked for, and do its fields fit the kind's type.
//! The texts are those of Kubernetes, which people and programs know.

use std::fmt;

use listwatch_api::json::type_word;
use listwatch_api::schema::{Schema, TypeId};
use listwatch_api::yaml::RepeatedKey;
use serde_json::{Map, Value};

use super::{Definition, Registry, Subresource};

mod cbor;
mod protobuf;
mod time;
mod walk;

/// Where Kubernetes keeps the list of kinds that its answers speak of.
const SCHEME: &str = "pkg/api/legacyscheme/scheme.go:30";
const META_GROUP: &str = "meta.k8s.io";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// Bytes of a body that an answer repeats.
const SUMMARY_BYTES_MAX: usize = 30;

/// A body that cannot be used; its text goes to the client with code 400.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecodeError(String);

/// A field that was dropped, or kept in one of several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldProblem {
    /// The kind has no such field.
    Unknown(String),
    /// The field came more than once; the last one counts.
    Duplicate(String),
    /// The same in YAML, where it is told by its line.
    RepeatedKey(RepeatedKey),
}

impl fmt::Display for FieldProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(path) => write!(formatter, "unknown field {path:?}"),
            Self::Duplicate(path) => write!(formatter, "duplicate field {path:?}"),
            Self::RepeatedKey(key) => key.fmt(formatter),
        }
    }
}

/// How Kubernetes tells of all keys that stand again in a body.
pub(crate) fn repeated_keys(keys: &[impl fmt::Display]) -> String {
    let told = keys.iter().map(|key| format!("\n  {key}"));
    format!("yaml: unmarshal errors:{}", told.collect::<String>())
}

/// The kind of object that a request must bring.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its group; empty for the core group.
    pub group: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its shape; `None` keeps anything beside `metadata`.
    pub schema: Option<TypeId>,
    /// Where else it is known.
    pub home: Home,
}

/// In which versions a kind is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In its own.
    OwnVersion,
    /// In every version of every group, as `DeleteOptions` is.
    EveryVersion,
}

impl<'a> Expected<'a> {
    /// The options that a delete may bring along.
    pub fn delete_options(registry: &Registry) -> Expected<'static> {
        Expected {
            group: "",
            version: "v1",
            kind: "DeleteOptions",
            schema: registry.schema.find(DELETE_OPTIONS),
            home: Home::EveryVersion,
        }
    }

    /// What a subresource of a kind speaks.
    pub fn of_subresource(definition: &'a Definition, subresource: &'a Subresource) -> Self {
        Self {
            group: subresource.group.as_ref().unwrap_or(&definition.group),
            version: subresource.version.as_ref().unwrap_or(&definition.version),
            kind: &subresource.kind,
            schema: subresource.schema,
            home: Home::OwnVersion,
        }
    }

    /// The refusal of a body in which strict validation found problems; `None` without any.
    pub fn refuse_problems(&self, problems: &[FieldProblem]) -> Option<DecodeError> {
        if problems.is_empty() {
            return None;
        }
        let (keys, fields): (Vec<_>, Vec<_>) = problems
            .iter()
            .partition(|problem| matches!(problem, FieldProblem::RepeatedKey(_)));
        let keys = (!keys.is_empty()).then(|| repeated_keys(&keys));
        let fields = fields.iter().map(ToString::to_string);
        let told: Vec<String> = keys.into_iter().chain(fields).collect();
        let reason = format!("strict decoding error: {}", told.join(", "));
        Some(self.unsuitable(self.kind, self.version, &reason))
    }

    /// The refusal of a body in which no kind can be found, `reason` telling why.
    pub fn unrecognized(&self, reason: &str, body: &[u8]) -> DecodeError {
        let (kind, summary) = (self.kind, summarize(body));
        DecodeError(format!(
            "the object provided is unrecognized (must be of type {kind}): {reason} ({summary})"
        ))
    }

    /// What a body says it is: its `apiVersion`, empty if it says none, and its kind.
    pub(crate) fn identify(
        &self,
        object: &Value,
        body: &[u8],
    ) -> Result<(String, Option<String>), DecodeError> {
        if object.is_null() {
            return Ok((String::new(), None));
        }
        let given = Identity::read(object).map_err(|why| self.unrecognized(&why, body))?;
        let api_version = given.group_version.map(|(group, version)| match &*group {
            "" => version,
            _ => format!("{group}/{version}"),
        });
        Ok((api_version.unwrap_or_default(), given.kind))
    }

    /// The refusal of a body of this kind and version that cannot be what is expected.
    pub(crate) fn unsuitable(&self, kind: &str, version: &str, reason: &str) -> DecodeError {
        let wanted = self.kind;
        DecodeError(format!(
            "{kind} in version {version:?} cannot be handled as a {wanted}: {reason}"
        ))
    }

    /// Why a body of this kind was refused, if this is such a refusal.
    pub(crate) fn reason_in<'b>(&self, refusal: &'b str) -> Option<&'b str> {
        let introduction = format!(" cannot be handled as a {}: ", self.kind);
        refusal.split_once(&introduction).map(|(_, reason)| reason)
    }

    /// Its `apiVersion`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl<'a> From<&'a Definition> for Expected<'a> {
    fn from(definition: &'a Definition) -> Self {
        Self {
            group: &definition.group,
            version: &definition.version,
            kind: &definition.kind,
            schema: definition.schema,
            home: Home::OwnVersion,
        }
    }
}

impl Registry {
    /// Makes a parsed body the object that Kubernetes would make of it: `kind` and `apiVersion`
    /// there, unknown fields and empty values gone, unset structs there, every field of its type.
    ///
    /// `body` is repeated in part when no kind can be found in it. The result names the fields
    /// that were dropped.
    pub fn decode(
        &self,
        expected: Expected<'_>,
        object: &mut Value,
        body: &[u8],
    ) -> Result<Vec<FieldProblem>, DecodeError> {
        if object.is_null() {
            // Go reads null as an object in which nothing is set.
            *object = Value::Object(Map::new());
        }
        let given = Identity::read(object).map_err(|why| expected.unrecognized(&why, body))?;
        self.check_identity(&expected, &given)?;
        let Value::Object(members) = object else {
            unreachable!("an identity is read from an object alone");
        };
        let unknown = self
            .check_fields(expected.schema, members)
            .map_err(|reason| expected.unsuitable(expected.kind, expected.version, &reason))?;
        members.insert("apiVersion".to_owned(), expected.api_version().into());
        members.insert("kind".to_owned(), expected.kind.into());
        Ok(unknown.into_iter().map(FieldProblem::Unknown).collect())
    }

    /// An object of this type in which nothing is set, as Kubernetes writes it.
    pub fn unset(&self, type_id: TypeId) -> Map<String, Value> {
        walk::unset(&self.schema, type_id)
    }

    fn check_fields(
        &self,
        schema: Option<TypeId>,
        members: &mut Map<String, Value>,
    ) -> Result<Vec<String>, String> {
        if let Some(type_id) = schema {
            return walk::check(&self.schema, type_id, members);
        }
        let metadata = members.get_mut("metadata").and_then(Value::as_object_mut);
        match (metadata, self.schema.find(OBJECT_META)) {
            (Some(metadata), Some(type_id)) => {
                let dropped = walk::check(&self.schema, type_id, metadata)?;
                Ok(dropped
                    .iter()
                    .map(|path| format!("metadata.{path}"))
                    .collect())
            }
            _ => Ok(Vec::new()),
        }
    }

    fn check_identity(&self, expected: &Expected<'_>, given: &Identity) -> Result<(), DecodeError> {
        let kind = given.kind.as_deref().unwrap_or(expected.kind);
        let (group, version) = match &given.group_version {
            Some((group, version)) => (&**group, &**version),
            None => (expected.group, expected.version),
        };
        let at_home = match expected.home {
            Home::OwnVersion => (group, version) == (expected.group, expected.version),
            Home::EveryVersion => self.version_exists(group, version) || group == META_GROUP,
        };
        if at_home && kind == expected.kind {
            return Ok(());
        }
        let group_version = match group {
            "" => version.to_owned(),
            _ => format!("{group}/{version}"),
        };
        let Some(found) = self.type_name(group, version, kind) else {
            let reason = format!(
                "no kind {kind:?} is registered for version {group_version:?} in scheme {SCHEME:?}"
            );
            return Err(expected.unsuitable(kind, version, &reason));
        };
        let wanted = self.type_name(expected.group, expected.version, expected.kind);
        if wanted.is_some_and(|wanted| internal_name(found) == internal_name(wanted)) {
            return Err(DecodeError(format!(
                "the API version in the data ({group_version}) does not match the expected API \
                 version ({})",
                expected.api_version()
            )));
        }
        let wanted = wanted.map_or_else(|| expected.kind.to_owned(), internal_name);
        let reason = format!("converting ({version}.{kind}) to ({wanted}): unknown conversion");
        Err(expected.unsuitable(kind, version, &reason))
    }

    /// The full name of the type of a kind, of a list of it, or of what a subresource speaks.
    fn type_name(&self, group: &str, version: &str, kind: &str) -> Option<&str> {
        let known = self.definitions.iter().flat_map(|definition| {
            let below = definition.subresources.iter();
            let below = below.map(|below| Expected::of_subresource(definition, below));
            [Expected::from(&**definition)].into_iter().chain(below)
        });
        let mut known = known.filter(|known| (known.group, known.version) == (group, version));
        known.find_map(|known| {
            let name = &*self.schema.object_type(known.schema?).name;
            match kind.strip_suffix("List") {
                _ if known.kind == kind => Some(name),
                Some(element) if known.kind == element => {
                    let list = self.schema.find(&format!("{name}List"))?;
                    Some(&*self.schema.object_type(list).name)
                }
                _ => None,
            }
        })
    }
}

/// What a body says it is.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    kind: Option<String>,
    group_version: Option<(String, String)>,
}

impl Identity {
    fn read(body: &Value) -> Result<Self, String> {
        let parse_error = |reason| format!("couldn't get version/kind; json parse error: {reason}");
        let Value::Object(members) = body else {
            let found = type_word(body);
            return Err(parse_error(format!(
                "json: cannot unmarshal {found} into Go value of type struct {{ \
                 APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                 Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            )));
        };
        let text = |name: &str| match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(parse_error(format!(
                "json: cannot unmarshal {} into Go struct field .{name} of type string",
                type_word(other)
            ))),
        };
        Ok(Self {
            kind: text("kind")?,
            group_version: text("apiVersion")?.map(split_api_version).transpose()?,
        })
    }
}

fn split_api_version(api_version: String) -> Result<(String, String), String> {
    match api_version.split('/').collect::<Vec<_>>()[..] {
        [version] => Ok((String::new(), version.to_owned())),
        [group, version] => Ok((group.to_owned(), version.to_owned())),
        _ => Err(format!("unexpected GroupVersion string: {api_version}")),
    }
}

/// The name of the type without a version, such as `core.ConfigMap`.
fn internal_name(type_name: &str) -> String {
    let mut parts = type_name.rsplit('.');
    let (kind, _version, package) = (parts.next(), parts.next(), parts.next());
    match (package, kind) {
        (Some("events"), Some("Event")) => "core.Event".to_owned(),
        (Some(package), Some(kind)) => format!("{package}.{kind}"),
        _ => type_name.to_owned(),
    }
}

fn summarize(body: &[u8]) -> String {
    let (shown, more) = match body.get(..SUMMARY_BYTES_MAX) {
        Some(shown) if body.len() > SUMMARY_BYTES_MAX => (shown, " ..."),
        _ => (body, ""),
    };
    match shown.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

/// Leaves out what the type does not know or does not write, and fills in what it always has.
pub(super) fn normalize(schema: &Schema, type_id: TypeId, members: &mut Map<String, Value>) {
    // What does not fit stays for the next check to refuse: there is nobody here to tell.
    let _ = walk::check(schema, type_id, members);
}

#[cfg(test)]
mod tests;
