//! Whether objects that an expression built are named after the fields that hold them.

use super::{List, Map, Value};

impl Value<'_> {
    /// What is wrong with the names of the objects in this one, each of which must be the way to
    /// it: `Object.spec` in the field `spec` of `Object`. Lists and maps on the way count for
    /// nothing.
    pub fn misnamed_objects(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Self::Object(object) = self {
            find(self, &object.type_name, &mut found);
        }
        found
    }
}

fn find(value: &Value<'_>, expected: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            let name = &*object.type_name;
            if name != expected {
                found.push(format!(
                    "unexpected type name {name:?}, expected {expected:?}, which matches field \
                     name path from root Object type"
                ));
            }
            for (field, value) in &object.fields {
                find(value, &format!("{expected}.{field}"), found);
            }
        }
        Value::List(List::Values(values)) => {
            values.iter().for_each(|value| find(value, expected, found));
        }
        Value::Map(Map::Values(entries)) => {
            entries
                .iter()
                .for_each(|(_, value)| find(value, expected, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::{Bindings, Budget, Environment};

    fn found(expression: &str) -> Vec<String> {
        let environment = Environment::admission().with_patches();
        let program = environment.compile(expression).unwrap();
        let value = program.evaluate(&Bindings::new(), &mut Budget::per_call());
        value.unwrap().misnamed_objects()
    }

    #[test]
    fn objects_are_named_after_the_way_to_them() {
        let right = "Object{spec: Object.spec{items: [Object.spec.items{name: 'a'}], \
            byName: {'k': Object.spec.byName{}}}}";
        assert_eq!(found(right), Vec::<String>::new());
        assert_eq!(
            found("Object{spec: Object.spec{items: [Object.spec.item{}]}}"),
            [
                "unexpected type name \"Object.spec.item\", expected \"Object.spec.items\", which \
                 matches field name path from root Object type"
            ]
        );
        assert_eq!(
            found("Object.spec{a: Object.spec.a{}}"),
            Vec::<String>::new()
        );
        assert_eq!(
            found("Object{metadata: Object.spec{a: Object.metadata.a{}}}").len(),
            1
        );
    }
}
