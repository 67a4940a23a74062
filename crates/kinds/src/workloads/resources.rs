//! What containers and pods ask for and may have.

use listwatch_api::{FieldError, name};

use crate::field::{Field, Quantity};
use crate::resource_name::{is_huge_page, may_be_overcommitted};

/// The names of the claims that a pod has.
pub(super) struct ClaimNames<'v>(pub(super) Vec<&'v str>);

/// Whose resources are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceNames {
    OfContainers,
    OfPods,
}

/// Checks what is asked for and what is allowed, and that the first fits the second.
pub(super) fn check_requirements(
    resources: &Field<'_, '_>,
    names: ResourceNames,
    claims: &ClaimNames<'_>,
) {
    let (limits, requests) = (resources.child("limits"), resources.child("requests"));
    for (resource, limit) in limits.entries() {
        check_amount(&limit, resource, names);
        check_huge_page(&limit, resource);
    }
    for (resource, request) in requests.entries() {
        check_amount(&request, resource, names);
        check_within_limit(&requests, &limits, &request, resource);
        check_huge_page(&request, resource);
    }
    let mut all = limits
        .entries()
        .chain(requests.entries())
        .map(|(resource, _)| resource);
    let has_huge_pages = all.any(is_huge_page);
    let has = |resource| limits.key(resource).is_set() || requests.key(resource).is_set();
    if has_huge_pages && !has("cpu") && !has("memory") {
        resources.forbidden("HugePages require cpu or memory");
    }
    check_claims(&resources.child("claims"), claims);
}

fn check_amount(amount: &Field<'_, '_>, resource: &str, names: ResourceNames) {
    match names {
        ResourceNames::OfContainers => amount.container_resource_name(resource),
        ResourceNames::OfPods => {
            let is_named = amount.passes(|amount| amount.resource_name(resource));
            let is_supported = matches!(resource, "cpu" | "memory") || is_huge_page(resource);
            if is_named && !is_supported {
                let supported = ["cpu", "hugepages-", "memory"];
                amount.report(|path| FieldError::not_supported(path, resource, &supported));
            }
        }
    }
    amount.amount_of(resource);
}

fn check_within_limit(
    requests: &Field<'_, '_>,
    limits: &Field<'_, '_>,
    request: &Field<'_, '_>,
    resource: &str,
) {
    let limit = limits.key(resource);
    if !limit.is_set() {
        if !may_be_overcommitted(resource) {
            limits.required("Limit must be set for non overcommitable resources");
        }
        return;
    }
    let (asked, allowed) = (request.quantity(), limit.quantity());
    let limit = limit.text();
    if asked != allowed && !may_be_overcommitted(resource) {
        let why = format!("must be equal to {resource} limit of {limit}");
        requests.invalid_value(request.text(), &why);
    } else if asked > allowed {
        let why = format!("must be less than or equal to {resource} limit of {limit}");
        requests.invalid_value(request.text(), &why);
    }
}

fn check_huge_page(amount: &Field<'_, '_>, resource: &str) {
    let Some(size) = resource.strip_prefix("hugepages-") else {
        return;
    };
    let size = Quantity::parse(size).ok().and_then(Quantity::whole);
    let is_multiple = match (size, amount.quantity().whole()) {
        (Some(size @ 1..), Some(whole)) => whole % size == 0,
        _ => false,
    };
    if !is_multiple {
        let text = amount.text();
        amount.invalid(&format!(
            "{text} is not positive integer multiple of {resource}"
        ));
    }
}

fn check_claims(claims: &Field<'_, '_>, known: &ClaimNames<'_>) {
    let mut taken: Vec<(&str, &str)> = Vec::new();
    for claim in claims.elements() {
        let (name, request) = (claim.child("name").text(), claim.child("request"));
        if name.is_empty() {
            claim.required("");
            continue;
        }
        let duplicate = |shown: &str| claim.report(|path| FieldError::duplicate(path, shown));
        if taken.contains(&(name, "")) {
            duplicate(name);
        } else {
            if !request.is_empty() {
                request.named(name::check_dns_label);
            }
            if taken.contains(&(name, request.text())) {
                duplicate(&format!("{name}/{}", request.text()));
            } else if request.is_empty() {
                let parts = taken.iter().filter(|(taken, _)| *taken == name);
                parts.for_each(|_| duplicate(name));
            }
            taken.push((name, request.text()));
        }
        if !known.0.contains(&name) {
            let mut sorted = known.0.clone();
            sorted.sort_unstable();
            let names = match sorted.as_slice() {
                [] => " which is empty".to_owned(),
                names => format!(": {}", names.join(", ")),
            };
            let why = format!("must be one of the names in pod.spec.resourceClaims{names}");
            claim.report(|path| {
                let mut error = FieldError::not_found(path, name);
                error.body = format!("{}: {why}", error.body);
                error
            });
        }
    }
}

