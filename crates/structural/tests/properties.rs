//! What holds for every schema and every object, however strange.

use listwatch_structural::{Structural, definition};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Any JSON, with names that schemas give meaning to more often than chance would.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z.*\\[(]{0,6}".prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn word() -> impl Strategy<Value = String> {
    let words = [
        "type",
        "object",
        "array",
        "string",
        "integer",
        "properties",
        "items",
        "additionalProperties",
        "default",
        "enum",
        "pattern",
        "format",
        "required",
        "anyOf",
        "allOf",
        "not",
        "nullable",
        "maximum",
        "multipleOf",
        "metadata",
        "apiVersion",
        "kind",
        "spec",
        "a",
        "b",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-validations",
        "set",
        "map",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

/// A schema that is structural and has defaults that it accepts.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "default": "x"})),
        Just(json!({"type": "string", "nullable": true})),
        Just(json!({"type": "integer", "default": 3, "minimum": 1})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "object", "additionalProperties": true})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(vec!["a", "b", "spec", "type", "items"]);
        let fields = prop::collection::vec((name, inner.clone()), 0..4);
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            inner.prop_map(|each| json!({"type": "object", "additionalProperties": each})),
            fields.prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, schema)| (name.to_owned(), schema));
                let fields: Map<String, Value> = fields.collect();
                json!({"type": "object", "properties": fields})
            }),
        ]
    })
    .prop_map(|spec| json!({"type": "object", "properties": {"spec": spec}}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn nothing_said_about_schemas_makes_them_panic(
        stated in any_json(),
        object in any_json(),
        before in any_json(),
    ) {
        let mut definition = json!({
            "metadata": {"name": "a.b.c"},
            "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": stated}}]}
        });
        definition::default_definition(&mut definition);
        definition::note_storage_version(&mut definition);
        definition::check_definition(&definition);
        definition::warn_new(&definition);
        if let Ok(schema) = Structural::parse(&stated) {
            let mut pruned = object.clone();
            schema.prune(&mut pruned);
            schema.default(&mut pruned);
            schema.repair_embedded(&mut pruned);
            schema.validate(&object);
            schema.validate_change(&object, &before);
            schema.validate_status_change(&object, &before);
            schema.types("a.b.C");
            schema.open_api_v2();
            schema.open_api_v3();
        }
    }

    #[test]
    fn what_was_pruned_has_nothing_left_to_prune(stated in schema(), object in any_json()) {
        let schema = Structural::parse(&stated).expect("it is structural");
        let mut once = object;
        schema.prune(&mut once);
        let mut twice = once.clone();
        prop_assert_eq!(schema.prune(&mut twice), Vec::<String>::new());
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn defaults_are_filled_in_once_and_accepted(stated in schema()) {
        let schema = Structural::parse(&stated).expect("it is structural");
        let mut once = json!({"spec": {}});
        if stated["properties"]["spec"]["type"] != "object" {
            once = json!({});
        }
        schema.default(&mut once);
        let mut twice = once.clone();
        schema.default(&mut twice);
        prop_assert_eq!(&twice, &once);
        prop_assert_eq!(schema.validate(&once), vec![]);
    }
}
