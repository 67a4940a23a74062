use super::*;
use crate::field_error::{FieldError, FieldPath};
use crate::identity::{GroupKind, GroupResource};

/// Bodies of a Kubernetes API server, one a line, each behind a name.
const RECORDED: &str = include_str!("recorded.txt");
const CONFIG_MAPS: GroupResource<'static> = GroupResource::new("", "configmaps");

/// Checks that a status is, byte by byte, the recorded body of this name.
fn check(name: &str, status: &Status) {
    let mut lines = RECORDED.lines().filter_map(|line| line.split_once(": "));
    let (_, expected) = lines.find(|(line_name, _)| *line_name == name).unwrap();
    assert_eq!(serde_json::to_string(status).unwrap(), expected);
    assert_eq!(serde_json::from_str::<Status>(expected).unwrap(), *status);
}

#[test]
fn missing_objects_and_resources_are_told_apart() {
    check("missing object", &Status::not_found(CONFIG_MAPS, "nope"));
    check("missing resource", &Status::unknown_resource());
    let custom = Status::not_found(GroupResource::new("ex.com", "foos"), "f");
    assert_eq!(custom.message, r#"foos.ex.com "f" not found"#);
    assert_eq!(custom.details.unwrap().group, "ex.com");
}

#[test]
fn conflicts_name_the_object() {
    check(
        "existing object",
        &Status::already_exists(CONFIG_MAPS, "c1"),
    );
    check(
        "changed object",
        &Status::modified_meanwhile(CONFIG_MAPS, "c1"),
    );
    let why = "conflict with \"gold\" using v1";
    let cause = StatusCause::new(CAUSE_FIELD_MANAGER_CONFLICT, why, ".data.k");
    let message = format!("Apply failed with 1 conflict: {why}: .data.k");
    check(
        "other manager",
        &Status::apply_conflict(message, vec![cause]),
    );
}

#[test]
fn an_invalid_object_lists_every_cause() {
    let name = FieldPath::new("metadata").child("name");
    let error = FieldError::required(&name, "name or generateName is required");
    check(
        "no name",
        &Status::invalid(GroupKind::new("", "ConfigMap"), "", &[error]),
    );
    let data = FieldPath::new("data");
    let errors = ["tls.crt", "tls.key"].map(|key| FieldError::required(&data.key(key), ""));
    check(
        "no keys",
        &Status::invalid(GroupKind::new("", "Secret"), "bad", &errors),
    );
}

#[test]
fn a_terminating_namespace_is_a_cause_of_its_own() {
    let status = Status::namespace_terminating(CONFIG_MAPS, "x", "ns1");
    check("terminating namespace", &status);
    assert!(status.has_cause(CAUSE_NAMESPACE_TERMINATING));
}

#[test]
fn versions_of_the_future_ask_to_come_back() {
    let status = Status::too_large_resource_version(99_999_999, 95, Some(1));
    check("future version", &status);
    assert_eq!(status.retry_after_seconds(), Some(1));
    let exact = Status::too_large_resource_version(99_999_999, 95, None);
    check("exact future version", &exact);
}

#[test]
fn expired_things_say_how_to_go_on() {
    check("expired list", &Status::expired_list());
    check("expired token", &Status::expired_continue("eyJ2"));
    assert_eq!(
        Status::expired_watch(1, 163).message,
        "too old resource version: 1 (163)"
    );
}

#[test]
fn media_types_that_nobody_serves_are_refused_with_those_that_are() {
    let accepted = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
    ];
    check("table in protobuf", &Status::not_acceptable(&accepted));
    check("unknown media type", &Status::no_representation(&accepted));
    check("unknown body", &Status::unsupported_media_type(&accepted));
    check("unknown patch", &Status::unsupported_patch_type());
}

#[test]
fn refusals_without_an_object_have_their_fixed_words() {
    check("wrong method", &Status::method_not_allowed());
    check("failed test", &Status::unprocessable());
    check("no credentials", &Status::unauthorized());
    let message = "resourceVersion should not be set on objects to be created";
    check("version on create", &Status::unclassified(message));
    let too_large = Status::request_entity_too_large("limit is 3145728");
    assert_eq!(
        too_large.message,
        "Request entity too large: limit is 3145728"
    );
    let busy = Status::too_many_requests("storage is (re)initializing", 3);
    assert_eq!(
        (busy.http_code(), busy.retry_after_seconds()),
        (429, Some(3))
    );
    let internal = Status::internal("disk on fire");
    assert_eq!(internal.message, "Internal error occurred: disk on fire");
    assert_eq!(internal.details.unwrap().causes[0].message, "disk on fire");
}

#[test]
fn success_has_neither_message_nor_code() {
    let status = Status::success(StatusDetails {
        name: "c2".to_owned(),
        kind: "configmaps".to_owned(),
        uid: "a80a5678-bfb9-4023-a188-23a8e036c84c".to_owned(),
        ..StatusDetails::default()
    });
    check("deleted", &status);
    assert_eq!(status.http_code(), 200);
}

#[test]
fn what_another_server_sends_is_understood() {
    let sent = r#"{"status":"Failure","reason":"Teapot","code":418,"metadata":{"x":1},
        "details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"new":true}}"#;
    let status: Status = serde_json::from_str(sent).unwrap();
    assert_eq!(status.reason, Some(Reason::Other("Teapot".into())));
    assert!(status.has_cause(CAUSE_RESOURCE_VERSION_TOO_LARGE));
}
