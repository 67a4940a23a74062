//! In which form answers go out and bodies come in.
//!
//! The forms are closed enums. The texts of refusals name those that Kubernetes names, which keeps
//! silent about CBOR unless it is told to serve it; here it is served to whoever asks.

use crate::query::Query;
use crate::status::Status;

mod accept;
#[cfg(test)]
mod tests;

use accept::Clause;

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const CBOR: &str = "application/cbor";
const CBOR_SEQUENCE: &str = "application/cbor-seq";
const JSON_WATCH: &str = "application/json;stream=watch";
const PROTOBUF_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// The types of single documents; named for custom resources too, which are never protobuf.
pub const BODY_TYPES: [&str; 3] = [JSON, YAML, PROTOBUF];

/// The syntax of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// JSON.
    Json,
    /// YAML; never for watches.
    Yaml,
    /// Protobuf; never for tables, and of custom kinds for metadata only.
    Protobuf,
    /// CBOR.
    Cbor,
}

impl Encoding {
    /// The `Content-Type` of the answer.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Yaml => YAML,
            Self::Protobuf => PROTOBUF,
            Self::Cbor => CBOR,
        }
    }

    /// The `Content-Type` of a stream of events.
    pub const fn stream_type(self) -> &'static str {
        match self {
            Self::Json | Self::Yaml => JSON,
            Self::Protobuf => PROTOBUF_WATCH,
            Self::Cbor => CBOR_SEQUENCE,
        }
    }

    /// Whether objects of this origin can be shown so in this syntax.
    fn can_show(self, target: Target, origin: Origin) -> bool {
        match (self, target, origin) {
            (Self::Json | Self::Yaml | Self::Cbor, _, _) => true,
            (Self::Protobuf, Target::Table(_), _) => false,
            (Self::Protobuf, Target::None, origin) => origin == Origin::BuiltIn,
            (Self::Protobuf, _, _) => true,
        }
    }
}

/// The syntaxes, the one first that is chosen when a client takes any.
const ENCODINGS: [Encoding; 4] = [
    Encoding::Json,
    Encoding::Yaml,
    Encoding::Protobuf,
    Encoding::Cbor,
];

/// Whether JSON is spread over lines for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// On one line.
    Compact,
    /// Indented by two spaces.
    Indented,
}

/// The version of the `meta.k8s.io` kinds an answer uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MetaVersion {
    /// `meta.k8s.io/v1`.
    V1,
    /// `meta.k8s.io/v1beta1`.
    V1Beta1,
}

impl MetaVersion {
    /// The text for `apiVersion`.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// How much of the object stands beside a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
}

/// What is shown of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transform {
    /// All of it.
    None,
    /// A row for people.
    Table {
        /// The version of the `Table` kind.
        version: MetaVersion,
        /// What stands beside the row.
        include: IncludeObject,
    },
    /// Its metadata.
    PartialObjectMetadata {
        /// The version of the `PartialObjectMetadata` kind.
        version: MetaVersion,
    },
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Representation {
    /// Its syntax.
    pub encoding: Encoding,
    /// What is shown.
    pub transform: Transform,
    /// Whether it is for people.
    pub layout: Layout,
}

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One object.
    Object,
    /// A list of objects.
    List,
    /// A stream of events.
    Watch,
}

/// Who defines the kind that an answer is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The server.
    BuiltIn,
    /// A CustomResourceDefinition.
    Custom,
}

/// The form of the list of everything that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DiscoveryForm {
    /// One document per group and version.
    Plain,
    /// Everything in one `apidiscovery.k8s.io/v2` document.
    AggregatedV2,
    /// Everything in one `apidiscovery.k8s.io/v2beta1` document.
    AggregatedV2Beta1,
}

impl DiscoveryForm {
    /// The `Content-Type` of the JSON answer.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Plain => JSON,
            Self::AggregatedV2 => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            Self::AggregatedV2Beta1 => {
                "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
            }
        }
    }
}

/// The syntax of the OpenAPI 2.0 document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpenApiForm {
    /// JSON.
    Json,
    /// gnostic's message.
    Protobuf,
}

/// What OpenAPI documents in protobuf were called, and are called.
const OPENAPI_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];

/// What a client says about the answers it takes.
#[derive(Clone, Copy, Debug)]
pub struct Preferences<'a> {
    /// The `Accept` header; empty when there is none.
    pub accept: &'a str,
    /// The `User-Agent` header; empty when there is none.
    pub user_agent: &'a str,
    /// The parameters of the request.
    pub query: Query<'a>,
}

