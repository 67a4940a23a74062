//! FlowSchemas and PriorityLevelConfigurations.

use listwatch_api::{FieldError, field_error::BadValue, name};
use serde_json::{Value, json};

use crate::field::{Field, check};
use crate::rules::Rules;
use crate::tree::{part, text};

const PRECEDENCE: i64 = 1_000;
const PRECEDENCE_MAX: i64 = 10_000;
const QUEUES_MAX: i64 = 10_000_000;
/// Bits of the number from which a hand of queues is dealt.
const HASH_BITS_MAX: f64 = 60.0;
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];
const KINDS: [&str; 3] = ["Group", "ServiceAccount", "User"];

/// FlowSchemas.
pub(crate) const FLOW_SCHEMAS: Rules = Rules {
    default: |schema| {
        let spec = &mut schema["spec"];
        if spec["matchingPrecedence"].as_i64().unwrap_or_default() == 0 {
            spec["matchingPrecedence"] = json!(PRECEDENCE);
        }
    },
    begin: |schema| schema["status"] = json!({}),
    check_new: |schema| check(schema, check_schema),
    check_change: |change| check(change.next, check_schema),
    check_status: |change| check(change.next, check_conditions),
    ..Rules::NONE
};

/// PriorityLevelConfigurations.
pub(crate) const PRIORITY_LEVELS: Rules = Rules {
    default: default_level,
    begin: |level| level["status"] = json!({}),
    check_new: |level| check(level, check_level),
    check_change: |change| check(change.next, check_level),
    check_status: |change| check(change.next, check_conditions),
    ..Rules::NONE
};

fn check_conditions(object: &Field<'_, '_>) {
    let (status, mut types) = (object.child("status"), Vec::new());
    for condition in status.child("conditions").elements() {
        let kind = condition.child("type");
        if types.contains(&kind.text()) {
            kind.duplicate();
        }
        types.push(kind.text());
        kind.need();
    }
}

fn check_schema(schema: &Field<'_, '_>) {
    let spec = schema.child("spec");
    let precedence = spec.child("matchingPrecedence");
    match precedence.integer().unwrap_or_default() {
        number if number <= 0 => precedence.invalid("must be a positive value"),
        number if number > PRECEDENCE_MAX => {
            precedence.invalid(&format!("must not be greater than {PRECEDENCE_MAX}"));
        }
        1 if schema.value()["metadata"]["name"] != "exempt" => {
            precedence.invalid("only the schema named 'exempt' may have matchingPrecedence 1");
        }
        _ => {}
    }
    if let Some(method) = spec.given("distinguisherMethod") {
        let kind = method.child("type");
        let supported = ["ByNamespace", "ByUser"];
        if !supported.contains(&kind.text()) {
            let shown = format!("{{\"Type\":{:?}}}", kind.text());
            kind.report(|path| FieldError::not_supported(path, BadValue::json(shown), &supported));
        }
    }
    let level = spec.child("priorityLevelConfiguration");
    if level
        .child("name")
        .need_because("must reference a priority level")
    {
        level.child("name").dns_subdomain();
    }
    spec.child("rules")
        .elements()
        .for_each(|rule| check_rule(&rule));
}

