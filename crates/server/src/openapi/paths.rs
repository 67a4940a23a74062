//! The paths of a kind: which method does what, with which parameters.

use listwatch_api::schema::Schema;
use serde_json::{Map, Value, json};

use super::schemas::{self, DELETE_OPTIONS, PATCH, STATUS, reference};
use super::{Dialect, custom, root};
use crate::registry::{Definition, Expected, Scope, Subresource, Verb};

const BODY_TYPES: [&str; 2] = ["application/json", "application/yaml"];
const PATCH_TYPES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
const WRITE_PARAMETERS: [(&str, &str); 3] = [
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
const LIST_PARAMETERS: [(&str, &str); 10] = [
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const DELETE_PARAMETERS: [(&str, &str); 4] = [
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];

/// The paths of a kind and of what hangs below it.
pub(super) fn describe(
    definition: &Definition,
    schema: &Schema,
    dialect: Dialect,
) -> Vec<(String, Value)> {
    let kind = Kind::new(definition, schema, dialect);
    let root = root(definition);
    let resource = &definition.resource;
    let collection = match definition.scope {
        Scope::Cluster => format!("/{root}/{resource}"),
        Scope::Namespaced => format!("/{root}/namespaces/{{namespace}}/{resource}"),
    };
    let item = format!("{collection}/{{name}}");
    let mut paths = vec![(collection, kind.collection()), (item.clone(), kind.item())];
    if definition.scope == Scope::Namespaced && definition.verbs.contains(&Verb::List) {
        let everywhere = kind.path(&[], [("get", kind.list("ForAllNamespaces"))]);
        paths.push((format!("/{root}/{resource}"), everywhere));
    }
    let known = definition.subresources.iter();
    let is_custom = definition.custom.is_some();
    for below in known.filter(|below| below.schema.is_some() || is_custom) {
        paths.push((format!("{item}/{}", below.name), kind.below(below)));
    }
    paths.retain(|(_, item)| item.as_object().is_some_and(|members| members.len() > 1));
    paths
}

/// One kind while its paths are described.
struct Kind<'a> {
    definition: &'a Definition,
    expected: Expected<'a>,
    schema: &'a Schema,
    dialect: Dialect,
}

/// What one method does.
struct Operation<'a> {
    verb: Verb,
    action: &'static str,
    /// The first word of its id, and what follows the kind.
    id: (&'static str, &'a str),
    parameters: &'a [&'a [(&'a str, &'a str)]],
    body: Option<String>,
    answer: Option<String>,
}

impl<'a> Kind<'a> {
    fn new(definition: &'a Definition, schema: &'a Schema, dialect: Dialect) -> Self {
        Self {
            definition,
            expected: Expected::from(definition),
            schema,
            dialect,
        }
    }

    fn collection(&self) -> Value {
        let parameters: &[&str] = match self.definition.scope {
            Scope::Cluster => &[],
            Scope::Namespaced => &["namespace"],
        };
        let create = Operation {
            verb: Verb::Create,
            action: "post",
            id: ("create", ""),
            parameters: &[&WRITE_PARAMETERS],
            body: self.type_name(),
            answer: self.type_name(),
        };
        let delete = Operation {
            verb: Verb::DeleteCollection,
            action: "deletecollection",
            id: ("deleteCollection", ""),
            parameters: &[&DELETE_PARAMETERS, &LIST_PARAMETERS[1..9]],
            body: Some(DELETE_OPTIONS.to_owned()),
            answer: Some(STATUS.to_owned()),
        };
        let verbs = &self.definition.verbs;
        let operations = [
            ("get", self.list("")),
            ("post", self.operation(create, verbs)),
            ("delete", self.operation(delete, verbs)),
        ];
        self.path(parameters, operations)
    }

