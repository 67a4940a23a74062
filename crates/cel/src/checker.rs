//! Finds the type of every part of an expression, and which functions its calls mean.

mod unify;

use crate::ast::{
    Call, Comprehension, Element, Entry, Expression, Kind, Message, NodeId, Presence, Purpose,
};
use crate::environment::Environment;
use crate::library::declarations::{self, Overload, Style};
use crate::source::Issue;
use crate::types::Type;
use unify::{Unifier, Unknown, instantiate, most_general};

/// What is known about each node, by its id.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Reference>,
}

/// What a node refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    None,
    /// A type used as a value, by name.
    Type(String),
    /// The overloads that a call may mean.
    Overloads(Vec<&'static str>),
}

/// Checks an expression, which gets its names written out in full.
pub(crate) fn check(
    environment: &Environment,
    expression: &mut Expression,
    nodes: usize,
) -> Result<Checked, Vec<Issue>> {
    let mut checker = Checker {
        environment,
        locals: Vec::new(),
        unifier: Unifier::default(),
        types: vec![Type::Error; nodes],
        references: vec![Reference::None; nodes],
        issues: Vec::new(),
    };
    checker.check(expression);
    if !checker.issues.is_empty() {
        return Err(checker.issues);
    }
    let Checker {
        unifier,
        types,
        references,
        ..
    } = checker;
    let types = types
        .iter()
        .map(|found| unifier.resolve(found, Unknown::Dyn))
        .collect();
    Ok(Checked { types, references })
}

struct Checker<'e> {
    environment: &'e Environment,
    /// Variables of the folds around the node at hand, innermost last.
    locals: Vec<(String, Type)>,
    unifier: Unifier,
    types: Vec<Type>,
    references: Vec<Reference>,
    issues: Vec<Issue>,
}

/// Which kind of selection is checked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selection {
    Plain,
    Optional,
}

