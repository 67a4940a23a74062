//! Devices and the claims to them: what is filled in, and who a slice belongs to. Requests,
//! selectors and configurations are taken as their shape allows.

use serde_json::{Value, json};

use crate::field::{Field, check};
use crate::rules::Rules;
use crate::storage::check_driver_name;
use crate::tree::{each, fill};

/// ResourceClaims.
pub(crate) const CLAIMS: Rules = Rules {
    default: |claim| default_requests(&mut claim["spec"]),
    begin: |claim| claim["status"] = json!({}),
    check_change: |change| {
        check(change.next, |claim| {
            claim.child("spec").kept(&change.before["spec"])
        })
    },
    ..Rules::NONE
};

/// ResourceClaimTemplates.
pub(crate) const CLAIM_TEMPLATES: Rules = Rules {
    default: |template| default_requests(&mut template["spec"]["spec"]),
    check_change: |change| {
        check(change.next, |template| {
            template.child("spec").kept(&change.before["spec"])
        })
    },
    ..Rules::NONE
};

/// ResourceSlices.
pub(crate) const SLICES: Rules = Rules {
    check_new: |slice| check(slice, |slice| check_slice(&slice.child("spec"))),
    check_change: |change| {
        check(change.next, |slice| {
            let (spec, old) = (slice.child("spec"), &change.before["spec"]);
            check_slice(&spec);
            let pool = spec.child("pool");
            pool.child("name")
                .immutable(pool.child("name").with_value(&old["pool"]["name"]));
            for name in ["driver", "nodeName"] {
                spec.child(name)
                    .immutable(spec.child(name).with_value(&old[name]));
            }
        })
    },
    ..Rules::NONE
};

fn default_requests(spec: &mut Value) {
    for request in each(&mut spec["devices"], "requests") {
        if let Some(exact) = crate::tree::part(request, "exactly") {
            default_request(exact);
        }
        each(request, "firstAvailable").for_each(default_request);
    }
}

fn default_request(request: &mut Value) {
    fill(request, "allocationMode", "ExactCount");
    if request["allocationMode"] == "ExactCount"
        && request["count"].as_i64().unwrap_or_default() == 0
    {
        request["count"] = json!(1);
    }
    each(request, "tolerations").for_each(|toleration| fill(toleration, "operator", "Equal"));
}

fn check_slice(spec: &Field<'_, '_>) {
    check_driver_name(&spec.child("driver"));
    let owners = [
        "nodeName",
        "nodeSelector",
        "allNodes",
        "perDeviceNodeSelection",
    ];
    let quoted = owners.map(|name| format!("`{name}`"));
    let given: Vec<&str> = owners
        .iter()
        .zip(&quoted)
        .filter(|(name, _)| !spec.child(name).is_empty())
        .map(|(_, quoted)| quoted.as_str())
        .collect();
    let needed = format!("exactly one of {} is required", quoted.join(", "));
    if !spec.child("nodeName").is_empty() {
        spec.child("nodeName").dns_subdomain();
    }
    match given.len() {
        0 => spec.required(&needed),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", given.join(", "));
            spec.invalid_value(&shown, &format!("{needed}, but multiple fields are set"));
        }
    }
}
