//! What applying makes of an object and of its owners.

use listwatch_api::field_set::FieldSet;
use proptest::prelude::*;

use super::*;
use crate::registry::Expected;

/// A kind and one object of it that managers apply to.
struct Story {
    registry: Registry,
    kind: (&'static str, &'static str, &'static str),
    object: Option<Value>,
}

impl Story {
    fn of(group: &'static str, version: &'static str, resource: &'static str) -> Self {
        Self {
            registry: Registry::builtin(),
            kind: (group, version, resource),
            object: None,
        }
    }

    fn config_maps() -> Self {
        Self::of("", "v1", "configmaps")
    }

    fn try_apply(&mut self, manager: &str, applied: &Value) -> Result<(), ApplyError> {
        self.apply_with(manager, applied, OnConflict::Refuse)
    }

    fn apply(&mut self, manager: &str, applied: &Value) -> &mut Self {
        self.try_apply(manager, applied).unwrap();
        self
    }

    fn force(&mut self, manager: &str, applied: &Value) -> &mut Self {
        self.apply_with(manager, applied, OnConflict::TakeOver)
            .unwrap();
        self
    }

    fn apply_with(
        &mut self,
        manager: &str,
        applied: &Value,
        on_conflict: OnConflict,
    ) -> Result<(), ApplyError> {
        let (group, version, resource) = self.kind;
        let definition = self.registry.find(group, version, resource).unwrap();
        let tracker = tracker(&self.registry, &definition, (manager, 1));
        let Applied { mut object, owners } =
            tracker.apply(self.object.as_ref(), applied, on_conflict)?;
        self.registry
            .decode(Expected::from(&*definition), &mut object, &[])
            .unwrap();
        match &self.object {
            None => settle_new(Owners::Decided(owners), &mut object),
            Some(current) => settle_next(Owners::Decided(owners), current, &mut object),
        }
        self.object = Some(object);
        Ok(())
    }

    fn update(&mut self, manager: &str, pointer: &str, value: Value) -> &mut Self {
        let (group, version, resource) = self.kind;
        let definition = self.registry.find(group, version, resource).unwrap();
        let current = self.object.clone().unwrap();
        let mut next = current.clone();
        *next.pointer_mut(pointer).unwrap() = value;
        let tracker = tracker(&self.registry, &definition, (manager, 2));
        settle_next(Owners::Changers(&tracker), &current, &mut next);
        self.object = Some(next);
        self
    }

    fn object(&self) -> &Value {
        self.object.as_ref().unwrap()
    }

    fn owned_by(&self, manager: &str) -> Value {
        let entries = self.object()["metadata"][MEMBER].as_array().unwrap();
        let mut entries = entries.iter().filter(|entry| entry["manager"] == manager);
        entries
            .next()
            .map_or(Value::Null, |entry| entry["fieldsV1"].clone())
    }
}

fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn conflicts(error: ApplyError) -> Vec<String> {
    match error {
        ApplyError::Conflicts(conflicts) => {
            let told = conflicts
                .iter()
                .map(|it| format!("{} {}", it.owner, it.path));
            told.collect()
        }
        ApplyError::Nonconforming(problems) => panic!("{problems:?}"),
    }
}

#[test]
fn what_is_left_out_goes_unless_somebody_else_owns_it() {
    let mut story = Story::config_maps();
    story.apply("alice", &map(json!({"x": "1", "y": "1", "z": "1"})));
    story.apply("bob", &map(json!({"y": "1"})));
    story.update("carol", "/data/z", json!("2"));
    story.apply("alice", &map(json!({})));
    assert_eq!(story.object()["data"], json!({"y": "1", "z": "2"}));
    assert_eq!(story.owned_by("alice"), json!({"f:data": {}}));
    assert_eq!(story.owned_by("bob"), json!({"f:data": {"f:y": {}}}));
    assert_eq!(story.owned_by("carol"), json!({"f:data": {"f:z": {}}}));
}

#[test]
fn a_manager_that_states_nothing_more_is_forgotten() {
    let mut story = Story::config_maps();
    story.apply("alice", &map(json!({"x": "1"})));
    story.apply("bob", &map(json!({"y": "1"})));
    let nothing = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    story.apply("alice", &nothing);
    assert_eq!(story.object()["data"], json!({"y": "1"}));
    assert_eq!(story.owned_by("alice"), Value::Null);
}

#[test]
fn taking_over_leaves_the_others_what_did_not_change() {
    let mut story = Story::config_maps();
    story.apply("alice", &map(json!({"x": "1", "y": "1"})));
    let wanted = map(json!({"x": "2", "y": "1"}));
    let error = story.try_apply("bob", &wanted).unwrap_err();
    assert_eq!(conflicts(error), ["\"alice\" .data.x"]);
    story.force("bob", &wanted);
    assert_eq!(story.owned_by("alice"), json!({"f:data": {"f:y": {}}}));
    let both = json!({"f:data": {"f:x": {}, "f:y": {}}});
    assert_eq!(story.owned_by("bob"), both);
}

#[test]
fn elements_are_owned_one_by_one_and_whole_lists_as_one() {
    let mut story = Story::of("", "v1", "pods");
    let pod = |finalizers: Value, command: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "finalizers": finalizers},
            "spec": {"containers": [{"name": "c", "image": "i", "command": command}]},
        })
    };
    story.apply("alice", &pod(json!(["a/a"]), json!(["x"])));
    let error = story.try_apply("bob", &pod(json!(["b/b"]), json!(["y"])));
    let expected = "\"alice\" .spec.containers[name=\"c\"].command";
    assert_eq!(conflicts(error.unwrap_err()), [expected]);
    story.apply("bob", &pod(json!(["b/b"]), json!(["x"])));
    let both = json!(["a/a", "b/b"]);
    assert_eq!(story.object()["metadata"]["finalizers"], both);
    story.apply("alice", &pod(json!([]), json!(["x"])));
    let rest = json!(["b/b"]);
    assert_eq!(story.object()["metadata"]["finalizers"], rest);
}

