//! PATCH with an apply: a client states the fields it wants, and the object is made to have them.

use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    Status, StatusCause, cbor,
    json::type_word,
    media_type::ApplySyntax,
    patch::Reach,
    write_options::{FieldValidation, PatchOptions},
    yaml::{self, RepeatedKey, YamlDocument},
};
use serde_json::{Value, json};

use super::{
    create,
    part::Part,
    patch::checked,
    scale,
    submitted::{self, Submitted},
    writer::{Change, New, WhenMissing, Writer},
};
use crate::{
    commit::{
        Applied, ApplyError, Conflict, Current, FieldTracker, OnConflict, Outcome, Owners, Unseen,
        Views, metadata_mut, metadata_text,
    },
    registry::repeated_keys,
    request::ResourceRequest,
    response::{Accepted, Body},
    server::Server,
};

/// What a configuration is to become in the words of a refusal.
const GO_MAP: &str = "map[string]interface {}";

/// Applies a configuration to an object, one part of it, or nothing yet.
pub(super) async fn apply(
    server: &Server,
    request: &ResourceRequest,
    (accept, options): (Accepted, PatchOptions),
    (syntax, body): (ApplySyntax, &Bytes),
) -> Result<Response<Body>, Status> {
    let part = Part::of(request)?;
    let validation = options.write.field_validation;
    let YamlDocument {
        value: configuration,
        repeated_keys: repeated,
    } = decode(request, (syntax, body))?;
    let name = request.object_name();
    let destination = server.destination(request, name, options.write.dry_run.into())?;
    let views = Views::new(&server.registry, &request.definition, Unseen::Refused);
    let tracker = submitted::field_tracker(server, (request, &options.write), &views);
    let application = Application {
        server,
        request,
        part,
        tracker,
        configuration,
        refused_keys: match validation {
            FieldValidation::Strict => &repeated,
            FieldValidation::Warn | FieldValidation::Ignore => &[],
        },
        on_conflict: match options.force {
            true => OnConflict::TakeOver,
            false => OnConflict::Refuse,
        },
    };
    let when_missing = match part {
        Part::Main => WhenMissing::Created,
        _ => WhenMissing::Refused,
    };
    let mut writer = Writer::new(server, (request, part), when_missing, &options.write);
    let changing = |current: &Current| application.to_object(current);
    let creating = || application.to_nothing();
    writer.views = Some(&views);
    let changed = writer.write(&destination, changing, creating).await?;
    let mut warnings: Vec<String> = match validation {
        FieldValidation::Warn => repeated.iter().map(ToString::to_string).collect(),
        FieldValidation::Ignore | FieldValidation::Strict => Vec::new(),
    };
    warnings.append(&mut writer.warnings);
    let code = match changed.outcome {
        Outcome::Created => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let (conversions, dry_run) = (&server.conversions, options.write.dry_run);
    let changed = conversions
        .told(request, &accept.format, changed, dry_run)
        .await?;
    Ok(accept.changed(server, (part, &changed), code, &warnings))
}

struct Application<'a> {
    server: &'a Server,
    request: &'a ResourceRequest,
    part: Part,
    tracker: FieldTracker<'a>,
    configuration: Value,
    /// Keys that stand again in it, where that is to be refused.
    refused_keys: &'a [RepeatedKey],
    on_conflict: OnConflict,
}

