//! What an object's `metadata` must look like, when it is created and when it is changed.
//!
//! The metadata is JSON whose fields have their right types already; an absent field has its
//! empty value.

use std::collections::HashSet;

use serde_json::Value;

use crate::field_error::{BadValue, FIELD_ERRORS_MAX, FieldError, FieldPath};
use crate::go_text;
use crate::media_type::Origin;
use crate::name::{self, NameRule};
use crate::write_options::field_manager_errors;

mod owners;
#[cfg(test)]
mod tests;

/// Bytes that all annotations of an object may have, keys and values together.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1_024;
/// Bytes that the subresource of a managed fields entry may have.
const SUBRESOURCE_BYTES_MAX: usize = 256;
/// Bytes of a generated name that come from its prefix; the rest of a longer one is cut off.
const GENERATED_PREFIX_BYTES_MAX: usize = 58;
const GENERATED_SUFFIX_LENGTH: usize = 5;
/// Without vowels and what looks like them, so that no words come out.
const GENERATED_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Whether the objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// They do not.
    Cluster,
}

/// What a kind demands of its objects' metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataRules {
    /// What names look like.
    pub name: NameRule,
    /// Where the objects live.
    pub scope: Scope,
    /// Who defines the kind; built-in kinds demand qualified finalizers.
    pub origin: Origin,
}

impl MetadataRules {
    /// What is wrong with the metadata of a new object, whose name has been generated already.
    pub fn check_create(&self, metadata: &Value) -> Vec<FieldError> {
        let path = FieldPath::new("metadata");
        let mut errors = self.name_errors(metadata, &path);
        errors.extend(self.namespace_errors(text(metadata, "namespace"), &path));
        errors.extend(generation_errors(metadata, &path));
        errors.extend(label_errors(metadata, &path.child("labels")));
        errors.extend(annotation_errors(metadata, &path.child("annotations")));
        errors.extend(owners::errors(metadata, &path.child("ownerReferences")));
        errors.extend(finalizer_errors(metadata, &path.child("finalizers")));
        errors.extend(managed_fields_errors(
            metadata,
            &path.child("managedFields"),
        ));
        errors.extend(self.unqualified_finalizer_errors(metadata, &path.child("finalizers")));
        errors
    }

    /// What is wrong with the metadata of an object that was `old` before.
    pub fn check_update(&self, metadata: &Value, old: &Value) -> Vec<FieldError> {
        let path = FieldPath::new("metadata");
        let mut errors = Vec::new();
        errors.extend(new_finalizer_error(
            metadata,
            old,
            &path.child("finalizers"),
        ));
        let version = text(metadata, "resourceVersion");
        if version.is_empty() {
            let path = path.child("resourceVersion");
            errors.push(FieldError::invalid(
                &path,
                version,
                "must be specified for an update",
            ));
        }
        errors.extend(generation_errors(metadata, &path));
        if integer(metadata, "generation") < integer(old, "generation") {
            let generation = integer(metadata, "generation");
            let path = path.child("generation");
            errors.push(FieldError::invalid(
                &path,
                generation,
                "must not be decremented",
            ));
        }
        errors.extend(immutable_errors(metadata, old, &path));
        errors.extend(label_errors(metadata, &path.child("labels")));
        errors.extend(annotation_errors(metadata, &path.child("annotations")));
        errors.extend(owners::errors(metadata, &path.child("ownerReferences")));
        errors.extend(managed_fields_errors(
            metadata,
            &path.child("managedFields"),
        ));
        errors.extend(self.unqualified_finalizer_errors(metadata, &path.child("finalizers")));
        errors
    }

    fn name_errors(&self, metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let prefix = text(metadata, "generateName");
        if !prefix.is_empty() {
            let problems = self.name.check_prefix(prefix);
            errors.extend(invalid_each(&path.child("generateName"), prefix, &problems));
        }
        let name = text(metadata, "name");
        let path = path.child("name");
        if name.is_empty() {
            errors.push(FieldError::required(
                &path,
                "name or generateName is required",
            ));
        } else {
            errors.extend(invalid_each(&path, name, &self.name.check(name)));
        }
        errors
    }

    fn namespace_errors(&self, namespace: &str, path: &FieldPath) -> Vec<FieldError> {
        let path = path.child("namespace");
        match (self.scope, namespace) {
            (Scope::Namespaced, "") => vec![FieldError::required(&path, "")],
            (Scope::Namespaced, namespace) => {
                invalid_each(&path, namespace, &name::check_dns_label(namespace)).collect()
            }
            (Scope::Cluster, "") => Vec::new(),
            (Scope::Cluster, _) => vec![FieldError::forbidden(&path, "not allowed on this type")],
        }
    }

    fn unqualified_finalizer_errors(&self, metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
        if self.origin == Origin::Custom {
            return Vec::new();
        }
        let is_standard = |name| matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
        let numbered = finalizers(metadata).enumerate();
        let unqualified = numbered.filter(|(_, name)| !name.contains('/') && !is_standard(name));
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        unqualified
            .take(FIELD_ERRORS_MAX)
            .map(|(index, name)| FieldError::invalid(&path.index(index), name, why))
            .collect()
    }
}