impl Preferences<'_> {
    /// The form of an answer about objects.
    pub fn negotiate(&self, answer: Answer, origin: Origin) -> Result<Representation, Status> {
        let clauses = accept::parse(self.accept);
        let named = representations(answer);
        let is_named = accept::names_any(&clauses, named) || accept::names_any(&clauses, &[CBOR]);
        if origin == Origin::BuiltIn && !is_named {
            return Err(Status::no_representation(named));
        }
        let found = first_match(&clauses, &ENCODINGS, |clause, encoding| {
            Target::of_object(clause).filter(|target| encoding.can_show(*target, origin))
        });
        let (encoding, target, clause) =
            found.ok_or_else(|| Status::not_acceptable(&BODY_TYPES))?;
        if answer == Answer::Watch && encoding == Encoding::Yaml {
            return Err(Status::not_acceptable(&[JSON_WATCH, PROTOBUF_WATCH]));
        }
        let transform = self.transform(target, answer)?;
        Ok(Representation {
            encoding,
            transform,
            layout: self.layout(clause),
        })
    }

    /// The form of a refusal, which never fails.
    pub fn negotiate_refusal(&self) -> Representation {
        let clauses = accept::parse(self.accept);
        let (encoding, layout) = match first_match(&clauses, &ENCODINGS, plain) {
            Some((encoding, _, clause)) => (encoding, self.layout(clause)),
            None => (Encoding::Json, Layout::Indented),
        };
        Representation {
            encoding,
            transform: Transform::None,
            layout,
        }
    }

    /// The form of the list of everything that is served, and of its parts.
    pub fn negotiate_discovery(&self) -> Result<(DiscoveryForm, Layout), Status> {
        let clauses = accept::parse(self.accept);
        let aggregated = first_match(&clauses, &[Encoding::Json], |clause, _| {
            DiscoveryForm::aggregated(clause)
        });
        if let Some((_, form, clause)) = aggregated {
            return Ok((form, self.layout(clause)));
        }
        match first_match(&clauses, &[Encoding::Json], plain) {
            Some((_, _, clause)) => Ok((DiscoveryForm::Plain, self.layout(clause))),
            None => Err(Status::not_acceptable(&BODY_TYPES)),
        }
    }

    /// The form of the OpenAPI 2.0 document; `None` if it is in none that the client takes.
    pub fn negotiate_openapi(&self) -> Option<OpenApiForm> {
        let clauses = accept::parse(self.accept);
        clauses.iter().find_map(|clause| {
            if clause.covers(JSON) {
                return Some(OpenApiForm::Json);
            }
            let is_protobuf = OPENAPI_PROTOBUF.iter().any(|name| clause.covers(name));
            is_protobuf.then_some(OpenApiForm::Protobuf)
        })
    }

    fn transform(&self, target: Target, answer: Answer) -> Result<Transform, Status> {
        match (target, answer) {
            (Target::None, _) => Ok(Transform::None),
            (Target::Table(version), _) => Ok(Transform::Table {
                version,
                include: self.include_object()?,
            }),
            (Target::PartialObjectMetadata(version), Answer::Object | Answer::Watch)
            | (Target::PartialObjectMetadataList(version), Answer::List) => {
                Ok(Transform::PartialObjectMetadata { version })
            }
            (Target::PartialObjectMetadata(_), Answer::List) => Err(not_convertible(
                "you requested PartialObjectMetadata, but the requested object is a list",
            )),
            (Target::PartialObjectMetadataList(_), _) => Err(not_convertible(
                "you requested PartialObjectMetadataList, but the requested object is not a list",
            )),
        }
    }

    fn include_object(&self) -> Result<IncludeObject, Status> {
        match self.query.first("includeObject") {
            None | Some("" | "Metadata") => Ok(IncludeObject::Metadata),
            Some("None") => Ok(IncludeObject::None),
            Some("Object") => Ok(IncludeObject::Object),
            Some(other) => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must \
                 be 'Metadata', 'Object', 'None', or empty",
                crate::go_text::quote(other)
            ))),
        }
    }

    fn layout(&self, clause: &Clause<'_>) -> Layout {
        let is_for_people = match self.query.first("pretty") {
            _ if clause.parameter("pretty") == Some("1") => true,
            None | Some("") => ["curl", "Wget", "Mozilla/5.0"]
                .iter()
                .any(|prefix| self.user_agent.starts_with(prefix)),
            Some(text) => matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True"),
        };
        if is_for_people {
            Layout::Indented
        } else {
            Layout::Compact
        }
    }
}

/// What a clause wants instead of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    None,
    Table(MetaVersion),
    PartialObjectMetadata(MetaVersion),
    PartialObjectMetadataList(MetaVersion),
}

