//! A schema made ready for objects: what it says, found without searching.

use serde_json::Value;

use crate::checks::Checks;
use crate::pattern::Patterns;
use crate::props::{Additional as Stated, Props};

/// Schemas inside one another that are followed; what lies deeper says nothing.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 100;

/// One schema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) types: Types,
    pub(crate) traits: Traits,
    /// Sorted by name.
    pub(crate) properties: Box<[(Box<str>, Node)]>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) default: Option<Box<Value>>,
    pub(crate) list: ListType,
    pub(crate) checks: Option<Box<Checks>>,
}

/// The properties beside the named ones.
#[derive(Debug, Default)]
pub(crate) enum Additional {
    /// Nothing is said about them: they are pruned.
    #[default]
    Unknown,
    /// There are none.
    Refused,
    /// They may be anything, and what is in them is pruned.
    Any,
    /// Each has this schema.
    Each(Box<Node>),
}

/// What tells the elements of a list apart (`x-kubernetes-list-type`).
#[derive(Debug, Default)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    Map(Box<[Box<str>]>),
}

/// The types that a value may have; none means any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const INTEGER: Self = Self(1);
    pub(crate) const STRING: Self = Self(2);
    pub(crate) const OBJECT: Self = Self(4);
    pub(crate) const ARRAY: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(16);
    pub(crate) const BOOLEAN: Self = Self(32);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::INTEGER, "integer"),
        (Self::STRING, "string"),
        (Self::OBJECT, "object"),
        (Self::ARRAY, "array"),
        (Self::NUMBER, "number"),
        (Self::BOOLEAN, "boolean"),
    ];

    fn of(props: Props<'_>) -> Self {
        if props.is_set("x-kubernetes-int-or-string") {
            return Self(Self::INTEGER.0 | Self::STRING.0);
        }
        Self::named(props.type_name())
    }

    /// The type with this name; an unknown one is any.
    pub(crate) fn named(name: &str) -> Self {
        let mut names = Self::NAMES.into_iter();
        let found = names.find(|(_, known)| *known == name);
        found.map(|(types, _)| types).unwrap_or_default()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names as messages show them.
    pub(crate) fn names(self) -> String {
        let names = Self::NAMES.into_iter();
        let own = names.filter(|(types, _)| self.contains(*types));
        own.map(|(_, name)| name).collect::<Vec<_>>().join(",")
    }
}

/// What a schema is or is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traits(u8);

impl Traits {
    pub(crate) const NULLABLE: Self = Self(1);
    pub(crate) const PRESERVES_UNKNOWN: Self = Self(2);
    pub(crate) const EMBEDDED: Self = Self(4);
    pub(crate) const INT_OR_STRING: Self = Self(8);
    /// Replaced as a whole (`x-kubernetes-map-type: atomic`).
    pub(crate) const ATOMIC_MAP: Self = Self(16);
    /// Something below has a default.
    pub(crate) const DEFAULTS_BELOW: Self = Self(32);
    /// Something here or below has a rule.
    pub(crate) const RULES_BELOW: Self = Self(64);
    /// Something here or below is a resource of its own.
    pub(crate) const EMBEDDED_BELOW: Self = Self(128);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// One condition of `x-kubernetes-validations`, as it was stated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) rule: Box<str>,
    pub(crate) message: Box<str>,
    pub(crate) message_expression: Box<str>,
    pub(crate) reason: Option<Box<str>>,
    pub(crate) field_path: Box<str>,
    pub(crate) optional_old_self: Option<bool>,
}

impl Node {
    /// The schema that these props state.
    pub(crate) fn compile(props: Props<'_>) -> Self {
        Self::compile_at(props, &Patterns::default(), 0)
    }

