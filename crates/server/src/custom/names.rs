//! Who gets which names, and the conditions that say so.
//!
//! Within a group no two kinds share a name. Who came first keeps it; the other is told, keeps the
//! names it had, and gets the name when it becomes free.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// The names that the kinds of one group have been given.
#[derive(Debug, Default)]
pub(super) struct Taken {
    resources: BTreeSet<Box<str>>,
    kinds: BTreeSet<Box<str>>,
}

impl Taken {
    /// Notes the names that a definition has been given.
    pub(super) fn add(&mut self, accepted: &Value) {
        let text = |member: &str| accepted[member].as_str().unwrap_or_default().into();
        self.resources.insert(text("plural"));
        self.resources.insert(text("singular"));
        let short = texts(&accepted["shortNames"]).into_iter();
        self.resources.extend(short.map(Into::into));
        self.kinds.insert(text("kind"));
        self.kinds.insert(text("listKind"));
    }
}

/// A condition in the status of a definition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition<'a> {
    pub(super) name: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// Whether the condition of this name is true.
pub(super) fn is_true(definition: &Value, name: &str) -> bool {
    let found = conditions(definition).find(|condition| condition["type"] == name);
    found.is_some_and(|condition| condition["status"] == "True")
}

/// The definition after its names have been judged; `None` when nothing changes.
pub(super) fn judge(definition: &Value, taken: &Taken, now: &str) -> Option<Value> {
    let mut judged = definition.clone();
    let wanted = &definition["spec"]["names"];
    let accepted = &definition["status"]["acceptedNames"];
    let (names, refusal) = match wanted == accepted {
        true => (accepted.clone(), None),
        false => accept(wanted, accepted, taken),
    };
    judged["status"]["acceptedNames"] = names;
    if wanted != accepted || !has_condition(definition, "NamesAccepted") {
        let (status, reason, message) = match &refusal {
            None => ("True", "NoConflicts", "no conflicts found"),
            Some((reason, message)) => ("False", *reason, &**message),
        };
        set(
            &mut judged,
            Condition {
                name: "NamesAccepted",
                status,
                reason,
                message,
            },
            now,
        );
    }
    establish(&mut judged, now);
    (judged != *definition).then_some(judged)
}

