//! Which requests an interceptor is asked about: rules on resources, and selectors on labels.

use listwatch_api::selector::{LabelOperator, LabelRequirement, LabelSelector};
use serde_json::Value;

use crate::registry::{Definition, Scope};

/// What a request does to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// What a request is about, as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'a> {
    pub(super) definition: &'a Definition,
    pub(super) subresource: &'a str,
    pub(super) operation: Operation,
    pub(super) name: &'a str,
}

/// Which requests an interceptor is asked about.
#[derive(Clone, Debug)]
pub(super) struct Constraints {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    match_policy: MatchPolicy,
    namespaces: LabelSelector,
    objects: LabelSelector,
}

/// Whether a rule for one version of a resource is meant for its other versions too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MatchPolicy {
    Exact,
    Equivalent,
}

#[derive(Clone, Debug)]
struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    names: Vec<String>,
    scope: RuleScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleScope {
    Any,
    Only(Scope),
}

impl Constraints {
    /// The constraints of a webhook, whose rules stand beside its selectors.
    pub(super) fn of_webhook(webhook: &Value) -> Self {
        Self::read(webhook, "rules")
    }

    /// The constraints of a policy or a binding.
    pub(super) fn of_policy(constraints: &Value) -> Self {
        Self::read(constraints, "resourceRules")
    }

    fn read(object: &Value, rules: &str) -> Self {
        Self {
            rules: read_rules(&object[rules]),
            excluded: read_rules(&object["excludeResourceRules"]),
            match_policy: match object["matchPolicy"].as_str() {
                Some("Exact") => MatchPolicy::Exact,
                _ => MatchPolicy::Equivalent,
            },
            namespaces: read_selector(&object["namespaceSelector"]),
            objects: read_selector(&object["objectSelector"]),
        }
    }

    /// Whether a request is among those that a binding of a policy names; one that names none is
    /// for all of them.
    pub(super) fn includes<'a>(
        &self,
        subject: Subject<'a>,
        versions: impl Iterator<Item = &'a Definition> + Clone,
    ) -> bool {
        let is_excluded = self
            .matches_any(&self.excluded, subject, versions.clone())
            .is_some();
        let is_named = || self.matches_any(&self.rules, subject, versions).is_some();
        !is_excluded && (self.rules.is_empty() || is_named())
    }

    /// The version in which the interceptor wants to see the object; `None` if it does not care
    /// about the resource. `versions` are all that the resource is served in.
    pub(super) fn version<'a>(
        &self,
        subject: Subject<'a>,
        versions: impl Iterator<Item = &'a Definition> + Clone,
    ) -> Option<&'a Definition> {
        if self
            .matches_any(&self.excluded, subject, versions.clone())
            .is_some()
        {
            return None;
        }
        self.matches_any(&self.rules, subject, versions)
    }

    fn matches_any<'a>(
        &self,
        rules: &[Rule],
        subject: Subject<'a>,
        versions: impl Iterator<Item = &'a Definition> + Clone,
    ) -> Option<&'a Definition> {
        if rules.iter().any(|rule| rule.matches(subject)) {
            return Some(subject.definition);
        }
        if self.match_policy == MatchPolicy::Exact {
            return None;
        }
        rules.iter().find_map(|rule| {
            versions.clone().find(|definition| {
                rule.matches(Subject {
                    definition,
                    ..subject
                })
            })
        })
    }

    /// Whether the labels of the namespace have to be known.
    pub(super) fn looks_at_namespace(&self) -> bool {
        !self.namespaces.is_everything()
    }

    pub(super) fn selects_namespace(&self, labels: &Value) -> bool {
        selects(&self.namespaces, labels)
    }

    /// Whether one of the states of the object is selected.
    pub(super) fn selects_object(&self, states: [Option<&Value>; 2]) -> bool {
        if self.objects.is_everything() {
            return true;
        }
        let mut there = states.into_iter().flatten();
        there.any(|object| selects(&self.objects, &object["metadata"]["labels"]))
    }
}

impl Rule {
    fn matches(&self, subject: Subject<'_>) -> bool {
        let definition = subject.definition;
        let in_scope = match self.scope {
            RuleScope::Any => true,
            RuleScope::Only(scope) => definition.scope == scope,
        };
        in_scope
            && has(&self.operations, subject.operation.as_str())
            && has(&self.groups, &definition.group)
            && has(&self.versions, &definition.version)
            && (self.names.is_empty() || self.names.iter().any(|name| name == subject.name))
            && self.resources.iter().any(|resource| {
                let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
                (resource == "*" || *resource == *definition.resource)
                    && (part == "*" || part == subject.subresource)
            })
    }
}

fn has(listed: &[String], wanted: &str) -> bool {
    listed.iter().any(|item| item == "*" || item == wanted)
}

fn read_rules(rules: &Value) -> Vec<Rule> {
    let listed = rules.as_array().into_iter().flatten();
    listed.map(read_rule).collect()
}

fn read_rule(rule: &Value) -> Rule {
    Rule {
        operations: texts(&rule["operations"]),
        groups: texts(&rule["apiGroups"]),
        versions: texts(&rule["apiVersions"]),
        resources: texts(&rule["resources"]),
        names: texts(&rule["resourceNames"]),
        scope: match rule["scope"].as_str() {
            Some("Namespaced") => RuleScope::Only(Scope::Namespaced),
            Some("Cluster") => RuleScope::Only(Scope::Cluster),
            _ => RuleScope::Any,
        },
    }
}

pub(super) fn texts(list: &Value) -> Vec<String> {
    let listed = list.as_array().into_iter().flatten();
    listed
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// A selector as objects state it; absent, it selects everything.
pub(crate) fn read_selector(selector: &Value) -> LabelSelector {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let equal = labels.map(|(key, value)| LabelRequirement {
        key: key.clone(),
        operator: LabelOperator::In(vec![value.as_str().unwrap_or_default().to_owned()]),
    });
    let expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    let stated = expressions.map(|expression| {
        let mut values = texts(&expression["values"]);
        values.sort_unstable();
        values.dedup();
        LabelRequirement {
            key: expression["key"].as_str().unwrap_or_default().to_owned(),
            operator: match expression["operator"].as_str() {
                Some("In") => LabelOperator::In(values),
                Some("NotIn") => LabelOperator::NotIn(values),
                Some("DoesNotExist") => LabelOperator::DoesNotExist,
                _ => LabelOperator::Exists,
            },
        }
    });
    LabelSelector::all_of(equal.chain(stated).collect())
}

pub(crate) fn selects(selector: &LabelSelector, labels: &Value) -> bool {
    selector.matches(|key| labels.get(key).and_then(Value::as_str))
}
