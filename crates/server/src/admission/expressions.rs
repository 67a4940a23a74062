//! Expressions about a request: what they may refer to, and what they say.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use listwatch_cel::{
    Bindings, Budget, Environment, EvaluationError, ObjectType, Program, Type, Value as CelValue,
    value::{AccessCheck, AccessDecision, Authorizer, LazyFields, ResourceCheck, Subject},
};
use serde_json::Value;

/// How often the variables of a policy may be computed for one request. Then it costs too much.
const COMPUTATIONS_MAX: usize = 1_000;

/// Which functions expressions may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Those that look.
    Looking,
    /// Also those that build patches.
    Patching,
}

/// Whether a policy takes parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameters {
    None,
    Taken,
}

/// What expressions of admission may refer to. Variables are known by the types of what they are.
pub(super) fn environment(
    dialect: Dialect,
    parameters: Parameters,
    variables: &BTreeMap<String, Type>,
) -> Environment {
    let mut known = Environment::kubernetes()
        .with_stored_expressions()
        .with_variable("object", Type::Dyn)
        .with_variable("oldObject", Type::Dyn)
        .with_variable("namespaceObject", Type::Dyn)
        .with_variable("request", REQUEST.clone())
        .with_variable("authorizer", Type::Dyn)
        .with_variable("authorizer.requestResource", Type::Dyn);
    if dialect == Dialect::Patching {
        known = known.with_patches();
    }
    if parameters == Parameters::Taken {
        known = known.with_variable("params", Type::Dyn);
    }
    if !variables.is_empty() {
        let variables = ObjectType::closed("kubernetes.variables", variables.clone());
        known = known.with_variable("variables", Type::Object(variables));
    }
    known
}

/// What a request is, as far as expressions can look at it.
static REQUEST: LazyLock<Type> = LazyLock::new(|| {
    let texts = |name: &str, fields: &[&str]| {
        let fields = fields
            .iter()
            .map(|field| ((*field).to_owned(), Type::String));
        Type::Object(ObjectType::closed(name, fields.collect()))
    };
    let kind = texts("kubernetes.GroupVersionKind", &["group", "version", "kind"]);
    let resource = texts(
        "kubernetes.GroupVersionResource",
        &["group", "version", "resource"],
    );
    let user = BTreeMap::from([
        ("username".to_owned(), Type::String),
        ("uid".to_owned(), Type::String),
        ("groups".to_owned(), Type::list(Type::String)),
        (
            "extra".to_owned(),
            Type::map(Type::String, Type::list(Type::String)),
        ),
    ]);
    let mut fields = BTreeMap::from([
        ("kind".to_owned(), kind.clone()),
        ("resource".to_owned(), resource.clone()),
        ("requestKind".to_owned(), kind),
        ("requestResource".to_owned(), resource),
        ("dryRun".to_owned(), Type::Bool),
        ("options".to_owned(), Type::Dyn),
        (
            "userInfo".to_owned(),
            Type::Object(ObjectType::closed("kubernetes.UserInfo", user)),
        ),
    ]);
    for name in [
        "subResource",
        "requestSubResource",
        "name",
        "namespace",
        "operation",
    ] {
        fields.insert(name.to_owned(), Type::String);
    }
    Type::Object(ObjectType::closed("kubernetes.AdmissionRequest", fields))
});

/// An expression and its text.
pub(super) struct Expression {
    pub(super) text: String,
    program: Result<Program, String>,
}

impl Expression {
    pub(super) fn compile(environment: &Environment, text: &str) -> Self {
        let program = environment.compile(text);
        Self {
            text: text.to_owned(),
            program: program.map_err(|error| format!("compilation failed: {error}")),
        }
    }

    /// The type of what it says, if it can be used at all.
    pub(super) fn output(&self) -> Result<&Type, &String> {
        self.program.as_ref().map(Program::output_type)
    }

    /// What it says about a request, or why it says nothing.
    pub(super) fn evaluate<'a>(&self, scene: &Scene<'a>) -> Result<CelValue<'a>, String> {
        let program = match &self.program {
            Ok(program) => program,
            Err(error) => return Err(format!("compilation error: {error}")),
        };
        let result = program.evaluate(&scene.bindings(), &mut Budget::per_call());
        result.map_err(|error| match error {
            EvaluationError::OutOfBudget => {
                let text = &self.text;
                format!(
                    "validation failed due to running out of cost budget, no further \
                         validation rules will be run: {text}"
                )
            }
            EvaluationError::Failed(why) => {
                format!("expression '{}' resulted in error: {why}", self.text)
            }
        })
    }

    /// Whether what it says holds.
    pub(super) fn holds(&self, scene: &Scene<'_>) -> Result<bool, String> {
        let said = self.evaluate(scene)?;
        Ok(matches!(said, CelValue::Bool(true)))
    }

    /// The text that it makes; `None` for anything else.
    pub(super) fn text_of(&self, scene: &Scene<'_>) -> Result<Option<String>, String> {
        match self.evaluate(scene)? {
            CelValue::String(text) => Ok(Some(text.to_string())),
            _ => Ok(None),
        }
    }
}

