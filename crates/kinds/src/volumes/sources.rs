//! Where a volume's bytes are.

use listwatch_api::name;
use serde_json::{Map, Value};

use crate::field::Field;
use crate::storage::check_driver_name;
use crate::struct_diff::Shape;

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

/// A kind of source and its own check.
type Source = (&'static str, fn(&Field<'_, '_>));

/// All sources, in the order in which they are looked at.
const SOURCES: [Source; 22] = [
    ("hostPath", check_host_path),
    ("gcePersistentDisk", |source| need_all(source, &["pdName"])),
    ("awsElasticBlockStore", |source| {
        need_all(source, &["volumeID"])
    }),
    ("glusterfs", |source| {
        need_all(source, &["endpoints", "path"])
    }),
    ("flocker", |_| {}),
    ("nfs", check_nfs),
    ("rbd", |source| need_all(source, &["monitors", "image"])),
    ("quobyte", |source| {
        need_all(source, &["registry", "volume"])
    }),
    ("cephfs", |source| need_all(source, &["monitors"])),
    ("iscsi", |source| need_all(source, &["targetPortal", "iqn"])),
    ("cinder", |source| need_all(source, &["volumeID"])),
    ("fc", check_fibre_channel),
    ("flexVolume", |source| need_all(source, &["driver"])),
    ("azureFile", |source| {
        need_all(source, &["secretName", "shareName"])
    }),
    ("vsphereVolume", |source| need_all(source, &["volumePath"])),
    ("photonPersistentDisk", |source| need_all(source, &["pdID"])),
    ("portworxVolume", |source| need_all(source, &["volumeID"])),
    ("azureDisk", |source| {
        need_all(source, &["diskName", "diskURI"])
    }),
    ("scaleIO", |source| {
        need_all(source, &["gateway", "system", "volumeName"])
    }),
    ("local", check_local),
    ("storageos", |_| {}),
    ("csi", check_csi),
];

/// Checks that a volume has one source, and that one.
pub(super) fn check_sources(spec: &Field<'_, '_>) {
    let mut count = 0;
    for (name, rule) in SOURCES {
        let source = spec.child(name);
        if !source.is_set() {
            continue;
        }
        if count > 0 && name != "flexVolume" {
            source.forbidden("may not specify more than 1 volume type");
            continue;
        }
        count += 1;
        rule(&source);
        if name == "local" && !spec.child("nodeAffinity").is_set() {
            spec.child("nodeAffinity")
                .required("Local volume requires node affinity");
        }
    }
    if count == 0 {
        spec.required("must specify a volume type");
    }
    let is_root = spec.value()["hostPath"]["path"]
        .as_str()
        .is_some_and(|path| {
            !path.is_empty() && path.split('/').all(|part| matches!(part, "" | "."))
        });
    if is_root && spec.value()["persistentVolumeReclaimPolicy"] == "Recycle" {
        let policy = spec.child("persistentVolumeReclaimPolicy");
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'");
    }
}

/// The sources that a volume has, alone.
pub(super) fn given(spec: &Value) -> Value {
    let mut given = Map::new();
    for (name, _) in SOURCES {
        if let Some(source) = spec.get(name) {
            given.insert(name.to_owned(), source.clone());
        }
    }
    Value::Object(given)
}

fn need_all(source: &Field<'_, '_>, members: &[&str]) {
    for member in members {
        source.child(member).need();
    }
}

fn check_host_path(source: &Field<'_, '_>) {
    let path = source.child("path");
    if !path.need() {
        return;
    }
    path.no_backsteps();
    if let Some(kind) = source.given("type") {
        kind.one_of(&HOST_PATH_TYPES);
    }
}

fn check_local(source: &Field<'_, '_>) {
    if source.child("path").need() {
        source.child("path").no_backsteps();
    }
}

fn check_nfs(source: &Field<'_, '_>) {
    need_all(source, &["server", "path"]);
    let path = source.child("path");
    if !path.text().starts_with('/') {
        path.invalid_value(path.text(), "must be an absolute path");
    }
}

fn check_fibre_channel(source: &Field<'_, '_>) {
    let (names, ids, unit) = (
        source.child("targetWWNs"),
        source.child("wwids"),
        source.child("lun"),
    );
    match (names.is_empty(), ids.is_empty()) {
        (true, true) => names.required("must specify either targetWWNs or wwids, but not both"),
        (false, false) => names.invalid("targetWWNs and wwids can not be specified simultaneously"),
        _ => {}
    }
    if !names.is_empty() {
        if unit.is_set() {
            unit.within(0, 255);
        } else {
            unit.required("lun is required if targetWWNs is specified");
        }
    }
}

fn check_csi(source: &Field<'_, '_>) {
    check_driver_name(&source.child("driver"));
    source.child("volumeHandle").need();
    let secrets = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for secret in secrets {
        if let Some(secret) = source.given(secret) {
            secret.child("name").need_named(name::check_dns_subdomain);
            secret.child("namespace").need_named(name::check_dns_label);
        }
    }
}

/// Sources as Go shows them. The members of rarer ones are shown under their own names.
pub(super) const SHAPE: Shape = Shape::Struct(&[
    ("GCEPersistentDisk", "gcePersistentDisk", Shape::Plain),
    ("AWSElasticBlockStore", "awsElasticBlockStore", Shape::Plain),
    (
        "HostPath",
        "hostPath",
        Shape::Pointer(&[
            ("Path", "path", Shape::Text),
            ("Type", "type", Shape::Plain),
        ]),
    ),
    ("Glusterfs", "glusterfs", Shape::Plain),
    (
        "NFS",
        "nfs",
        Shape::Pointer(&[
            ("Server", "server", Shape::Text),
            ("Path", "path", Shape::Text),
            ("ReadOnly", "readOnly", Shape::Flag),
        ]),
    ),
    ("RBD", "rbd", Shape::Plain),
    ("ISCSI", "iscsi", Shape::Plain),
    ("Cinder", "cinder", Shape::Plain),
    ("CephFS", "cephfs", Shape::Plain),
    ("FC", "fc", Shape::Plain),
    ("Flocker", "flocker", Shape::Plain),
    ("FlexVolume", "flexVolume", Shape::Plain),
    ("AzureFile", "azureFile", Shape::Plain),
    ("VsphereVolume", "vsphereVolume", Shape::Plain),
    ("Quobyte", "quobyte", Shape::Plain),
    ("AzureDisk", "azureDisk", Shape::Plain),
    ("PhotonPersistentDisk", "photonPersistentDisk", Shape::Plain),
    ("PortworxVolume", "portworxVolume", Shape::Plain),
    ("ScaleIO", "scaleIO", Shape::Plain),
    (
        "Local",
        "local",
        Shape::Pointer(&[
            ("Path", "path", Shape::Text),
            ("FSType", "fsType", Shape::Plain),
        ]),
    ),
    ("StorageOS", "storageos", Shape::Plain),
    (
        "CSI",
        "csi",
        Shape::Pointer(&[
            ("Driver", "driver", Shape::Text),
            ("VolumeHandle", "volumeHandle", Shape::Text),
            ("ReadOnly", "readOnly", Shape::Flag),
            ("FSType", "fsType", Shape::Text),
            ("VolumeAttributes", "volumeAttributes", Shape::Plain),
            (
                "ControllerPublishSecretRef",
                "controllerPublishSecretRef",
                SECRET,
            ),
            ("NodeStageSecretRef", "nodeStageSecretRef", SECRET),
            ("NodePublishSecretRef", "nodePublishSecretRef", SECRET),
            (
                "ControllerExpandSecretRef",
                "controllerExpandSecretRef",
                SECRET,
            ),
            ("NodeExpandSecretRef", "nodeExpandSecretRef", SECRET),
        ]),
    ),
]);

const SECRET: Shape = Shape::Pointer(&[
    ("Name", "name", Shape::Text),
    ("Namespace", "namespace", Shape::Text),
]);
