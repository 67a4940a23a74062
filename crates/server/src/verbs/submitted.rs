//! What a client sent, made into an object of the kind it must be.

use bytes::Bytes;
use http::header;
use listwatch_api::{
    Status, json,
    media_type::BodyEncoding,
    write_options::{DeleteOptions, FieldValidation, WriteOptions},
    yaml,
};
use serde_json::Value;

use crate::{
    commit::{FieldTracker, Views, keep_reset, manager_name, metadata_text},
    custom,
    registry::{Expected, FieldProblem},
    request::ResourceRequest,
    server::Server,
};

/// An object in the stored version of its kind, and what the client should know about it.
pub(super) struct Submitted {
    pub(super) object: Value,
    pub(super) warnings: Vec<String>,
}

/// Reads the object in a body.
pub(super) fn decode(
    server: &Server,
    request: &ResourceRequest,
    body: &Bytes,
    validation: FieldValidation,
) -> Result<Submitted, Status> {
    let expected = expected(request);
    let unrecognized = |reason: String| expected.unrecognized(&reason, body);
    let parsed = match BodyEncoding::parse(request.content_type())? {
        BodyEncoding::Json => parse_json(body).map_err(unrecognized),
        BodyEncoding::Yaml => parse_yaml(body).map_err(unrecognized),
        BodyEncoding::Protobuf => server
            .registry
            .parse_protobuf(expected, body)
            .map(faultless),
        BodyEncoding::Cbor => expected.parse_cbor(body).map(faultless),
    };
    let parsed = parsed.map_err(|error| Status::bad_request(error.to_string()))?;
    check(server, request, parsed, (body, validation))
}

/// Makes what a patch has made of an object an object of its kind again.
pub(super) fn decode_patched(
    server: &Server,
    request: &ResourceRequest,
    value: Value,
    validation: FieldValidation,
) -> Result<Submitted, Status> {
    check(
        server,
        request,
        faultless(value),
        (&Bytes::new(), validation),
    )
}

fn check(
    server: &Server,
    request: &ResourceRequest,
    Parsed {
        mut object,
        mut problems,
    }: Parsed,
    (body, validation): (&Bytes, FieldValidation),
) -> Result<Submitted, Status> {
    let expected = expected(request);
    let bad_request = |error: crate::registry::DecodeError| Status::bad_request(error.to_string());
    keep_reset(&mut object);
    let custom = request.definition.custom.as_ref();
    let unknown = match custom.filter(|_| speaks_of_itself(request)) {
        Some(custom) => custom::decode(&expected, custom, &mut object, body)?,
        None => server
            .registry
            .decode(expected, &mut object, body)
            .map_err(bad_request)?,
    };
    // JSON is told of by its fields, of which those that are unknown come first.
    match problems.first() {
        Some(FieldProblem::RepeatedKey(_)) => problems.extend(unknown),
        _ => problems.splice(..0, unknown).for_each(drop),
    }
    let warnings = match validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn => problems.iter().map(ToString::to_string).collect(),
        FieldValidation::Strict => match expected.refuse_problems(&problems) {
            Some(refusal) => return Err(bad_request(refusal)),
            None => Vec::new(),
        },
    };
    if speaks_of_itself(request) {
        server
            .registry
            .to_stored(request.definition.conversion, &mut object);
    }
    Ok(Submitted { object, warnings })
}

/// Keeps the ownership of fields for the writes of a request.
pub(super) fn field_tracker<'a>(
    server: &'a Server,
    (request, options): (&'a ResourceRequest, &WriteOptions),
    views: &'a Views,
) -> FieldTracker<'a> {
    let user_agent = request.header(header::USER_AGENT);
    FieldTracker {
        registry: &server.registry,
        definition: &request.definition,
        subresource: request.subresource.as_deref(),
        manager: manager_name(options.field_manager.as_deref(), user_agent),
        now: server.settings.clock.now(),
        views,
    }
}

/// The kind that a path speaks.
pub(super) fn expected(request: &ResourceRequest) -> Expected<'_> {
    let definition = &request.definition;
    let part = request
        .subresource
        .as_deref()
        .and_then(|name| definition.subresource(name));
    match part {
        Some(part) => Expected::of_subresource(definition, part),
        None => Expected::from(&**definition),
    }
}

/// Whether a path is about objects of the resource's own kind, not about another that hangs below.
fn speaks_of_itself(request: &ResourceRequest) -> bool {
    let definition = &request.definition;
    let part = request.subresource.as_deref();
    let part = part.and_then(|name| definition.subresource(name));
    part.is_none_or(|part| part.kind == definition.kind)
}

/// What a body says, and what is odd about how it says it.
struct Parsed {
    object: Value,
    problems: Vec<FieldProblem>,
}

fn parse_json(body: &[u8]) -> Result<Parsed, String> {
    let document = json::decode(body)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let fields = document.duplicate_fields.into_iter();
    Ok(Parsed {
        object: document.value,
        problems: fields.map(FieldProblem::Duplicate).collect(),
    })
}

fn parse_yaml(body: &[u8]) -> Result<Parsed, String> {
    let document = yaml::decode(body).map_err(|error| error.to_string())?;
    let keys = document.repeated_keys.into_iter();
    Ok(Parsed {
        object: document.value,
        problems: keys.map(FieldProblem::RepeatedKey).collect(),
    })
}

fn faultless(object: Value) -> Parsed {
    Parsed {
        object,
        problems: Vec::new(),
    }
}

/// The options of a delete: from the body if there is one, else from the parameters.
pub(super) fn delete_options(
    server: &Server,
    request: &ResourceRequest,
    body: &Bytes,
) -> Result<DeleteOptions, Status> {
    if body.is_empty() {
        return DeleteOptions::from_query(request.query.typed());
    }
    let parsed = match BodyEncoding::parse(request.content_type())? {
        BodyEncoding::Json => parse_json(body),
        BodyEncoding::Yaml => parse_yaml(body),
        BodyEncoding::Protobuf => server
            .registry
            .parse_protobuf(Expected::delete_options(&server.registry), body)
            .map(faultless)
            .map_err(|error| error.to_string()),
        BodyEncoding::Cbor => Expected::delete_options(&server.registry)
            .parse_cbor(body)
            .map(faultless)
            .map_err(|error| error.to_string()),
    };
    let parsed = parsed.map_err(Status::bad_request)?;
    DeleteOptions::from_body(&parsed.object)
}

/// The version of the object that its client has seen; zero says that it has seen none.
pub(super) fn seen_version(object: &Value) -> Option<&str> {
    metadata_text(object, "resourceVersion").filter(|version| *version != "0")
}

/// Refuses an object that names another namespace than the path.
pub(super) fn refuse_other_namespace(
    request: &ResourceRequest,
    object: &Value,
) -> Result<(), Status> {
    match (metadata_text(object, "namespace"), &request.namespace) {
        (Some(named), Some(namespace)) if named != namespace => Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => Ok(()),
    }
}

/// Refuses an object that names another object than the path.
pub(super) fn refuse_other_name(request: &ResourceRequest, object: &Value) -> Result<(), Status> {
    refuse_other_namespace(request, object)?;
    let expected = request.object_name();
    let Some(name) = metadata_text(object, "name") else {
        return Err(Status::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be \
             provided"
        )));
    };
    if name != expected {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({expected})"
        )));
    }
    Ok(())
}
