//! What evaluating an expression may cost at least and at most, before there is data.

mod bounds;
mod functions;

use crate::ast::{Call, Comprehension, Expression, Kind, NodeId, Purpose};
use crate::checker::{Checked, Reference};
use crate::schema::{Schema, SchemaAt};
use crate::types::Type;
use crate::value::Value;
pub use bounds::CostEstimate;
use bounds::{EntrySize, Size};

const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const MESSAGE_COST: u64 = 40;

/// How large the data may be that an expression will see.
#[derive(Clone, Copy, Debug)]
pub enum Sizes<'s> {
    /// Every variable holds data of one schema, as in the rules of a custom resource.
    Root(&'s Schema),
    /// Variables by name; of others nothing is known.
    Variables(&'s [(&'s str, &'s Schema)]),
}

impl<'s> Sizes<'s> {
    fn at(self, path: &[String]) -> Option<SchemaAt<'s>> {
        let (first, rest) = path.split_first()?;
        let schema = match self {
            Self::Root(schema) => schema,
            Self::Variables(variables) => variables.iter().find(|(name, _)| name == first)?.1,
        };
        schema.at(rest)
    }
}

/// Estimates what an expression costs.
pub(crate) fn estimate(
    expression: &Expression,
    checked: &Checked,
    sizes: Sizes<'_>,
) -> CostEstimate {
    let nodes = checked.types.len();
    let mut estimator = Estimator {
        checked,
        sizes,
        paths: vec![None; nodes],
        computed: vec![None; nodes],
        entries: vec![None; nodes],
        locals: Vec::new(),
    };
    estimator.cost(expression)
}

/// The way from a variable to a value; nothing where a value is not part of a variable.
type Path = Option<Vec<String>>;

struct Estimator<'e> {
    checked: &'e Checked,
    sizes: Sizes<'e>,
    paths: Vec<Path>,
    computed: Vec<Option<Size>>,
    entries: Vec<Option<EntrySize>>,
    locals: Vec<Local>,
}

/// A variable of a fold.
struct Local {
    name: String,
    path: Path,
    size: Option<Size>,
    entry: Option<EntrySize>,
}

/// What is known about an operand of a function.
#[derive(Clone)]
struct Operand<'e> {
    path: Path,
    declared: &'e Type,
    size: Option<Size>,
    literal: Option<&'e Value<'static>>,
    entry: Option<EntrySize>,
}

fn extended(path: Path, step: &str) -> Path {
    let mut path = path.unwrap_or_default();
    path.push(step.to_owned());
    Some(path)
}

