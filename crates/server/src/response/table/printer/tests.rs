use serde_json::json;

use super::*;
use crate::response::table::test_rows::now;

/// An object with the members that the printers of all kinds read.
fn everything() -> Value {
    serde_json::from_str(include_str!("everything.json")).unwrap()
}

/// Cronjobs say `True` where their column promises a boolean.
const TEXT_FOR_BOOLEAN: &str = "Suspend";

fn assert_aligned(key: &str, printer: &Printer, object: &Value) {
    let cells = printer.cells(object, now());
    let columns = printer.columns();
    assert_eq!(cells.len(), columns.len(), "{key} of {object}");
    for (cell, column) in cells.iter().zip(columns) {
        let fits = match &*column.kind {
            "integer" => cell.is_i64() || cell.is_u64(),
            "boolean" => cell.is_boolean() || column.name == TEXT_FOR_BOOLEAN,
            "date" => cell.is_string(),
            _ => cell.is_string() || cell.is_number() || cell.is_boolean(),
        };
        assert!(fits, "{key} {}: {cell} of {object}", column.name);
    }
}

/// Calls `check` with the object in all the forms that it has when one place holds `wrong`.
fn with_each_place_wrong(object: &mut Value, pointer: &str, wrong: &Value, check: &dyn Fn(&Value)) {
    let place = object.pointer_mut(pointer).unwrap();
    let inner: Vec<String> = match place {
        Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        Value::Object(members) => members.keys().map(|name| name.replace('/', "~1")).collect(),
        _ => Vec::new(),
    };
    let right = std::mem::replace(place, wrong.clone());
    check(object);
    *object.pointer_mut(pointer).unwrap() = right;
    for name in inner {
        with_each_place_wrong(object, &format!("{pointer}/{name}"), wrong, check);
    }
}

#[test]
fn every_resource_with_columns_has_a_printer_and_the_other_way_round() {
    let mut with_columns: Vec<&str> = built_in().map(|resource| resource.key).collect();
    let printers = GROUPS.iter().flat_map(|group| group.iter());
    let mut with_printer: Vec<&str> = printers.map(|(key, _)| *key).collect();
    with_columns.sort_unstable();
    with_printer.sort_unstable();
    assert_eq!(with_columns, with_printer);
    assert_eq!(with_columns.len(), 65);
}

#[test]
fn the_cells_of_every_resource_line_up_with_its_columns() {
    for (key, printer) in BUILT_IN.iter() {
        assert_aligned(key, printer, &json!({}));
        assert_aligned(key, printer, &everything());
    }
}

#[test]
fn a_wrong_type_anywhere_changes_no_shape() {
    for wrong in [
        json!(null),
        json!("x"),
        json!(-1),
        json!(true),
        json!([[]]),
        json!({"a": {}}),
    ] {
        with_each_place_wrong(&mut everything(), "", &wrong, &|object| {
            for (key, printer) in BUILT_IN.iter() {
                assert_aligned(key, printer, object);
            }
        });
    }
}

#[test]
fn a_resource_is_found_by_group_and_name() {
    let names = |group, resource| {
        let printer = Printer::for_resource(group, resource);
        let columns = printer.columns();
        columns
            .iter()
            .map(|column| column.name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names("", "configmaps"), ["Name", "Data", "Age"]);
    assert_eq!(names("events.k8s.io", "events").len(), 10);
    assert_eq!(
        names("coordination.k8s.io", "leases"),
        ["Name", "Holder", "Age"]
    );
    assert_eq!(names("ex.com", "pods"), ["Name", "Age"]);
    assert_eq!(names("", "foos"), ["Name", "Age"]);
}
