//! LimitRanges and ResourceQuotas.

use listwatch_api::{FieldError, Quantity, field_error::BadValue};
use serde_json::{Value, json};

use crate::field::{Field, check};
use crate::resource_name::{is_in_quotas, may_be_overcommitted};
use crate::rules::Rules;
use crate::tree::{each, list, text};

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const CONFLICTS: [[&str; 2]; 2] = [
    ["BestEffort", "NotBestEffort"],
    ["Terminating", "NotTerminating"],
];
const WRONG_SCOPE: &str = "unsupported scope applied to resource";

/// LimitRanges.
pub(crate) const LIMIT_RANGES: Rules = Rules {
    default: default_limit_range,
    check_new: |range| check(range, check_limit_range),
    check_change: |change| check(change.next, check_limit_range),
    ..Rules::NONE
};

/// ResourceQuotas.
pub(crate) const RESOURCE_QUOTAS: Rules = Rules {
    begin: |quota| quota["status"] = json!({}),
    check_new: |quota| check(quota, |quota| check_quota(&quota.child("spec"))),
    check_change: |change| {
        check(change.next, |quota| {
            let spec = quota.child("spec");
            check_quota(&spec);
            let scopes = |spec: &Value| {
                let mut scopes: Vec<String> =
                    list(spec, "scopes").iter().map(Value::to_string).collect();
                scopes.sort_unstable();
                scopes.dedup();
                scopes
            };
            if scopes(spec.value()) != scopes(&change.before["spec"]) {
                spec.child("scopes").invalid("field is immutable");
            }
        })
    },
    check_status: |change| {
        check(change.next, |quota| {
            let status = quota.child("status");
            check_amounts(&status.child("hard"));
            check_amounts(&status.child("used"));
        })
    },
    ..Rules::NONE
};

/// A container's limit is the most it may have, and what it asks for is its limit, or the least.
fn default_limit_range(range: &mut Value) {
    for limit in each(&mut range["spec"], "limits") {
        if limit["type"] != "Container" {
            continue;
        }
        fill_from(limit, "max", "default");
        fill_from(limit, "default", "defaultRequest");
        fill_from(limit, "min", "defaultRequest");
    }
}

fn fill_from(limit: &mut Value, source: &str, target: &str) {
    let Some(amounts) = limit[source].as_object().cloned() else {
        return;
    };
    for (resource, amount) in amounts {
        if limit[target][resource.as_str()].is_null() {
            limit[target][resource.as_str()] = amount;
        }
    }
}

fn check_limit_range(range: &Field<'_, '_>) {
    let (spec, mut types) = (range.child("spec"), Vec::new());
    for limit in spec.child("limits").elements() {
        let kind = limit.child("type");
        check_limit_type(&kind);
        if types.contains(&kind.text()) {
            kind.duplicate();
        }
        types.push(kind.text());
        check_limit_names(&limit, kind.text());
        let parts = [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ];
        let is_compared = |part: &&str| kind.text() != "Pod" || !part.starts_with("default");
        let compared = parts.into_iter().filter(is_compared);
        let amounts = compared.filter_map(|part| limit.value()[part].as_object());
        let mut resources: Vec<&str> = amounts
            .flat_map(|map| map.keys().map(String::as_str))
            .collect();
        resources.sort_unstable();
        resources.dedup();
        for resource in resources {
            check_amounts_agree(&limit, resource, kind.text());
        }
    }
}

fn check_limit_type(kind: &Field<'_, '_>) {
    let is_name = kind.passes(|kind| kind.qualified_name());
    let standard = ["Pod", "Container", "PersistentVolumeClaim"];
    if is_name && !kind.text().contains('/') && !standard.contains(&kind.text()) {
        kind.invalid("must be a standard limit type or fully qualified");
    }
}

