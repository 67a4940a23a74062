//! APIServices, and StorageVersionMigrations.

use base64::{Engine, engine::general_purpose::STANDARD};
use listwatch_api::{FieldError, name};
use serde_json::{Value, json};

use crate::bounds::joined;
use crate::condition::check_conditions;
use crate::field::{Field, check};
use crate::rules::{Change, Rules};
use crate::tree::{list, part, text};

const GROUP_PRIORITY_MAX: i64 = 20_000;
const VERSION_PRIORITY_MAX: i64 = 1_000;

/// APIServices. Those that are served here are available from the start; whoever stores one also
/// sets the `lastTransitionTime` of that condition.
pub(crate) const API_SERVICES: Rules = Rules {
    default: |service| {
        if let Some(target) = part(&mut service["spec"], "service")
            && target["port"].is_null()
        {
            target["port"] = json!(443);
        }
    },
    begin: |service| {
        service["status"] = match service["spec"]["service"].is_null() {
            true => json!({"conditions": [{
                "type": "Available", "status": "True", "reason": "Local",
                "message": "Local APIServices are always available",
            }]}),
            false => json!({}),
        };
    },
    check_new: |service| check(service, check_api_service),
    check_change: |change| check(change.next, check_api_service),
    check_status: |change| {
        check(change.next, |service| {
            let status = service.child("status");
            for condition in status.child("conditions").elements() {
                condition
                    .child("status")
                    .one_of(&["True", "False", "Unknown"]);
            }
        })
    },
    ..Rules::NONE
};

/// StorageVersionMigrations.
pub(crate) const MIGRATIONS: Rules = Rules {
    begin: |migration| migration["status"] = json!({}),
    check_new: |migration| check(migration, check_migration),
    check_change: |change| {
        check(change.next, |migration| {
            check_migration(migration);
            let (spec, old) = (migration.child("spec"), &change.before["spec"]);
            if spec.value() != old {
                let shown = shown_migration(spec.value());
                spec.report(|path| FieldError::invalid(path, shown, "field is immutable"));
            }
        })
    },
    check_status: check_migration_status,
    ..Rules::NONE
};

fn check_api_service(service: &Field<'_, '_>) {
    let spec = service.child("spec");
    let (group, version) = (spec.child("group"), spec.child("version"));
    let metadata = service.child("metadata");
    let own_name = metadata.child("name");
    let right = format!("{}.{}", version.text(), group.text());
    if own_name.text() != right && name::check_path_segment(own_name.text()).is_empty() {
        own_name.invalid(&format!(
            "must be `spec.version+\".\"+spec.group`: \"{right}\""
        ));
    }
    if !group.is_empty() {
        group.dns_subdomain();
    } else if version.text() != "v1" {
        group.required("only v1 may have an empty group and it better be legacy kube");
    }
    version.named(name::check_dns_1035_label);
    let priorities = [
        ("groupPriorityMinimum", GROUP_PRIORITY_MAX),
        ("versionPriority", VERSION_PRIORITY_MAX),
    ];
    for (member, most) in priorities {
        let priority = spec.child(member).integer().unwrap_or_default();
        if !(1..=most).contains(&priority) {
            let why = format!("must be positive and less than {most}");
            spec.child(member).invalid_value(priority, &why);
        }
    }
    check_target(&spec);
}

fn check_target(spec: &Field<'_, '_>) {
    let (bundle, insecure) = (spec.child("caBundle"), spec.child("insecureSkipTLSVerify"));
    let Some(target) = spec.given("service") else {
        if !bundle.is_empty() {
            let bytes = STANDARD
                .decode(bundle.text())
                .map_or(0, |bytes| bytes.len());
            let shown = format!("{bytes} bytes");
            bundle.invalid_value(&shown, "local APIServices may not have a caBundle");
        }
        if insecure.is_true() {
            insecure.invalid("local APIServices may not have insecureSkipTLSVerify");
        }
        return;
    };
    target.child("namespace").need();
    target.child("name").need();
    let port = target.child("port").integer().unwrap_or_default();
    if !(1..=65_535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        target.child("port").invalid_value(port, why);
    }
    if insecure.is_true() && !bundle.is_empty() {
        insecure.invalid("may not be true if caBundle is present");
    }
}

fn check_migration(migration: &Field<'_, '_>) {
    let spec = migration.child("spec");
    let resource = spec.child("resource");
    let (name, group) = (resource.child("resource"), resource.child("group"));
    if name.need_because("resource is required to be set")
        && let Some(problems) = joined(&name::check_dns_1035_label(name.text()), ",")
    {
        name.invalid(&problems);
    }
    if !group.is_empty()
        && let Some(problems) = joined(&name::check_dns_subdomain(group.text()), ",")
    {
        group.invalid(&problems);
    }
}

fn shown_migration(spec: &Value) -> listwatch_api::field_error::BadValue {
    let members = [("group", "group"), ("resource", "resource")];
    let resource = crate::bounds::shown(&spec["resource"], &members);
    listwatch_api::field_error::BadValue::json(format!("{{\"Resource\":{resource}}}"))
}

fn check_migration_status(change: Change<'_>) -> Vec<FieldError> {
    let is_true = |object: &Value, kind: &str| {
        let mut conditions = list(&object["status"], "conditions").iter();
        conditions.any(|condition| condition["type"] == kind && condition["status"] == "True")
    };
    check(change.next, |migration| {
        let status = migration.child("status");
        let (version, conditions) = (status.child("resourceVersion"), status.child("conditions"));
        check_conditions(&conditions);
        let had = text(&change.before["status"], "resourceVersion");
        if !had.is_empty() && had != version.text() {
            version.invalid_value(version.text(), "field is immutable");
        }
        if is_true(change.next, "Succeeded") && is_true(change.next, "Failed") {
            conditions
                .invalid("Both success and failed conditions cannot be true at the same time");
        }
        for (kind, word) in [("Succeeded", "Success"), ("Failed", "Failed")] {
            if is_true(change.before, kind) && !is_true(change.next, kind) {
                let why = format!("{word} condition cannot be set to false once it is true");
                conditions.invalid(&why);
            }
        }
    })
}