/// A name that begins with `prefix`. `random` draws a number below its argument.
pub fn generate_name(prefix: &str, mut random: impl FnMut(usize) -> usize) -> String {
    let end = prefix.floor_char_boundary(GENERATED_PREFIX_BYTES_MAX);
    let mut name = prefix[..end].to_owned();
    for _ in 0..GENERATED_SUFFIX_LENGTH {
        let index = random(GENERATED_ALPHABET.len()) % GENERATED_ALPHABET.len();
        name.push(char::from(GENERATED_ALPHABET[index]));
    }
    name
}

fn generation_errors(metadata: &Value, path: &FieldPath) -> Option<FieldError> {
    let generation = integer(metadata, "generation");
    let why = "must be greater than or equal to 0";
    (generation < 0).then(|| FieldError::invalid(&path.child("generation"), generation, why))
}

/// What is wrong with the labels of an object, told of this path.
pub fn label_errors(metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in texts(metadata, "labels") {
        if errors.len() > FIELD_ERRORS_MAX {
            break;
        }
        errors.extend(invalid_each(path, key, &name::check_qualified_name(key)));
        errors.extend(invalid_each(path, value, &name::check_label_value(value)));
    }
    errors
}

/// What is wrong with the annotations of an object, told of this path.
pub fn annotation_errors(metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut bytes = 0;
    for (key, value) in texts(metadata, "annotations") {
        bytes += key.len() + value.len();
        if errors.len() <= FIELD_ERRORS_MAX {
            let problems = name::check_qualified_name(&key.to_lowercase());
            errors.extend(invalid_each(path, key, &problems));
        }
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        errors.push(FieldError::too_long(path, ANNOTATIONS_BYTES_MAX));
    }
    errors
}

fn finalizer_errors(metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in finalizers(metadata).take(FIELD_ERRORS_MAX) {
        errors.extend(invalid_each(path, name, &name::check_qualified_name(name)));
    }
    let has = |wanted| finalizers(metadata).any(|name| name == wanted);
    if has("orphan") && has("foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, &metadata["finalizers"], why));
    }
    errors
}

fn new_finalizer_error(metadata: &Value, old: &Value, path: &FieldPath) -> Option<FieldError> {
    if old["deletionTimestamp"].is_null() {
        return None;
    }
    let known: HashSet<&str> = finalizers(old).collect();
    let mut added: Vec<&str> = finalizers(metadata)
        .filter(|name| !known.contains(name))
        .collect();
    added.sort_unstable();
    added.dedup();
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers {}",
        go_text::string_slice(added.iter().copied())
    );
    (!added.is_empty()).then(|| FieldError::forbidden(path, &why))
}

fn immutable_errors(metadata: &Value, old: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in ["name", "namespace", "uid"] {
        if text(metadata, name) != text(old, name) {
            let value = text(metadata, name);
            errors.push(FieldError::invalid(
                &path.child(name),
                value,
                "field is immutable",
            ));
        }
    }
    for name in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        if metadata[name] != old[name] {
            let value = BadValue::from(&metadata[name]);
            errors.push(FieldError::invalid(
                &path.child(name),
                value,
                "field is immutable",
            ));
        }
    }
    errors
}

fn managed_fields_errors(metadata: &Value, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    for (index, entry) in entries.enumerate().take(FIELD_ERRORS_MAX) {
        let path = path.index(index);
        let operation = text(entry, "operation");
        if operation.is_empty() {
            errors.push(FieldError::required(
                &path.child("operation"),
                "must not be empty",
            ));
        } else if !matches!(operation, "Apply" | "Update") {
            let supported = ["Apply", "Update"];
            let path = path.child("operation");
            errors.push(FieldError::not_supported(&path, operation, &supported));
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            let path = path.child("fieldsType");
            errors.push(FieldError::invalid(
                &path,
                fields_type,
                "must be `FieldsV1`",
            ));
        }
        errors.extend(field_manager_errors(
            text(entry, "manager"),
            &path.child("manager"),
        ));
        if text(entry, "subresource").len() > SUBRESOURCE_BYTES_MAX {
            let path = path.child("subresource");
            errors.push(FieldError::too_long(&path, SUBRESOURCE_BYTES_MAX));
        }
    }
    errors
}

fn invalid_each(
    path: &FieldPath,
    value: &str,
    problems: &[String],
) -> impl Iterator<Item = FieldError> {
    problems
        .iter()
        .map(move |problem| FieldError::invalid(path, value, problem))
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn integer(object: &Value, field: &str) -> i64 {
    object[field].as_i64().unwrap_or_default()
}

fn texts<'a>(metadata: &'a Value, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let entries = metadata[field].as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
}

fn finalizers(metadata: &Value) -> impl Iterator<Item = &str> {
    let names = metadata["finalizers"].as_array().into_iter().flatten();
    names.map(|name| name.as_str().unwrap_or_default())
}