fn check_limit_names(limit: &Field<'_, '_>, kind: &str) {
    let check_names = |part: &str| {
        for (resource, amount) in limit.child(part).entries() {
            match kind {
                "Pod" | "Container" => amount.container_resource_name(resource),
                _ => amount.resource_name(resource),
            }
        }
    };
    check_names("max");
    check_names("min");
    for part in ["default", "defaultRequest"] {
        if kind != "Pod" {
            check_names(part);
        } else if !limit.child(part).is_empty() {
            limit
                .child(part)
                .forbidden("may not be specified when `type` is 'Pod'");
        }
    }
    let has_storage = |part: &str| !limit.value()[part]["storage"].is_null();
    if kind == "PersistentVolumeClaim" && !has_storage("min") && !has_storage("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        limit.child("limits").required(why);
    }
    check_names("maxLimitRequestRatio");
}

/// Of two amounts, the one that must not be greater, the other, the words for both, and where and
/// with which of them it is said.
struct Order {
    less: (&'static str, &'static str),
    more: (&'static str, &'static str),
    place: &'static str,
    shown: &'static str,
}

const MIN: (&str, &str) = ("min", "min value");
const MAX: (&str, &str) = ("max", "max value");
const LIMIT: (&str, &str) = ("default", "default value");
const NAMED_LIMIT: (&str, &str) = ("default", "default limit value");
const REQUEST: (&str, &str) = ("defaultRequest", "default request value");

#[rustfmt::skip]
const ORDERS: [Order; 6] = [
    Order { less: MIN, more: MAX, place: "min", shown: "min" },
    Order { less: MIN, more: REQUEST, place: "defaultRequest", shown: "defaultRequest" },
    Order { less: REQUEST, more: MAX, place: "defaultRequest", shown: "defaultRequest" },
    Order { less: REQUEST, more: NAMED_LIMIT, place: "defaultRequest", shown: "defaultRequest" },
    Order { less: MIN, more: LIMIT, place: "default", shown: "min" },
    Order { less: LIMIT, more: MAX, place: "default", shown: "max" },
];

fn check_amounts_agree(limit: &Field<'_, '_>, resource: &str, kind: &str) {
    let amount = |part: &str| {
        let is_used = kind != "Pod" || !part.starts_with("default");
        let text = limit.value()[part][resource].as_str().filter(|_| is_used)?;
        Some((text, Quantity::parse(text).unwrap_or_default()))
    };
    let refuse = |part: &str, shown: &str, why: String| {
        let part = limit.child(part);
        part.key(resource).invalid_value(shown, &why);
    };
    for order in ORDERS {
        let (Some(less), Some(more)) = (amount(order.less.0), amount(order.more.0)) else {
            continue;
        };
        if less.1 > more.1 {
            let (less_words, more_words) = (order.less.1, order.more.1);
            let why = format!(
                "{less_words} {} is greater than {more_words} {}",
                less.0, more.0
            );
            refuse(order.place, amount(order.shown).unwrap_or(less).0, why);
        }
    }
    let bounds = amount("min").zip(amount("max"));
    check_ratio(
        limit,
        resource,
        bounds.map(|(least, most)| (least.1, most.1)),
    );
    if let (Some(limited), Some(request)) = (amount("default"), amount("defaultRequest"))
        && !may_be_overcommitted(resource)
        && limited.1 != request.1
    {
        let why = format!(
            "default value {} must equal to defaultRequest value {} in {resource}",
            limited.0, request.0
        );
        refuse("defaultRequest", request.0, why);
    }
}

fn check_ratio(limit: &Field<'_, '_>, resource: &str, bounds: Option<(Quantity, Quantity)>) {
    let ratios = limit.child("maxLimitRequestRatio");
    let ratio = ratios.key(resource);
    if !ratio.is_set() {
        return;
    }
    let most = ratio.quantity().milli() as f64 / 1_000.0;
    if most < 1.0 {
        ratio.invalid(&format!("ratio {} is less than 1", ratio.text()));
    }
    let Some((least, greatest)) = bounds else {
        return;
    };
    let possible = greatest.milli() as f64 / least.milli() as f64;
    if most > possible {
        ratio.invalid(&format!(
            "ratio {} is greater than max/min = {possible:.6}",
            ratio.text()
        ));
    }
}

