//! Where containers see the volumes of their pod.

use serde_json::Value;

use super::volumes::Volumes;
use crate::field::Field;

const READ_ONLY_MODES: [&str; 3] = ["Disabled", "Enabled", "IfPossible"];
const PROPAGATIONS: [&str; 3] = ["Bidirectional", "HostToContainer", "None"];
const BIND_OPTIONS: [&str; 3] = ["nodev", "noexec", "nosuid"];

pub(super) fn check_mounts(
    mounts: &Field<'_, '_>,
    devices: &Field<'_, '_>,
    context: &Field<'_, '_>,
    volumes: &Volumes<'_>,
) {
    let mut paths = Vec::new();
    for mount in mounts.elements() {
        let [path, name] = mount.members(["mountPath", "name"]);
        name.need();
        if volumes.find(name.text()).is_none() {
            name.with_value(&text(name.text())).not_found();
        }
        path.need();
        if paths.contains(&path.text()) {
            path.invalid_value(path.text(), "must be unique");
        }
        paths.push(path.text());
        if has(devices, "name", name.text()) {
            name.invalid("must not already exist in volumeDevices");
        }
        if is_path_of(devices, "devicePath", path.text()) {
            path.invalid("must not already exist as a path in volumeDevices");
        }
        // Most say no more than what is seen where.
        if mount.count() > 2 {
            check_subpaths(mounts, &mount);
            check_mode(context, mounts, &mount);
            check_bind_options(&mount, volumes);
        }
    }
}

/// Whether one of the list has this path. Of several with the same name, the last one counts.
fn is_path_of(list: &Field<'_, '_>, member: &str, wanted: &str) -> bool {
    let mut places = list.elements().enumerate();
    places.any(|(index, element)| {
        let name = element.child("name").text();
        let is_last = !list
            .elements()
            .skip(index + 1)
            .any(|other| other.child("name").text() == name);
        is_last && element.child(member).text() == wanted
    })
}

fn text(text: &str) -> Value {
    Value::from(text)
}

fn has(list: &Field<'_, '_>, member: &str, wanted: &str) -> bool {
    list.elements()
        .any(|element| element.child(member).text() == wanted)
}

/// Kubernetes reports these of the whole list, as if it were one mount.
fn check_subpaths(mounts: &Field<'_, '_>, mount: &Field<'_, '_>) {
    let (path, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
    if !path.is_empty() {
        mounts
            .child("subPath")
            .with_value(path.value())
            .relative_path();
    }
    if !expression.is_empty() {
        if !path.is_empty() {
            expression.invalid("subPathExpr and subPath are mutually exclusive");
        }
        mounts
            .child("subPathExpr")
            .with_value(expression.value())
            .relative_path();
    }
}

fn check_mode(context: &Field<'_, '_>, mounts: &Field<'_, '_>, mount: &Field<'_, '_>) {
    let propagation = mount.child("mountPropagation");
    if propagation.is_set() {
        let place = mounts.child("mountPropagation");
        let place = place.with_value(propagation.value());
        place.one_of(&PROPAGATIONS);
        if place.text() == "Bidirectional" && !context.child("privileged").is_true() {
            let why = "Bidirectional mount propagation is available only to privileged containers";
            place.forbidden(why);
        }
    }
    let mode = mount.child("recursiveReadOnly");
    let place = mounts.child("recursiveReadOnly");
    let place = place.with_value(mode.value());
    match mode.text() {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.child("readOnly").is_true() {
                place.forbidden("may only be specified when readOnly is true");
            }
            if propagation.is_set() && propagation.text() != "None" {
                place.forbidden(
                    "may only be specified when mountPropagation is None or not specified",
                );
            }
        }
        _ if mode.is_set() => place.one_of(&READ_ONLY_MODES),
        _ => {}
    }
}

fn check_bind_options(mount: &Field<'_, '_>, volumes: &Volumes<'_>) {
    let options = mount.child("bindMountOptions");
    let mut seen = Vec::new();
    for option in options.elements() {
        option.one_of(&BIND_OPTIONS);
        if seen.contains(&option.text()) {
            option.duplicate();
        }
        seen.push(option.text());
    }
    let volume = volumes.find(mount.child("name").text());
    let is_image = volume.is_some_and(|volume| !volume["image"].is_null());
    if is_image && !options.is_empty() {
        options.invalid("bindMountOptions may not be used with image volumes");
    }
}

pub(super) fn check_devices(
    devices: &Field<'_, '_>,
    mounts: &Field<'_, '_>,
    volumes: &Volumes<'_>,
) {
    let (mut names, mut paths) = (Vec::new(), Vec::new());
    for device in devices.elements() {
        let (name, path) = (device.child("name"), device.child("devicePath"));
        name.need();
        if names.contains(&name.text()) {
            name.invalid("must be unique");
        }
        match volumes.find(name.text()) {
            None => name.with_value(&text(name.text())).not_found(),
            Some(volume) if !is_block(volume) => name.invalid(
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block \
                 mode",
            ),
            Some(_) => {}
        }
        path.need();
        if paths.contains(&path.text()) {
            path.invalid_value(path.text(), "must be unique");
        }
        if path.text().split('/').any(|part| part == "..") {
            path.invalid("can not contain backsteps ('..')");
        } else {
            paths.push(path.text());
        }
        if has(mounts, "name", name.text()) {
            name.invalid("must not already exist in volumeMounts");
        }
        if is_path_of(mounts, "mountPath", path.text()) {
            path.invalid("must not already exist as a path in volumeMounts");
        }
        if !name.is_empty() {
            names.push(name.text());
        }
    }
}

fn is_block(volume: &Value) -> bool {
    ["persistentVolumeClaim", "ephemeral"]
        .iter()
        .any(|source| !volume[*source].is_null())
}