impl Target {
    fn of_object(clause: &Clause<'_>) -> Option<Self> {
        let parameters = ["as", "g", "v"].map(|name| clause.parameter(name));
        if parameters == [None, None, None] {
            return Some(Self::None);
        }
        let version = match parameters {
            [_, Some("meta.k8s.io"), Some("v1")] => MetaVersion::V1,
            [_, Some("meta.k8s.io"), Some("v1beta1")] => MetaVersion::V1Beta1,
            _ => return None,
        };
        match parameters[0] {
            Some("Table") => Some(Self::Table(version)),
            Some("PartialObjectMetadata") => Some(Self::PartialObjectMetadata(version)),
            Some("PartialObjectMetadataList") => Some(Self::PartialObjectMetadataList(version)),
            _ => None,
        }
    }

    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl DiscoveryForm {
    fn aggregated(clause: &Clause<'_>) -> Option<Self> {
        match ["as", "g", "v"].map(|name| clause.parameter(name)) {
            [
                Some("APIGroupDiscoveryList"),
                Some("apidiscovery.k8s.io"),
                Some("v2"),
            ] => Some(Self::AggregatedV2),
            [
                Some("APIGroupDiscoveryList"),
                Some("apidiscovery.k8s.io"),
                Some("v2beta1"),
            ] => Some(Self::AggregatedV2Beta1),
            _ => None,
        }
    }
}

/// The first clause that names an allowed encoding and says something that `read` understands.
fn first_match<'a, 'b, T>(
    clauses: &'b [Clause<'a>],
    allowed: &[Encoding],
    read: impl Fn(&Clause<'a>, Encoding) -> Option<T>,
) -> Option<(Encoding, T, &'b Clause<'a>)> {
    clauses.iter().find_map(|clause| {
        let fits = |encoding: &&Encoding| {
            clause.covers(encoding.content_type())
                && match clause.parameter("stream") {
                    None | Some("") => true,
                    Some(stream) => stream == "watch" && **encoding != Encoding::Yaml,
                }
        };
        let mut fitting = allowed.iter().filter(fits);
        fitting.find_map(|encoding| Some((*encoding, read(clause, *encoding)?, clause)))
    })
}

/// What a clause wants, if that is the object as it is.
fn plain(clause: &Clause<'_>, _: Encoding) -> Option<Target> {
    Target::of_object(clause).filter(Target::is_none)
}

fn representations(answer: Answer) -> &'static [&'static str] {
    match answer {
        Answer::Object => &BODY_TYPES,
        Answer::List | Answer::Watch => &[JSON, YAML, PROTOBUF, JSON_WATCH, PROTOBUF_WATCH],
    }
}

fn not_convertible(message: &str) -> Status {
    Status::failure(406, Some(crate::status::Reason::NotAcceptable), message)
}

/// The syntax of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BodyEncoding {
    /// JSON; also when the client does not say.
    Json,
    /// YAML.
    Yaml,
    /// Protobuf; for kinds whose schema has its numbers.
    Protobuf,
    /// CBOR.
    Cbor,
}

impl BodyEncoding {
    /// Reads the `Content-Type` header of a body with an object; empty when there is none.
    pub fn parse(content_type: &str) -> Result<Self, Status> {
        match media_type_of(content_type).as_str() {
            "" | JSON => Ok(Self::Json),
            YAML => Ok(Self::Yaml),
            PROTOBUF => Ok(Self::Protobuf),
            CBOR => Ok(Self::Cbor),
            _ => Err(Status::unsupported_media_type(&BODY_TYPES)),
        }
    }
}

/// The kind of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchType {
    /// A list of operations, RFC 6902.
    Json,
    /// A partial object, RFC 7386.
    Merge,
    /// A partial object whose lists are merged as the kind's schema says.
    StrategicMerge,
    /// A statement of the wanted state, with ownership.
    Apply(ApplySyntax),
}

/// The syntax of what is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApplySyntax {
    /// YAML, which JSON is too.
    Yaml,
    /// CBOR.
    Cbor,
}

impl PatchType {
    /// Reads the `Content-Type` header of a patch; empty when there is none.
    pub fn parse(content_type: &str, origin: Origin) -> Result<Self, Status> {
        let media_type = content_type.split(';').next().unwrap_or_default();
        match (media_type.trim_matches(' '), origin) {
            ("application/json-patch+json", _) => Ok(Self::Json),
            ("application/merge-patch+json", _) => Ok(Self::Merge),
            ("application/strategic-merge-patch+json", Origin::BuiltIn) => Ok(Self::StrategicMerge),
            ("application/apply-patch+yaml", _) => Ok(Self::Apply(ApplySyntax::Yaml)),
            ("application/apply-patch+cbor", _) => Ok(Self::Apply(ApplySyntax::Cbor)),
            (_, Origin::BuiltIn) => Err(Status::unsupported_patch_type()),
            (_, Origin::Custom) => Err(Status::unsupported_media_type(&[
                "application/json-patch+json",
                "application/merge-patch+json",
                "application/apply-patch+yaml",
            ])),
        }
    }
}

fn media_type_of(content_type: &str) -> String {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}
