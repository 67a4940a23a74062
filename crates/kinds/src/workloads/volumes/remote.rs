//! Volumes that are somewhere else.

use listwatch_api::{FieldError, name};

use super::need_all;
use crate::field::Field;

/// Bytes that the name of a driver may have.
const DRIVER_BYTES_MAX: usize = 63;

pub(super) fn check_git_repository(source: &Field<'_, '_>) {
    source.child("repository").need();
    source.child("directory").relative_path();
}

pub(super) fn check_gce_disk(disk: &Field<'_, '_>) {
    disk.child("pdName").need();
    check_partition(disk);
}

pub(super) fn check_aws_disk(disk: &Field<'_, '_>) {
    disk.child("volumeID").need();
    check_partition(disk);
}

fn check_partition(disk: &Field<'_, '_>) {
    let partition = disk.child("partition");
    if partition
        .integer()
        .is_some_and(|number| !(0..=255).contains(&number))
    {
        partition.invalid("must be between 1 and 255, inclusive");
    }
}

pub(super) fn check_nfs(source: &Field<'_, '_>) {
    need_all(source, &["server", "path"]);
    let path = source.child("path");
    if !path.text().starts_with('/') {
        path.invalid_value(path.text(), "must be an absolute path");
    }
}

pub(super) fn check_iscsi(source: &Field<'_, '_>) {
    source.child("targetPortal").need();
    let name = source.child("iqn");
    if name.need() {
        check_iscsi_name(&name);
    }
    source.child("lun").within(0, 255);
    let is_authenticated = ["chapAuthDiscovery", "chapAuthSession"];
    let is_authenticated = is_authenticated
        .iter()
        .any(|member| source.child(member).is_true());
    if is_authenticated && !source.child("secretRef").is_set() {
        source.child("secretRef").required("");
    }
    if let Some(initiator) = source.given("initiatorName") {
        let place = source.child("initiatorname");
        check_iscsi_name(&place.with_value(initiator.value()));
    }
}

fn check_iscsi_name(name: &Field<'_, '_>) {
    let text = name.text();
    let is_good = match text.get(..3) {
        Some("iqn") => text.as_bytes().get(3) == Some(&b'.') && text.contains(':'),
        Some("eui") => is_word(&text[3..], 16),
        Some("naa") => is_word(&text[3..], 32),
        _ => {
            return name.invalid("must be valid format starting with iqn, eui, or naa");
        }
    };
    if !is_good {
        name.invalid("must be valid format");
    }
}

fn is_word(text: &str, length: usize) -> bool {
    let mut characters = text.chars();
    characters.next();
    let rest = characters.as_str();
    rest.len() == length && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub(super) fn check_flocker(source: &Field<'_, '_>) {
    let (name, uuid) = (source.child("datasetName"), source.child("datasetUUID"));
    match (name.is_empty(), uuid.is_empty()) {
        (true, true) => source.required("one of datasetName and datasetUUID is required"),
        (false, false) => {
            let why = "datasetName and datasetUUID can not be specified simultaneously";
            source.invalid_value("resource", why);
        }
        _ => {}
    }
    if name.text().contains('/') {
        name.invalid("must not contain '/'");
    }
}

pub(super) fn check_cinder(source: &Field<'_, '_>) {
    source.child("volumeID").need();
    if let Some(secret) = source.given("secretRef") {
        secret.child("name").need();
    }
}

pub(super) fn check_quobyte(source: &Field<'_, '_>) {
    let registry = source.child("registry");
    let pairs = "must be a host:port pair or multiple pairs separated by commas";
    if registry.is_empty() {
        registry.required(pairs);
    } else if source.child("tenant").text().len() >= 65 {
        let why = "must be a UUID and may not exceed a length of 64 characters";
        source.child("tenant").required(why);
    } else {
        let wrong = registry
            .text()
            .split(',')
            .filter(|pair| pair.split(':').count() != 2);
        wrong.for_each(|_| registry.invalid(pairs));
    }
    source.child("volume").need();
}

pub(super) fn check_fibre_channel(source: &Field<'_, '_>) {
    let (targets, ids) = (source.child("targetWWNs"), source.child("wwids"));
    match (targets.is_empty(), ids.is_empty()) {
        (true, true) => {
            targets.required("must specify either targetWWNs or wwids, but not both");
        }
        (false, false) => {
            targets.invalid("targetWWNs and wwids can not be specified simultaneously");
        }
        _ => {}
    }
    let lun = source.child("lun");
    if !targets.is_empty() && !lun.is_set() {
        lun.required("lun is required if targetWWNs is specified");
    } else if !targets.is_empty() {
        lun.within(0, 255);
    }
}

pub(super) fn check_flex(source: &Field<'_, '_>) {
    source.child("driver").need();
    for (key, option) in source.child("options").entries() {
        let namespace = key.split_once('/').map_or(key, |(namespace, _)| namespace);
        let namespace = format!(".{}", namespace.to_lowercase());
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            option.invalid_value(key, "kubernetes.io and k8s.io namespaces are reserved");
        }
    }
}

pub(super) fn check_azure_disk(disk: &Field<'_, '_>) {
    need_all(disk, &["diskName", "diskURI"]);
    let (mode, kind, address) = (
        disk.child("cachingMode"),
        disk.child("kind"),
        disk.child("diskURI"),
    );
    if mode.is_set() {
        mode.one_of(&["None", "ReadOnly", "ReadWrite"]);
    }
    if kind.is_set() {
        kind.one_of(&["Dedicated", "Managed", "Shared"]);
    }
    let (prefix, form) = match kind.text() {
        "Managed" => (
            "/subscriptions/",
            "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/\
             disks/{disk-id}",
        ),
        _ => (
            "https://",
            "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd",
        ),
    };
    if kind.is_set() && !address.text().starts_with(prefix) {
        address.report(|path| FieldError::not_supported(path, address.text(), &[form]));
    }
}

pub(super) fn check_storage_os(source: &Field<'_, '_>) {
    source.child("volumeName").need_named(name::check_dns_label);
    if !source.child("volumeNamespace").is_empty() {
        source.child("volumeNamespace").dns_label();
    }
    if let Some(secret) = source.given("secretRef") {
        secret.child("name").need();
    }
}

pub(super) fn check_csi(source: &Field<'_, '_>) {
    let driver = source.child("driver");
    if driver.need() {
        if driver.text().len() > DRIVER_BYTES_MAX {
            driver.report(|path| FieldError::too_long(path, DRIVER_BYTES_MAX));
        }
        for problem in name::check_dns_subdomain(&driver.text().to_lowercase()) {
            driver.invalid(&problem);
        }
    }
    if let Some(secret) = source.given("nodePublishSecretRef") {
        let secret = secret.child("name");
        if secret.need() {
            for problem in name::check_dns_subdomain(secret.text()) {
                source.child("name").invalid_value(secret.text(), &problem);
            }
        }
    }
}