/// What expressions look at.
pub(super) struct Facts {
    pub(super) object: Value,
    pub(super) old: Value,
    pub(super) request: Value,
    pub(super) params: Value,
    pub(super) namespace: Value,
}

/// What expressions look at, and the variables that a policy computes from it.
#[derive(Clone, Copy)]
pub(super) struct Scene<'a> {
    pub(super) facts: &'a Facts,
    pub(super) variables: &'a Variables<'a>,
}

impl<'a> Scene<'a> {
    fn bindings(&self) -> Bindings<'a> {
        let Facts {
            object,
            old,
            request,
            params,
            namespace,
        } = self.facts;
        let resource = ResourceCheck {
            group: text(&request["resource"]["group"]),
            resource: text(&request["resource"]["resource"]),
            subresource: text(&request["subResource"]),
            namespace: text(&request["namespace"]),
            name: text(&request["name"]),
            ..ResourceCheck::default()
        };
        Bindings::new()
            .with("object", CelValue::dynamic(object))
            .with("oldObject", CelValue::dynamic(old))
            .with("request", CelValue::dynamic(request))
            .with("params", CelValue::dynamic(params))
            .with("namespaceObject", CelValue::dynamic(namespace))
            .with("variables", CelValue::Lazy(self.variables))
            .with("authorizer", CelValue::authorizer(&Everybody))
            .with(
                "authorizer.requestResource",
                CelValue::resource_authorizer(&Everybody, resource),
            )
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Whoever reaches a server without authorization may do everything.
struct Everybody;

impl Authorizer for Everybody {
    fn authorize(&self, _: &Subject, _: &AccessCheck) -> AccessDecision {
        AccessDecision::Allowed {
            reason: String::new(),
        }
    }
}

/// A variable of a policy, by its name.
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) expression: Expression,
}

/// Reads the variables of a policy, of which each may refer to those before it.
pub(super) fn read_variables(
    listed: &Value,
    parameters: Parameters,
) -> (Vec<Variable>, BTreeMap<String, Type>) {
    let (mut read, mut types) = (Vec::new(), BTreeMap::new());
    for variable in listed.as_array().into_iter().flatten() {
        let known = environment(Dialect::Patching, parameters, &types);
        let expression = Expression::compile(&known, &text(&variable["expression"]));
        let name = text(&variable["name"]);
        let output = expression.output().cloned();
        types.insert(name.clone(), output.unwrap_or(Type::Dyn));
        read.push(Variable { name, expression });
    }
    (read, types)
}

/// The variables of a policy for one request, each computed when it is first looked at.
pub(super) struct Variables<'a> {
    facts: &'a Facts,
    declared: Arc<Vec<Variable>>,
    known: Vec<OnceLock<Value>>,
    computations: AtomicUsize,
}

impl<'a> Variables<'a> {
    pub(super) fn new(facts: &'a Facts, declared: &Arc<Vec<Variable>>) -> Self {
        Self {
            facts,
            declared: Arc::clone(declared),
            known: declared.iter().map(|_| OnceLock::new()).collect(),
            computations: AtomicUsize::new(0),
        }
    }
}

impl fmt::Debug for Variables<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.declared.iter().map(|variable| &variable.name);
        formatter.debug_list().entries(names).finish()
    }
}

impl LazyFields for Variables<'_> {
    fn field(&self, name: &str) -> Option<Result<CelValue<'_>, EvaluationError>> {
        let place = self
            .declared
            .iter()
            .position(|variable| variable.name == name)?;
        if let Some(known) = self.known[place].get() {
            return Some(Ok(CelValue::dynamic(known)));
        }
        if self.computations.fetch_add(1, Ordering::Relaxed) >= COMPUTATIONS_MAX {
            return Some(Err(EvaluationError::OutOfBudget));
        }
        let scene = Scene {
            facts: self.facts,
            variables: self,
        };
        let computed = self.declared[place].expression.evaluate(&scene);
        let computed = match computed {
            Ok(computed) => computed,
            Err(why) => return Some(Err(EvaluationError::Failed(why))),
        };
        // What JSON can hold is computed once; the rest each time that somebody looks.
        let is_plain = matches!(
            computed,
            CelValue::Bool(_)
                | CelValue::Int(_)
                | CelValue::String(_)
                | CelValue::List(_)
                | CelValue::Map(_)
        );
        match computed.to_json() {
            Ok(json) if is_plain => {
                let known = self.known[place].get_or_init(|| json);
                Some(Ok(CelValue::dynamic(known)))
            }
            _ => Some(Ok(computed)),
        }
    }
}
