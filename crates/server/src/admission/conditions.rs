//! Expressions that decide whether somebody is asked at all.

use std::{collections::BTreeMap, sync::Arc};

use listwatch_cel::Environment;
use serde_json::Value;

use super::expressions::{Dialect, Expression, Facts, Parameters, Scene, Variables, environment};

/// The match conditions of a webhook or a policy, all of which must hold.
#[derive(Default)]
pub(super) struct Conditions {
    stated: Vec<Expression>,
}

impl Conditions {
    pub(super) fn compile(conditions: &Value) -> Self {
        match conditions.as_array() {
            Some(listed) if !listed.is_empty() => {
                let none = BTreeMap::new();
                let known = environment(Dialect::Looking, Parameters::None, &none);
                Self::compile_in(&known, conditions)
            }
            _ => Self::default(),
        }
    }

    pub(super) fn compile_in(environment: &Environment, conditions: &Value) -> Self {
        let listed = conditions.as_array().into_iter().flatten();
        let texts = listed.map(|one| one["expression"].as_str().unwrap_or_default());
        Self {
            stated: texts
                .map(|text| Expression::compile(environment, text))
                .collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stated.is_empty()
    }

    /// Whether all hold. One that does not is enough to know, whatever the others say.
    pub(super) fn hold(&self, scene: &Scene<'_>) -> Result<bool, String> {
        let mut errors = Vec::new();
        for condition in &self.stated {
            match condition.holds(scene) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => errors.push(error),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            [only] => Err(only.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }

    /// The same, for those who have no variables.
    pub(super) fn hold_of(&self, facts: &Facts) -> Result<bool, String> {
        let variables = Variables::new(facts, &Arc::new(Vec::new()));
        self.hold(&Scene {
            facts,
            variables: &variables,
        })
    }
}