impl Application<'_> {
    fn to_object(&self, current: &Current) -> Result<Change<'static>, Status> {
        let mut live = current.whole();
        self.request.definition.name_version(&mut live);
        let version = current.revision.to_string();
        metadata_mut(&mut live).insert("resourceVersion".to_owned(), json!(version));
        let Applied { object, owners } = self.applied(Some(&live))?;
        let object = match self.part {
            // Only the replicas of it count, which stand where a Scale has them.
            Part::Scale => {
                let scale = scale::scale_of(&self.request.definition, &object);
                let mut object = object;
                object["spec"]["replicas"] = scale["spec"]["replicas"].clone();
                object
            }
            _ => self.decoded(object)?,
        };
        let change = Change {
            before: current.outline(&Reach::Everything),
            next: object,
            owners: Owners::Decided(owners),
            is_filled: false,
        };
        checked((self.request, self.part), current, change)
    }

    fn to_nothing(&self) -> Result<New<'static>, Status> {
        let Applied { object, owners } = self.applied(None)?;
        let object = self.decoded(object)?;
        let request = self.request;
        if let Some(uid) = metadata_text(&object, "uid") {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object \
                 was found"
            );
            let name = request.object_name();
            return Err(Status::conflict(request.group_resource(), name, &why));
        }
        submitted::refuse_other_name(request, &object)?;
        create::refuse_foreign_claims(request, &object)?;
        Ok(New {
            object,
            owners: Owners::Decided(owners),
        })
    }

    fn applied(&self, live: Option<&Value>) -> Result<Applied, Status> {
        let configuration = match self.part {
            Part::Scale => &self.for_the_parent(),
            _ => &self.configuration,
        };
        let result = self.tracker.apply(live, configuration, self.on_conflict);
        if result.is_ok() && !self.refused_keys.is_empty() {
            let told = repeated_keys(self.refused_keys);
            return Err(Status::bad_request(format!(
                "error strict decoding patch: error converting YAML to JSON: {told}"
            )));
        }
        result.map_err(|error| match error {
            ApplyError::Nonconforming(problems) => {
                let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
                self.nonconforming(&told)
            }
            ApplyError::Conflicts(conflicts) => conflicting(&conflicts),
        })
    }

    /// What a Scale says of the object that it is part of.
    fn for_the_parent(&self) -> Value {
        let definition = &self.request.definition;
        let mut configuration = json!({
            "apiVersion": definition.api_version(),
            "kind": definition.kind,
            "metadata": self.configuration["metadata"],
        });
        if let Some(replicas) = self.configuration["spec"].get("replicas") {
            scale::set_replicas(definition, &mut configuration, replicas.clone());
        }
        configuration
    }

    fn decoded(&self, object: Value) -> Result<Value, Status> {
        let ignored = FieldValidation::Ignore;
        let decoded = submitted::decode_patched(self.server, self.request, object, ignored);
        decoded.map(|Submitted { object, .. }| object)
    }

    fn nonconforming(&self, problems: &[String]) -> Status {
        let namespace = metadata_text(&self.configuration, "namespace").unwrap_or_default();
        let name = metadata_text(&self.configuration, "name").unwrap_or_default();
        let kind = Kind::of(&self.configuration);
        let problems = match problems {
            [problem] => problem.clone(),
            many => format!("errors:\n  {}", many.join("\n  ")),
        };
        Status::unclassified(format!(
            "failed to create typed patch object ({namespace}/{name}; {kind}): {problems}"
        ))
    }
}

/// The configuration in a body, if it is for the kind that the path speaks.
fn decode(
    request: &ResourceRequest,
    (syntax, body): (ApplySyntax, &Bytes),
) -> Result<YamlDocument, Status> {
    let document = parse(syntax, body).map_err(Status::bad_request)?;
    let value = &document.value;
    let expected = submitted::expected(request);
    let wanted = Kind {
        group: expected.group,
        version: expected.version,
        kind: expected.kind,
    };
    let found = Kind::of(value);
    if found != wanted {
        return Err(Status::bad_request(format!("invalid object type: {found}")));
    }
    if !value["metadata"]["managedFields"].is_null() {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    Ok(document)
}

fn parse(syntax: ApplySyntax, body: &[u8]) -> Result<YamlDocument, String> {
    let document = match syntax {
        ApplySyntax::Yaml => {
            yaml::decode(body).map_err(|error| format!("error encoding patch: {error}"))?
        }
        ApplySyntax::Cbor => {
            let value = cbor::decode_object(body, GO_MAP);
            YamlDocument {
                value: value.map_err(|error| format!("error decoding patch: {error}"))?,
                repeated_keys: Vec::new(),
            }
        }
    };
    match &document.value {
        Value::Object(_) | Value::Null => Ok(document),
        other => {
            let found = type_word(other);
            Err(format!(
                "error decoding patch: error unmarshaling JSON: while decoding JSON: json: cannot \
                 unmarshal {found} into Go value of type {GO_MAP}"
            ))
        }
    }
}

/// What a configuration says it is.
#[derive(PartialEq, Eq)]
struct Kind<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

impl<'a> Kind<'a> {
    fn of(object: &'a Value) -> Self {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group,
            version,
            kind: object["kind"].as_str().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Kind<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group,
            version,
            kind,
        } = self;
        write!(formatter, "{group}/{version}, Kind={kind}")
    }
}

/// The refusal of an apply that would change fields of others.
fn conflicting(conflicts: &[Conflict]) -> Status {
    let causes = conflicts.iter().map(|Conflict { owner, path }| {
        let message = format!("conflict with {owner}");
        StatusCause::new("FieldManagerConflict", message, &path.to_string())
    });
    let message = match conflicts {
        [Conflict { owner, path }] => {
            format!("Apply failed with 1 conflict: conflict with {owner}: {path}")
        }
        many => {
            let by_owner = many.chunk_by(|one, other| one.owner == other.owner);
            let told = by_owner.map(|conflicts| {
                let paths = conflicts
                    .iter()
                    .map(|conflict| format!("\n- {}", conflict.path));
                let paths: String = paths.collect();
                format!("conflicts with {}:{paths}", conflicts[0].owner)
            });
            let told = told.collect::<Vec<_>>().join("\n");
            format!("Apply failed with {} conflicts: {told}", many.len())
        }
    };
    Status::apply_conflict(message, causes.collect())
}
