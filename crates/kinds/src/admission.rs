//! Webhooks, and what they share with policies: which requests they are asked about.

use listwatch_api::{FieldError, name};
use serde_json::{Value, json};

use crate::bounds::joined;
use crate::field::{Field, LabelValues, check, check_label_selector};
use crate::network::selector_was_bad;
use crate::rules::{Change, Rules};
use crate::tree::{each, fill, list, part, text};

pub(crate) mod policies;

const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MATCH_CONDITIONS_MAX: usize = 64;
const URL_FORM: &str = "; desired format: https://host[/path]";

/// ValidatingWebhookConfigurations.
pub(crate) const VALIDATING_WEBHOOKS: Rules = Rules {
    default: |configuration| each(configuration, "webhooks").for_each(default_webhook),
    check_new: |configuration| {
        check(configuration, |all| {
            check_webhooks(all, &Tolerated::NOTHING)
        })
    },
    check_change: check_webhooks_change,
    ..Rules::NONE
};

/// MutatingWebhookConfigurations.
pub(crate) const MUTATING_WEBHOOKS: Rules = Rules {
    default: |configuration| {
        for webhook in each(configuration, "webhooks") {
            default_webhook(webhook);
            fill(webhook, "reinvocationPolicy", "Never");
        }
    },
    ..VALIDATING_WEBHOOKS
};

fn default_webhook(webhook: &mut Value) {
    fill(webhook, "failurePolicy", "Fail");
    default_match(webhook);
    if webhook["timeoutSeconds"].is_null() {
        webhook["timeoutSeconds"] = json!(10);
    }
    if let Some(service) = part(&mut webhook["clientConfig"], "service")
        && service["port"].is_null()
    {
        service["port"] = json!(443);
    }
    each(webhook, "rules").for_each(|rule| fill(rule, "scope", "*"));
}

/// Fills in how requests are matched.
fn default_match(part: &mut Value) {
    fill(part, "matchPolicy", "Equivalent");
    for selector in ["namespaceSelector", "objectSelector"] {
        if part[selector].is_null() {
            part[selector] = json!({});
        }
    }
}

/// What is taken because the configuration had it before.
struct Tolerated {
    side_effects: &'static [&'static str],
    label_values: LabelValues,
    reviews: Reviews,
    names: Names,
}

#[derive(PartialEq, Eq)]
enum Reviews {
    Known,
    Any,
}

#[derive(PartialEq, Eq)]
enum Names {
    Unique,
    Any,
}

const HARMLESS: [&str; 2] = ["None", "NoneOnDryRun"];
const SIDE_EFFECTS: [&str; 4] = ["None", "NoneOnDryRun", "Some", "Unknown"];

impl Tolerated {
    const NOTHING: Self = Self {
        side_effects: &HARMLESS,
        label_values: LabelValues::Checked,
        reviews: Reviews::Known,
        names: Names::Unique,
    };

    fn by(before: &Value) -> Self {
        let webhooks = list(before, "webhooks");
        let is_known = |webhook: &Value| {
            let versions = list(webhook, "admissionReviewVersions");
            versions.is_empty()
                || versions
                    .iter()
                    .any(|version| REVIEW_VERSIONS.iter().any(|known| version == known))
        };
        let is_harmless = |webhook: &Value| HARMLESS.contains(&text(webhook, "sideEffects"));
        let has_bad_selector = |webhook: &Value| {
            selector_was_bad(&webhook["namespaceSelector"])
                || selector_was_bad(&webhook["objectSelector"])
        };
        let is_repeated = |(index, webhook): (usize, &Value)| {
            webhooks[..index]
                .iter()
                .any(|other| other["name"] == webhook["name"])
        };
        Self {
            side_effects: match webhooks.iter().all(is_harmless) {
                true => &HARMLESS,
                false => &SIDE_EFFECTS,
            },
            label_values: match webhooks.iter().any(has_bad_selector) {
                true => LabelValues::Any,
                false => LabelValues::Checked,
            },
            reviews: match webhooks.iter().all(is_known) {
                true => Reviews::Known,
                false => Reviews::Any,
            },
            names: match webhooks.iter().enumerate().any(is_repeated) {
                true => Names::Any,
                false => Names::Unique,
            },
        }
    }
}