fn check_amounts(amounts: &Field<'_, '_>) {
    for (resource, amount) in amounts.entries() {
        amount.quota_resource_name(resource);
        amount.amount_of(resource);
    }
}

fn check_quota(spec: &Field<'_, '_>) {
    check_amounts(&spec.child("hard"));
    let scopes = spec.child("scopes");
    for scope in scopes.elements() {
        if !SCOPES.contains(&scope.text()) {
            scopes.invalid("unsupported scope");
        }
        for _ in wrongly_scoped(spec.value(), scope.text()) {
            scopes.invalid(WRONG_SCOPE);
        }
    }
    let stated: Vec<&str> = scopes.elements().map(|scope| scope.text()).collect();
    for _ in conflicts(&stated) {
        scopes.invalid("conflicting scopes");
    }
    if let Some(selector) = spec.given("scopeSelector") {
        check_scope_selector(spec, &selector.child("matchExpressions"));
    }
}

fn check_scope_selector(spec: &Field<'_, '_>, expressions: &Field<'_, '_>) {
    for expression in expressions.elements() {
        // Reported under the list, without the place in it.
        let at = |member: &'static str| expressions.child(member);
        let scope = text(expression.value(), "scopeName");
        if !SCOPES.contains(&scope) {
            at("scopeName").invalid_value(scope, "unsupported scope");
        }
        for _ in wrongly_scoped(spec.value(), scope) {
            let shown = shown_selector(&spec.value()["scopeSelector"]);
            expressions
                .report(|path| FieldError::invalid(path, BadValue::json(shown), WRONG_SCOPE));
        }
        let operator = text(expression.value(), "operator");
        let takes_values = matches!(scope, "PriorityClass" | "VolumeAttributesClass");
        if SCOPES.contains(&scope) && !takes_values && operator != "Exists" {
            let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                       ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                       ResourceQuotaScopeNotBestEffort or \
                       ResourceQuotaScopeCrossNamespacePodAffinity";
            at("operator").invalid_value(operator, why);
        }
        let values = expression.child("values");
        match (operator, values.is_empty()) {
            ("In" | "NotIn", true) => at("values").required(
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            ),
            ("Exists" | "DoesNotExist", false) => at("values").invalid_value(
                values.value(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            ),
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
            _ => at("operator").invalid_value(operator, "not a valid selector operator"),
        }
    }
    let scopes = expressions
        .elements()
        .map(|expression| text(expression.value(), "scopeName"));
    for _ in conflicts(&scopes.collect::<Vec<_>>()) {
        expressions.invalid_value(&spec.value()["scopes"], "conflicting scopes");
    }
}

fn shown_selector(selector: &Value) -> String {
    let members = [
        ("ScopeName", "scopeName"),
        ("Operator", "operator"),
        ("Values", "values"),
    ];
    let expressions = list(selector, "matchExpressions").iter();
    let shown: Vec<String> = expressions
        .map(|expression| {
            crate::bounds::shown(expression, &members).replace("\"Values\":\"\"", "\"Values\":null")
        })
        .collect();
    format!("{{\"MatchExpressions\":[{}]}}", shown.join(","))
}

fn conflicts(scopes: &[&str]) -> impl Iterator<Item = [&'static str; 2]> {
    CONFLICTS
        .into_iter()
        .filter(|pair| pair.iter().all(|scope| scopes.contains(scope)))
}

/// The resources of a quota that its scope says nothing about.
fn wrongly_scoped<'v>(spec: &'v Value, scope: &str) -> impl Iterator<Item = &'v String> {
    let fits: fn(&str) -> bool = match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => |name| {
            let resource = name
                .trim_start_matches("requests.")
                .trim_start_matches("limits.");
            name == "pods" || matches!(resource, "cpu" | "memory")
        },
        "BestEffort" => |name| name == "pods",
        "VolumeAttributesClass" => {
            |name| matches!(name, "persistentvolumeclaims" | "requests.storage")
        }
        _ => |_| true,
    };
    let resources = spec["hard"]
        .as_object()
        .into_iter()
        .flat_map(|hard| hard.keys());
    resources.filter(move |name| is_in_quotas(name) && !fits(name))
}
