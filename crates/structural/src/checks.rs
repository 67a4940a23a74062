//! What values must satisfy beside their type. Most schemas say little, and so take little.

use std::sync::Arc;

use serde_json::Value;

use crate::format::Format;
use crate::node::Node;
use crate::pattern::{Pattern, Patterns};
use crate::props::Props;

/// What a value must satisfy beside its type.
#[derive(Debug)]
pub(crate) struct Checks {
    pub(crate) format: Option<Format>,
    numbers: Option<Box<NumberChecks>>,
    texts: Option<Box<TextChecks>>,
    sizes: Option<Box<SizeChecks>>,
    combined: Option<Box<CombinedChecks>>,
    /// The values there are; any if there are none.
    pub(crate) allowed: Box<[Value]>,
    pub(crate) required: Box<[Box<str>]>,
}

/// What a number must satisfy.
#[derive(Debug)]
pub(crate) struct NumberChecks {
    pub(crate) maximum: Option<Bound>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
}

/// The end of a range of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    /// Whether the end itself is outside.
    pub(crate) is_exclusive: bool,
}

/// What a text must satisfy.
#[derive(Debug)]
pub(crate) struct TextChecks {
    pub(crate) length: Limits,
    pub(crate) pattern: Option<Arc<Pattern>>,
}

/// How large lists and maps may be.
#[derive(Debug)]
pub(crate) struct SizeChecks {
    pub(crate) items: Limits,
    pub(crate) unique_items: bool,
    pub(crate) properties: Limits,
}

/// The least and the most of something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) min: Option<i64>,
    pub(crate) max: Option<i64>,
}

/// Schemas that restrict the same value.
#[derive(Debug)]
pub(crate) struct CombinedChecks {
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Node>,
}

impl Limits {
    const NONE: Self = Self {
        min: None,
        max: None,
    };

    fn read(props: Props<'_>, min: &str, max: &str) -> Self {
        Self {
            min: props.integer(min),
            max: props.integer(max),
        }
    }

    fn is_none(self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// The least, if this is less.
    pub(crate) fn too_few(self, count: i64) -> Option<i64> {
        self.min.filter(|min| count < *min)
    }

    /// The most, if this is more.
    pub(crate) fn too_many(self, count: i64) -> Option<i64> {
        self.max.filter(|max| count > *max)
    }
}

static NO_NUMBERS: NumberChecks = NumberChecks {
    maximum: None,
    minimum: None,
    multiple_of: None,
};
static NO_TEXTS: TextChecks = TextChecks {
    length: Limits::NONE,
    pattern: None,
};
static NO_SIZES: SizeChecks = SizeChecks {
    items: Limits::NONE,
    unique_items: false,
    properties: Limits::NONE,
};

impl Checks {
    /// The checks of a schema that has none.
    pub(crate) fn none() -> &'static Self {
        static NONE: std::sync::LazyLock<Checks> = std::sync::LazyLock::new(|| Checks {
            format: None,
            numbers: None,
            texts: None,
            sizes: None,
            combined: None,
            allowed: Box::default(),
            required: Box::default(),
        });
        &NONE
    }

    /// The checks that a schema states, if any. `below` compiles the schemas in it.
    pub(crate) fn compile<'a>(
        props: Props<'a>,
        patterns: &Patterns<'a>,
        below: impl Fn(Props<'a>) -> Node,
    ) -> Option<Box<Self>> {
        let required = props.texts("required").into_iter();
        let checks = Self {
            format: Format::of(props),
            numbers: NumberChecks::read(props).map(Box::new),
            texts: TextChecks::read(props, patterns).map(Box::new),
            sizes: SizeChecks::read(props).map(Box::new),
            combined: CombinedChecks::compile(props, below).map(Box::new),
            allowed: props.list("enum").into(),
            required: required.map(Box::from).collect(),
        };
        let is_needed = checks.format.is_some()
            || checks.numbers.is_some()
            || checks.texts.is_some()
            || checks.sizes.is_some()
            || checks.combined.is_some()
            || !checks.allowed.is_empty()
            || !checks.required.is_empty();
        is_needed.then(|| Box::new(checks))
    }

    pub(crate) fn numbers(&self) -> &NumberChecks {
        self.numbers.as_deref().unwrap_or(&NO_NUMBERS)
    }

    pub(crate) fn texts(&self) -> &TextChecks {
        self.texts.as_deref().unwrap_or(&NO_TEXTS)
    }

    pub(crate) fn sizes(&self) -> &SizeChecks {
        self.sizes.as_deref().unwrap_or(&NO_SIZES)
    }

    pub(crate) fn combined(&self) -> Option<&CombinedChecks> {
        self.combined.as_deref()
    }
}

impl NumberChecks {
    fn read(props: Props<'_>) -> Option<Self> {
        let bound = |name, exclusive| {
            props.number(name).map(|value| Bound {
                value,
                is_exclusive: props.is_set(exclusive),
            })
        };
        let checks = Self {
            maximum: bound("maximum", "exclusiveMaximum"),
            minimum: bound("minimum", "exclusiveMinimum"),
            multiple_of: props.number("multipleOf"),
        };
        let is_bound = checks.maximum.is_some() || checks.minimum.is_some();
        (is_bound || checks.multiple_of.is_some()).then_some(checks)
    }
}

impl TextChecks {
    fn read<'a>(props: Props<'a>, patterns: &Patterns<'a>) -> Option<Self> {
        let pattern = props.text("pattern");
        let checks = Self {
            length: Limits::read(props, "minLength", "maxLength"),
            pattern: (!pattern.is_empty()).then(|| patterns.share(pattern)),
        };
        (!checks.length.is_none() || checks.pattern.is_some()).then_some(checks)
    }
}

impl SizeChecks {
    fn read(props: Props<'_>) -> Option<Self> {
        let checks = Self {
            items: Limits::read(props, "minItems", "maxItems"),
            unique_items: props.is_set("uniqueItems"),
            properties: Limits::read(props, "minProperties", "maxProperties"),
        };
        let is_limited = !checks.items.is_none() || !checks.properties.is_none();
        (is_limited || checks.unique_items).then_some(checks)
    }
}

impl CombinedChecks {
    fn compile<'a>(props: Props<'a>, below: impl Fn(Props<'a>) -> Node) -> Option<Self> {
        let all = |name| props.schemas(name).map(&below).collect::<Vec<Node>>();
        let checks = Self {
            all_of: all("allOf"),
            any_of: all("anyOf"),
            one_of: all("oneOf"),
            not: props.schema("not").map(&below),
        };
        let several = [&checks.all_of, &checks.any_of, &checks.one_of];
        let is_needed = several.iter().any(|nodes| !nodes.is_empty()) || checks.not.is_some();
        is_needed.then_some(checks)
    }
}