fn check_webhooks_change(change: Change<'_>) -> Vec<FieldError> {
    check(change.next, |all| {
        check_webhooks(all, &Tolerated::by(change.before))
    })
}

fn check_webhooks(configuration: &Field<'_, '_>, tolerated: &Tolerated) {
    let mut names = Vec::new();
    for webhook in configuration.child("webhooks").elements() {
        check_webhook(&webhook, tolerated);
        check_reviews(&webhook.child("admissionReviewVersions"), tolerated);
        let name = webhook.child("name");
        if tolerated.names == Names::Unique && names.contains(&name.text()) && !name.is_empty() {
            name.duplicate();
        }
        names.push(name.text());
    }
}

fn check_webhook(webhook: &Field<'_, '_>, tolerated: &Tolerated) {
    check_full_name(&webhook.child("name"));
    webhook
        .child("rules")
        .elements()
        .for_each(|rule| check_rule(&rule));
    if let Some(policy) = webhook.given("failurePolicy") {
        policy.one_of(&["Fail", "Ignore"]);
    }
    if let Some(policy) = webhook.given("matchPolicy") {
        policy.one_of(&["Equivalent", "Exact"]);
    }
    let effects = webhook.child("sideEffects");
    if effects.is_set() {
        effects.one_of(tolerated.side_effects);
    } else {
        effects.required(&format!(
            "must specify one of {}",
            tolerated.side_effects.join(", ")
        ));
    }
    let seconds = webhook.child("timeoutSeconds");
    if seconds
        .integer()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        seconds.invalid("the timeout value must be between 1 and 30 seconds");
    }
    check_label_selector(&webhook.child("namespaceSelector"), tolerated.label_values);
    check_label_selector(&webhook.child("objectSelector"), tolerated.label_values);
    if let Some(policy) = webhook.given("reinvocationPolicy") {
        policy.one_of(&["IfNeeded", "Never"]);
    }
    let config = webhook.child("clientConfig");
    match (config.given("url"), config.given("service")) {
        (Some(url), None) => check_url(&url),
        (None, Some(service)) => check_service(&service),
        _ => config.required("exactly one of url or service is required"),
    }
    check_match_conditions(&webhook.child("matchConditions"));
}

/// Demands a domain of three labels or more.
fn check_full_name(name: &Field<'_, '_>) {
    if !name.need() {
        return;
    }
    if let Some(problems) = joined(&name::check_dns_subdomain(name.text()), ",") {
        name.invalid(&problems);
    } else if name.text().split('.').count() < 3 {
        name.invalid("should be a domain with at least three segments separated by dots");
    }
}

fn check_reviews(versions: &Field<'_, '_>, tolerated: &Tolerated) {
    let known = REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        return versions.required(&format!("must specify one of {known}"));
    }
    let mut seen = Vec::new();
    for version in versions.elements() {
        if seen.contains(&version.text()) {
            version.invalid("duplicate version");
            continue;
        }
        seen.push(version.text());
        version.named(name::check_dns_1035_label);
    }
    let is_known = seen.iter().any(|version| REVIEW_VERSIONS.contains(version));
    if tolerated.reviews == Reviews::Known && !is_known {
        versions.invalid(&format!("must include at least one of {known}"));
    }
}

/// Checks which operations on what a rule is about.
fn check_rule(rule: &Field<'_, '_>) {
    let operations = rule.child("operations");
    operations.need();
    check_alone(&operations, "*", "operations");
    operations
        .elements()
        .for_each(|operation| operation.one_of(&OPERATIONS));
    for (member, words) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        rule.child(member).need();
        check_alone(&rule.child(member), "*", words);
    }
    for version in rule.child("apiVersions").elements() {
        version.need();
    }
    check_resources(&rule.child("resources"));
    if let Some(scope) = rule.given("scope") {
        scope.one_of(&["*", "Cluster", "Namespaced"]);
    }
}

