//! What expressions may refer to: variables with their types, objects they may build, libraries
//! they may call.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::checker;
use crate::error::CompileError;
use crate::library::declarations::Library;
use crate::parser;
use crate::plan;
use crate::program::Program;
use crate::schema::Schema;
use crate::source::{self, Issue};
use crate::types::{ObjectType, Type};
use crate::validators;

/// What the expressions of one place may refer to.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, Type>,
    libraries: Vec<Library>,
}

impl Environment {
    /// Kubernetes' functions and no variables.
    pub fn kubernetes() -> Self {
        Self {
            variables: BTreeMap::new(),
            libraries: vec![Library::Base],
        }
    }

    /// Allows functions that came with this version: for expressions that are stored already.
    pub fn with_stored_expressions(mut self) -> Self {
        self.libraries.push(Library::New);
        self
    }

    /// Allows what changes objects: `Object{...}`, `JSONPatch{...}` and `jsonpatch.escapeKey`.
    pub fn with_patches(mut self) -> Self {
        self.libraries.push(Library::Patches);
        self
    }

    /// Declares a variable, whose name may have dots in it.
    pub fn with_variable(mut self, name: impl Into<String>, declared: Type) -> Self {
        self.variables.insert(name.into(), declared);
        self
    }

    /// Declares a variable that holds data of a schema; its objects are named after `type_name`.
    pub fn with_data(self, name: impl Into<String>, type_name: &str, schema: &Schema) -> Self {
        let declared = schema.declared_type(type_name);
        self.with_variable(name, declared)
    }

    /// Reads and checks an expression.
    pub fn compile(&self, source: &str) -> Result<Program, CompileError> {
        let invalid = |issues: Vec<Issue>| CompileError::Invalid {
            text: source::render(source, &issues),
            issues,
        };
        let parsed = parser::parse(source).map_err(invalid)?;
        let mut expression = parsed.expression;
        let checked = checker::check(self, &mut expression, parsed.nodes).map_err(invalid)?;
        let issues = validators::validate(&expression, &checked);
        if !issues.is_empty() {
            return Err(invalid(issues));
        }
        let plan = plan::plan(&expression, &checked).map_err(CompileError::Failing)?;
        Ok(Program {
            expression,
            checked,
            plan,
        })
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&Type> {
        self.variables.get(name)
    }

    pub(crate) fn allows(&self, library: Library) -> bool {
        self.libraries.contains(&library)
    }

    /// The type of objects that may be built under a name.
    pub(crate) fn constructible(&self, name: &str) -> Option<Arc<ObjectType>> {
        if !self.allows(Library::Patches) {
            return None;
        }
        if name == "Object" || name.starts_with("Object.") {
            return Some(ObjectType::open(name));
        }
        let fields = ["op", "path", "from"].map(|field| (field.to_owned(), Type::String));
        let value = ("value".to_owned(), Type::Dyn);
        (name == "JSONPatch")
            .then(|| ObjectType::closed(name, fields.into_iter().chain([value]).collect()))
    }
}