fn check_rule(rule: &Field<'_, '_>) {
    let (subjects, resources, urls) = (
        rule.child("subjects"),
        rule.child("resourceRules"),
        rule.child("nonResourceRules"),
    );
    subjects.need_because("subjects must contain at least one value");
    subjects
        .elements()
        .for_each(|subject| check_subject(&subject));
    if resources.is_empty() && urls.is_empty() {
        rule.required("at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    for rule in resources.elements() {
        check_verbs(&rule.child("verbs"));
        let parts = [
            (
                "apiGroups",
                "resource rules must supply at least one api group",
                "api groups",
            ),
            (
                "resources",
                "resource rules must supply at least one resource",
                "resources",
            ),
        ];
        for (member, missing, others) in parts {
            rule.child(member).need_because(missing);
            check_wildcard(&rule.child(member), others);
        }
        check_namespaces(&rule);
    }
    for rule in urls.elements() {
        check_verbs(&rule.child("verbs"));
        let urls = rule.child("nonResourceURLs");
        urls.need_because("nonResourceURLs must contain at least one value");
        if !check_wildcard(&urls, "non-resource URLs") {
            urls.elements().for_each(|url| check_url(&url));
        }
    }
}

/// Whether a list has `*`, which must then be alone.
fn check_wildcard(words: &Field<'_, '_>, others: &str) -> bool {
    let has_wildcard = words.elements().any(|word| word.text() == "*");
    if has_wildcard && words.count() > 1 {
        words.invalid(&format!(
            "if '*' is present, must not specify other {others}"
        ));
    }
    has_wildcard
}

fn check_verbs(verbs: &Field<'_, '_>) {
    if !verbs.need_because("verbs must contain at least one value")
        || check_wildcard(verbs, "verbs")
    {
        return;
    }
    if !verbs.elements().all(|verb| VERBS.contains(&verb.text())) {
        verbs.not_supported(&VERBS);
    }
}

fn check_namespaces(rule: &Field<'_, '_>) {
    let namespaces = rule.child("namespaces");
    if namespaces.is_empty() && !rule.child("clusterScope").is_true() {
        return namespaces.required(
            "resource rules that are not cluster scoped must supply at least one namespace",
        );
    }
    if check_wildcard(&namespaces, "namespaces") {
        return;
    }
    for namespace in namespaces.elements() {
        for problem in name::check_dns_label(namespace.text()) {
            namespace.invalid(&format!(
                "each member of this list must be '*' or a DNS-1123 label; {problem}"
            ));
        }
    }
}

fn check_url(url: &Field<'_, '_>) {
    let text = url.text();
    let stars = text.matches('*').count();
    let why = match text {
        "" => "must not be empty",
        "/" => return,
        text if !text.starts_with('/') => "must start with slash",
        text if text.contains(' ') => "must not contain white-space",
        text if text.contains("//") => "must not contain double slash",
        text if stars > 1 || (stars == 1 && !text.ends_with("/*")) => {
            "wildcard can only do suffix matching"
        }
        _ => return,
    };
    url.invalid(why);
}

fn check_subject(subject: &Field<'_, '_>) {
    let kind = subject.child("kind");
    let members = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    let Some((word, member)) = members.iter().find(|(word, _)| *word == kind.text()) else {
        return kind.one_of(&KINDS);
    };
    let stated = subject.child(member);
    if stated.is_set() {
        check_stated_subject(&stated, word);
    } else {
        stated.required(&format!(
            "{member} is required when subject kind is '{word}'"
        ));
    }
    for (other, member) in members.iter().filter(|(other, _)| other != word) {
        if subject.child(member).is_set() {
            let why = format!("{member} is forbidden when subject kind is not '{other}'");
            subject.child(member).forbidden(&why);
        }
    }
}

fn check_stated_subject(subject: &Field<'_, '_>, kind: &str) {
    let name = subject.child("name");
    if name.need() && kind == "ServiceAccount" && name.text() != "*" {
        name.dns_subdomain();
    }
    let namespace = subject.child("namespace");
    if kind == "ServiceAccount"
        && namespace.need_because("must specify namespace for service account")
    {
        namespace.dns_label();
    }
}

fn default_level(level: &mut Value) {
    let fill = |part: &mut Value, name: &str, value: i64| {
        if part[name].is_null() {
            part[name] = json!(value);
        }
    };
    if let Some(limited) = part(&mut level["spec"], "limited") {
        fill(limited, "nominalConcurrencyShares", 30);
        fill(limited, "lendablePercent", 0);
        let queuing = part(limited, "limitResponse").and_then(|answer| part(answer, "queuing"));
        if let Some(queuing) = queuing {
            for (name, value) in [("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)] {
                if queuing[name].as_i64().unwrap_or_default() == 0 {
                    queuing[name] = json!(value);
                }
            }
        }
    }
    if let Some(exempt) = part(&mut level["spec"], "exempt") {
        fill(exempt, "nominalConcurrencyShares", 0);
        fill(exempt, "lendablePercent", 0);
    }
}

fn check_level(level: &Field<'_, '_>) {
    let spec = level.child("spec");
    let (kind, limited, exempt) = (
        spec.child("type"),
        spec.child("limited"),
        spec.child("exempt"),
    );
    let is_exempt = kind.text() == "Exempt";
    if (text(&level.value()["metadata"], "name") == "exempt") != is_exempt {
        kind.invalid_value(
            kind.text(),
            "must be 'Exempt' if and only if `name` is 'exempt'",
        );
    }
    match kind.text() {
        "Exempt" if exempt.is_set() => check_shares(&exempt),
        "Limited" if limited.is_set() => check_limits(&limited),
        "" | "Exempt" | "Limited" => {}
        _ => kind.one_of(&["Exempt", "Limited"]),
    }
    kind.need();
    if is_exempt && limited.is_set() {
        limited.forbidden("");
    }
    if kind.text() == "Limited" && !limited.is_set() {
        limited.required("");
    }
    if kind.text() == "Limited" && exempt.is_set() {
        exempt.forbidden("");
    }
    check_response_union(&limited);
}

fn check_shares(part: &Field<'_, '_>) {
    let shares = part.child("nominalConcurrencyShares");
    if shares.integer().is_some_and(|shares| shares < 0) {
        shares.invalid("must be a non-negative integer");
    }
    part.child("lendablePercent").within(0, 100);
}

fn check_limits(limited: &Field<'_, '_>) {
    let shares = limited.child("nominalConcurrencyShares");
    if shares.integer().is_some_and(|shares| shares < 0) {
        shares.invalid("must be a non-negative integer");
    }
    let response = limited.child("limitResponse");
    let kind = response.child("type");
    match kind.text() {
        "Queue" => {
            if let Some(queuing) = response.given("queuing") {
                check_queuing(&queuing);
            }
        }
        "Reject" | "" => {}
        _ => kind.one_of(&["Queue", "Reject"]),
    }
    limited.child("lendablePercent").within(0, 100);
    let borrowing = limited.child("borrowingLimitPercent");
    if borrowing.integer().is_some_and(|percent| percent < 0) {
        borrowing.invalid("if specified, must be a non-negative integer");
    }
}

/// Queues belong to levels that queue, and to no others.
fn check_response_union(limited: &Field<'_, '_>) {
    let response = limited.child("limitResponse");
    let (kind, queuing) = (response.child("type"), response.child("queuing"));
    if !limited.is_set() {
        return;
    }
    match (kind.text(), queuing.is_set()) {
        ("", _) => kind.required(""),
        ("Queue", false) => queuing.required(""),
        ("Reject", true) => queuing.forbidden(""),
        _ => {}
    }
}

fn check_queuing(queuing: &Field<'_, '_>) {
    let number = |name: &str| queuing.child(name).integer().unwrap_or_default();
    let refuse = |name: &str, why: &str| queuing.child(name).invalid_value(number(name), why);
    let (queues, hand) = (number("queues"), number("handSize"));
    if number("queueLengthLimit") <= 0 {
        refuse("queueLengthLimit", "must be positive");
    }
    if queues <= 0 {
        refuse("queues", "must be positive");
    } else if queues > QUEUES_MAX {
        refuse("queues", &format!("must not be greater than {QUEUES_MAX}"));
    }
    let entropy = ((queues as f64).log2() * hand as f64).ceil();
    if hand <= 0 {
        refuse("handSize", "must be positive");
    } else if hand > queues {
        refuse(
            "handSize",
            &format!("should not be greater than queues ({queues})"),
        );
    } else if entropy > HASH_BITS_MAX {
        refuse(
            "handSize",
            &format!(
                "required entropy bits of deckSize {queues} and handSize {hand} should not be \
                 greater than {HASH_BITS_MAX}"
            ),
        );
    }
}
