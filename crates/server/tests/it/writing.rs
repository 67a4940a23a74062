//! Creating, replacing and patching objects.

mod applying;
mod creating;
mod dry_run;
mod owning;
mod parts;
mod patching;
mod updating;
mod validation;

use serde_json::{Value, json};

use crate::running::CONFIG_MAPS;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn config_map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"k": "v"}})
}

fn deployment(name: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "nginx"}]},
            },
        },
    })
}
