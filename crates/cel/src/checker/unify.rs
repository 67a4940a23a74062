//! Finds out types that are not written down, by making those that meet agree.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::Type;

/// What has been found out so far. Attempts that fail leave no trace.
#[derive(Debug, Default)]
pub(super) struct Unifier {
    known: HashMap<usize, Type>,
    /// What each change replaced, so that it can be undone.
    trail: Vec<(usize, Option<Type>)>,
    next: usize,
}

impl Unifier {
    /// A type that nothing is known about yet.
    pub(super) fn fresh(&mut self) -> Type {
        Type::Parameter(self.fresh_many(1))
    }

    /// The first of so many unknown types.
    pub(super) fn fresh_many(&mut self, count: usize) -> usize {
        let first = self.next;
        self.next += count;
        first
    }

    /// Makes one type agree with another, if that is possible.
    pub(super) fn assign(&mut self, one: &Type, other: &Type) -> bool {
        self.assign_all(std::slice::from_ref(one), std::slice::from_ref(other))
    }

    /// Makes types agree pair by pair, if that is possible for all.
    pub(super) fn assign_all(&mut self, these: &[Type], those: &[Type]) -> bool {
        let mark = self.trail.len();
        if these.len() == those.len()
            && these
                .iter()
                .zip(those)
                .all(|(one, other)| self.agrees(one, other))
        {
            return true;
        }
        while self.trail.len() > mark {
            let Some((number, before)) = self.trail.pop() else {
                break;
            };
            match before {
                Some(before) => self.known.insert(number, before),
                None => self.known.remove(&number),
            };
        }
        false
    }

    fn learn(&mut self, number: usize, found: Type) {
        let before = self.known.insert(number, found);
        self.trail.push((number, before));
    }

    fn agrees(&mut self, one: &Type, other: &Type) -> bool {
        if let Type::Parameter(number) = other {
            match self.substitutes(one, *number) {
                Substitution::Valid => return true,
                Substitution::Contradicts => return false,
                Substitution::Circular => {}
            }
        }
        if let Type::Parameter(number) = one {
            return matches!(self.substitutes(other, *number), Substitution::Valid);
        }
        if one.is_dyn_or_error() || other.is_dyn_or_error() {
            return true;
        }
        match (one, other) {
            (Type::Null, nullable) | (nullable, Type::Null) => is_nullable(nullable),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
                self.agrees(one, other)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.agrees(key, other_key) && self.agrees(value, other_value)
            }
            (one, other) => one == other,
        }
    }

    /// Whether an unknown type can be this one.
    fn substitutes(&mut self, candidate: &Type, number: usize) -> Substitution {
        if *candidate == Type::Parameter(number) {
            return Substitution::Valid;
        }
        if let Some(found) = self.known.get(&number).cloned() {
            if *candidate == found {
                return Substitution::Valid;
            }
            if !self.agrees(candidate, &found) {
                return Substitution::Contradicts;
            }
            let general = most_general(candidate, &found);
            if !self.occurs(number, &general) {
                self.learn(number, general);
            }
            return Substitution::Valid;
        }
        if self.occurs(number, candidate) {
            return Substitution::Circular;
        }
        self.learn(number, candidate.clone());
        Substitution::Valid
    }

    /// Whether an unknown type is part of another, which would have no end.
    fn occurs(&self, number: usize, within: &Type) -> bool {
        match within {
            Type::Parameter(inner) if *inner == number => true,
            Type::Parameter(inner) => self
                .known
                .get(inner)
                .is_some_and(|found| self.occurs(number, found)),
            other => other
                .parts()
                .into_iter()
                .any(|part| self.occurs(number, part)),
        }
    }

    /// The type with everything filled in that is known.
    pub(super) fn resolve(&self, unresolved: &Type, unknown: Unknown) -> Type {
        let inner = |part: &Type| Arc::new(self.resolve(part, unknown));
        match unresolved {
            Type::Parameter(number) => match (self.known.get(number), unknown) {
                (Some(found), _) => self.resolve(found, unknown),
                (None, Unknown::Dyn) => Type::Dyn,
                (None, Unknown::Kept) => unresolved.clone(),
            },
            Type::List(element) => Type::List(inner(element)),
            Type::Map(key, value) => Type::Map(inner(key), inner(value)),
            Type::Optional(part) => Type::Optional(inner(part)),
            Type::Type(Some(part)) => Type::Type(Some(inner(part))),
            other => other.clone(),
        }
    }
}

/// What becomes of types that nobody found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Kept,
    Dyn,
}

enum Substitution {
    Valid,
    Contradicts,
    Circular,
}

fn is_nullable(nullable: &Type) -> bool {
    matches!(
        nullable,
        Type::Null
            | Type::Object(_)
            | Type::Named(_)
            | Type::Opaque(_)
            | Type::Optional(_)
            | Type::Duration
            | Type::Timestamp
    )
}

/// Of two types that agree, the one that says less.
pub(super) fn most_general(one: &Type, other: &Type) -> Type {
    if says_no_more(one, other) {
        one.clone()
    } else {
        other.clone()
    }
}

fn says_no_more(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Dyn | Type::Parameter(_), _) => true,
        (_, Type::Dyn | Type::Parameter(_)) => false,
        (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
            says_no_more(one, other)
        }
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            says_no_more(key, other_key) && says_no_more(value, other_value)
        }
        (Type::Type(_), Type::Type(_)) => true,
        (one, other) => one == other,
    }
}

/// The same type with its parameters counted from `first`.
pub(super) fn instantiate(declared: &Type, first: usize) -> Type {
    let inner = |part: &Type| Arc::new(instantiate(part, first));
    match declared {
        Type::Parameter(number) => Type::Parameter(first + number),
        Type::List(element) => Type::List(inner(element)),
        Type::Map(key, value) => Type::Map(inner(key), inner(value)),
        Type::Optional(part) => Type::Optional(inner(part)),
        Type::Type(Some(part)) => Type::Type(Some(inner(part))),
        other => other.clone(),
    }
}
