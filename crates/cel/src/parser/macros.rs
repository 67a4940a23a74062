//! Calls that are shorthand for larger trees: presence tests, folds over lists and maps, and
//! optional values.

use super::Parser;
use crate::ast::{Call, Comprehension, Element, Expression, Kind, Presence, Purpose, Select};
use crate::source::Issue;
use crate::value::Value;

/// The variable that a fold collects in; no expression can name it.
pub(crate) const ACCUMULATOR: &str = "@result";

/// Most nodes of a tree before a macro may copy a part of it.
const NODES_MAX: usize = 200_000;

const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// What goes wrong when a macro is written wrongly: where and why.
type Expansion = Result<Expression, Issue>;

/// Which elements must satisfy a predicate.
#[derive(Clone, Copy)]
enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

impl Parser<'_> {
    /// A call without a target, which may be a macro.
    pub(super) fn function(
        &mut self,
        offset: usize,
        name: &str,
        mut arguments: Vec<Expression>,
    ) -> Expression {
        if name == "has" && arguments.len() == 1 {
            let argument = arguments.remove(0);
            let expanded = self.has(offset, argument);
            return self.settle(offset, expanded);
        }
        self.call(offset, name, arguments)
    }

    /// A call with a target, which may be a macro.
    pub(super) fn method(
        &mut self,
        offset: usize,
        name: &str,
        target: Expression,
        arguments: Vec<Expression>,
    ) -> Expression {
        let shape = (name, arguments.len());
        let fold = Fold {
            offset,
            target,
            arguments,
        };
        let expanded = match shape {
            ("all", 2 | 3) => self.quantify(Quantifier::All, fold),
            ("exists", 2 | 3) => self.quantify(Quantifier::Exists, fold),
            ("exists_one", 2 | 3) | ("existsOne", 3) => self.quantify(Quantifier::ExistsOne, fold),
            ("map", 2 | 3) => self.transform(fold),
            ("filter", 2) => self.filter(fold),
            ("transformList", 3 | 4) => self.transform_list(fold),
            ("transformMap", 3 | 4) => self.transform_map(fold, Insertion::Value),
            ("transformMapEntry", 3 | 4) => self.transform_map(fold, Insertion::Entry),
            ("optMap", 2) => self.map_optional(fold, "optMap"),
            ("optFlatMap", 2) => self.map_optional(fold, "optFlatMap"),
            ("sortBy", 2) => self.sort_by(fold),
            _ => {
                let call = Call {
                    function: name.to_owned(),
                    target: Some(Box::new(fold.target)),
                    arguments: fold.arguments,
                };
                return self.node(offset, Kind::Call(call));
            }
        };
        self.settle(offset, expanded)
    }

    fn settle(&mut self, offset: usize, expanded: Expansion) -> Expression {
        expanded.unwrap_or_else(|issue| {
            self.issues.push(issue);
            self.node(offset, Kind::Literal(Value::Null))
        })
    }

    fn has(&mut self, offset: usize, argument: Expression) -> Expansion {
        let Kind::Select(select) = argument.kind else {
            return Err(Issue::at(
                argument.offset,
                "invalid argument to has() macro",
            ));
        };
        Ok(self.node(
            offset,
            Kind::Select(Select {
                purpose: Purpose::TestPresence,
                ..select
            }),
        ))
    }

    fn accumulator(&mut self, offset: usize) -> Expression {
        self.node(offset, Kind::Identifier(ACCUMULATOR.to_owned()))
    }

    /// Goes on to the end of the range.
    fn always(&mut self, offset: usize) -> Expression {
        self.node(offset, Kind::Literal(Value::Bool(true)))
    }

    fn quantify(&mut self, quantifier: Quantifier, fold: Fold) -> Expansion {
        let offset = fold.offset;
        let variables =
            fold.variables(fold.arguments.len() - 1, "argument must be a simple name")?;
        let Fold {
            target,
            mut arguments,
            ..
        } = fold;
        let predicate = arguments.pop().expect("a quantifier has a predicate");
        let accumulated = self.accumulator(offset);
        let (initial, condition, step) = match quantifier {
            Quantifier::All => {
                let condition = self.call(offset, "@not_strictly_false", vec![accumulated]);
                let accumulated = self.accumulator(offset);
                let step = self.call(offset, "_&&_", vec![accumulated, predicate]);
                (Value::Bool(true), condition, step)
            }
            Quantifier::Exists => {
                let negated = self.call(offset, "!_", vec![accumulated]);
                let condition = self.call(offset, "@not_strictly_false", vec![negated]);
                let accumulated = self.accumulator(offset);
                let step = self.call(offset, "_||_", vec![accumulated, predicate]);
                (Value::Bool(false), condition, step)
            }
            Quantifier::ExistsOne => {
                let one = self.node(offset, Kind::Literal(Value::Int(1)));
                let counted = self.call(offset, "_+_", vec![accumulated, one]);
                let same = self.accumulator(offset);
                let step = self.call(offset, "_?_:_", vec![predicate, counted, same]);
                (Value::Int(0), self.always(offset), step)
            }
        };
        let initial = self.node(offset, Kind::Literal(initial));
        let mut result = self.accumulator(offset);
        if matches!(quantifier, Quantifier::ExistsOne) {
            let one = self.node(offset, Kind::Literal(Value::Int(1)));
            result = self.call(offset, "_==_", vec![result, one]);
        }
        Ok(self.fold(
            offset,
            variables,
            Steps {
                range: target,
                initial,
                condition,
                step,
                result,
            },
        ))
    }

    fn transform(&mut self, fold: Fold) -> Expansion {
        let offset = fold.offset;
        let variables = fold.variables(1, "argument is not an identifier")?;
        let Fold {
            target,
            mut arguments,
            ..
        } = fold;
        let transformed = arguments.pop().expect("a map has a transformation");
        let filter = (arguments.len() == 2).then(|| arguments.remove(1));
        Ok(self.collect(
            offset,
            variables,
            target,
            Collected {
                filter,
                element: transformed,
            },
        ))
    }

    fn filter(&mut self, fold: Fold) -> Expansion {
        let offset = fold.offset;
        let variables = fold.variables(1, "argument is not an identifier")?;
        let Fold {
            target,
            mut arguments,
            ..
        } = fold;
        let filter = arguments.pop();
        let element = arguments.remove(0);
        Ok(self.collect(offset, variables, target, Collected { filter, element }))
    }

    fn transform_list(&mut self, fold: Fold) -> Expansion {
        let offset = fold.offset;
        let variables = fold.variables(2, "argument must be a simple name")?;
        let Fold {
            target,
            mut arguments,
            ..
        } = fold;
        let element = arguments.pop().expect("a transformation has a result");
        let filter = (arguments.len() == 3).then(|| arguments.remove(2));
        Ok(self.collect(offset, variables, target, Collected { filter, element }))
    }

    /// A fold that appends to a list.
    fn collect(
        &mut self,
        offset: usize,
        variables: Vec<String>,
        range: Expression,
        collected: Collected,
    ) -> Expression {
        let element = Element {
            presence: Presence::Always,
            value: collected.element,
        };
        let appended = self.node(offset, Kind::List(vec![element]));
        let accumulated = self.accumulator(offset);
        let step = self.call(offset, "_+_", vec![accumulated, appended]);
        let step = self.guarded(offset, collected.filter, step);
        let initial = self.node(offset, Kind::List(Vec::new()));
        let condition = self.always(offset);
        let result = self.accumulator(offset);
        self.fold(
            offset,
            variables,
            Steps {
                range,
                initial,
                condition,
                step,
                result,
            },
        )
    }

    fn guarded(
        &mut self,
        offset: usize,
        filter: Option<Expression>,
        step: Expression,
    ) -> Expression {
        let Some(filter) = filter else { return step };
        let same = self.accumulator(offset);
        self.call(offset, "_?_:_", vec![filter, step, same])
    }

    fn transform_map(&mut self, fold: Fold, insertion: Insertion) -> Expansion {
        let offset = fold.offset;
        let variables = fold.variables(2, "argument must be a simple name")?;
        let Fold {
            target,
            mut arguments,
            ..
        } = fold;
        let inserted = arguments.pop().expect("a transformation has a result");
        let filter = (arguments.len() == 3).then(|| arguments.remove(2));
        let mut operands = vec![self.accumulator(offset)];
        if matches!(insertion, Insertion::Value) {
            operands.push(self.node(offset, Kind::Identifier(variables[0].clone())));
        }
        operands.push(inserted);
        let step = self.call(offset, "cel.@mapInsert", operands);
        let step = self.guarded(offset, filter, step);
        let initial = self.node(offset, Kind::Map(Vec::new()));
        let condition = self.always(offset);
        let result = self.accumulator(offset);
        Ok(self.fold(
            offset,
            variables,
            Steps {
                range: target,
                initial,
                condition,
                step,
                result,
            },
        ))
    }

    fn map_optional(&mut self, fold: Fold, name: &str) -> Expansion {
        let Fold {
            offset,
            target,
            mut arguments,
        } = fold;
        let mapped = arguments.pop().expect("the macro has two arguments");
        let Kind::Identifier(variable) = &arguments[0].kind else {
            let message = format!("{name}() variable name must be a simple identifier");
            return Err(Issue::at(arguments[0].offset, message));
        };
        let again = self.copy(&target);
        let value = self.member_call(offset, "value", again, Vec::new());
        let bound = self.bind(offset, variable.clone(), value, mapped);
        let bound = if name == "optMap" {
            self.call(offset, "optional.of", vec![bound])
        } else {
            bound
        };
        let present = self.member_call(offset, "hasValue", target, Vec::new());
        let none = self.call(offset, "optional.none", Vec::new());
        Ok(self.call(offset, "_?_:_", vec![present, bound, none]))
    }

    fn sort_by(&mut self, fold: Fold) -> Expansion {
        let Fold {
            offset,
            target,
            arguments,
        } = fold;
        if matches!(
            target.kind,
            Kind::Literal(_) | Kind::Map(_) | Kind::Message(_)
        ) {
            let message = "sortBy can only be applied to a list, identifier, comprehension, \
                call or select expression";
            return Err(Issue::at(target.offset, message));
        }
        let input = self.node(offset, Kind::Identifier(SORT_INPUT.to_owned()));
        let keys = self.transform(Fold {
            offset,
            target: input,
            arguments,
        })?;
        let input = self.node(offset, Kind::Identifier(SORT_INPUT.to_owned()));
        let sorted = self.member_call(offset, "@sortByAssociatedKeys", input, vec![keys]);
        Ok(self.bind(offset, SORT_INPUT.to_owned(), target, sorted))
    }

    fn member_call(
        &mut self,
        offset: usize,
        function: &str,
        target: Expression,
        arguments: Vec<Expression>,
    ) -> Expression {
        let call = Call {
            function: function.to_owned(),
            target: Some(Box::new(target)),
            arguments,
        };
        self.node(offset, Kind::Call(call))
    }

    /// Gives `value` a name inside `body`: a fold over nothing.
    fn bind(
        &mut self,
        offset: usize,
        name: String,
        value: Expression,
        body: Expression,
    ) -> Expression {
        let range = self.node(offset, Kind::List(Vec::new()));
        let condition = self.node(offset, Kind::Literal(Value::Bool(false)));
        let step = self.node(offset, Kind::Identifier(name.clone()));
        let fold = Comprehension {
            range,
            variable: UNUSED.to_owned(),
            second_variable: None,
            accumulator: name,
            initial: value,
            condition,
            step,
            result: body,
        };
        self.node(offset, Kind::Comprehension(Box::new(fold)))
    }

    fn fold(&mut self, offset: usize, variables: Vec<String>, steps: Steps) -> Expression {
        let mut variables = variables.into_iter();
        let fold = Comprehension {
            range: steps.range,
            variable: variables.next().expect("a fold has a variable"),
            second_variable: variables.next(),
            accumulator: ACCUMULATOR.to_owned(),
            initial: steps.initial,
            condition: steps.condition,
            step: steps.step,
            result: steps.result,
        };
        self.node(offset, Kind::Comprehension(Box::new(fold)))
    }

    /// The same tree with names of its own for every node.
    fn copy(&mut self, expression: &Expression) -> Expression {
        if self.nodes > NODES_MAX {
            self.issues.push(Issue::nowhere(
                "expression size limit exceeded after macros are written out",
            ));
            return self.node(expression.offset, Kind::Literal(Value::Null));
        }
        let mut copied = expression.clone();
        self.rename(&mut copied);
        copied
    }

    fn rename(&mut self, expression: &mut Expression) {
        expression.id = self.nodes;
        self.nodes += 1;
        match &mut expression.kind {
            Kind::Literal(_) | Kind::Identifier(_) => {}
            Kind::Select(select) => self.rename(&mut select.operand),
            Kind::Call(call) => {
                call.target
                    .iter_mut()
                    .for_each(|target| self.rename(target));
                call.arguments
                    .iter_mut()
                    .for_each(|argument| self.rename(argument));
            }
            Kind::List(elements) => elements
                .iter_mut()
                .for_each(|element| self.rename(&mut element.value)),
            Kind::Map(entries) => entries.iter_mut().for_each(|entry| {
                self.rename(&mut entry.key);
                self.rename(&mut entry.value);
            }),
            Kind::Message(message) => message
                .fields
                .iter_mut()
                .for_each(|field| self.rename(&mut field.value)),
            Kind::Comprehension(fold) => {
                let fold = fold.as_mut();
                [
                    &mut fold.range,
                    &mut fold.initial,
                    &mut fold.condition,
                    &mut fold.step,
                    &mut fold.result,
                ]
                .into_iter()
                .for_each(|part| self.rename(part));
            }
        }
    }
}

