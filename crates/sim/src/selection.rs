//! Which objects a client asked for, judged without the server's own selector code.

use std::fmt;

use crate::history::ObjectVersion;

/// What a list or a watch selects: all conditions must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Selection {
    /// The namespace in the path; `None` for all namespaces.
    pub namespace: Option<String>,
    /// Conditions on labels.
    pub labels: Vec<LabelCondition>,
    /// Conditions on fields.
    pub fields: Vec<FieldCondition>,
}

/// One condition of a label selector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelCondition {
    /// `key=value`
    Equals(String, String),
    /// `key!=value`, which also holds where the label is absent.
    NotEquals(String, String),
    /// `key in (a,b)`
    In(String, Vec<String>),
    /// `key notin (a,b)`, which also holds where the label is absent.
    NotIn(String, Vec<String>),
    /// `key`
    Exists(String),
    /// `!key`
    Absent(String),
}

/// One condition of a field selector.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldCondition {
    /// `field=value`
    Equals(String, String),
    /// `field!=value`
    NotEquals(String, String),
}

impl Selection {
    /// Every object of the kind.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The objects of one namespace.
    pub fn namespace(namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..Self::default()
        }
    }

    /// The same, of which this must hold too.
    #[must_use]
    pub fn label(mut self, condition: LabelCondition) -> Self {
        self.labels.push(condition);
        self
    }

    /// The same, of which this must hold too.
    #[must_use]
    pub fn field(mut self, condition: FieldCondition) -> Self {
        self.fields.push(condition);
        self
    }

    /// Whether the object is asked for.
    pub fn matches(&self, object: &ObjectVersion) -> bool {
        self.namespace
            .as_ref()
            .is_none_or(|namespace| *namespace == object.key.namespace)
            && self.labels.iter().all(|condition| condition.holds(object))
            && self.fields.iter().all(|condition| condition.holds(object))
    }

    /// Whether an object can leave or enter only by being deleted or created.
    pub fn is_immutable(&self) -> bool {
        self.labels.is_empty()
            && self
                .fields
                .iter()
                .all(|condition| condition.field().starts_with("metadata.name"))
    }

    /// Whether this asks for every object.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// The text of `labelSelector`, when there is one.
    pub fn label_selector(&self) -> Option<String> {
        join(&self.labels)
    }

    /// The text of `fieldSelector`, when there is one.
    pub fn field_selector(&self) -> Option<String> {
        join(&self.fields)
    }
}

impl LabelCondition {
    fn holds(&self, object: &ObjectVersion) -> bool {
        let label = |key: &String| object.labels.get(key);
        match self {
            Self::Equals(key, value) => label(key) == Some(value),
            Self::NotEquals(key, value) => label(key) != Some(value),
            Self::In(key, values) => label(key).is_some_and(|label| values.contains(label)),
            Self::NotIn(key, values) => !label(key).is_some_and(|label| values.contains(label)),
            Self::Exists(key) => label(key).is_some(),
            Self::Absent(key) => label(key).is_none(),
        }
    }
}

impl FieldCondition {
    fn field(&self) -> &str {
        match self {
            Self::Equals(field, _) | Self::NotEquals(field, _) => field,
        }
    }

    fn holds(&self, object: &ObjectVersion) -> bool {
        match self {
            Self::Equals(field, value) => object.field(field) == value,
            Self::NotEquals(field, value) => object.field(field) != value,
        }
    }
}

fn join(conditions: &[impl fmt::Display]) -> Option<String> {
    let texts: Vec<String> = conditions.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(","))
}

impl fmt::Display for LabelCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(key, value) => write!(formatter, "{key}={value}"),
            Self::NotEquals(key, value) => write!(formatter, "{key}!={value}"),
            Self::In(key, values) => write!(formatter, "{key} in ({})", values.join(",")),
            Self::NotIn(key, values) => write!(formatter, "{key} notin ({})", values.join(",")),
            Self::Exists(key) => formatter.write_str(key),
            Self::Absent(key) => write!(formatter, "!{key}"),
        }
    }
}

impl fmt::Display for FieldCondition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(field, value) => write!(formatter, "{field}={value}"),
            Self::NotEquals(field, value) => write!(formatter, "{field}!={value}"),
        }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(formatter, "namespace {namespace}")?,
            None => formatter.write_str("all namespaces")?,
        }
        if let Some(labels) = self.label_selector() {
            write!(formatter, ", labels {labels}")?;
        }
        if let Some(fields) = self.field_selector() {
            write!(formatter, ", fields {fields}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::script::object;

    #[test]
    fn a_negative_condition_holds_where_the_label_is_absent() {
        let bare = object("a/x", 1, &[]);
        let red = object("a/x", 1, &[("color", "red")]);
        let not_red = LabelCondition::NotEquals("color".to_owned(), "red".to_owned());
        let not_in = LabelCondition::NotIn("color".to_owned(), vec!["red".to_owned()]);
        for condition in [not_red, not_in] {
            let selection = Selection::everything().label(condition);
            assert!(selection.matches(&bare) && !selection.matches(&red));
        }
    }

    #[test]
    fn a_selection_is_written_as_the_server_reads_it() {
        let selection = Selection::namespace("a")
            .label(LabelCondition::In(
                "color".to_owned(),
                vec!["red".to_owned(), "blue".to_owned()],
            ))
            .label(LabelCondition::Absent("old".to_owned()))
            .field(FieldCondition::NotEquals(
                "metadata.name".to_owned(),
                "x".to_owned(),
            ));
        assert_eq!(
            selection.label_selector().as_deref(),
            Some("color in (red,blue),!old")
        );
        assert_eq!(
            selection.field_selector().as_deref(),
            Some("metadata.name!=x")
        );
    }

    #[test]
    fn names_and_namespaces_select_for_life_and_labels_do_not() {
        let named = Selection::namespace("a").field(FieldCondition::Equals(
            "metadata.name".to_owned(),
            "x".to_owned(),
        ));
        assert!(named.is_immutable());
        assert!(
            !named
                .label(LabelCondition::Exists("color".to_owned()))
                .is_immutable()
        );
    }
}
