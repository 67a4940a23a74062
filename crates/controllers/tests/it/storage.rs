//! Claims and volumes stay until nobody uses them.

use serde_json::json;

use crate::stage::Stage;

const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const PODS: &str = "/api/v1/namespaces/default/pods";

#[tokio::test]
async fn a_claim_goes_when_the_pod_that_uses_it_is_over() {
    let stage = Stage::with("storage-protection").await;
    let claim = json!({
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let claim = stage.create(CLAIMS, claim).await;
    assert_eq!(
        claim["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
    let pod = json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        },
    });
    stage.create(PODS, pod).await;
    let mut watch = stage.watch(CLAIMS).await;
    stage.delete(&format!("{CLAIMS}/c"), "Background").await;
    let held = watch.until("MODIFIED", "c").await;
    assert!(held["metadata"].get("deletionTimestamp").is_some());
    let over = json!({"status": {"phase": "Succeeded"}});
    let path = format!("{PODS}/p/status");
    assert_eq!(stage.ask("PATCH", &path, Some(over)).await.0, 200);
    watch.until("DELETED", "c").await;
    stage.end().await;
}