/// Whether a fold inserts a value under the key at hand, or entries of its own.
#[derive(Clone, Copy)]
enum Insertion {
    Value,
    Entry,
}

/// A macro call on a range.
struct Fold {
    offset: usize,
    target: Expression,
    arguments: Vec<Expression>,
}

impl Fold {
    /// The names that the first arguments give to what is iterated over.
    fn variables(&self, count: usize, complaint: &str) -> Result<Vec<String>, Issue> {
        let mut names: Vec<String> = Vec::new();
        for argument in &self.arguments[..count] {
            let Kind::Identifier(name) = &argument.kind else {
                return Err(Issue::at(argument.offset, complaint));
            };
            if names.contains(name) {
                return Err(Issue::at(
                    argument.offset,
                    format!("duplicate variable name: {name}"),
                ));
            }
            if name == ACCUMULATOR || name == "__result__" {
                return Err(Issue::at(
                    argument.offset,
                    "iteration variable overwrites accumulator variable",
                ));
            }
            names.push(name.clone());
        }
        Ok(names)
    }
}

/// The parts of a fold.
struct Steps {
    range: Expression,
    initial: Expression,
    condition: Expression,
    step: Expression,
    result: Expression,
}

/// What a fold appends, and when.
struct Collected {
    filter: Option<Expression>,
    element: Expression,
}
