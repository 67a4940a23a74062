//! Files of one volume that stand in each other's way.

use listwatch_api::{FieldError, FieldErrorKind, go_text};
use serde_json::Value;

use crate::field::Field;
use crate::tree::{list, text};

/// A file, and what it is made of where a volume has several sources.
#[derive(Clone, PartialEq, Eq)]
struct File<'v> {
    path: &'v str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        let path = go_text::quote(self.path);
        match self.source.as_str() {
            "" => path,
            source => format!("{path} ({source})"),
        }
    }

    fn is_in_the_way_of(&self, other: &Self) -> bool {
        let is_inside = |inner: &str, outer: &str| {
            inner
                .strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.path.is_empty()
            && !other.path.is_empty()
            && (is_inside(self.path, other.path) || is_inside(other.path, self.path))
    }
}

/// Tells of all volumes.
pub(super) fn tell(volumes: &Field<'_, '_>) {
    for volume in volumes.elements() {
        let value = volume.value();
        for (kind, word, name) in [
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ] {
            let source = &value[kind];
            let files = files(source, "");
            // One file is in nobody's way.
            if files.len() < 2 {
                continue;
            }
            let described = match name {
                "" => word.to_owned(),
                name => format!("{word} {}", go_text::quote(text(source, name))),
            };
            tell_files(&volume, &described, &files);
        }
        tell_projected(&volume);
    }
}

fn files<'v>(source: &'v Value, described: &str) -> Vec<File<'v>> {
    let items = list(source, "items").iter();
    let file = |item: &'v Value| File {
        path: text(item, "path").trim_end_matches('/'),
        source: described.to_owned(),
    };
    items.map(file).collect()
}

fn tell_projected(volume: &Field<'_, '_>) {
    let mut all = Vec::new();
    for source in list(&volume.value()["projected"], "sources") {
        if source.as_object().is_some_and(serde_json::Map::is_empty) {
            let name = go_text::quote(volume.child("name").text());
            say(
                volume,
                format!("volume {name} (Projected) has no sources provided"),
            );
            continue;
        }
        for file in files_of(source) {
            tell_file(volume, "Projected", &file, &all);
            all.push(file);
        }
    }
}

fn files_of(source: &Value) -> Vec<File<'_>> {
    let mut all = Vec::new();
    for (kind, word) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let name = go_text::quote(text(&source[kind], "name"));
        all.extend(files(&source[kind], &format!("{word} {name}")));
    }
    all.extend(files(&source["downwardAPI"], "DownwardAPI"));
    if let Some(path) = source["serviceAccountToken"]["path"].as_str() {
        all.push(File {
            path: path.trim_end_matches('/'),
            source: "ServiceAccountToken".to_owned(),
        });
    }
    all
}

fn tell_files(volume: &Field<'_, '_>, described: &str, files: &[File<'_>]) {
    for (index, file) in files.iter().enumerate() {
        tell_file(volume, described, file, &files[..index]);
    }
}

fn tell_file(volume: &Field<'_, '_>, described: &str, file: &File<'_>, others: &[File<'_>]) {
    for other in others.iter().filter(|other| file.is_in_the_way_of(other)) {
        let name = go_text::quote(volume.child("name").text());
        let both = format!("{} with {}", file.shown(), other.shown());
        say(
            volume,
            format!("volume {name} ({described}): overlapping paths: {both}"),
        );
    }
}

/// Says something of no field in particular.
fn say(volume: &Field<'_, '_>, text: String) {
    volume.report(|_| FieldError {
        field: String::new(),
        kind: FieldErrorKind::Invalid,
        body: text,
    });
}