    fn compile_at<'a>(props: Props<'a>, patterns: &Patterns<'a>, depth: usize) -> Self {
        if depth > SCHEMA_DEPTH_MAX {
            return Self::default();
        }
        let below = |props| Self::compile_at(props, patterns, depth + 1);
        let mut properties: Vec<(Box<str>, Self)> = props
            .properties()
            .map(|(name, schema)| (name.into(), below(schema)))
            .collect();
        properties.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let mut node = Self {
            types: Types::of(props),
            traits: traits(props),
            properties: properties.into_boxed_slice(),
            additional: match props.additional() {
                None => Additional::Unknown,
                Some(Stated::Allowed(false)) => Additional::Refused,
                Some(Stated::Allowed(true)) => Additional::Any,
                Some(Stated::Each(schema)) => Additional::Each(Box::new(below(schema))),
            },
            items: props.each_item().map(|schema| Box::new(below(schema))),
            default: props.value("default").cloned().map(Box::new),
            list: list_type(props),
            checks: Checks::compile(props, patterns, below),
        };
        node.inherit_from_below();
        node
    }

    fn inherit_from_below(&mut self) {
        let mut found = Traits::default();
        if self.traits.has(Traits::EMBEDDED) {
            found.set(Traits::EMBEDDED_BELOW);
        }
        for child in self.children() {
            let kept = Traits::DEFAULTS_BELOW.0 | Traits::RULES_BELOW.0 | Traits::EMBEDDED_BELOW.0;
            found.set(Traits(child.traits.0 & kept));
            if child.default.is_some() {
                found.set(Traits::DEFAULTS_BELOW);
            }
        }
        self.traits.set(found);
    }

    /// The schemas of what is directly in a value.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Self> {
        let named = self.properties.iter().map(|(_, node)| node);
        named.chain(self.additional.each()).chain(self.items())
    }

    pub(crate) fn items(&self) -> Option<&Self> {
        self.items.as_deref()
    }

    /// The schema of the named property, if it has one of its own.
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        let place = self
            .properties
            .binary_search_by(|(known, _)| known.as_ref().cmp(name));
        place.ok().map(|place| &self.properties[place].1)
    }

    /// The schema of whatever stands under this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        self.property(name).or_else(|| self.additional.each())
    }

    pub(crate) fn checks(&self) -> &Checks {
        self.checks.as_deref().unwrap_or(Checks::none())
    }

    pub(crate) fn is_nullable(&self) -> bool {
        self.traits.has(Traits::NULLABLE)
    }
}

impl Additional {
    pub(crate) fn each(&self) -> Option<&Node> {
        match self {
            Self::Each(node) => Some(node),
            Self::Unknown | Self::Refused | Self::Any => None,
        }
    }

    /// Whether the schema speaks of further properties at all.
    pub(crate) fn is_stated(&self) -> bool {
        !matches!(self, Self::Unknown)
    }
}

fn traits(props: Props<'_>) -> Traits {
    let mut traits = Traits::default();
    let flags = [
        ("nullable", Traits::NULLABLE),
        (
            "x-kubernetes-preserve-unknown-fields",
            Traits::PRESERVES_UNKNOWN,
        ),
        ("x-kubernetes-embedded-resource", Traits::EMBEDDED),
        ("x-kubernetes-int-or-string", Traits::INT_OR_STRING),
    ];
    for (name, flag) in flags {
        if props.is_set(name) {
            traits.set(flag);
        }
    }
    if props.text("x-kubernetes-map-type") == "atomic" {
        traits.set(Traits::ATOMIC_MAP);
    }
    if !props.list("x-kubernetes-validations").is_empty() {
        traits.set(Traits::RULES_BELOW);
    }
    traits
}

fn list_type(props: Props<'_>) -> ListType {
    match props.text("x-kubernetes-list-type") {
        "set" => ListType::Set,
        "map" => {
            let keys = props.texts("x-kubernetes-list-map-keys").into_iter();
            ListType::Map(keys.map(Box::from).collect())
        }
        _ => ListType::Atomic,
    }
}

impl Rule {
    pub(crate) fn read(props: Props<'_>) -> Self {
        Self {
            rule: props.text("rule").into(),
            message: props.text("message").into(),
            message_expression: props.text("messageExpression").into(),
            reason: props.given_text("reason").map(Box::from),
            field_path: props.text("fieldPath").into(),
            optional_old_self: props.given_flag("optionalOldSelf"),
        }
    }
}
