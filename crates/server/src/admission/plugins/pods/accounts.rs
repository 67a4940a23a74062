//! As whom pods run: their account, its token and its secrets.

use std::time::Duration;

use listwatch_api::{Status, metadata::generate_name};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Surroundings;
use crate::{
    settings::PodAccounts,
    watch_cache::{Area, Interest},
};

const ACCOUNTS: (&str, &str) = ("", "serviceaccounts");
const DEFAULT_ACCOUNT: &str = "default";
const TOKEN_VOLUME: &str = "kube-api-access-";
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Seconds that the token of a pod is valid.
const TOKEN_SECONDS: u64 = 3_607;

/// How long a pod waits for the default account of a new namespace, which a controller makes.
const ACCOUNT_PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of news that are taken at a time; accounts are looked up anyway.
const NEWS_BYTES_MAX: usize = 64 * 1024;

/// Waits until the account of a pod is known here; for the default one until it is made.
pub(in super::super) async fn await_account(
    surroundings: Surroundings<'_>,
    pod: &Value,
) -> Result<(), Status> {
    let name = stated_account(pod).unwrap_or(DEFAULT_ACCOUNT);
    let Some(namespace) = surroundings.request.namespace.as_deref() else {
        return Ok(());
    };
    if is_mirror(pod) || surroundings.neighbour(ACCOUNTS, name).is_some() {
        return Ok(());
    }
    let (_, accounts) = surroundings.kind(ACCOUNTS.0, ACCOUNTS.1);
    let known = accounts.fresh().await?;
    if name != DEFAULT_ACCOUNT {
        return Ok(());
    }
    let interest = Interest::everything_in(Area::Namespace(namespace.into()));
    let mut watcher = accounts.watch(&interest, known.revision());
    let made = async {
        while surroundings.neighbour(ACCOUNTS, name).is_none() {
            if watcher.next(NEWS_BYTES_MAX).await.is_err() {
                return;
            }
        }
    };
    // Whether it is there now is found by whoever needs it.
    let _ = timeout(ACCOUNT_PATIENCE, made).await;
    Ok(())
}

/// A pod that names no account runs as the default one of its namespace.
pub(in super::super) fn give_account(
    surroundings: Surroundings<'_>,
    pod: &mut Value,
) -> Result<(), Status> {
    let accounts = surroundings.server.settings.pod_accounts;
    if is_mirror(pod) {
        return match (accounts, stated_account(pod)) {
            (PodAccounts::Mounted, Some(_)) => {
                let why = "a mirror pod may not reference service accounts";
                Err(surroundings.forbidden(pod, why))
            }
            _ => Ok(()),
        };
    }
    if stated_account(pod).is_none() && accounts != PodAccounts::None {
        let spec = &mut pod["spec"];
        spec["serviceAccountName"] = json!(DEFAULT_ACCOUNT);
        spec["serviceAccount"] = json!(DEFAULT_ACCOUNT);
    }
    match accounts {
        PodAccounts::None | PodAccounts::Default => Ok(()),
        PodAccounts::Mounted => mount_account(surroundings, pod),
    }
}

fn mount_account(surroundings: Surroundings<'_>, pod: &mut Value) -> Result<(), Status> {
    let name = stated_account(pod).unwrap_or(DEFAULT_ACCOUNT);
    let Some(account) = surroundings.neighbour(ACCOUNTS, name) else {
        let namespace = surroundings.request.namespace.as_deref();
        let namespace = namespace.unwrap_or_default();
        let why = format!(
            "error looking up service account {namespace}/{name}: serviceaccount {name:?} not found"
        );
        return Err(surroundings.forbidden(pod, &why));
    };
    let wish = |of: &Value| of["automountServiceAccountToken"].as_bool();
    if wish(&pod["spec"]).or(wish(&account)).unwrap_or(true) {
        let random = &surroundings.server.settings.random;
        mount_token(&mut pod["spec"], || {
            generate_name(TOKEN_VOLUME, |bound| random.below(bound))
        });
    }
    let stated = pod["spec"]["imagePullSecrets"].as_array();
    let secrets = account["imagePullSecrets"].as_array();
    if let Some(secrets) = secrets.filter(|_| stated.is_none_or(Vec::is_empty)) {
        pod["spec"]["imagePullSecrets"] = json!(secrets);
    }
    Ok(())
}

/// Lets every container see the token of the pod, unless it has something else in that place.
fn mount_token(spec: &mut Value, new_name: impl FnOnce() -> String) {
    let volumes = spec["volumes"].as_array().into_iter().flatten();
    let mut names = volumes.filter_map(|volume| volume["name"].as_str());
    let known = names.find(|name| name.starts_with(TOKEN_VOLUME));
    let known = known.map(str::to_owned);
    let name = known.clone().unwrap_or_else(new_name);
    let mount = json!({"mountPath": TOKEN_PATH, "name": name, "readOnly": true});
    let mut is_needed = false;
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let mounts = container["volumeMounts"].as_array().into_iter().flatten();
            if mounts.clone().any(|mount| mount["mountPath"] == TOKEN_PATH) {
                continue;
            }
            let mounts: Vec<Value> = mounts.cloned().chain([mount.clone()]).collect();
            container["volumeMounts"] = json!(mounts);
            is_needed = true;
        }
    }
    if is_needed && known.is_none() {
        let volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
        let volumes = volumes.into_iter().chain([token_volume(&name)]);
        spec["volumes"] = volumes.collect();
    }
}

fn token_volume(name: &str) -> Value {
    let authority = json!([{"key": "ca.crt", "path": "ca.crt"}]);
    let namespace = json!([{
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    }]);
    json!({
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {"items": authority, "name": "kube-root-ca.crt"}},
                {"downwardAPI": {"items": namespace}},
            ],
        },
    })
}

fn stated_account(pod: &Value) -> Option<&str> {
    let name = pod["spec"]["serviceAccountName"].as_str();
    name.filter(|name| !name.is_empty())
}

fn is_mirror(pod: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    annotations.get("kubernetes.io/config.mirror").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_with_something_in_the_place_of_the_token_keeps_it() {
        let own = json!([{"mountPath": TOKEN_PATH, "name": "own"}]);
        let mut spec = json!({"containers": [{"name": "a", "volumeMounts": own}]});
        mount_token(&mut spec, || "kube-api-access-x".to_owned());
        assert_eq!(spec["containers"][0]["volumeMounts"], own);
        assert_eq!(spec.get("volumes").filter(|it| !it.is_null()), None);
    }
}