impl<'e> Estimator<'e> {
    fn cost(&mut self, expression: &'e Expression) -> CostEstimate {
        match &expression.kind {
            Kind::Literal(_) => CostEstimate::ZERO,
            Kind::Identifier(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => Some(vec![name.clone()]),
                };
                self.paths[expression.id] = path;
                CostEstimate::fixed(1)
            }
            Kind::Select(select) => {
                let operand = self.cost(&select.operand);
                if select.purpose == Purpose::TestPresence {
                    return operand;
                }
                let path = extended(self.path(&select.operand), &select.field);
                self.paths[expression.id] = path;
                match self.type_of(&select.operand) {
                    Type::Map(..) | Type::Object(_) | Type::Named(_) => {
                        operand.plus(CostEstimate::fixed(1))
                    }
                    _ => operand,
                }
            }
            Kind::Call(call) => self.call(expression, call),
            Kind::List(elements) => {
                let values: Vec<&Expression> =
                    elements.iter().map(|element| &element.value).collect();
                let (sum, size) = self.parts(&values);
                let entry = EntrySize {
                    list: true,
                    key: Size::fixed(1),
                    value: size,
                };
                self.entries[expression.id] = Some(entry);
                sum.plus(CostEstimate::fixed(LIST_COST))
            }
            Kind::Map(entries) => {
                let keys: Vec<&Expression> = entries.iter().map(|entry| &entry.key).collect();
                let values: Vec<&Expression> = entries.iter().map(|entry| &entry.value).collect();
                let (key_sum, key) = self.parts(&keys);
                let (value_sum, value) = self.parts(&values);
                self.entries[expression.id] = Some(EntrySize {
                    list: false,
                    key,
                    value,
                });
                key_sum.plus(value_sum).plus(CostEstimate::fixed(MAP_COST))
            }
            Kind::Message(message) => {
                let fields = message.fields.iter().map(|field| self.cost(&field.value));
                fields.fold(CostEstimate::fixed(MESSAGE_COST), CostEstimate::plus)
            }
            Kind::Comprehension(fold) if fold.is_binding() => self.binding(expression, fold),
            Kind::Comprehension(fold) => self.comprehension(expression, fold),
        }
    }

    /// The cost of all parts, and a size that covers each.
    fn parts(&mut self, parts: &[&'e Expression]) -> (CostEstimate, Size) {
        let mut sum = CostEstimate::ZERO;
        let mut size: Option<Size> = None;
        for part in parts {
            sum = sum.plus(self.cost(part));
            let found = self.size_or_unknown(part);
            size = Some(size.map_or(found, |size| size.union(found)));
        }
        (sum, size.unwrap_or(Size::fixed(0)))
    }

    fn type_of(&self, expression: &Expression) -> &'e Type {
        &self.checked.types[expression.id]
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn path(&self, expression: &Expression) -> Path {
        if let Kind::Identifier(name) = &expression.kind
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths[expression.id].clone()
    }

    fn declared_size(&self, path: &Path) -> Option<Size> {
        let at = self.sizes.at(path.as_deref()?)?;
        Some(Size {
            min: 0,
            max: at.elements_max(),
        })
    }

    fn size(&mut self, expression: &Expression) -> Option<Size> {
        if let Some(size) = self.computed[expression.id] {
            return Some(size);
        }
        if let Some(size) = written_size(expression) {
            return Some(size);
        }
        if let Some(size) = self.declared_size(&self.path(expression)) {
            self.computed[expression.id] = Some(size);
            return Some(size);
        }
        if self.type_of(expression).is_scalar() {
            return Some(Size::fixed(1));
        }
        match &expression.kind {
            Kind::Identifier(name) => self.local(name)?.size,
            _ => None,
        }
    }

    fn size_or_unknown(&mut self, expression: &Expression) -> Size {
        self.size(expression).unwrap_or(Size::UNKNOWN)
    }

    fn entry(&self, expression: &Expression) -> Option<EntrySize> {
        if let Some(entry) = self.entries[expression.id] {
            return Some(entry);
        }
        match &expression.kind {
            Kind::Identifier(name) => self.local(name)?.entry,
            _ => None,
        }
    }

    fn remember(&mut self, id: NodeId, size: Option<Size>) {
        if size.is_some() {
            self.computed[id] = size;
        }
    }

    fn operand(&mut self, expression: &'e Expression) -> Operand<'e> {
        let path = self
            .path(expression)
            .filter(|path| !path.first().is_some_and(|first| is_accumulator(first)));
        Operand {
            path,
            declared: self.type_of(expression),
            size: self.size(expression),
            literal: match &expression.kind {
                Kind::Literal(value) => Some(value),
                _ => None,
            },
            entry: self.entry(expression),
        }
    }

    fn call(&mut self, expression: &'e Expression, call: &'e Call) -> CostEstimate {
        if call.function == "dyn" && call.arguments.len() == 1 {
            let argument = &call.arguments[0];
            let cost = self.cost(argument);
            let size = self.size(argument);
            self.remember(expression.id, size);
            self.entries[expression.id] = self.entry(argument);
            return cost.plus(CostEstimate::fixed(1));
        }
        let mut costs = Vec::with_capacity(call.arguments.len());
        let mut operands = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            costs.push(self.cost(argument));
            operands.push(self.operand(argument));
        }
        let Reference::Overloads(overloads) = &self.checked.references[expression.id] else {
            return CostEstimate::ZERO;
        };
        let (target_cost, target) = match &call.target {
            Some(target) => (self.cost(target), Some(self.operand(target))),
            None => (CostEstimate::ZERO, None),
        };
        let asked = functions::Asked {
            function: &call.function,
            target,
            arguments: operands,
            costs,
        };
        let mut cost: Option<CostEstimate> = None;
        let mut result: Option<Size> = None;
        for overload in overloads {
            let estimate = self.function(&asked, overload);
            cost = Some(cost.map_or(estimate.cost, |cost| cost.union(estimate.cost)));
            result = match (result, estimate.result) {
                (Some(known), Some(found)) => Some(known.union(found)),
                (known, found) => known.or(found),
            };
            if estimate.entry.is_some() {
                self.entries[expression.id] = estimate.entry;
            }
            let indexed = match *overload {
                "index_list" => Some("@items"),
                "index_map" => Some("@values"),
                _ => None,
            };
            if let (Some(step), Some(indexed)) = (indexed, call.arguments.first()) {
                result = self.entry(indexed).map(|entry| entry.value);
                self.paths[expression.id] = extended(self.path(indexed), step);
            }
            if result.is_none() {
                result = self.size(expression);
            }
        }
        self.remember(expression.id, result);
        target_cost.plus(cost.unwrap_or(CostEstimate::ZERO))
    }

    fn binding(&mut self, expression: &'e Expression, fold: &'e Comprehension) -> CostEstimate {
        let sum = self.cost(&fold.range).plus(self.cost(&fold.initial));
        self.push_accumulator(fold);
        let sum = sum.plus(self.cost(&fold.result));
        let (size, entry) = (self.size(&fold.result), self.entry(&fold.result));
        self.locals.pop();
        self.remember(expression.id, size);
        if entry.is_some() {
            self.entries[expression.id] = entry;
        }
        sum
    }

    fn push_accumulator(&mut self, fold: &'e Comprehension) {
        let local = Local {
            name: fold.accumulator.clone(),
            path: self.path(&fold.initial),
            size: self.size(&fold.initial),
            entry: self.entry(&fold.initial),
        };
        self.locals.push(local);
    }

    fn push_iterated(&mut self, fold: &'e Comprehension) {
        let entry = self.entry(&fold.range);
        let list = entry.map_or(
            matches!(self.type_of(&fold.range), Type::List(_)),
            |entry| entry.list,
        );
        let (key_step, value_step) = if list {
            ("@indices", "@items")
        } else {
            ("@keys", "@values")
        };
        let path = self.path(&fold.range);
        let key = entry.map(|entry| entry.key);
        let value = entry.map(|entry| entry.value);
        let local = |name: &String, step: &str, size: Option<Size>| Local {
            name: name.clone(),
            path: extended(path.clone(), step),
            size,
            entry: None,
        };
        match &fold.second_variable {
            Some(second) => {
                self.locals.push(local(&fold.variable, key_step, key));
                self.locals.push(local(second, value_step, value));
            }
            None if list => self.locals.push(local(&fold.variable, value_step, value)),
            None => self.locals.push(local(&fold.variable, key_step, key)),
        }
    }

    fn comprehension(
        &mut self,
        expression: &'e Expression,
        fold: &'e Comprehension,
    ) -> CostEstimate {
        let outer = self.locals.len();
        let sum = self.cost(&fold.range).plus(self.cost(&fold.initial));
        self.push_accumulator(fold);
        self.push_iterated(fold);
        let condition = self.cost(&fold.condition);
        let step = self.cost(&fold.step);
        self.locals.truncate(outer + 1);
        let sum = sum.plus(self.cost(&fold.result));
        self.locals.truncate(outer);
        let times = self.size_or_unknown(&fold.range);
        match &fold.initial.kind {
            Kind::Literal(_) => {
                let size = self.size(&fold.initial);
                self.remember(expression.id, size);
            }
            Kind::List(_) | Kind::Map(_) => {
                self.remember(expression.id, Some(times));
                if let Some(entry) = self.entry(&fold.step) {
                    self.entries[expression.id] = Some(entry);
                }
            }
            _ => {}
        }
        sum.plus(times.times_cost(step.plus(condition)))
    }
}

fn is_accumulator(name: &str) -> bool {
    matches!(name, "@result" | "__result__")
}

/// The size of what is written out in the expression.
fn written_size(expression: &Expression) -> Option<Size> {
    Some(Size::fixed(match &expression.kind {
        Kind::Literal(value) => value.size().unwrap_or(1),
        Kind::List(elements) => elements.len() as u64,
        Kind::Map(entries) => entries.len() as u64,
        _ => return None,
    }))
}
