//! Downloads what the tables are made from, into folders that git ignores.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{progress, workspace};

const PYTHON_PACKAGE: &str = "kubernetes-validate";
const PYTHON_VERSION: &str = "1.37.0";
const GO_VERSION: &str = "v0.37.2";
const GO_MODULES: [&str; 4] = [
    "api",
    "apimachinery",
    "apiextensions-apiserver",
    "kube-aggregator",
];

/// The file with the JSON schema of all types.
pub(super) fn json_schema() -> Result<PathBuf> {
    let folder = workspace::tools().join(format!("{PYTHON_PACKAGE}-{PYTHON_VERSION}"));
    if !folder.exists() {
        let mut install = Command::new("python3");
        install
            .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(&folder)
            .arg(format!("{PYTHON_PACKAGE}=={PYTHON_VERSION}"));
        progress::command(&mut install)?;
    }
    let schemas = folder.join("kubernetes_validate/kubernetes-json-schema");
    Ok(schemas.join(format!("v{PYTHON_VERSION}-local/_definitions.json")))
}

/// The folders of the Go modules, by the module's last name.
pub(super) fn go_modules() -> Result<BTreeMap<&'static str, PathBuf>> {
    let folder = |name| Ok((name, go_module(name)?));
    GO_MODULES.into_iter().map(folder).collect()
}

fn go_module(name: &str) -> Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json"])
        .arg(format!("k8s.io/{name}@{GO_VERSION}"))
        .output()
        .context("cannot run go")?;
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    let folder = answer["Dir"].as_str().with_context(|| {
        let error = answer["Error"].as_str().unwrap_or("no reason given");
        format!("cannot download k8s.io/{name}: {error}")
    })?;
    Ok(PathBuf::from(folder))
}

/// The texts of a Go package that people wrote, in the order of their names.
pub(super) fn go_texts(folder: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let written = !name.ends_with("_test.go") && !name.contains("generated");
        if name.ends_with(".go") && written {
            paths.push(path);
        }
    }
    paths.sort();
    paths
        .iter()
        .map(|path| Ok(fs::read_to_string(path)?))
        .collect()
}
