use super::*;
use crate::field_error::{FieldError, FieldPath};
use crate::identity::{GroupKind, GroupResource};

const CONFIG_MAPS: GroupResource<'static> = GroupResource::new("", "configmaps");

fn text(status: &Status) -> String {
    serde_json::to_string(status).unwrap()
}

#[test]
fn missing_objects_and_resources_are_told_apart() {
    assert_eq!(
        text(&Status::not_found(CONFIG_MAPS, "nope")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"nope\" not found","reason":"NotFound","details":{"name":"nope","kind":"configmaps"},"code":404}"#
    );
    assert_eq!(
        text(&Status::unknown_resource()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}"#
    );
    let custom = Status::not_found(GroupResource::new("ex.com", "foos"), "f");
    assert_eq!(custom.message, r#"foos.ex.com "f" not found"#);
    assert_eq!(custom.details.unwrap().group, "ex.com");
}

#[test]
fn conflicts_name_the_object() {
    assert_eq!(
        text(&Status::already_exists(CONFIG_MAPS, "c1")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"c1\" already exists","reason":"AlreadyExists","details":{"name":"c1","kind":"configmaps"},"code":409}"#
    );
    assert_eq!(
        text(&Status::modified_meanwhile(CONFIG_MAPS, "c1")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Operation cannot be fulfilled on configmaps \"c1\": the object has been modified; please apply your changes to the latest version and try again","reason":"Conflict","details":{"name":"c1","kind":"configmaps"},"code":409}"#
    );
    let cause = StatusCause::new(
        "FieldManagerConflict",
        "conflict with \"gold\" using v1",
        ".data.k",
    );
    let message = "Apply failed with 1 conflict: conflict with \"gold\" using v1: .data.k";
    assert_eq!(
        text(&Status::apply_conflict(message, vec![cause])),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Apply failed with 1 conflict: conflict with \"gold\" using v1: .data.k","reason":"Conflict","details":{"causes":[{"reason":"FieldManagerConflict","message":"conflict with \"gold\" using v1","field":".data.k"}]},"code":409}"#
    );
}

#[test]
fn an_invalid_object_lists_every_cause() {
    let metadata = FieldPath::new("metadata");
    let error = FieldError::required(&metadata.child("name"), "name or generateName is required");
    let status = Status::invalid(GroupKind::new("", "ConfigMap"), "", &[error]);
    assert_eq!(
        text(&status),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required","reason":"Invalid","details":{"kind":"ConfigMap","causes":[{"reason":"FieldValueRequired","message":"Required value: name or generateName is required","field":"metadata.name"}]},"code":422}"#
    );
    let errors = [
        FieldError::required(&FieldPath::new("data").key("tls.crt"), ""),
        FieldError::required(&FieldPath::new("data").key("tls.key"), ""),
    ];
    let status = Status::invalid(GroupKind::new("", "Secret"), "bad", &errors);
    let expected = "Secret \"bad\" is invalid: [data[tls.crt]: Required value, \
                    data[tls.key]: Required value]";
    assert_eq!(status.message, expected);
}

#[test]
fn a_terminating_namespace_is_a_cause_of_its_own() {
    assert_eq!(
        text(&Status::namespace_terminating(CONFIG_MAPS, "x", "ns1")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"x\" is forbidden: unable to create new content in namespace ns1 because it is being terminated","reason":"Forbidden","details":{"name":"x","kind":"configmaps","causes":[{"reason":"NamespaceTerminating","message":"namespace ns1 is being terminated","field":"metadata.namespace"}]},"code":403}"#
    );
}

#[test]
fn versions_of_the_future_ask_to_come_back() {
    let status = Status::too_large_resource_version(99_999_999, 95, Some(1));
    assert_eq!(
        text(&status),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Timeout: Too large resource version: 99999999, current: 95","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504}"#
    );
    assert_eq!(status.retry_after_seconds(), Some(1));
    let exact = Status::too_large_resource_version(99_999_999, 95, None);
    assert!(text(&exact).ends_with(r#""Too large resource version"}]},"code":504}"#));
}

#[test]
fn expired_things_say_how_to_go_on() {
    assert_eq!(
        text(&Status::expired_list()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"The resourceVersion for the provided list is too old.","reason":"Expired","code":410}"#
    );
    assert_eq!(
        Status::expired_watch(1, 163).message,
        "too old resource version: 1 (163)"
    );
    assert_eq!(
        text(&Status::expired_continue("eyJ2")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{"continue":"eyJ2"},"status":"Failure","message":"The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.","reason":"Expired","code":410}"#
    );
}

#[test]
fn media_types_that_nobody_serves_are_refused_with_those_that_are() {
    let accepted = ["application/json", "application/yaml"];
    assert_eq!(
        text(&Status::not_acceptable(&accepted)),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"only the following media types are accepted: application/json, application/yaml","reason":"NotAcceptable","code":406}"#
    );
    assert_eq!(
        text(&Status::no_representation(&accepted)),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"406: Not Acceptable\n\nAvailable representations: application/json, application/yaml","reason":"NotAcceptable","details":{},"code":406}"#
    );
    assert_eq!(
        text(&Status::unsupported_media_type(&accepted)),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the body of the request was in an unknown format - accepted media types include: application/json, application/yaml","reason":"UnsupportedMediaType","code":415}"#
    );
    assert_eq!(
        text(&Status::unsupported_patch_type()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"415: Unsupported Media Type","reason":"UnsupportedMediaType","details":{},"code":415}"#
    );
}

#[test]
fn refusals_without_an_object_have_their_fixed_words() {
    assert_eq!(
        text(&Status::method_not_allowed()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}"#
    );
    assert_eq!(
        text(&Status::unprocessable()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server rejected our request due to an error in our request","reason":"Invalid","details":{},"code":422}"#
    );
    assert_eq!(
        text(&Status::unauthorized()),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}"#
    );
    let message = "resourceVersion should not be set on objects to be created";
    assert_eq!(
        text(&Status::unclassified(message)),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"resourceVersion should not be set on objects to be created","code":500}"#
    );
    assert_eq!(
        text(&Status::internal("disk on fire")),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Internal error occurred: disk on fire","reason":"InternalError","details":{"causes":[{"message":"disk on fire"}]},"code":500}"#
    );
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
}

#[test]
fn success_has_neither_message_nor_code() {
    let details = StatusDetails {
        name: "c2".to_owned(),
        kind: "configmaps".to_owned(),
        uid: "a80a5678".to_owned(),
        ..StatusDetails::default()
    };
    let status = Status::success(details);
    assert_eq!(
        text(&status),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"c2","kind":"configmaps","uid":"a80a5678"}}"#
    );
    assert_eq!(status.http_code(), 200);
}

#[test]
fn what_another_server_sends_is_understood() {
    let sent = r#"{"status":"Failure","reason":"Teapot","code":418,"metadata":{"x":1},
        "details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"new":true}}"#;
    let status: Status = serde_json::from_str(sent).unwrap();
    assert_eq!(status.reason, Some(Reason::Other("Teapot".into())));
    assert!(status.has_cause("ResourceVersionTooLarge"));
    let expired = Status::expired_continue("token");
    let back: Status = serde_json::from_str(&text(&expired)).unwrap();
    assert_eq!(back, expired);
}
