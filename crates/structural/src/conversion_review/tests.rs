use serde_json::json;

use super::*;

const UID: &str = "u-1";

fn original() -> Value {
    json!({
        "kind": "Widget", "apiVersion": "ex.com/v1",
        "metadata": {
            "name": "a", "namespace": "n", "uid": "1", "generation": 3,
            "labels": {"kept": "yes"}, "finalizers": ["ex.com/hold"],
        },
        "spec": {"color": "red"},
    })
}

fn converted() -> Value {
    let mut object = original();
    object["apiVersion"] = json!("ex.com/v2");
    object["spec"] = json!({"paint": {"color": "red"}});
    object
}

fn answer(objects: &Value) -> Value {
    json!({
        "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "response": {"uid": UID, "convertedObjects": objects, "result": {"status": "Success"}},
    })
}

fn read_by(version: ReviewVersion, answer: &Value) -> Result<Value, String> {
    let object = original().to_string();
    let question = Question {
        version,
        uid: UID,
        desired: "ex.com/v2",
        objects: &[object.as_bytes()],
    };
    let mut read = question.read(answer.to_string().as_bytes(), None)?;
    read.remove(0)
}

fn read(answer: &Value) -> Result<Value, String> {
    read_by(ReviewVersion::V1, answer)
}

/// What is said of an object that was converted and then changed.
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut object = converted();
    change(&mut object);
    read(&answer(&json!([object]))).unwrap_err()
}

#[test]
fn a_question_has_the_objects_as_they_are() {
    let object = original().to_string();
    let question = Question {
        version: ReviewVersion::V1Beta1,
        uid: UID,
        desired: "ex.com/v2",
        objects: &[object.as_bytes(), object.as_bytes()],
    };
    let body: Value = serde_json::from_slice(&question.encode()).unwrap();
    assert_eq!(body["apiVersion"], "apiextensions.k8s.io/v1beta1");
    assert_eq!(body["kind"], "ConversionReview");
    assert_eq!(body["request"]["uid"], UID);
    assert_eq!(body["request"]["desiredAPIVersion"], "ex.com/v2");
    assert_eq!(body["request"]["objects"], json!([original(), original()]));
}

#[test]
fn of_the_metadata_only_labels_and_annotations_come_from_the_webhook() {
    let mut object = converted();
    object["metadata"] = json!({
        "name": "a", "namespace": "n", "uid": "1", "generation": 99,
        "labels": {"new": "yes"}, "annotations": {"a": "b"},
    });
    let settled = read(&answer(&json!([object]))).unwrap();
    let metadata = json!({
        "name": "a", "namespace": "n", "uid": "1", "generation": 3,
        "finalizers": ["ex.com/hold"], "labels": {"new": "yes"}, "annotations": {"a": "b"},
    });
    assert_eq!(settled["metadata"], metadata);
    assert_eq!(settled["spec"], converted()["spec"]);
    object["metadata"]["labels"] = Value::Null;
    let settled = read(&answer(&json!([object]))).unwrap();
    assert_eq!(settled["metadata"].get("labels"), None);
}

#[test]
fn other_objects_than_those_that_were_sent_are_refused() {
    const WHO: &str = "conversion webhook for ex.com/v1, Kind=Widget returned invalid";
    for (member, told) in [
        ("name", "must have the same name: a != x"),
        ("namespace", "must have the same namespace: n != x"),
        ("uid", "must have the same UID: 1 != x"),
    ] {
        let refused = refused(|object| object["metadata"][member] = json!("x"));
        assert_eq!(refused, format!("{WHO} object: {told}"));
    }
    let other_kind = refused(|object| object["kind"] = json!("Other"));
    let told = "object at index 0: invalid kind (expected Widget, received Other)";
    assert_eq!(other_kind, format!("{WHO} {told}"));
    let other_version = refused(|object| object["apiVersion"] = json!("ex.com/v1"));
    let told = "object at index 0: invalid groupVersion (expected ex.com/v2, received ex.com/v1)";
    assert_eq!(other_version, format!("{WHO} {told}"));
}

