//! What a write asks for besides the object: dry run, ownership, strictness, ways of deletion.

use serde_json::{Map, Value};

use crate::field_error::{FieldError, FieldPath};
use crate::go_text;
use crate::identity::GroupKind;
use crate::json;
use crate::query::Query;
use crate::status::Status;

#[cfg(test)]
mod tests;

/// Bytes that the name of a field manager may have.
const FIELD_MANAGER_BYTES_MAX: usize = 128;

/// Whether a write is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It is kept.
    #[default]
    Off,
    /// Everything happens but the keeping.
    All,
}

/// What happens to fields that the kind does not have, and to fields that stand twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped with a warning.
    #[default]
    Warn,
    /// They are refused.
    Strict,
}

/// Options of a create, an update, or the writing part of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether the write is kept.
    pub dry_run: DryRun,
    /// Who owns the fields that change; without one, the user agent says.
    pub field_manager: Option<String>,
    /// What happens to odd fields.
    pub field_validation: FieldValidation,
}

/// Options of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// What it shares with other writes.
    pub write: WriteOptions,
    /// Whether an apply takes fields from their owners.
    pub force: bool,
}

/// What [`PatchOptions`] are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchPurpose {
    /// A change to the object as it is.
    Change,
    /// A statement of the wanted state, with ownership.
    Apply,
}

/// Options of a delete, or of the delete of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Whether the delete is kept.
    pub dry_run: DryRun,
    /// How long the object may take to end; without one, its kind says.
    pub grace_period_seconds: Option<u64>,
    /// What happens to the objects it owns.
    pub propagation: Propagation,
    /// What must be true of the object.
    pub preconditions: Preconditions,
}

/// What happens to the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// What the kind says.
    #[default]
    Default,
    /// What the client says.
    Policy(PropagationPolicy),
    /// What the client says in the deprecated way: whether they stay.
    OrphanDependents(bool),
}

/// Ways to treat the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropagationPolicy {
    /// They are deleted first.
    Foreground,
    /// They are deleted afterwards.
    Background,
    /// They stay.
    Orphan,
}

/// What must be true of an object before it is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// Its uid.
    pub uid: Option<String>,
    /// Its resource version.
    pub resource_version: Option<String>,
}

impl WriteOptions {
    /// Reads the parameters of a create.
    pub fn create(query: Query<'_>) -> Result<Self, Status> {
        let (options, errors) = Self::read(query);
        checked(options, "CreateOptions", &errors)
    }

    /// Reads the parameters of an update.
    pub fn update(query: Query<'_>) -> Result<Self, Status> {
        let (options, errors) = Self::read(query);
        checked(options, "UpdateOptions", &errors)
    }

    fn read(query: Query<'_>) -> (Self, Vec<FieldError>) {
        let manager = query.first("fieldManager").unwrap_or_default();
        let mut errors = field_manager_errors(manager, &FieldPath::new("fieldManager"));
        let values: Vec<Value> = query.all("dryRun").map(Value::from).collect();
        let dry_run = read_dry_run(&values, &mut errors);
        let field_validation = read_field_validation(query, &mut errors);
        let field_manager = (!manager.is_empty()).then(|| manager.to_owned());
        (
            Self {
                dry_run,
                field_manager,
                field_validation,
            },
            errors,
        )
    }
}

impl PatchOptions {
    /// Reads the parameters of a patch.
    pub fn parse(query: Query<'_>, purpose: PatchPurpose) -> Result<Self, Status> {
        let (write, write_errors) = WriteOptions::read(query);
        let force = query.flag("force");
        let mut errors = Vec::new();
        match purpose {
            PatchPurpose::Apply if write.field_manager.is_none() => {
                let path = FieldPath::new("fieldManager");
                errors.push(FieldError::required(&path, "is required for apply patch"));
            }
            PatchPurpose::Change if force.is_some() => {
                let path = FieldPath::new("force");
                let why = "may not be specified for non-apply patch";
                errors.push(FieldError::forbidden(&path, why));
            }
            PatchPurpose::Apply | PatchPurpose::Change => {}
        }
        errors.extend(write_errors);
        checked(
            Self {
                write,
                force: force.unwrap_or(false),
            },
            "PatchOptions",
            &errors,
        )
    }
}

impl DeleteOptions {
    /// Reads the parameters of a delete without a body.
    pub fn from_query(query: Query<'_>) -> Result<Self, Status> {
        let text = |name| query.first(name).map(str::to_owned);
        let raw = RawDeleteOptions {
            grace_period_seconds: query.integer("gracePeriodSeconds")?,
            propagation_policy: text("propagationPolicy"),
            orphan_dependents: query.flag("orphanDependents"),
            dry_run: query.all("dryRun").map(Value::from).collect(),
            preconditions: Preconditions {
                uid: text("uid").filter(|uid| !uid.is_empty()),
                resource_version: text("resourceVersion").filter(|version| !version.is_empty()),
            },
        };
        raw.check()
    }

    /// Reads the body of a delete. Parameters do not count then.
    pub fn from_body(body: &Value) -> Result<Self, Status> {
        // Go reads null as options of which none is set.
        let body = match body {
            Value::Null => &Value::Object(Map::new()),
            other => other,
        };
        let raw = RawDeleteOptions::from_body(body).map_err(Status::bad_request)?;
        raw.check()
    }
}

struct RawDeleteOptions {
    grace_period_seconds: Option<i64>,
    propagation_policy: Option<String>,
    orphan_dependents: Option<bool>,
    dry_run: Vec<Value>,
    preconditions: Preconditions,
}

