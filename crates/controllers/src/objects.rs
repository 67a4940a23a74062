//! Objects of any kind, read and changed through the API by their metadata.

use k8s_openapi::{api::autoscaling::v1::Scale, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::ObjectList,
    discovery::ApiResource,
};
use listwatch::ObjectKey;
use listwatch_server::registry::{Definition, Scope, Verb};
use serde_json::Value;

/// Objects in one page of a list.
const PAGE_OBJECTS: u32 = 500;

/// Objects of any kind.
#[derive(Clone)]
pub(crate) struct Objects {
    client: Client,
}

impl Objects {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The metadata of an object; `None` if there is none of this name.
    pub(crate) async fn get(
        &self,
        kind: &Definition,
        key: &ObjectKey,
    ) -> kube::Result<Option<ObjectMeta>> {
        let api = self.api(kind, key.namespace());
        let found = api.get_metadata_opt(key.name()).await?;
        Ok(found.map(|object| object.metadata))
    }

    /// The metadata of all objects of a kind in a namespace.
    pub(crate) async fn list(
        &self,
        kind: &Definition,
        namespace: &str,
    ) -> kube::Result<Vec<ObjectMeta>> {
        let api = &self.api(kind, Some(namespace));
        let objects = pages(|page| async move { api.list_metadata(&page).await }).await?;
        Ok(objects.into_iter().map(|object| object.metadata).collect())
    }

    /// All objects of a kind, in a namespace or everywhere, without their metadata.
    pub(crate) async fn list_whole(
        &self,
        kind: &Definition,
        namespace: Option<&str>,
    ) -> kube::Result<Vec<Value>> {
        let api = &self.api(kind, namespace);
        let objects = pages(|page| async move { api.list(&page).await }).await?;
        Ok(objects.into_iter().map(|object| object.data).collect())
    }

    /// The scale of an object; `None` if there is no object of this name.
    pub(crate) async fn scale(
        &self,
        kind: &Definition,
        key: &ObjectKey,
    ) -> kube::Result<Option<Scale>> {
        let api = self.api(kind, key.namespace());
        unless_gone(api.get_scale(key.name()).await)
    }

    /// Deletes an object. It is not an error if it is gone.
    pub(crate) async fn delete(
        &self,
        kind: &Definition,
        key: &ObjectKey,
        parameters: &DeleteParams,
    ) -> kube::Result<()> {
        let api = self.api(kind, key.namespace());
        unless_gone(api.delete(key.name(), parameters).await).map(drop)
    }

    /// Deletes all objects of a kind in a namespace, each on its own if need be.
    pub(crate) async fn delete_all(
        &self,
        kind: &Definition,
        namespace: &str,
        parameters: &DeleteParams,
    ) -> kube::Result<()> {
        if kind.verbs.contains(&Verb::DeleteCollection) {
            let api = self.api(kind, Some(namespace));
            let all = ListParams::default();
            let deleted = api.delete_collection(parameters, &all).await;
            return unless_gone(deleted).map(drop);
        }
        for object in self.list(kind, namespace).await? {
            let name = object.name.unwrap_or_default();
            let key = ObjectKey::new(Some(namespace), &name);
            self.delete(kind, &key, parameters).await?;
        }
        Ok(())
    }

    /// Changes the metadata of an object. It is not an error if it is gone.
    pub(crate) async fn patch_metadata(
        &self,
        kind: &Definition,
        key: &ObjectKey,
        patch: &Value,
    ) -> kube::Result<()> {
        let api = self.api(kind, key.namespace());
        let patch = Patch::Merge(patch);
        let parameters = PatchParams::default();
        let patched = api.patch_metadata(key.name(), &parameters, &patch).await;
        unless_gone(patched).map(drop)
    }

    fn api(&self, kind: &Definition, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = ApiResource {
            group: kind.group.to_string(),
            version: kind.version.to_string(),
            api_version: kind.api_version(),
            kind: kind.kind.to_string(),
            plural: kind.resource.to_string(),
        };
        match (kind.scope, namespace) {
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            (Scope::Namespaced | Scope::Cluster, _) => {
                Api::all_with(self.client.clone(), &resource)
            }
        }
    }
}

/// Whether the server refused since the object is not, or no longer, what the request says.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict())
}

/// Whether the server refused since the object is there already.
pub(crate) fn exists_already(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

/// Whether the server refused since the namespace is not there or going away.
pub(crate) fn is_homeless(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let causes = status.details.iter().flat_map(|details| &details.causes);
    status.is_not_found()
        || causes
            .into_iter()
            .any(|it| it.reason == "NamespaceTerminating")
}

/// What the server answered; `None` if there is no such object.
pub(crate) fn unless_gone<T>(result: kube::Result<T>) -> kube::Result<Option<T>> {
    match result {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        other => other.map(Some),
    }
}

/// All that a list has, page by page.
async fn pages<T, F>(page: impl Fn(ListParams) -> F) -> kube::Result<Vec<T>>
where
    T: Clone,
    F: Future<Output = kube::Result<ObjectList<T>>>,
{
    let mut parameters = ListParams::default().limit(PAGE_OBJECTS);
    let mut objects = Vec::new();
    loop {
        let page = page(parameters.clone()).await?;
        objects.extend(page.items);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(objects),
        }
    }
}
