//! The extensions of Kubernetes: lists that are sets or maps, maps that are atomic.

use listwatch_api::{FieldError, FieldPath};
use serde_json::Value;

use super::{Walk, shown};
use crate::props::{Items, Props};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const KEYS: &str = "x-kubernetes-list-map-keys";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

impl Walk {
    pub(super) fn extensions(&mut self, props: Props<'_>, path: &FieldPath) {
        if props.given_flag(PRESERVE) == Some(false) {
            self.invalid(&path.child(PRESERVE), false, "must be true or undefined");
        }
        self.map_type(props, path);
        let list_type = props.given_text(LIST_TYPE);
        let is_list = props.type_name() == "array";
        if list_type.is_some() && !is_list {
            let why = "must be array if x-kubernetes-list-type is specified";
            self.wrong_type(props, path, why);
        } else if let (Some("set"), Some(items)) = (list_type, props.each_item()) {
            self.set_items(items, path);
        }
        if let Some(name) = list_type
            && !["atomic", "set", "map"].contains(&name)
        {
            let supported = ["atomic", "set", "map"];
            let error = FieldError::not_supported(&path.child(LIST_TYPE), name, &supported);
            self.errors.push(error);
        }
        if !props.list(KEYS).is_empty() {
            let why = "must be map if x-kubernetes-list-map-keys is non-empty";
            match list_type {
                None => self.required(&path.child(LIST_TYPE), why),
                Some("map") => {}
                Some(other) => self.invalid(&path.child(LIST_TYPE), other, why),
            }
        }
        if list_type == Some("map") {
            self.keyed_list(props, path);
        }
        self.identities(props, path);
    }

    fn map_type(&mut self, props: Props<'_>, path: &FieldPath) {
        let Some(map_type) = props.given_text(MAP_TYPE) else {
            return;
        };
        if props.type_name() != "object" {
            let why = "must be object if x-kubernetes-map-type is specified";
            self.wrong_type(props, path, why);
        }
        let supported = ["atomic", "granular"];
        if !supported.contains(&map_type) {
            let error = FieldError::not_supported(&path.child(MAP_TYPE), map_type, &supported);
            self.errors.push(error);
        }
    }

    fn wrong_type(&mut self, props: Props<'_>, path: &FieldPath, why: &str) {
        let path = path.child("type");
        match props.type_name() {
            "" => self.required(&path, why),
            type_name => self.invalid(&path, type_name, why),
        }
    }

    /// The elements of a set are plain, or owned as a whole.
    fn set_items(&mut self, items: Props<'_>, path: &FieldPath) {
        let path = path.child("items");
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let list_type = items.value(LIST_TYPE);
        match items.type_name() {
            "array" if list_type.is_some_and(|name| name != "atomic") => {
                self.invalid(&path.child(LIST_TYPE), shown(list_type), why);
            }
            "object" if items.given_text(MAP_TYPE) != Some("atomic") => {
                self.invalid(&path.child(MAP_TYPE), shown(list_type), why);
            }
            _ => {}
        }
    }

    fn keyed_list(&mut self, props: Props<'_>, path: &FieldPath) {
        let keys = props.texts(KEYS);
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.required(&path.child(KEYS), why);
        }
        let items_path = path.child("items");
        let items = match props.items() {
            None => {
                let why = "must have a schema if x-kubernetes-list-type is map";
                return self.required(&items_path, why);
            }
            Some(Items::Places) => {
                let why = "must only have a single schema if x-kubernetes-list-type is map";
                return self.invalid(&items_path, shown(props.value("items")), why);
            }
            Some(Items::Each(items)) => items,
        };
        if items.type_name() != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            return self.invalid(&items_path.child("type"), items.type_name(), why);
        }
        for (index, key) in keys.iter().enumerate() {
            let all = Value::from(keys.clone());
            match items.property(key) {
                Some(property) if matches!(property.type_name(), "array" | "object") => {
                    let why = "must be a scalar type if parent array's x-kubernetes-list-type is \
                               map";
                    let path = items_path.child("properties").key(key).child("type");
                    self.invalid(&path, items.type_name(), why);
                }
                Some(_) => {}
                None => {
                    let why = "entries must all be names of item properties";
                    self.invalid(&path.child(KEYS), &all, why);
                }
            }
            if keys[..index].contains(key) {
                let why = "must not contain duplicate entries";
                self.invalid(&path.child(KEYS), &all, why);
            }
        }
    }

    /// What tells elements apart is always there.
    fn identities(&mut self, props: Props<'_>, path: &FieldPath) {
        let list_type = props.text(LIST_TYPE);
        let Some(items) = props.each_item() else {
            return;
        };
        if !matches!(list_type, "set" | "map") {
            return;
        }
        let path = path.child("items");
        if items.is_set("nullable") {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbidden(&path.child("nullable"), &why);
        }
        if list_type == "set" {
            return;
        }
        let required = items.texts("required");
        for key in props.texts(KEYS) {
            let Some(property) = items.property(key) else {
                continue;
            };
            let path = path.child("properties").key(key);
            let because = "this property is in x-kubernetes-list-map-keys, so it";
            if !required.contains(&key) && property.value("default").is_none() {
                let why = format!("{because} must have a default or be a required property");
                self.required(&path.child("default"), &why);
            }
            if property.is_set("nullable") {
                let why = format!("{because} cannot be nullable");
                self.forbidden(&path.child("nullable"), &why);
            }
        }
    }
}
