//! Makes the schema tables of the built-in kinds from packages that anybody can download:
//! the JSON schema of every type, and the Go types for order, protobuf numbers and zero values.

mod go_source;
mod json_schema;
mod packages;
mod table;

use std::{collections::BTreeSet, fs};

use anyhow::{Context, Result};

use crate::workspace;

const KINDS: &str = "crates/server/src/registry/builtin/kinds.txt";
const TABLES: &str = "crates/server/src/registry/builtin/schema";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Writes all tables anew.
pub(crate) fn run(_arguments: &[String]) -> Result<()> {
    let schema = json_schema::read(&packages::json_schema()?)?;
    let modules = packages::go_modules()?;
    let kinds = fs::read_to_string(workspace::root().join(KINDS)).context(KINDS)?;
    let types = json_schema::reachable(&schema, &roots(&kinds, &schema));
    let folder = workspace::root().join(TABLES);
    fs::create_dir_all(&folder)?;
    for package in packages_of(&types) {
        let source = go_source::read(&modules, &package)?;
        let members = types
            .iter()
            .filter(|name| package_of(name) == package)
            .map(|name| (type_of(name), &schema[name]));
        let text = table::write(&package, members, &source)?;
        let path = folder.join(format!("{}.txt", file_stem(&package)));
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        println!("{TABLES}/{}.txt", file_stem(&package));
    }
    Ok(())
}

/// The types that are served: kinds, their lists, what subresources speak, and all of meta.
fn roots(kinds: &str, schema: &json_schema::Types) -> BTreeSet<String> {
    let mut roots = BTreeSet::new();
    let mut prefix = "";
    for line in kinds.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [] | ["#" | "with" | "field", ..] => {}
            ["api", _, types] => prefix = types.trim_start_matches("types="),
            ["sub", _, kind, _] => match kind.split('/').collect::<Vec<_>>()[..] {
                [group, version, kind] => {
                    let group = group.split('.').next().unwrap_or(group);
                    roots.insert(format!("io.k8s.api.{group}.{version}.{kind}"));
                }
                _ => {
                    roots.insert(format!("{prefix}.{kind}"));
                }
            },
            [_, kind, ..] => {
                roots.insert(format!("{prefix}.{kind}"));
                roots.insert(format!("{prefix}.{kind}List"));
            }
            [_] => {}
        }
    }
    let meta = schema.keys().filter(|name| package_of(name) == META);
    roots.extend(meta.cloned());
    roots.retain(|name| schema.contains_key(name));
    roots
}

fn packages_of(types: &BTreeSet<String>) -> BTreeSet<String> {
    types
        .iter()
        .map(|name| package_of(name).to_owned())
        .collect()
}

fn package_of(type_name: &str) -> &str {
    type_name
        .rsplit_once('.')
        .map_or("", |(package, _)| package)
}

fn type_of(type_name: &str) -> &str {
    type_name
        .rsplit_once('.')
        .map_or(type_name, |(_, name)| name)
}

/// `io.k8s.api.core.v1` becomes `core.v1`.
fn file_stem(package: &str) -> String {
    let mut parts: Vec<&str> = package.rsplit('.').take(2).collect();
    parts.reverse();
    parts.join(".")
}