/// Refuses others beside a word that means all of them.
fn check_alone(words: &Field<'_, '_>, all: &str, others: &str) {
    if words.count() > 1 && words.elements().any(|word| word.text() == all) {
        words.invalid(&format!(
            "if '{all}' is present, must not specify other {others}"
        ));
    }
}

fn check_resources(resources: &Field<'_, '_>) {
    resources.need();
    let (mut whole, mut parts) = (Vec::new(), Vec::new());
    let mut last_is_plain = false;
    for entry in resources.elements().filter(|entry| entry.need()) {
        let text = entry.text();
        let Some((resource, part)) = text.split_once('/') else {
            last_is_plain = text != "*";
            continue;
        };
        if whole.contains(&resource) {
            entry.invalid(&format!(
                "if '{resource}/*' is present, must not specify {text}"
            ));
        }
        if parts.contains(&part) {
            entry.invalid(&format!(
                "if '*/{part}' is present, must not specify {text}"
            ));
        }
        if part == "*" {
            whole.push(resource);
        }
        if resource == "*" {
            parts.push(part);
        }
    }
    check_alone(resources, "*/*", "resources");
    if last_is_plain && resources.elements().any(|entry| entry.text() == "*") {
        resources
            .invalid("if '*' is present, must not specify other resources without subresources");
    }
}

fn check_url(url: &Field<'_, '_>) {
    let (scheme, rest) = url.text().split_once("://").unwrap_or(("", url.text()));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = match scheme {
        "" => "",
        _ => rest.split('/').next().unwrap_or_default(),
    };
    let (user, host) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, host)| (Some(user), host));
    if scheme != "https" {
        url.invalid_value(
            scheme,
            &format!("'https' is the only allowed URL scheme{URL_FORM}"),
        );
    }
    if host.is_empty() {
        url.invalid_value(host, &format!("host must be specified{URL_FORM}"));
    }
    if let Some(user) = user {
        url.invalid_value(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        url.invalid_value(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        url.invalid_value(query, "query parameters are not permitted in the URL");
    }
}

fn check_service(service: &Field<'_, '_>) {
    // Kubernetes mixes the two up, so a missing name is told as a missing namespace.
    for (member, stated) in [("name", "namespace"), ("namespace", "name")] {
        if service.child(stated).is_empty() {
            service.child(member).required("");
        }
    }
    let port = service.child("port").integer().unwrap_or_default();
    if !(1..=65_535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        service.child("port").invalid_value(port, why);
    }
    let path = service.child("path");
    match path.text() {
        "" | "/" => return,
        "//" => return path.invalid("segment[0] may not be empty"),
        text if !text.starts_with('/') => path.invalid("must start with a '/'"),
        _ => {}
    }
    let mut rest = path.text().chars();
    rest.next();
    let rest = rest.as_str();
    for (index, step) in rest
        .strip_suffix('/')
        .unwrap_or(rest)
        .split('/')
        .enumerate()
    {
        if step.is_empty() {
            path.invalid(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for problem in name::check_dns_subdomain(step) {
            path.invalid(&format!("segment[{index}]: {problem}"));
        }
    }
}

/// Checks conditions but for what their expressions mean.
fn check_match_conditions(conditions: &Field<'_, '_>) {
    conditions.at_most_elements(MATCH_CONDITIONS_MAX);
    let mut names = Vec::new();
    for condition in conditions.elements() {
        let (name, expression) = (condition.child("name"), condition.child("expression"));
        if expression.text().trim().is_empty() {
            expression.required("");
        }
        if name.need() {
            name.qualified_name();
            if names.contains(&name.text()) {
                name.duplicate();
            }
            names.push(name.text());
        }
    }
}
