//! Functions of lists and sets.

use std::cmp::Ordering;

use super::{Function, fail, operators, time, unfit};
use crate::error::EvaluationError;
use crate::value::{List, Outcome, Value};

/// Longest list that a range makes. What it costs ends an evaluation well before.
const RANGE_MAX: i64 = 1_000_000;

/// Deepest nesting that is flattened.
const FLATTEN_DEPTH_MAX: i64 = 128;

pub(super) fn implementation(overload: &str) -> Option<Function> {
    if overload.ends_with("_is_sorted_bool") {
        return Some(is_sorted);
    }
    if overload.ends_with("_sort") {
        return Some(|arguments| sorted(arguments, arguments));
    }
    if overload.ends_with("_sortByAssociatedKeys") {
        return Some(|arguments| sorted(&arguments[..1], &arguments[1..]));
    }
    if let Some(function) = summary(overload) {
        return Some(function);
    }
    Some(match overload {
        "list_a_index_of_int" => |arguments| index_of(arguments, Side::First),
        "list_a_last_index_of_int" => |arguments| index_of(arguments, Side::Last),
        "list_includes_dyn_dyn" => includes,
        "list_distinct" => distinct,
        "list_flatten" | "list_flatten_int" => flatten,
        "list_reverse" => reverse,
        "list_slice" => slice,
        "lists_range" => range,
        "list_sets_contains_list" => |arguments| subset(arguments, &[(1, 0)]),
        "list_sets_equivalent_list" => |arguments| subset(arguments, &[(1, 0), (0, 1)]),
        "list_sets_intersects_list" => intersects,
        _ => return None,
    })
}

/// `sum`, `min` and `max`, whose overloads are named after the element.
fn summary(overload: &str) -> Option<Function> {
    let inner = overload.strip_prefix("list_")?;
    let (element, rest) = inner.split_once('_')?;
    let (operation, result) = rest.split_once('_')?;
    if element != result {
        return None;
    }
    Some(match (operation, element) {
        ("sum", "int") => |arguments| sum(arguments, Value::Int(0)),
        ("sum", "uint") => |arguments| sum(arguments, Value::Uint(0)),
        ("sum", "double") => |arguments| sum(arguments, Value::Double(0.0)),
        ("sum", "duration") => |arguments| {
            sum(
                arguments,
                Value::Duration(time::Duration::from_nanoseconds(0)),
            )
        },
        ("max", _) => |arguments| extreme(arguments, "max", Ordering::Less),
        ("min", _) => |arguments| extreme(arguments, "min", Ordering::Greater),
        _ => return None,
    })
}

fn list_of<'v, 'a>(arguments: &'v [Value<'a>]) -> Result<&'v List<'a>, EvaluationError> {
    match arguments.first() {
        Some(Value::List(list)) => Ok(list),
        _ => unfit(),
    }
}

fn is_sorted<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let values = list_of(arguments)?.to_vec()?;
    for pair in values.windows(2) {
        if pair[0].compare(&pair[1])? == Ordering::Greater {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(arguments: &[Value<'a>], zero: Value<'a>) -> Outcome<'a> {
    let mut total = zero;
    for value in list_of(arguments)?.iter() {
        total = operators::add(&total, &value?)?;
    }
    Ok(total)
}

/// The element that no other beats; `beaten` says how the one at hand compares with a better one.
fn extreme<'a>(arguments: &[Value<'a>], name: &str, beaten: Ordering) -> Outcome<'a> {
    let mut best: Option<Value<'a>> = None;
    for value in list_of(arguments)?.iter() {
        let value = value?;
        let better = match &best {
            None => true,
            Some(best) => best.compare(&value)? == beaten,
        };
        if better {
            best = Some(value);
        }
    }
    best.ok_or_else(|| EvaluationError::failed(format!("{name} called on empty list")))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Last,
}

fn index_of<'a>(arguments: &[Value<'a>], side: Side) -> Outcome<'a> {
    let [Value::List(list), sought] = arguments else {
        return unfit();
    };
    let mut found = -1;
    for (index, value) in list.iter().enumerate() {
        if value?.equals(sought)? {
            found = index as i64;
            if side == Side::First {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}

fn includes<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::List(list), sought] => list.contains(sought).map(Value::Bool),
        [value, sought] => value.equals(sought).map(Value::Bool),
        _ => unfit(),
    }
}