#[test]
fn labels_must_be_labels() {
    const WHO: &str = "conversion webhook for ex.com/v1, Kind=Widget returned invalid metadata:";
    let number = refused(|object| object["metadata"]["labels"] = json!({"a": 1}));
    let told = "metadata.labels[a] must be a string, but is int64 in converted object";
    assert_eq!(number, format!("{WHO} {told}"));
    let list = refused(|object| object["metadata"]["annotations"] = json!([1]));
    let told = "invalid metadata.annotations of type []interface {} in converted object";
    assert_eq!(list, format!("{WHO} {told}"));
    let bad = refused(|object| object["metadata"]["annotations"] = json!({"a b": "c"}));
    let told = "metadata.annotation: Invalid value: \"a b\": name part must consist";
    assert!(bad.starts_with(&format!("{WHO} {told}")), "{bad}");
}

#[test]
fn answers_that_are_none_are_refused() {
    const WHO: &str = "conversion webhook for ex.com/v1, Kind=Widget";
    let whole = answer(&json!([converted()]));
    let told = |change: &dyn Fn(&mut Value)| {
        let mut answer = whole.clone();
        change(&mut answer);
        read(&answer).unwrap_err()
    };
    let other_uid = told(&|answer| answer["response"]["uid"] = json!("other"));
    let expected = format!("{WHO} failed: expected response.uid=\"u-1\", got \"other\"");
    assert_eq!(other_uid, expected);
    let failure = json!({"status": "Failure", "message": "cannot do it"});
    let failed = told(&|answer| answer["response"]["result"] = failure.clone());
    assert_eq!(failed, format!("{WHO} failed: cannot do it"));
    let silent = told(&|answer| answer["response"]["result"] = json!({"status": "Failure"}));
    let expected = format!("{WHO} failed: response.result.status was 'Failure', not 'Success'");
    assert_eq!(silent, expected);
    let absent = told(&|answer| drop(answer.as_object_mut().unwrap().remove("response")));
    assert_eq!(absent, format!("{WHO} failed: no response provided"));
    let none = told(&|answer| answer["response"]["convertedObjects"] = Value::Null);
    assert_eq!(none, format!("{WHO} returned 0 objects, expected 1"));
    let earlier = told(&|answer| answer["apiVersion"] = json!("apiextensions.k8s.io/v1beta1"));
    let expected = "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown \
                    conversion";
    assert_eq!(earlier, format!("{WHO} failed: {expected}"));
    let empty = read(&json!({})).unwrap_err();
    let expected = "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, \
                    got /, Kind=";
    assert_eq!(empty, format!("{WHO} failed: {expected}"));
}

#[test]
fn the_earlier_version_does_not_name_the_question() {
    let mut nameless = answer(&json!([converted()]));
    nameless["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
    nameless["response"]["uid"] = Value::Null;
    assert!(read_by(ReviewVersion::V1Beta1, &nameless).is_ok());
    let chosen = |versions: Value| ReviewVersion::choose(&versions);
    assert_eq!(
        chosen(json!(["v9", "v1beta1", "v1"])),
        Some(ReviewVersion::V1Beta1)
    );
    assert_eq!(chosen(json!(["v9"])), None);
}

#[test]
fn what_is_no_object_is_refused_by_itself() {
    let told = |object: Value| read(&answer(&json!([object]))).unwrap_err();
    assert_eq!(told(Value::Null), "unexpected end of JSON input");
    let expected = "json: cannot unmarshal number into Go value of type map[string]interface {}";
    assert_eq!(told(json!(5)), expected);
    let nameless = told(json!({"apiVersion": "ex.com/v2"}));
    assert_eq!(
        nameless,
        "Object 'Kind' is missing in '{\"apiVersion\":\"ex.com/v2\"}'"
    );
}

#[test]
fn what_the_schema_does_not_know_goes() {
    let schema = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"size": {"type": "integer"}},
    }}});
    let structural = Structural::parse(&schema).unwrap();
    let object = original().to_string();
    let question = Question {
        version: ReviewVersion::V1,
        uid: UID,
        desired: "ex.com/v2",
        objects: &[object.as_bytes()],
    };
    let mut sent = converted();
    sent["spec"] = json!({"size": 1, "unknown": 2});
    let body = answer(&json!([sent])).to_string();
    let read = question.read(body.as_bytes(), Some(&structural)).unwrap();
    assert_eq!(read[0].as_ref().unwrap()["spec"], json!({"size": 1}));
}
