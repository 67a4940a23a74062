//! What is wrong with a definition's spec, in the order of Kubernetes.

use listwatch_api::field_error::BadValue;
use listwatch_api::{FieldError, FieldPath, name};
use serde_json::Value;

use super::conversion::{self, Bundle};
use super::hoisted::Spec;
use super::schema::{self, Status};
use super::{internal_form, names, parts};
use crate::props::Props;

/// What is wrong with the spec. `before` is the definition as it was.
pub(super) fn errors(next: &Value, before: Option<&Value>) -> Vec<FieldError> {
    let path = FieldPath::new("spec");
    let empty = serde_json::Map::new();
    let spec = Spec::of(next).unwrap_or(Spec {
        props: Props(&empty),
    });
    let check = Check {
        spec,
        before: before.and_then(Spec::of),
        path: &path,
    };
    let mut errors = check.head();
    errors.extend(check.versions());
    errors.extend(check.alike());
    errors.extend(check.tail(before.map_or(Bundle::Any, Bundle::after)));
    errors
}

struct Check<'a> {
    spec: Spec<'a>,
    before: Option<Spec<'a>>,
    path: &'a FieldPath,
}

impl Check<'_> {
    fn head(&self) -> Vec<FieldError> {
        let props = self.spec.props;
        let mut errors = Vec::new();
        let group = props.text("group");
        errors.extend(names::group_error(group, &self.path.child("group")));
        let scope = self.path.child("scope");
        errors.extend(match props.text("scope") {
            "" => Some(FieldError::required(&scope, "")),
            "Cluster" | "Namespaced" => None,
            other => {
                let supported = ["Cluster", "Namespaced"];
                Some(FieldError::not_supported(&scope, other, &supported))
            }
        });
        let shared = self.spec.shared("schema").flatten().and_then(Props::of);
        let has_shared = shared.is_some_and(|shared| shared.value("openAPIV3Schema").is_some());
        for (index, version) in self.spec.versions().into_iter().enumerate() {
            if !has_shared && Spec::schema_of(version).is_none() {
                let path = self.version_path(index);
                let path = path.child("schema").child("openAPIV3Schema");
                errors.push(FieldError::required(&path, ""));
            }
        }
        if self.keeps_unknown() && self.has_defaults() {
            let why = "must be false in order to use defaults in the schema";
            let path = self.path.child("preserveUnknownFields");
            errors.push(FieldError::invalid(&path, true, why));
        }
        errors
    }

    fn version_path(&self, index: usize) -> FieldPath {
        self.path.child("versions").index(index)
    }

    fn keeps_unknown(&self) -> bool {
        self.spec.props.is_set("preserveUnknownFields")
    }

    fn has_defaults(&self) -> bool {
        let versions = self.spec.versions();
        let schemas = versions.into_iter().filter_map(Spec::schema_of);
        schemas.into_iter().any(has_default)
    }

    /// What versions have each for themselves.
    fn versions(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (index, version) in self.spec.versions().into_iter().enumerate() {
            let path = self.version_path(index);
            let version_name = version.text("name");
            let problems = name::check_dns_1035_label(version_name);
            if !problems.is_empty() {
                let why = problems.join(",");
                let error = FieldError::invalid(&path.child("name"), version_name, &why);
                errors.push(error);
            }
            errors.extend(parts::warning_errors(version, &path));
            errors.extend(self.version(version, &path));
        }
        errors
    }

    fn version(&self, version: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
        let own = |part: &str| match self.spec.shared(part) {
            Some(_) => None,
            None => version.value(part),
        };
        let mut errors = Vec::new();
        let status = match self.spec.shared("subresources") {
            Some(shared) => status_of(shared),
            None => status_of(version.value("subresources")),
        };
        let validation = own("schema").and_then(Props::of);
        let schema = validation.and_then(|validation| validation.schema("openAPIV3Schema"));
        if let Some(schema) = schema {
            errors.extend(schema::errors(schema, status, &path.child("schema")));
        }
        if let Some(subresources) = own("subresources").and_then(Props::of) {
            let path = path.child("subresources");
            errors.extend(parts::subresource_errors(subresources, &path));
        }
        if let Some(columns) = own("additionalPrinterColumns") {
            let path = path.child("additionalPrinterColumns");
            errors.extend(parts::column_errors(columns, &path));
        }
        if let Some(fields) = own("selectableFields") {
            match schema {
                Some(schema) => {
                    let was = self.selectable_before(version.text("name"));
                    errors.extend(parts::selectable_errors(fields, schema, path, was));
                }
                None => {
                    let path = path.child("selectableFields");
                    let why = "may only be set when `version.schema.openAPIV3Schema` is not \
                               included";
                    errors.push(FieldError::invalid(&path, "", why));
                }
            }
        }
        errors
    }

    fn selectable_before(&self, version: &str) -> Option<&Value> {
        let versions = self.before?.versions();
        let mut versions = versions.into_iter();
        let same = versions.find(|known| known.text("name") == version)?;
        same.value("selectableFields")
    }

    /// What versions must not have alike, and what exactly one of them has.
    fn alike(&self) -> Vec<FieldError> {
        let versions = self.spec.versions();
        let path = self.path.child("versions");
        let mut errors = Vec::new();
        let mut refuse = |why: &str| {
            let shown = BadValue::json(match self.spec.props.value("versions") {
                None => "null".to_owned(),
                Some(_) => internal_form::versions(self.spec),
            });
            errors.push(FieldError::invalid(&path, shown, why));
        };
        let names: Vec<&str> = versions
            .iter()
            .map(|version| version.text("name"))
            .collect();
        let mut places = names.iter().enumerate();
        if places.any(|(index, name)| names[..index].contains(name)) {
            refuse("must contain unique version names");
        }
        let stored = versions.iter().filter(|version| version.is_set("storage"));
        if stored.count() != 1 {
            refuse("must have exactly one version marked as storage version");
        }
        if let Some(first) = names.first().filter(|first| !first.is_empty()) {
            let problems = name::check_dns_1035_label(first);
            if !problems.is_empty() {
                let path = self.path.child("version");
                errors.push(FieldError::invalid(&path, *first, &problems.join(",")));
            }
        }
        errors
    }

    fn tail(&self, bundle: Bundle) -> Vec<FieldError> {
        let props = self.spec.props;
        let empty = serde_json::Map::new();
        let stated_names = props.schema("names").unwrap_or(Props(&empty));
        let names_path = self.path.child("names");
        let mut errors: Vec<FieldError> = names::missing(stated_names, &names_path).collect();
        errors.extend(names::errors(stated_names, &names_path));
        errors.extend(self.shared_parts());
        if let Some(conversion) = props.schema("conversion") {
            let path = self.path.child("conversion");
            let strategy = conversion.text("strategy");
            if self.keeps_unknown() && strategy != "None" {
                let why = "must be None if spec.preserveUnknownFields is true";
                errors.push(FieldError::invalid(&path.child("strategy"), strategy, why));
            }
            errors.extend(conversion::errors(conversion, &path, bundle));
        }
        errors
    }

    /// What all versions have alike.
    fn shared_parts(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let shared = |part: &str| self.spec.shared(part).flatten();
        let validation = shared("schema").and_then(Props::of);
        let schema = validation.and_then(|validation| validation.schema("openAPIV3Schema"));
        if let Some(schema) = schema {
            let versions = self.spec.versions();
            let subresources = versions.iter().map(|version| version.value("subresources"));
            let status = match subresources.map(status_of).any(|one| one == Status::Apart) {
                true => Status::Apart,
                false => Status::Inside,
            };
            let path = self.path.child("validation");
            errors.extend(schema::errors(schema, status, &path));
        }
        if let Some(subresources) = shared("subresources").and_then(Props::of) {
            let path = self.path.child("subresources");
            errors.extend(parts::subresource_errors(subresources, &path));
        }
        if let Some(columns) = shared("additionalPrinterColumns") {
            let path = self.path.child("additionalPrinterColumns");
            errors.extend(parts::column_errors(columns, &path));
        }
        if let Some(fields) = shared("selectableFields") {
            match schema {
                Some(schema) => {
                    let before = self.before;
                    let was = before.and_then(|before| before.shared("selectableFields").flatten());
                    errors.extend(parts::selectable_errors(fields, schema, self.path, was));
                }
                None if validation.is_none() => {
                    let path = self.path.child("selectableFields");
                    let why = "may only be set when validations.schema is included";
                    errors.push(FieldError::invalid(&path, "", why));
                }
                None => {}
            }
        }
        errors
    }
}

fn status_of(subresources: Option<&Value>) -> Status {
    let subresources = subresources.and_then(Props::of);
    match subresources.is_some_and(|props| props.value("status").is_some()) {
        true => Status::Apart,
        false => Status::Inside,
    }
}

/// Whether some schema in this one states a default.
fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let own = members.get("default").is_some_and(|value| !value.is_null());
            own || members.values().any(has_default)
        }
        Value::Array(list) => list.iter().any(has_default),
        _ => false,
    }
}