    fn list(&self, suffix: &str) -> Option<Value> {
        let answer = match self.expected.schema {
            Some(own) => schemas::list_name(self.schema.object_type(own)),
            None => custom::list_name(self.definition)?,
        };
        let list = Operation {
            verb: Verb::List,
            action: "list",
            id: ("list", suffix),
            parameters: &[&LIST_PARAMETERS],
            body: None,
            answer: Some(answer),
        };
        self.operation(list, &self.definition.verbs)
    }

    fn item(&self) -> Value {
        let delete = Operation {
            verb: Verb::Delete,
            action: "delete",
            id: ("delete", ""),
            parameters: &[&DELETE_PARAMETERS],
            body: Some(DELETE_OPTIONS.to_owned()),
            answer: Some(STATUS.to_owned()),
        };
        let verbs = &self.definition.verbs;
        let delete = ("delete", self.operation(delete, verbs));
        let operations = self.item_operations("", verbs).into_iter().chain([delete]);
        self.path(self.item_parameters(), operations)
    }

    fn below(&self, subresource: &'a Subresource) -> Value {
        let spoken = Self {
            expected: Expected::of_subresource(self.definition, subresource),
            ..*self
        };
        let suffix = capitalized(&subresource.name);
        let create = Operation {
            verb: Verb::Create,
            action: "post",
            id: ("create", &suffix),
            parameters: &[&WRITE_PARAMETERS],
            body: spoken.type_name(),
            answer: spoken.type_name(),
        };
        let verbs = &subresource.verbs;
        let create = ("post", spoken.operation(create, verbs));
        let operations = spoken
            .item_operations(&suffix, verbs)
            .into_iter()
            .chain([create]);
        self.path(self.item_parameters(), operations)
    }

    /// What can be done with one object: read, replace and patch it.
    fn item_operations(&self, suffix: &str, verbs: &[Verb]) -> [(&'static str, Option<Value>); 3] {
        let read = Operation {
            verb: Verb::Get,
            action: "get",
            id: ("read", suffix),
            parameters: &[],
            body: None,
            answer: self.type_name(),
        };
        let replace = Operation {
            verb: Verb::Update,
            action: "put",
            id: ("replace", suffix),
            parameters: &[&WRITE_PARAMETERS],
            body: self.type_name(),
            answer: self.type_name(),
        };
        let patch = Operation {
            verb: Verb::Patch,
            action: "patch",
            id: ("patch", suffix),
            parameters: &[&WRITE_PARAMETERS, &[("force", "boolean")]],
            body: Some(PATCH.to_owned()),
            answer: self.type_name(),
        };
        [
            ("get", self.operation(read, verbs)),
            ("put", self.operation(replace, verbs)),
            ("patch", self.operation(patch, verbs)),
        ]
    }

    fn item_parameters(&self) -> &'static [&'static str] {
        match self.definition.scope {
            Scope::Cluster => &["name"],
            Scope::Namespaced => &["name", "namespace"],
        }
    }

    fn type_name(&self) -> Option<String> {
        match self.expected.schema {
            Some(own) => Some(self.schema.object_type(own).name.to_string()),
            None => custom::type_name(self.definition),
        }
    }

    fn path<'b>(
        &self,
        parameters: &[&str],
        operations: impl IntoIterator<Item = (&'b str, Option<Value>)>,
    ) -> Value {
        let parameters = parameters.iter().map(|name| {
            let required = json!({"in": "path", "name": name, "required": true});
            self.typed(required, "string")
        });
        let pretty = self.typed(json!({"in": "query", "name": "pretty"}), "string");
        let parameters: Vec<Value> = parameters.chain([pretty]).collect();
        let mut path = Map::from_iter([("parameters".to_owned(), parameters.into())]);
        for (method, operation) in operations {
            path.extend(operation.map(|operation| (method.to_owned(), operation)));
        }
        path.into()
    }

