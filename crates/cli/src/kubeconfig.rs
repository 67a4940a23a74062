//! The file that tells kubectl where a server is.

use std::path::Path;

use anyhow::{Context, Result};

/// Writes a kubeconfig for the server at this address, readable by its owner only.
pub(crate) fn write(path: &Path, url: &str) -> Result<()> {
    use std::{fs::OpenOptions, io::Write, os::unix::fs::OpenOptionsExt};
    let context = || format!("cannot write the kubeconfig {}", path.display());
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).with_context(context)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(context)?;
    file.write_all(text(url).as_bytes()).with_context(context)
}

fn text(url: &str) -> String {
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: listwatch
  cluster:
    server: {url}
users:
- name: listwatch
  user: {{}}
contexts:
- name: listwatch
  context:
    cluster: listwatch
    user: listwatch
    namespace: default
current-context: listwatch
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_names_the_server_and_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("sub/kubeconfig");
        write(&path, "http://127.0.0.1:1").unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.contains("server: http://127.0.0.1:1\n"));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