#[test]
fn the_status_is_out_of_reach_of_the_object_itself() {
    let mut story = Story::of("apps", "v1", "deployments");
    let applied = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"replicas": 1}, "status": {"replicas": 1},
    });
    story.apply("alice", &applied);
    let owned = json!({"f:spec": {"f:replicas": {}}});
    assert_eq!(story.owned_by("alice"), owned);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut story = Story::config_maps();
    let error = story.try_apply("alice", &map(json!({"x": 1})));
    let ApplyError::Nonconforming(problems) = error.unwrap_err() else {
        panic!("numbers are no texts");
    };
    assert_eq!(problems.len(), 1);
}

#[test]
fn kubectl_may_change_what_its_annotation_says_and_nothing_else() {
    let name = "kubectl.kubernetes.io/last-applied-configuration";
    let annotated = |data: Value| {
        let mut object = map(data.clone());
        let applied = serde_json::to_string(&map(json!({"x": "1"}))).unwrap();
        object["metadata"]["annotations"] = json!({name: applied});
        object
    };
    let mut story = Story::config_maps();
    story.apply("first", &annotated(json!({"x": "1", "y": "1"})));
    let wanted = map(json!({"x": "2", "y": "2"}));
    let error = story.try_apply("kubectl", &wanted).unwrap_err();
    assert_eq!(conflicts(error), ["\"first\" .data.y"]);
    story.apply("kubectl", &map(json!({"x": "2"})));
    assert_eq!(story.object()["data"], json!({"x": "2", "y": "1"}));
    let expected = concat!(
        r#"{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"c"}}"#,
        "\n"
    );
    let annotations = &story.object()["metadata"]["annotations"];
    assert_eq!(annotations[name], json!(expected));
    story.update("other", "/data/x", json!("3"));
    let error = story.try_apply("kubectl", &map(json!({"x": "4"})));
    let expected = "\"other\" using v1 .data.x";
    assert_eq!(conflicts(error.unwrap_err()), [expected]);
}

fn configurations() -> impl Strategy<Value = Value> {
    let data = prop::collection::btree_map("[a-d]", "[xy]", 0..4);
    let labels = prop::collection::btree_map("[a-c]", "[xy]", 0..3);
    let finalizers = prop::collection::btree_set("[a-c]/[a-c]", 0..3);
    (data, labels, finalizers).prop_map(|(data, labels, finalizers)| {
        let mut applied = map(json!(data));
        applied["metadata"]["labels"] = json!(labels);
        applied["metadata"]["finalizers"] = json!(finalizers);
        applied
    })
}

fn stated(registry: &Registry, applied: &Value) -> FieldSet {
    let definition = registry.find("", "v1", "configmaps").unwrap();
    FieldSet::of_value(registry.schema(), definition.schema.unwrap(), applied)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn applying_twice_is_applying_once(
        applies in prop::collection::vec(("[ab]", configurations()), 1..6),
    ) {
        let mut story = Story::config_maps();
        for (manager, applied) in &applies {
            story.force(manager, applied);
            let once = story.object().clone();
            story.apply(manager, applied);
            prop_assert_eq!(story.object(), &once);
        }
    }

    #[test]
    fn an_object_has_what_was_stated_last_and_no_more(
        applies in prop::collection::vec(("[ab]", configurations()), 1..6),
    ) {
        let mut story = Story::config_maps();
        for (manager, applied) in &applies {
            story.force(manager, applied);
            let has = stated(&story.registry, story.object());
            let said = stated(&story.registry, applied);
            let empty = ["data", "labels"];
            let missing = said.difference(&has).paths();
            prop_assert!(missing.iter().all(|path| {
                empty.iter().any(|name| path.to_string().ends_with(name))
            }), "{:?}", missing);
        }
        let owners = ["a", "b"].map(|manager| story.owned_by(manager));
        let owned = owners.into_iter().fold(FieldSet::default(), |owned, fields| {
            owned.union(FieldSet::from_fields_v1(&fields).unwrap())
        });
        let has = stated(&story.registry, story.object());
        for path in has.difference(&owned).paths() {
            let path = path.to_string();
            prop_assert!(
                [".apiVersion", ".kind", ".metadata.name", ".metadata.managedFields"]
                    .contains(&path.as_str()),
                "nobody owns {}", path
            );
        }
    }
}
