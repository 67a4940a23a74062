//! What a reader wants to see, and whether an object is it.

use std::sync::Arc;

use listwatch_api::{
    EventType,
    selector::{FieldOperator, FieldSelector, LabelOperator, LabelSelector},
};
use listwatch_store::KeyRange;

use super::{
    cached_object::CachedObject,
    event::Event,
    kind_layout::{KindLayout, Lookup, escaped},
    term_index::Term,
};

/// What a list or a watch is about. Watchers with equal interests are served together.
///
/// A field selector may name `metadata.name`, `metadata.namespace` and the selectable fields of the
/// kind; any other field counts as absent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interest {
    /// Where to look.
    pub area: Area,
    /// What must hold of the labels.
    pub labels: LabelSelector,
    /// What must hold of the fields.
    pub fields: FieldSelector,
}

/// A part of the objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Area {
    /// All of them.
    Everywhere,
    /// Those of one namespace.
    Namespace(Box<str>),
    /// One object of the cluster, or of that name in any namespace.
    Name(Box<str>),
    /// One object of a namespace.
    NamespaceAndName(Box<str>, Box<str>),
}

impl Interest {
    /// All objects in an area.
    pub fn everything_in(area: Area) -> Self {
        Self {
            area,
            labels: LabelSelector::everything(),
            fields: FieldSelector::everything(),
        }
    }
}

/// An interest made ready for one kind: fields resolved, values escaped as they are stored.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    layout: Arc<KindLayout>,
    area: Area,
    labels: LabelSelector,
    fields: Vec<FieldTest>,
}

#[derive(Clone, Debug)]
struct FieldTest {
    subject: Subject,
    operator: FieldOperator,
    value: Box<str>,
}

#[derive(Clone, Debug)]
enum Subject {
    Name,
    Namespace,
    Field(usize),
    Unknown,
}

impl Judge {
    pub(super) fn new(interest: &Interest, layout: &Arc<KindLayout>) -> Self {
        let tests = interest.fields.requirements().iter();
        Self {
            layout: Arc::clone(layout),
            area: narrowed(interest, layout),
            labels: interest.labels.clone(),
            fields: tests
                .map(|requirement| FieldTest {
                    subject: Subject::of(&requirement.field, layout),
                    operator: requirement.operator,
                    value: escaped(&requirement.value),
                })
                .collect(),
        }
    }

    /// Whether the object is wanted.
    pub(crate) fn selects(&self, object: &CachedObject) -> bool {
        self.area.holds(object)
            && self
                .fields
                .iter()
                .all(|test| test.holds(object, &self.layout))
            && self.labels.matches(|key| object.stored().label(key))
    }

    /// What an event is to someone with this interest.
    pub(super) fn event_type(&self, event: &Event) -> Option<EventType> {
        let states = [event.previous(), event.object()];
        self.transition(states.map(|state| state.map(AsRef::as_ref)))
    }

    /// What the way from one state of an object to the next is to someone with this interest.
    pub(crate) fn transition(&self, states: [Option<&CachedObject>; 2]) -> Option<EventType> {
        let selects = |object: Option<&_>| object.is_some_and(|object| self.selects(object));
        let [before, now] = states.map(selects);
        match (before, now) {
            (false, true) => Some(EventType::Added),
            (true, true) => Some(EventType::Modified),
            (true, false) => Some(EventType::Deleted),
            (false, false) => None,
        }
    }

    /// Everything in the area that it looks at.
    pub(crate) fn everything(&self) -> Interest {
        Interest::everything_in(self.area.clone())
    }

    pub(super) fn area(&self) -> &Area {
        &self.area
    }

    /// The terms of indexed fields that every wanted object has.
    pub(super) fn field_terms(&self) -> impl Iterator<Item = Term> {
        self.fields.iter().filter_map(|test| match &test.subject {
            Subject::Field(index)
                if test.operator == FieldOperator::Equals
                    && self.layout.fields()[*index].lookup == Lookup::Index =>
            {
                Some(Term::field(*index, &test.value))
            }
            _ => None,
        })
    }

    /// For each requirement on labels that an index can answer, where in the index the answer is.
    pub(super) fn label_terms(&self) -> impl Iterator<Item = LabelTerms> {
        let requirements = self.labels.requirements().iter();
        requirements.filter_map(|requirement| match &requirement.operator {
            LabelOperator::In(values) => Some(LabelTerms::AnyOf(
                values
                    .iter()
                    .map(|value| Term::label(&requirement.key, value))
                    .collect(),
            )),
            LabelOperator::Exists | LabelOperator::GreaterThan(_) | LabelOperator::LessThan(_) => {
                Some(LabelTerms::Beginning(Term::label_key(&requirement.key)))
            }
            LabelOperator::NotIn(_) | LabelOperator::DoesNotExist => None,
        })
    }
}

/// Terms of which every wanted object has one.
pub(super) enum LabelTerms {
    /// These.
    AnyOf(Vec<Term>),
    /// All that begin like this.
    Beginning(Term),
}

impl Area {
    fn holds(&self, object: &CachedObject) -> bool {
        match self {
            Self::Everywhere => true,
            Self::Namespace(namespace) => object.namespace() == Some(namespace),
            Self::Name(name) => object.name() == &**name,
            Self::NamespaceAndName(namespace, name) => {
                object.name() == &**name && object.namespace() == Some(namespace)
            }
        }
    }

    /// The least range of keys that holds the area.
    pub(super) fn range(&self, layout: &KindLayout) -> KeyRange {
        let prefix = layout.storage_prefix();
        match self {
            Self::Name(name) if !layout.is_namespaced() => {
                KeyRange::single(format!("{prefix}{name}"))
            }
            Self::Everywhere | Self::Name(_) => layout.range(),
            Self::Namespace(namespace) => KeyRange::prefix(format!("{prefix}{namespace}/")),
            Self::NamespaceAndName(namespace, name) => {
                KeyRange::single(format!("{prefix}{namespace}/{name}"))
            }
        }
    }
}

impl Subject {
    fn of(field: &str, layout: &KindLayout) -> Self {
        match field {
            "metadata.name" => Self::Name,
            "metadata.namespace" => Self::Namespace,
            _ => layout.field(field).map_or(Self::Unknown, Self::Field),
        }
    }
}

impl FieldTest {
    fn holds(&self, object: &CachedObject, layout: &KindLayout) -> bool {
        let value = match &self.subject {
            Subject::Name => object.name(),
            Subject::Namespace => object.namespace().unwrap_or_default(),
            Subject::Field(index) => layout.value(object.stored(), *index),
            Subject::Unknown => "",
        };
        (value == &*self.value) == (self.operator == FieldOperator::Equals)
    }
}

/// The area of the interest, made smaller by what its field selector says of name and namespace.
fn narrowed(interest: &Interest, layout: &KindLayout) -> Area {
    let exact = |field| interest.fields.exact(field).map(Box::<str>::from);
    let name = exact("metadata.name");
    let namespace = exact("metadata.namespace").filter(|_| layout.is_namespaced());
    match (interest.area.clone(), namespace, name) {
        (Area::Everywhere, None, Some(name)) => Area::Name(name),
        (Area::Everywhere, Some(namespace), None) => Area::Namespace(namespace),
        (Area::Everywhere, Some(namespace), Some(name)) => Area::NamespaceAndName(namespace, name),
        (Area::Namespace(namespace), _, Some(name)) => Area::NamespaceAndName(namespace, name),
        (Area::Name(name), Some(namespace), _) => Area::NamespaceAndName(namespace, name),
        (area, _, _) => area,
    }
}