impl Checker<'_> {
    fn check(&mut self, expression: &mut Expression) {
        let id = expression.id;
        let found = match &mut expression.kind {
            Kind::Literal(value) => literal_type(value),
            Kind::Identifier(_) => self.identifier(expression),
            Kind::Select(_) => self.select(expression),
            Kind::Call(_) => self.call(expression),
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Message(message) => {
                let message = message.clone();
                self.message(expression, message)
            }
            Kind::Comprehension(fold) => self.comprehension(fold),
        };
        self.types[id] = found;
    }

    fn type_of(&self, id: NodeId) -> Type {
        self.unifier.resolve(&self.types[id], Unknown::Kept)
    }

    fn report(&mut self, offset: usize, message: String) {
        self.issues.push(Issue::at(offset, message));
    }

    fn undeclared(&mut self, offset: usize, name: &str) -> Type {
        self.report(
            offset,
            format!("undeclared reference to '{name}' (in container '')"),
        );
        Type::Error
    }

    fn mismatch(&mut self, offset: usize, expected: &Type, actual: &Type) {
        let (expected, actual) = (
            self.unifier.resolve(expected, Unknown::Kept),
            self.unifier.resolve(actual, Unknown::Kept),
        );
        self.report(
            offset,
            format!(
                "expected type '{}' but found '{}'",
                expected.shown(),
                actual.shown()
            ),
        );
    }

    fn identifier(&mut self, expression: &mut Expression) -> Type {
        let Kind::Identifier(name) = &mut expression.kind else {
            return Type::Error;
        };
        if let Some(global) = name.strip_prefix('.')
            && !self.begins_with_local(global)
        {
            *name = global.to_owned();
        }
        let name = name.clone();
        match self.resolve(&name, expression.id) {
            Some(found) => found,
            None => self.undeclared(expression.offset, &name),
        }
    }

    /// The type of a variable, or of a type used as a value.
    fn resolve(&mut self, name: &str, id: NodeId) -> Option<Type> {
        let global = name.strip_prefix('.');
        if global.is_none()
            && let Some((_, found)) = self.locals.iter().rev().find(|(known, _)| known == name)
        {
            return Some(found.clone());
        }
        let name = global.unwrap_or(name);
        if let Some(found) = self.environment.variable(name) {
            return Some(found.clone());
        }
        let named = declarations::type_named(name)?;
        self.references[id] = Reference::Type(name.to_owned());
        Some(Type::Type(Some(std::sync::Arc::new(named))))
    }

    fn select(&mut self, expression: &mut Expression) -> Type {
        if let Some(name) = expression.qualified_name()
            && !self.begins_with_local(&name)
            && let Some(found) = self.resolve(&name, expression.id)
        {
            expression.kind = Kind::Identifier(name);
            return found;
        }
        let (id, offset) = (expression.id, expression.offset);
        let Kind::Select(select) = &mut expression.kind else {
            return Type::Error;
        };
        let purpose = select.purpose;
        let field = select.field.clone();
        let found = self.field(offset, &mut select.operand, &field, Selection::Plain);
        self.types[id] = found.clone();
        if purpose == Purpose::TestPresence {
            Type::Bool
        } else {
            found
        }
    }

    fn begins_with_local(&self, name: &str) -> bool {
        let first = name.split('.').next().unwrap_or(name);
        self.locals.iter().any(|(known, _)| known == first)
    }

    fn field(
        &mut self,
        offset: usize,
        operand: &mut Expression,
        field: &str,
        selection: Selection,
    ) -> Type {
        self.check(operand);
        let operand_type = self.type_of(operand.id);
        let (target, optional) = operand_type.unwrapped();
        let found = match target {
            Type::Map(_, value) => (**value).clone(),
            Type::Object(object) => match object.field(field) {
                Some(found) => found,
                None => {
                    self.report(offset, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Named(name) => {
                self.report(offset, format!("unexpected failed resolution of '{name}'"));
                Type::Error
            }
            Type::Parameter(_) => {
                self.unifier.assign(&Type::Dyn, target);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    self.report(
                        offset,
                        format!("type '{}' does not support field selection", other.shown()),
                    );
                }
                Type::Dyn
            }
        };
        if optional || selection == Selection::Optional {
            Type::optional(found)
        } else {
            found
        }
    }

    fn call(&mut self, expression: &mut Expression) -> Type {
        let (id, offset) = (expression.id, expression.offset);
        let Kind::Call(call) = &mut expression.kind else {
            return Type::Error;
        };
        if call.function == "_?._" {
            return self.optional_select(id, offset, call);
        }
        for argument in &mut call.arguments {
            self.check(argument);
        }
        if let Some(target) = &mut call.target {
            let qualified = target
                .qualified_name()
                .map(|name| format!("{name}.{}", call.function));
            match qualified.filter(|name| self.overloads(name).is_some()) {
                Some(name) => {
                    call.function = name;
                    call.target = None;
                }
                None => self.check(target),
            }
        }
        let function = call
            .function
            .strip_prefix('.')
            .unwrap_or(&call.function)
            .to_owned();
        call.function.clone_from(&function);
        let Some(overloads) = self.overloads(&function) else {
            return self.undeclared(offset, &function);
        };
        self.overload(id, offset, call, &overloads)
    }

    fn overloads(&self, function: &str) -> Option<Vec<&'static Overload>> {
        let all = declarations::overloads(function)?;
        let allowed: Vec<_> = all
            .iter()
            .filter(|overload| self.environment.allows(overload.library))
            .collect();
        (!allowed.is_empty()).then_some(allowed)
    }

    fn optional_select(&mut self, id: NodeId, offset: usize, call: &mut Call) -> Type {
        let [operand, field] = &mut call.arguments[..] else {
            return Type::Error;
        };
        let Kind::Literal(value) = &field.kind else {
            return Type::Error;
        };
        let name = value.as_text().unwrap_or_default().to_owned();
        self.types[field.id] = Type::String;
        let found = self.field(offset, operand, &name, Selection::Optional);
        self.references[id] = Reference::Overloads(vec!["select_optional_field"]);
        found
    }

    fn overload(
        &mut self,
        id: NodeId,
        offset: usize,
        call: &Call,
        overloads: &[&'static Overload],
    ) -> Type {
        if matches!(call.function.as_str(), "_&&_" | "_||_") {
            return self.logical(id, call, overloads);
        }
        let operands = call
            .target
            .iter()
            .map(|target| &**target)
            .chain(&call.arguments);
        let arguments: Vec<Type> = operands
            .map(|operand| self.types[operand.id].clone())
            .collect();
        let style = if call.target.is_some() {
            Style::Member
        } else {
            Style::Global
        };
        let mut fitting = Vec::new();
        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.style == style) {
            let first = self.unifier.fresh_many(overload.type_parameters);
            let parameters: Vec<Type> = overload
                .parameters
                .iter()
                .map(|parameter| instantiate(parameter, first))
                .collect();
            if !self.unifier.assign_all(&arguments, &parameters) {
                continue;
            }
            fitting.push(overload.id);
            let yielded = self
                .unifier
                .resolve(&instantiate(&overload.result, first), Unknown::Kept);
            result = Some(match result {
                None => yielded,
                Some(Type::Dyn) => Type::Dyn,
                Some(known) if known == yielded => known,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            return self.no_overload(offset, call, &arguments);
        };
        self.references[id] = Reference::Overloads(fitting);
        result
    }

    fn no_overload(&mut self, offset: usize, call: &Call, arguments: &[Type]) -> Type {
        let shown: Vec<String> = arguments
            .iter()
            .map(|argument| self.unifier.resolve(argument, Unknown::Dyn).shown())
            .collect();
        let signature = match (&call.target, shown.split_first()) {
            (Some(_), Some((target, rest))) => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        let message = format!(
            "found no matching overload for '{}' applied to '{signature}'",
            call.function
        );
        self.report(offset, message);
        Type::Error
    }

    fn logical(&mut self, id: NodeId, call: &Call, overloads: &[&'static Overload]) -> Type {
        let mut result = Type::Bool;
        for argument in &call.arguments {
            let found = self.types[argument.id].clone();
            if !self.unifier.assign(&found, &Type::Bool) {
                self.mismatch(argument.offset, &Type::Bool, &found);
                result = Type::Error;
            }
        }
        self.references[id] = Reference::Overloads(vec![overloads[0].id]);
        result
    }

    /// The type of a part that may be left out: what is inside the optional value.
    fn present(&mut self, offset: usize, found: Type, presence: Presence) -> Type {
        if presence == Presence::Always {
            return found;
        }
        let found = self.unifier.resolve(&found, Unknown::Kept);
        let (inner, optional) = found.unwrapped();
        if !optional && *inner != Type::Dyn {
            self.mismatch(offset, &Type::optional(inner.clone()), inner);
        }
        inner.clone()
    }

    /// The type that both have, or that of anything.
    fn join(&mut self, known: Option<Type>, found: Type) -> Type {
        match known {
            None => found,
            Some(known) if self.unifier.assign(&known, &found) => {
                let known = self.unifier.resolve(&known, Unknown::Kept);
                most_general(&known, &self.unifier.resolve(&found, Unknown::Kept))
            }
            Some(_) => Type::Dyn,
        }
    }

    fn list(&mut self, elements: &mut [Element]) -> Type {
        let mut joined = None;
        for element in elements {
            self.check(&mut element.value);
            let found = self.types[element.value.id].clone();
            let found = self.present(element.value.offset, found, element.presence);
            joined = Some(self.join(joined, found));
        }
        let element = joined.unwrap_or_else(|| self.unifier.fresh());
        Type::list(element)
    }

    fn map(&mut self, entries: &mut [Entry]) -> Type {
        let (mut key_type, mut value_type) = (None, None);
        for entry in entries {
            self.check(&mut entry.key);
            let found = self.types[entry.key.id].clone();
            key_type = Some(self.join(key_type, found));
            self.check(&mut entry.value);
            let found = self.types[entry.value.id].clone();
            let found = self.present(entry.value.offset, found, entry.presence);
            value_type = Some(self.join(value_type, found));
        }
        let key = key_type.unwrap_or_else(|| self.unifier.fresh());
        let value = value_type.unwrap_or_else(|| self.unifier.fresh());
        Type::map(key, value)
    }

    fn message(&mut self, expression: &mut Expression, mut message: Message) -> Type {
        let name = message
            .type_name
            .strip_prefix('.')
            .unwrap_or(&message.type_name)
            .to_owned();
        let Some(object) = self.environment.constructible(&name) else {
            return self.undeclared(expression.offset, &name);
        };
        for field in &mut message.fields {
            self.check(&mut field.value);
            let found = self.types[field.value.id].clone();
            let found = self.present(field.value.offset, found, field.presence);
            let Some(expected) = object.field(&field.name) else {
                self.report(field.offset, format!("undefined field '{}'", field.name));
                continue;
            };
            if !self.unifier.assign(&expected, &found) {
                let found = self.unifier.resolve(&found, Unknown::Kept);
                let message = format!(
                    "expected type of field '{}' is '{}' but provided type is '{}'",
                    field.name,
                    expected.shown(),
                    found.shown()
                );
                self.report(field.offset, message);
            }
        }
        message.type_name = name;
        expression.kind = Kind::Message(message);
        Type::Object(object)
    }

    fn comprehension(&mut self, fold: &mut Comprehension) -> Type {
        self.check(&mut fold.range);
        self.check(&mut fold.initial);
        let range = self.type_of(fold.range.id);
        let accumulated = self.types[fold.initial.id].clone();
        let (first, second) = self.iterated(fold, &range);
        let outer = self.locals.len();
        self.locals
            .push((fold.accumulator.clone(), accumulated.clone()));
        let inner = self.locals.len();
        match &fold.second_variable {
            None => self.locals.push((fold.variable.clone(), first)),
            Some(name) => {
                self.locals.push((fold.variable.clone(), first));
                self.locals.push((name.clone(), second));
            }
        }
        self.check(&mut fold.condition);
        self.expect(&fold.condition, &Type::Bool);
        self.check(&mut fold.step);
        self.expect(&fold.step, &accumulated);
        self.locals.truncate(inner);
        self.check(&mut fold.result);
        self.locals.truncate(outer);
        self.type_of(fold.result.id)
    }

    fn expect(&mut self, expression: &Expression, expected: &Type) {
        let found = self.types[expression.id].clone();
        if !self.unifier.assign(expected, &found) {
            self.mismatch(expression.offset, expected, &found);
        }
    }

    /// The types of what a fold iterates over: element or key, and element or value for the second
    /// variable.
    fn iterated(&mut self, fold: &Comprehension, range: &Type) -> (Type, Type) {
        match (range, &fold.second_variable) {
            (Type::List(element), None) => ((**element).clone(), Type::Error),
            (Type::List(element), Some(_)) => (Type::Int, (**element).clone()),
            (Type::Map(key, value), _) => ((**key).clone(), (**value).clone()),
            (Type::Dyn | Type::Error | Type::Parameter(_), _) => {
                self.unifier.assign(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            (other, _) => {
                let message = format!(
                    "expression of type '{}' cannot be range of a comprehension (must be list, \
                        map, or dynamic)",
                    other.shown()
                );
                self.report(fold.range.offset, message);
                (Type::Error, Type::Error)
            }
        }
    }
}

fn literal_type(value: &crate::value::Value<'_>) -> Type {
    use crate::value::Value;
    match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        _ => Type::Null,
    }
}
