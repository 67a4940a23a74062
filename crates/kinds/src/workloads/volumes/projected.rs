//! Volumes made of keys, tokens and what a pod says of itself.

use listwatch_api::name;
use serde_json::Value;

use super::{check_key_to_path, need_all};
use crate::field::{Field, LabelValues, check_label_selector};
use crate::workloads::env::{check_field_reference, check_resource_reference};
use crate::workloads::shown;

const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
const KEY_TYPES: [&str; 6] = [
    "RSA3072",
    "RSA4096",
    "ECDSAP256",
    "ECDSAP384",
    "ECDSAP521",
    "ED25519",
];
const FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Files under this path, all reported under the volume's own.
pub(super) fn check_downward(source: &Field<'_, '_>) {
    source.child("defaultMode").file_mode();
    source.child("defaultUser").user_id();
    for file in source.child("items").elements() {
        check_downward_file(&source.with_value(file.value()));
    }
}

fn check_downward_file(file: &Field<'_, '_>) {
    need_all(file, &["path"]);
    file.child("path").unreserved_path();
    let (field, resource) = (file.child("fieldRef"), file.child("resourceFieldRef"));
    if field.is_set() {
        check_field_reference(&field, &FIELDS);
        if resource.is_set() {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            file.invalid_value("resource", why);
        }
    } else if resource.is_set() {
        check_resource_reference(&resource, Some("containerName"));
    } else {
        file.required("one of fieldRef and resourceFieldRef is required");
    }
    file.child("mode").file_mode();
    file.child("user").user_id();
}

type Projection<'v> = fn(&Field<'v, '_>, &Field<'v, '_>, &mut Paths<'v>);

pub(super) fn check_projected<'v>(volume: &Field<'v, '_>) {
    volume.child("defaultMode").file_mode();
    volume.child("defaultUser").user_id();
    let mut paths = Paths::default();
    for source in volume.child("sources").elements() {
        let kinds: [(&str, Projection<'v>); 6] = [
            ("secret", check_keys),
            ("configMap", check_keys),
            ("downwardAPI", check_downward_source),
            ("serviceAccountToken", check_token),
            ("clusterTrustBundle", check_trust_bundle),
            ("podCertificate", check_certificate),
        ];
        let mut count = 0;
        for (kind, rule) in kinds {
            if let Some(projection) = source.given(kind) {
                count += 1;
                rule(volume, &projection, &mut paths);
            }
        }
        if count > 1 {
            source.forbidden("may not specify more than 1 volume type per source");
        }
    }
}

/// The paths that are taken.
#[derive(Default)]
struct Paths<'v>(Vec<&'v str>);

impl<'v> Paths<'v> {
    /// Refuses a path that is taken, showing `shown`, and takes it.
    fn take(&mut self, volume: &Field<'_, '_>, path: &'v str, shown: &str) {
        if self.0.contains(&path) {
            volume.invalid_value(shown, "conflicting duplicate paths");
        } else {
            self.0.push(path);
        }
    }
}

/// The fields of one walk share their lifetimes; a path taken from one outlives the other.
fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

fn check_keys<'v>(volume: &Field<'v, '_>, source: &Field<'v, '_>, paths: &mut Paths<'v>) {
    let name = source.child("name");
    name.need();
    for item in source.child("items").elements() {
        check_key_to_path(&item);
        let path = text_of(item.value(), "path");
        if !path.is_empty() {
            paths.take(volume, path, name.text());
        }
    }
}

fn check_downward_source<'v>(
    volume: &Field<'v, '_>,
    source: &Field<'v, '_>,
    paths: &mut Paths<'v>,
) {
    for file in source.child("items").elements() {
        check_downward_file(&source.with_value(file.value()));
        let path = text_of(file.value(), "path");
        if !path.is_empty() {
            paths.take(volume, path, path);
        }
    }
}

fn check_token<'v>(volume: &Field<'v, '_>, token: &Field<'v, '_>, _: &mut Paths<'v>) {
    let seconds = token.child("expirationSeconds");
    match seconds.integer() {
        None => seconds.required(""),
        Some(..TOKEN_SECONDS_MIN) => {
            seconds.invalid("may not specify a duration less than 10 minutes");
        }
        Some(number) if number > TOKEN_SECONDS_MAX => {
            seconds.invalid("may not specify a duration larger than 2^32 seconds");
        }
        Some(_) => {}
    }
    // Kubernetes reports the path as if it were the volume's own.
    let path = token.child("path");
    let place = volume.child("path");
    let place = place.with_value(path.value());
    if place.need() {
        place.unreserved_path();
    }
    token.child("user").user_id();
}

fn check_trust_bundle<'v>(volume: &Field<'v, '_>, bundle: &Field<'v, '_>, paths: &mut Paths<'v>) {
    let (name, signer) = (bundle.child("name"), bundle.child("signerName"));
    match (name.is_set(), signer.is_set()) {
        (true, true) => {
            let shown = shown::compact(bundle.value(), "ClusterTrustBundleProjection");
            bundle.invalid_value(shown, "only one of name and signerName may be used");
        }
        (true, false) => {
            name.need_because("must be a valid object name");
            for problem in name::check_dns_subdomain(name.text()) {
                name.invalid(&format!("not a valid clustertrustbundlename: {problem}"));
            }
            if bundle.child("labelSelector").is_set() {
                let why = "labelSelector must be unset if name is specified";
                bundle.child("labelSelector").invalid(why);
            }
        }
        (false, true) => {
            signer.need_because("must be a valid signer name");
            check_label_selector(&bundle.child("labelSelector"), LabelValues::Checked);
        }
        (false, false) => bundle.required("either name or signerName must be specified"),
    }
    let path = bundle.child("path");
    path.need();
    bundle.child("user").user_id();
    path.unreserved_path();
    let path = text_of(bundle.value(), "path");
    paths.take(volume, path, path);
}

fn check_certificate<'v>(
    volume: &Field<'v, '_>,
    certificate: &Field<'v, '_>,
    paths: &mut Paths<'v>,
) {
    certificate.child("user").user_id();
    certificate.child("keyType").one_of(&KEY_TYPES);
    let seconds = certificate.child("maxExpirationSeconds");
    if seconds.integer().is_some_and(|seconds| seconds < 3_600) {
        seconds.invalid("if provided, maxExpirationSeconds must be >= 3600");
    }
    let files = ["credentialBundlePath", "keyPath", "certificateChainPath"];
    let mut is_anywhere = false;
    for file in files.map(|member| certificate.child(member)) {
        if !file.is_empty() {
            is_anywhere = true;
            file.unreserved_path();
            paths.take(volume, file.text(), file.text());
        }
    }
    if !is_anywhere {
        let why = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        certificate.required(why);
    }
}