/// A kind is served from when all its names were accepted for the first time.
fn establish(definition: &mut Value, now: &str) {
    if is_true(definition, "Established") {
        return;
    }
    let (status, reason, message) = match is_true(definition, "NamesAccepted") {
        true => (
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
        false => ("False", "NotAccepted", "not all names are accepted"),
    };
    let condition = Condition {
        name: "Established",
        status,
        reason,
        message,
    };
    set(definition, condition, now);
}

/// The names to have from now on, and why not all that are wanted are among them.
fn accept(
    wanted: &Value,
    accepted: &Value,
    taken: &Taken,
) -> (Value, Option<(&'static str, String)>) {
    let mut names = accepted.clone();
    let mut refusal = None;
    let mut decide = |member: &str, reason, problem: Option<String>| match problem {
        Some(message) => refusal = Some((reason, message)),
        None => copy(wanted, &mut names, member),
    };
    let is_refused = |member: &str, used: &BTreeSet<Box<str>>| {
        let name = wanted[member].as_str().unwrap_or_default();
        let is_own = name == accepted[member].as_str().unwrap_or_default();
        (!is_own && used.contains(name)).then(|| in_use(name))
    };
    let resources = &taken.resources;
    decide("plural", "PluralConflict", is_refused("plural", resources));
    decide(
        "singular",
        "SingularConflict",
        is_refused("singular", resources),
    );
    let own = texts(&accepted["shortNames"]);
    let wanted_short = texts(&wanted["shortNames"]).into_iter();
    let refused: Vec<String> = wanted_short
        .filter(|name| !own.contains(name) && resources.contains(*name))
        .map(in_use)
        .collect();
    decide("shortNames", "ShortNamesConflict", together(&refused));
    decide("kind", "KindConflict", is_refused("kind", &taken.kinds));
    decide(
        "listKind",
        "ListKindConflict",
        is_refused("listKind", &taken.kinds),
    );
    copy(wanted, &mut names, "categories");
    (names, refusal)
}

fn in_use(name: &str) -> String {
    format!("{name:?} is already in use")
}

/// Several errors as one, the way Kubernetes writes them.
fn together(errors: &[String]) -> Option<String> {
    match errors {
        [] => None,
        [only] => Some(only.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

fn copy(from: &Value, to: &mut Value, member: &str) {
    match from.get(member) {
        Some(value) => to[member] = value.clone(),
        None => {
            if let Some(members) = to.as_object_mut() {
                members.remove(member);
            }
        }
    }
}

fn texts(list: &Value) -> Vec<&str> {
    let texts = list.as_array().into_iter().flatten();
    texts.filter_map(Value::as_str).collect()
}

fn conditions(definition: &Value) -> impl Iterator<Item = &Value> {
    let conditions = definition["status"]["conditions"].as_array();
    conditions.into_iter().flatten()
}

fn has_condition(definition: &Value, name: &str) -> bool {
    conditions(definition).any(|condition| condition["type"] == name)
}

/// Writes a condition down. Its time is that of its last change between true and false.
pub(super) fn set(definition: &mut Value, condition: Condition<'_>, now: &str) {
    let Condition {
        name,
        status,
        reason,
        message,
    } = condition;
    let known = &mut definition["status"]["conditions"];
    if !known.is_array() {
        *known = json!([]);
    }
    let Some(conditions) = known.as_array_mut() else {
        return;
    };
    let new = |since: &Value| {
        json!({
            "type": name,
            "status": status,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        })
    };
    match conditions.iter_mut().find(|known| known["type"] == name) {
        Some(known) if known["status"] == status => {
            *known = new(&known["lastTransitionTime"].clone());
        }
        Some(known) => *known = new(&json!(now)),
        None => conditions.push(new(&json!(now))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn definition(names: Value) -> Value {
        json!({
            "spec": {"names": names},
            "status": {"conditions": null, "acceptedNames": {"plural": "", "kind": ""}},
        })
    }

    fn names(plural: &str, kind: &str) -> Value {
        json!({
            "plural": plural, "singular": plural.trim_end_matches('s'), "kind": kind,
            "listKind": format!("{kind}List"), "shortNames": [&plural[..2]],
        })
    }

    fn condition(definition: &Value, name: &str) -> String {
        let found = conditions(definition).find(|known| known["type"] == name);
        let found = found.unwrap();
        let text = |member: &str| found[member].as_str().unwrap_or_default().to_owned();
        format!("{} {}: {}", text("status"), text("reason"), text("message"))
    }

    #[test]
    fn a_kind_with_free_names_is_established_at_once() {
        let judged = judge(&definition(names("foos", "Foo")), &Taken::default(), NOW).unwrap();
        assert_eq!(judged["status"]["acceptedNames"], names("foos", "Foo"));
        assert_eq!(
            condition(&judged, "NamesAccepted"),
            "True NoConflicts: no conflicts found"
        );
        assert_eq!(
            condition(&judged, "Established"),
            "True InitialNamesAccepted: the initial names have been accepted"
        );
        assert!(judge(&judged, &Taken::default(), NOW).is_none());
    }

    #[test]
    fn a_name_in_use_is_refused_and_the_others_are_given() {
        let mut taken = Taken::default();
        taken.add(&names("bars", "Foo"));
        let judged = judge(&definition(names("foos", "Foo")), &taken, NOW).unwrap();
        assert_eq!(
            condition(&judged, "NamesAccepted"),
            "False ListKindConflict: \"FooList\" is already in use"
        );
        assert_eq!(
            condition(&judged, "Established"),
            "False NotAccepted: not all names are accepted"
        );
        assert_eq!(judged["status"]["acceptedNames"]["plural"], "foos");
        assert_eq!(judged["status"]["acceptedNames"]["kind"], "");
    }

    #[test]
    fn an_established_kind_stays_so_when_a_new_name_of_it_is_refused() {
        let first = judge(&definition(names("foos", "Foo")), &Taken::default(), NOW).unwrap();
        let mut taken = Taken::default();
        taken.add(&names("bars", "Bar"));
        let mut wanting = first.clone();
        wanting["spec"]["names"]["shortNames"] = json!(["fo", "ba", "bar"]);
        let judged = judge(&wanting, &taken, NOW).unwrap();
        assert_eq!(
            condition(&judged, "NamesAccepted"),
            "False ShortNamesConflict: [\"ba\" is already in use, \"bar\" is already in use]"
        );
        assert!(is_true(&judged, "Established"));
        assert_eq!(
            judged["status"]["acceptedNames"]["shortNames"],
            json!(["fo"])
        );
        let settled = judge(&judged, &Taken::default(), NOW).unwrap();
        assert!(is_true(&settled, "NamesAccepted"));
    }

    #[test]
    fn a_condition_keeps_its_time_until_it_turns() {
        let mut definition = judge(&definition(names("foos", "Foo")), &Taken::default(), NOW);
        let definition = definition.as_mut().unwrap();
        let again = Condition {
            name: "Established",
            status: "True",
            reason: "Other",
            message: "",
        };
        set(definition, again, "later");
        let time = |definition: &Value| definition["status"]["conditions"][1].clone();
        assert_eq!(time(definition)["lastTransitionTime"], NOW);
        set(
            definition,
            Condition {
                status: "False",
                ..again
            },
            "later",
        );
        assert_eq!(time(definition)["lastTransitionTime"], "later");
    }
}