/// Checks the claims of a pod.
pub(super) fn check_pod_claims(claims: &Field<'_, '_>) {
    let mut names = Vec::new();
    for claim in claims.elements() {
        let name = claim.child("name");
        if name.need() {
            if names.contains(&name.text()) {
                name.duplicate();
            } else {
                name.dns_label();
                names.push(name.text());
            }
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let sources = sources.map(|member| claim.child(member));
        let shown = || super::shown::compact(claim.value(), "PodResourceClaim");
        match sources.iter().filter(|source| source.is_set()).count() {
            0 => claim.invalid_value(
                shown(),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            ),
            1 => {}
            _ => claim.invalid_value(
                shown(),
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be \
                 specified",
            ),
        }
        for source in sources.iter().filter(|source| source.is_set()) {
            source.dns_subdomain();
        }
    }
}

/// Checks what a pod asks for as a whole, against what its containers ask for.
pub(super) fn check_pod_resources(spec: &Field<'_, '_>, claims: &ClaimNames<'_>) {
    let Some(resources) = spec.given("resources") else {
        return;
    };
    if spec.child("os").child("name").text() == "windows" {
        return resources.forbidden("may not be set for a windows pod");
    }
    if resources.child("claims").is_set() {
        let why = "claims may not be set for Resources at pod-level";
        resources.child("claims").forbidden(why);
    }
    check_requirements(&resources, ResourceNames::OfPods, claims);
    for (resource, request) in resources.child("requests").entries() {
        let asked = sum_of(spec, "requests", resource);
        if asked > request.quantity() {
            let sum = written(asked, request.text());
            let why = "must be greater than or equal to aggregate container requests of";
            request.invalid(&format!("{why} {sum}"));
        }
    }
    for (index, container) in spec.child("containers").elements().enumerate() {
        for (resource, limit) in container.child("resources").child("limits").entries() {
            let most = resources.child("limits");
            let most = most.key(resource);
            if most.is_set() && limit.quantity() > most.quantity() {
                let why = format!(
                    "must be less than or equal to pod limits of {}",
                    most.text()
                );
                let containers = resources.child("containers");
                let place = containers.index(index);
                place
                    .key(resource)
                    .child("limits")
                    .invalid_value(limit.text(), &why);
            }
        }
    }
}

/// What all containers together have: those that run beside each other, or the largest one before.
pub(super) fn sum_of(spec: &Field<'_, '_>, list: &str, resource: &str) -> Quantity {
    let of = |container: &Field<'_, '_>| {
        let resources = container.child("resources");
        resources.child(list).key(resource).quantity()
    };
    let mut running = Quantity::ZERO;
    for container in spec.child("containers").elements() {
        running = running + of(&container);
    }
    let (mut beside, mut largest) = (Quantity::ZERO, Quantity::ZERO);
    for container in spec.child("initContainers").elements() {
        if container.child("restartPolicy").text() == "Always" {
            beside = beside + of(&container);
            running = running + of(&container);
            largest = largest.max(beside);
        } else {
            largest = largest.max(beside + of(&container));
        }
    }
    running.max(largest)
}

/// An amount in the notation of another.
pub(super) fn written(amount: Quantity, like: &str) -> String {
    let text = match (amount.whole(), like.ends_with('i')) {
        (Some(whole), true) if whole % 1_024 == 0 => format!("{}Ki", whole / 1_024),
        _ => format!("{}m", amount.milli()),
    };
    listwatch_api::quantity::canonical(&text).unwrap_or(text)
}
