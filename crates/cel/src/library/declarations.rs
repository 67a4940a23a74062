//! What every function takes and yields: one line for each overload.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::types::Type;

/// Name, overload, call style, parameters, result; a sixth column names a library that is not
/// always there.
const TABLE: &str = include_str!("functions.tsv");

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    pub(crate) style: Style,
    pub(crate) parameters: Vec<Type>,
    pub(crate) result: Type,
    /// How many types are found out at each call.
    pub(crate) type_parameters: usize,
    pub(crate) library: Library,
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// `f(a)`.
    Global,
    /// `a.f()`.
    Member,
}

/// Which expressions may call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// All.
    Base,
    /// Those that build patches.
    Patches,
    /// Those that were stored already, since it came with this version.
    New,
}

/// The overloads of a function, in the order in which they are tried.
pub(crate) fn overloads(function: &str) -> Option<&'static [Overload]> {
    static FUNCTIONS: OnceLock<HashMap<&'static str, Vec<Overload>>> = OnceLock::new();
    FUNCTIONS.get_or_init(read).get(function).map(Vec::as_slice)
}

fn read() -> HashMap<&'static str, Vec<Overload>> {
    let mut functions: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    for line in TABLE.lines() {
        let columns: Vec<&'static str> = line.split('\t').collect();
        let [name, id, style, parameters, result, rest @ ..] = &columns[..] else {
            continue;
        };
        let mut names = Vec::new();
        let parameters = parameters.split('|').filter(|text| !text.is_empty());
        let parameters = parameters.map(|text| parse(text, &mut names)).collect();
        let result = parse(result, &mut names);
        functions.entry(name).or_default().push(Overload {
            id,
            style: if *style == "member" {
                Style::Member
            } else {
                Style::Global
            },
            parameters,
            result,
            type_parameters: names.len(),
            library: match rest.first() {
                Some(&"patches") => Library::Patches,
                Some(&"new") => Library::New,
                _ => Library::Base,
            },
        });
    }
    functions
}

fn parse(text: &'static str, names: &mut Vec<&'static str>) -> Type {
    if let Some(name) = text
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
    {
        let known = names.iter().position(|known| *known == name);
        return Type::Parameter(known.unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }));
    }
    match text.split_once('(') {
        Some((outer, inner)) => compound(outer, inner.strip_suffix(')').unwrap_or(inner), names),
        None => simple(text),
    }
}

fn compound(outer: &str, inner: &'static str, names: &mut Vec<&'static str>) -> Type {
    match outer {
        "list" => Type::list(parse(inner, names)),
        "optional_type" => Type::optional(parse(inner, names)),
        "type" => Type::Type(Some(Arc::new(parse(inner, names)))),
        _ => {
            let (key, value) = inner.split_once(", ").unwrap_or((inner, "dyn"));
            Type::map(parse(key, names), parse(value, names))
        }
    }
}

fn simple(text: &'static str) -> Type {
    match text {
        "dyn" => Type::Dyn,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "net.IP" | "net.CIDR" => Type::Opaque(text),
        _ => Type::Named(text),
    }
}

/// The names of types that expressions may use as values.
pub(crate) fn type_named(name: &str) -> Option<Type> {
    let parameter = || Arc::new(Type::Dyn);
    Some(match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "null_type" => Type::Null,
        "list" => Type::List(parameter()),
        "map" => Type::Map(parameter(), parameter()),
        "type" => Type::Type(None),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.Duration" => Type::Duration,
        "optional_type" => Type::Optional(parameter()),
        "net.IP" => Type::Opaque("net.IP"),
        "net.CIDR" => Type::Opaque("net.CIDR"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_overload_does_something() {
        const BUILT_IN: [&str; 12] = [
            "_?_:_",
            "_&&_",
            "_||_",
            "_==_",
            "_!=_",
            "_[_]",
            "_[?_]",
            "_?._",
            "@not_strictly_false",
            "or",
            "orValue",
            "x",
        ];
        for (name, overloads) in read() {
            for overload in &overloads {
                let known = BUILT_IN.contains(&name)
                    || crate::library::implementation(name, overload.id).is_some();
                assert!(known, "{name} {}", overload.id);
            }
        }
    }
}
