use serde_json::json;

use super::*;
use crate::query::tests::pairs;

fn create(text: &str) -> Result<WriteOptions, Status> {
    WriteOptions::create(Query::new(&pairs(text)))
}

fn patch(text: &str, purpose: PatchPurpose) -> Result<PatchOptions, Status> {
    PatchOptions::parse(Query::new(&pairs(text)), purpose)
}

fn delete(text: &str) -> Result<DeleteOptions, Status> {
    DeleteOptions::from_query(Query::new(&pairs(text)))
}

#[test]
fn a_write_is_kept_and_warns_unless_told_otherwise() {
    assert_eq!(create("").unwrap(), WriteOptions::default());
    let options = create("dryRun=All&fieldManager=me&fieldValidation=Strict").unwrap();
    assert_eq!(options.dry_run, DryRun::All);
    assert_eq!(options.field_manager.as_deref(), Some("me"));
    assert_eq!(options.field_validation, FieldValidation::Strict);
}

#[test]
fn an_unknown_dry_run_is_refused() {
    let status = create("dryRun=foo").unwrap_err();
    let expected = "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: \
                    [\"foo\"]: supported values: \"All\"";
    assert_eq!(
        (status.http_code(), status.message.as_str()),
        (422, expected)
    );
    assert_eq!(
        status.details.unwrap().causes[0].reason,
        "FieldValueNotSupported"
    );
    assert!(create("dryRun=").is_err());
}

#[test]
fn odd_managers_and_validations_are_refused() {
    let message = |text| create(text).unwrap_err().message;
    let prefix = "CreateOptions.meta.k8s.io \"\" is invalid: ";
    let long = format!("fieldManager={}", "a".repeat(129));
    let expected = format!("{prefix}fieldManager: Too long: may not be more than 128 bytes");
    assert_eq!(message(&long), expected);
    let expected = format!(
        "{prefix}fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)"
    );
    assert_eq!(message("fieldManager=a\nb"), expected);
    let expected = format!(
        "{prefix}fieldValidation: Unsupported value: \"x\": supported values: \"\", \"Ignore\", \
         \"Strict\", \"Warn\""
    );
    assert_eq!(message("fieldValidation=x"), expected);
}

#[test]
fn only_an_apply_needs_a_manager_and_may_use_force() {
    let prefix = "PatchOptions.meta.k8s.io \"\" is invalid: ";
    let status = patch("", PatchPurpose::Apply).unwrap_err();
    let expected = format!("{prefix}fieldManager: Required value: is required for apply patch");
    assert_eq!(status.message, expected);
    let status = patch("force=true", PatchPurpose::Change).unwrap_err();
    let expected = format!("{prefix}force: Forbidden: may not be specified for non-apply patch");
    assert_eq!(status.message, expected);
    assert!(
        patch("force=1&fieldManager=m", PatchPurpose::Apply)
            .unwrap()
            .force
    );
    assert!(!patch("", PatchPurpose::Change).unwrap().force);
}

#[test]
fn a_delete_is_described_by_parameters() {
    assert_eq!(delete("").unwrap(), DeleteOptions::default());
    let options = delete("gracePeriodSeconds=5&propagationPolicy=Orphan&uid=u").unwrap();
    assert_eq!(options.grace_period_seconds, Some(5));
    assert_eq!(
        options.propagation,
        Propagation::Policy(PropagationPolicy::Orphan)
    );
    assert_eq!(options.preconditions.uid.as_deref(), Some("u"));
    assert_eq!(
        delete("gracePeriodSeconds=-1")
            .unwrap()
            .grace_period_seconds,
        Some(1)
    );
    let orphan = delete("orphanDependents=false").unwrap();
    assert_eq!(orphan.propagation, Propagation::OrphanDependents(false));
}

#[test]
fn contradictory_deletes_are_refused() {
    let status = delete("propagationPolicy=Foo").unwrap_err();
    let expected = "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported \
        value: \"Foo\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
    assert_eq!(status.message, expected);
    let status = delete("propagationPolicy=Orphan&orphanDependents=1").unwrap_err();
    let expected = "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \
        \"Orphan\": orphanDependents and deletionPropagation cannot be both set";
    assert_eq!(status.message, expected);
}

#[test]
fn a_delete_is_described_by_a_body() {
    let body = json!({
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    });
    let options = DeleteOptions::from_body(&body).unwrap();
    assert_eq!(options.dry_run, DryRun::All);
    assert_eq!(options.grace_period_seconds, Some(0));
    assert_eq!(options.preconditions.resource_version.as_deref(), Some("7"));
    assert_eq!(
        options.propagation,
        Propagation::Policy(PropagationPolicy::Background)
    );
    let refused = |body| DeleteOptions::from_body(&body).unwrap_err().message;
    let expected = "json: cannot unmarshal string into Go struct field \
                    DeleteOptions.gracePeriodSeconds of type int64";
    assert_eq!(refused(json!({"gracePeriodSeconds": "x"})), expected);
    let expected = "json: cannot unmarshal number into Go struct field \
                    Preconditions.preconditions.uid of type string";
    assert_eq!(refused(json!({"preconditions": {"uid": 1}})), expected);
    let expected = "json: cannot unmarshal array into Go value of type v1.DeleteOptions";
    assert_eq!(refused(json!([])), expected);
}