fn distinct<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let mut kept: Vec<Value<'a>> = Vec::new();
    for value in list_of(arguments)?.iter() {
        let value = value?;
        let mut seen = false;
        for known in &kept {
            if known.equals(&value)? {
                seen = true;
                break;
            }
        }
        if !seen {
            kept.push(value);
        }
    }
    Ok(Value::list(kept))
}

fn flatten<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (list, depth) = match arguments {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        [other] => return fail(format!("no such overload: {}.flatten()", other.type_name())),
        [other, depth, ..] => {
            let (other, depth) = (other.type_name(), depth.type_name());
            return fail(format!("no such overload: {other}.flatten({depth})"));
        }
        [] => return unfit(),
    };
    if depth < 0 {
        return fail("level must be non-negative");
    }
    let mut flat = Vec::new();
    flatten_into(list, depth.min(FLATTEN_DEPTH_MAX), &mut flat)?;
    Ok(Value::list(flat))
}

fn flatten_into<'a>(
    list: &List<'a>,
    depth: i64,
    flat: &mut Vec<Value<'a>>,
) -> Result<(), EvaluationError> {
    for value in list.iter() {
        match value? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, flat)?,
            other => flat.push(other),
        }
    }
    Ok(())
}

fn reverse<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let mut values = list_of(arguments)?.to_vec()?;
    values.reverse();
    Ok(Value::list(values))
}

fn slice<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = arguments else {
        return unfit();
    };
    let attempt = format!("cannot slice({start}, {end})");
    if *start < 0 || *end < 0 {
        return fail(format!("{attempt}, negative indexes not supported"));
    }
    if start > end {
        return fail(format!(
            "{attempt}, start index must be less than or equal to end index"
        ));
    }
    if *end > list.len() as i64 {
        return fail(format!("{attempt}, list is length {}", list.len()));
    }
    let kept: Result<Vec<Value<'a>>, EvaluationError> = list
        .iter()
        .skip(*start as usize)
        .take((end - start) as usize)
        .collect();
    kept.map(Value::list)
}

fn range<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Int(length)] = arguments else {
        return unfit();
    };
    if *length < 0 {
        return fail(format!(
            "lists.range: size must be non-negative, got {length}"
        ));
    }
    if *length > RANGE_MAX {
        return Err(EvaluationError::OutOfBudget);
    }
    Ok(Value::list((0..*length).map(Value::Int).collect()))
}

fn sorted<'a>(arguments: &[Value<'a>], keys: &[Value<'a>]) -> Outcome<'a> {
    let (Some(Value::List(list)), Some(Value::List(keys))) = (arguments.first(), keys.first())
    else {
        return unfit();
    };
    if list.len() != keys.len() {
        return fail(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys \
                list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        ));
    }
    let mut pairs: Vec<(Value<'a>, Value<'a>)> =
        keys.to_vec()?.into_iter().zip(list.to_vec()?).collect();
    if let Some((first, _)) = pairs.first() {
        let kind = first.type_name().to_owned();
        first
            .compare(first)
            .map_err(|_| EvaluationError::failed("list elements must be comparable"))?;
        if pairs.iter().any(|(key, _)| key.type_name() != kind) {
            return fail("list elements must have the same type");
        }
    }
    pairs.sort_by(|(one, _), (other, _)| one.compare(other).unwrap_or(Ordering::Equal));
    Ok(Value::list(
        pairs.into_iter().map(|(_, value)| value).collect(),
    ))
}

/// Whether, for each pair, the elements of the first list are all in the second.
fn subset<'a>(arguments: &[Value<'a>], pairs: &[(usize, usize)]) -> Outcome<'a> {
    for (part, whole) in pairs {
        let (Value::List(part), Value::List(whole)) = (&arguments[*part], &arguments[*whole])
        else {
            return unfit();
        };
        for value in part.iter() {
            if !whole.contains(&value?)? {
                return Ok(Value::Bool(false));
            }
        }
    }
    Ok(Value::Bool(true))
}

fn intersects<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::List(one), Value::List(other)] = arguments else {
        return unfit();
    };
    for value in one.iter() {
        if other.contains(&value?)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
