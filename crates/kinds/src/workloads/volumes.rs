//! The volumes of a pod.

use listwatch_api::name;
use serde_json::Value;

use super::claims;
use crate::field::{Check, Field, Quantity};

mod projected;
mod remote;

const ONE_TYPE: &str = "may not specify more than 1 volume type";
pub(super) const IS_NO_FILE_MODE: &str =
    "must be a number between 0 and 0777 (octal), both inclusive";
const IS_NO_DIRECTORY_MODE: &str = "must be a number between 0 and 01777 (octal), both inclusive";
const HOST_PATH_TYPES: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];
/// The largest id that a user or a group can have.
const ID_MAX: i64 = i32::MAX as i64;

/// The volumes that containers can mount: those with nothing wrong.
#[derive(Default)]
pub(super) struct Volumes<'v>(Vec<(&'v str, &'v Value)>);

impl<'v> Volumes<'v> {
    pub(super) fn find(&self, name: &str) -> Option<&'v Value> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, volume)| *volume)
    }
}

/// Checks all volumes of a pod whose metadata is given, and returns the good ones.
pub(super) fn check_volumes<'v>(volumes: &Field<'v, '_>, metadata: &Value) -> Volumes<'v> {
    let pod_name = metadata["name"].as_str().unwrap_or_default();
    let mut good = Volumes::default();
    for volume in volumes.elements() {
        let name = volume.child("name");
        let is_good = volume.passes(|volume| {
            check_source(volume, pod_name);
            name.need_named(name::check_dns_label);
            if good.find(name.text()).is_some() {
                name.duplicate();
            }
        });
        if is_good {
            good.0.push((name.text(), volume.value()));
        }
        refuse_created_claim(&volume, volumes, pod_name);
    }
    good
}

/// A claim that is made for the pod cannot be named by another volume of it.
fn refuse_created_claim(volume: &Field<'_, '_>, volumes: &Field<'_, '_>, pod_name: &str) {
    let Some(claim) = volume.given("persistentVolumeClaim") else {
        return;
    };
    let claim = claim.child("claimName");
    let own = claim
        .text()
        .strip_prefix(pod_name)
        .and_then(|rest| rest.strip_prefix('-'));
    let is_created = |other: Field<'_, '_>| {
        other.child("ephemeral").is_set() && Some(other.child("name").text()) == own
    };
    if !pod_name.is_empty() && volumes.elements().any(is_created) {
        claim.invalid("must not reference a PVC that gets created for an ephemeral volume");
    }
}

/// The order in which types of volumes are looked at, and so in which the second one is refused.
const SOURCES: [(&str, Check); 30] = [
    ("emptyDir", check_directory),
    ("hostPath", check_host_path),
    ("gitRepo", remote::check_git_repository),
    ("gcePersistentDisk", remote::check_gce_disk),
    ("awsElasticBlockStore", remote::check_aws_disk),
    ("secret", |secret| check_files(secret, "secretName")),
    ("nfs", remote::check_nfs),
    ("iscsi", remote::check_iscsi),
    ("glusterfs", |source| {
        need_all(source, &["endpoints", "path"])
    }),
    ("flocker", remote::check_flocker),
    ("persistentVolumeClaim", |source| {
        need_all(source, &["claimName"])
    }),
    ("rbd", |source| need_all(source, &["monitors", "image"])),
    ("cinder", remote::check_cinder),
    ("cephfs", |source| need_all(source, &["monitors"])),
    ("quobyte", remote::check_quobyte),
    ("downwardAPI", projected::check_downward),
    ("fc", remote::check_fibre_channel),
    ("flexVolume", remote::check_flex),
    ("configMap", |map| check_files(map, "name")),
    ("azureFile", |source| {
        need_all(source, &["secretName", "shareName"])
    }),
    ("vsphereVolume", |source| need_all(source, &["volumePath"])),
    ("photonPersistentDisk", |source| need_all(source, &["pdID"])),
    ("portworxVolume", |source| need_all(source, &["volumeID"])),
    ("azureDisk", remote::check_azure_disk),
    ("storageos", remote::check_storage_os),
    ("projected", projected::check_projected),
    ("scaleIO", |source| {
        need_all(source, &["gateway", "system", "volumeName"])
    }),
    ("csi", remote::check_csi),
    ("ephemeral", claims::check_ephemeral),
    ("image", check_image),
];