    /// Describes an operation if its verb is served.
    fn operation(&self, operation: Operation<'_>, verbs: &[Verb]) -> Option<Value> {
        if !verbs.contains(&operation.verb) {
            return None;
        }
        let Expected {
            group,
            version,
            kind,
            ..
        } = self.expected;
        let mut content = json!({
            "operationId": self.id(&operation),
            "parameters": self.query_parameters(operation.parameters),
            "responses": {"200": self.answer(operation.answer.as_deref())},
            "tags": [self.tag()],
            "x-kubernetes-action": operation.action,
            "x-kubernetes-group-version-kind": {
                "group": group, "kind": kind, "version": version,
            },
        });
        let accepted: &[&str] = match operation.verb {
            Verb::Patch if self.definition.custom.is_some() => &PATCH_TYPES[..3],
            Verb::Patch => &PATCH_TYPES,
            _ => &BODY_TYPES,
        };
        if let Some(name) = &operation.body {
            self.add_body(&mut content, accepted, name);
        }
        if self.dialect == Dialect::Two {
            content["produces"] = json!(BODY_TYPES);
        }
        Some(content)
    }

    fn query_parameters(&self, groups: &[&[(&str, &str)]]) -> Vec<Value> {
        let all = groups.iter().flat_map(|group| group.iter());
        all.map(|(name, name_type)| self.typed(json!({"in": "query", "name": name}), name_type))
            .collect()
    }

    fn add_body(&self, content: &mut Value, accepted: &[&str], name: &str) {
        match self.dialect {
            Dialect::Two => {
                let schema = reference(name, self.dialect);
                let body = json!({"in": "body", "name": "body", "schema": schema});
                let mut parameters = vec![body];
                if let Value::Array(others) = content["parameters"].take() {
                    parameters.extend(others);
                }
                content["parameters"] = parameters.into();
                content["consumes"] = json!(accepted);
            }
            Dialect::Three => {
                content["requestBody"] = json!({"content": self.content(accepted, name)});
            }
        }
    }

    fn answer(&self, name: Option<&str>) -> Value {
        let Some(name) = name else {
            return json!({"description": "OK"});
        };
        match self.dialect {
            Dialect::Two => json!({"description": "OK", "schema": reference(name, self.dialect)}),
            Dialect::Three => {
                json!({"description": "OK", "content": self.content(&BODY_TYPES, name)})
            }
        }
    }

    fn content(&self, content_types: &[&str], name: &str) -> Value {
        let schema = reference(name, self.dialect);
        let typed = content_types.iter();
        typed
            .map(|content_type| ((*content_type).to_owned(), json!({"schema": schema})))
            .collect::<Map<String, Value>>()
            .into()
    }

    fn typed(&self, mut parameter: Value, name: &str) -> Value {
        match self.dialect {
            Dialect::Two => parameter["type"] = name.into(),
            Dialect::Three => parameter["schema"] = json!({"type": name}),
        }
        parameter
    }

    /// Such as `listCoreV1NamespacedPod`.
    fn id(&self, operation: &Operation<'_>) -> String {
        let definition = self.definition;
        let (word, suffix) = operation.id;
        let everywhere = suffix == "ForAllNamespaces";
        let namespaced = definition.scope == Scope::Namespaced && !everywhere;
        format!(
            "{word}{}{}{}{}{suffix}",
            group_title(&definition.group),
            capitalized(&definition.version),
            if namespaced { "Namespaced" } else { "" },
            definition.kind,
        )
    }

    /// Such as `core_v1`.
    fn tag(&self) -> String {
        let title = group_title(&self.definition.group);
        let (first, rest) = title.split_at(1);
        let lower = first.to_ascii_lowercase();
        format!("{lower}{rest}_{}", self.definition.version)
    }
}

/// `rbac.authorization.k8s.io` becomes `RbacAuthorization`.
fn group_title(group: &str) -> String {
    match group {
        "" => "Core".to_owned(),
        _ => group
            .trim_end_matches(".k8s.io")
            .split('.')
            .map(capitalized)
            .collect(),
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