impl RawDeleteOptions {
    fn from_body(body: &Value) -> Result<Self, String> {
        let options = Fields::of(body, "DeleteOptions", "")?;
        match options.text("kind")?.as_deref() {
            None | Some("" | "DeleteOptions") => {}
            Some(_) => return Err("decoded object cannot be converted to DeleteOptions".into()),
        }
        let preconditions = match options.get("preconditions") {
            None => Preconditions::default(),
            Some(value) => {
                let fields = Fields::of(value, "Preconditions", "preconditions.")?;
                Preconditions {
                    uid: fields.text("uid")?,
                    resource_version: fields.text("resourceVersion")?,
                }
            }
        };
        Ok(Self {
            grace_period_seconds: options.integer("gracePeriodSeconds")?,
            propagation_policy: options.text("propagationPolicy")?,
            orphan_dependents: options.boolean("orphanDependents")?,
            dry_run: options.texts("dryRun")?,
            preconditions,
        })
    }

    fn check(self) -> Result<DeleteOptions, Status> {
        let mut errors = Vec::new();
        let propagation = self.propagation(&mut errors);
        let dry_run = read_dry_run(&self.dry_run, &mut errors);
        // A negative period cannot be waited for; Kubernetes takes the shortest one instead.
        let grace_period_seconds = self
            .grace_period_seconds
            .map(|seconds| u64::try_from(seconds).unwrap_or(1));
        let preconditions = self.preconditions;
        let options = DeleteOptions {
            dry_run,
            grace_period_seconds,
            propagation,
            preconditions,
        };
        checked(options, "DeleteOptions", &errors)
    }

    fn propagation(&self, errors: &mut Vec<FieldError>) -> Propagation {
        let path = FieldPath::new("propagationPolicy");
        let Some(policy) = &self.propagation_policy else {
            return self
                .orphan_dependents
                .map_or(Propagation::Default, Propagation::OrphanDependents);
        };
        if self.orphan_dependents.is_some() {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(&path, policy, why));
        }
        match policy.as_str() {
            "Foreground" => Propagation::Policy(PropagationPolicy::Foreground),
            "Background" => Propagation::Policy(PropagationPolicy::Background),
            "Orphan" => Propagation::Policy(PropagationPolicy::Orphan),
            other => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(&path, other, &supported));
                Propagation::Default
            }
        }
    }
}

/// The fields of one object of a body, read with Go's errors.
struct Fields<'a> {
    value: &'a Value,
    go_type: &'a str,
    prefix: &'a str,
}

impl<'a> Fields<'a> {
    fn of(value: &'a Value, go_type: &'a str, prefix: &'a str) -> Result<Self, String> {
        if value.is_object() {
            return Ok(Self {
                value,
                go_type,
                prefix,
            });
        }
        let found = json::type_word(value);
        Err(format!(
            "json: cannot unmarshal {found} into Go value of type v1.{go_type}"
        ))
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.value.get(name).filter(|value| !value.is_null())
    }

    fn read<T>(
        &self,
        name: &str,
        wanted: &str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let wrong = || {
            let Self {
                go_type, prefix, ..
            } = self;
            let found = json::type_word(value);
            format!(
                "json: cannot unmarshal {found} into Go struct field {go_type}.{prefix}{name} of \
                 type {wanted}"
            )
        };
        convert(value).map(Some).ok_or_else(wrong)
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        self.read(name, "string", |value| value.as_str().map(str::to_owned))
    }

    fn integer(&self, name: &str) -> Result<Option<i64>, String> {
        self.read(name, "int64", Value::as_i64)
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, String> {
        self.read(name, "bool", Value::as_bool)
    }

    fn texts(&self, name: &str) -> Result<Vec<Value>, String> {
        let texts = self.read(name, "[]string", |value| {
            value
                .as_array()
                .filter(|elements| elements.iter().all(Value::is_string))
        })?;
        Ok(texts.cloned().unwrap_or_default())
    }
}

/// What is wrong with the name of a field manager.
pub fn field_manager_errors(manager: &str, path: &FieldPath) -> Vec<FieldError> {
    if manager.len() > FIELD_MANAGER_BYTES_MAX {
        return vec![FieldError::too_long(path, FIELD_MANAGER_BYTES_MAX)];
    }
    let mut errors = Vec::new();
    let unprintable = manager
        .char_indices()
        .filter(|(_, c)| !go_text::is_printable(*c));
    for (position, character) in unprintable {
        let code = u32::from(character);
        let why = format!("invalid character U+{code:04X} (at position {position})");
        errors.push(FieldError::invalid(path, manager, &why));
    }
    errors
}

fn read_dry_run(values: &[Value], errors: &mut Vec<FieldError>) -> DryRun {
    if values.is_empty() {
        return DryRun::Off;
    }
    if values.iter().any(|value| value != "All") {
        let given = Value::from(values);
        errors.push(FieldError::not_supported(
            &FieldPath::new("dryRun"),
            &given,
            &["All"],
        ));
    }
    DryRun::All
}

fn read_field_validation(query: Query<'_>, errors: &mut Vec<FieldError>) -> FieldValidation {
    match query.first("fieldValidation") {
        None | Some("" | "Warn") => FieldValidation::Warn,
        Some("Ignore") => FieldValidation::Ignore,
        Some("Strict") => FieldValidation::Strict,
        Some(other) => {
            let path = FieldPath::new("fieldValidation");
            let supported = ["", "Ignore", "Strict", "Warn"];
            errors.push(FieldError::not_supported(&path, other, &supported));
            FieldValidation::Warn
        }
    }
}

fn checked<T>(options: T, kind: &str, errors: &[FieldError]) -> Result<T, Status> {
    if errors.is_empty() {
        return Ok(options);
    }
    Err(Status::invalid(
        GroupKind::new("meta.k8s.io", kind),
        "",
        errors,
    ))
}