fn check_source(volume: &Field<'_, '_>, pod_name: &str) {
    let mut given = volume.entries().filter(|(kind, _)| *kind != "name");
    let only = match (given.next(), given.next()) {
        (Some((kind, _)), None) => Some(kind),
        _ => None,
    };
    let mut has_source = false;
    for (kind, rule) in SOURCES {
        if only.is_none_or(|only| only == kind) {
            check_one(volume, kind, rule, &mut has_source);
        }
    }
    if volume.child("ephemeral").is_set() {
        check_created_name(volume, pod_name);
    }
    if !has_source {
        volume.required("must specify a volume type");
    }
}

fn check_one(volume: &Field<'_, '_>, kind: &str, rule: Check, has_source: &mut bool) {
    let Some(source) = volume.given(kind) else {
        return;
    };
    // Kubernetes calls three of them otherwise in what it says.
    if *has_source {
        volume
            .child(match kind {
                "cephfs" => "cephFS",
                "downwardAPI" => "downwarAPI",
                kind => kind,
            })
            .forbidden(ONE_TYPE);
    } else {
        *has_source = true;
        let place = match kind {
            "gcePersistentDisk" => volume.child("persistentDisk"),
            _ => source,
        };
        rule(&place.with_value(source.value()));
    }
}

fn check_created_name(volume: &Field<'_, '_>, pod_name: &str) {
    let name = volume.child("name");
    if pod_name.is_empty() || name.is_empty() {
        return;
    }
    let claim = format!("{pod_name}-{}", name.text());
    for problem in name::check_dns_subdomain(&claim) {
        name.invalid(&format!("PVC name \"{claim}\": {problem}"));
    }
}

fn check_directory(directory: &Field<'_, '_>) {
    let limit = directory.child("sizeLimit");
    if limit.quantity() < Quantity::ZERO {
        limit.forbidden("SizeLimit field must be a valid resource quantity");
    }
    let mode = directory.child("mode");
    if mode
        .integer()
        .is_some_and(|mode| !(0..=0o1777).contains(&mode))
    {
        mode.invalid(IS_NO_DIRECTORY_MODE);
    }
}

fn check_host_path(source: &Field<'_, '_>) {
    let path = source.child("path");
    if path.need() {
        path.no_backsteps();
        source.child("type").one_of(&HOST_PATH_TYPES);
    }
}

fn check_files(source: &Field<'_, '_>, name: &str) {
    source.child(name).need();
    source.child("defaultMode").file_mode();
    source.child("defaultUser").user_id();
    source
        .child("items")
        .elements()
        .for_each(|item| check_key_to_path(&item));
}

fn check_key_to_path(item: &Field<'_, '_>) {
    need_all(item, &["key", "path"]);
    item.child("path").unreserved_path();
    item.child("mode").file_mode();
    item.child("user").user_id();
}

fn check_image(image: &Field<'_, '_>) {
    image.child("reference").need();
    image.child("pullPolicy").need_one_of(&super::PULL_POLICIES);
}

/// Demands each of `members`.
fn need_all(source: &Field<'_, '_>, members: &[&str]) {
    for member in members {
        source.child(member).need();
    }
}

impl Field<'_, '_> {
    /// Refuses what is no mode of a file.
    pub(super) fn file_mode(&self) {
        if self
            .integer()
            .is_some_and(|mode| !(0..=0o777).contains(&mode))
        {
            self.invalid(IS_NO_FILE_MODE);
        }
    }

    /// Refuses what is no id of a user or a group.
    pub(super) fn user_id(&self) {
        self.within(0, ID_MAX);
    }

    /// Demands a path inside a volume, apart from names that are kept for its own use.
    pub(super) fn unreserved_path(&self) {
        self.relative_path();
        if self.text().starts_with("..") && !self.text().starts_with("../") {
            self.invalid("must not start with '..'");
        }
    }
}
