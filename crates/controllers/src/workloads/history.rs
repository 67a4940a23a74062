//! The templates that a set has had, kept as ControllerRevisions to go back to.

use k8s_openapi::{
    api::{apps::v1::ControllerRevision, core::v1::PodTemplateSpec},
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, runtime::RawExtension},
};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use listwatch::Object;
use serde_json::{Value, json};

use super::{Workloads, claim::Namespaced, pods::reference_to, revision::hash};
use crate::objects::{exists_already, unless_gone};

/// Names that are tried for one template before something else must be wrong.
const COLLISIONS_MAX: i32 = 16;

/// How many templates are kept that no pod was made from.
const HISTORY_DEFAULT: i32 = 10;

/// A set as its history sees it.
pub(super) struct Author<'a, K> {
    pub(super) set: &'a Object<K>,
    pub(super) template: &'a PodTemplateSpec,
    /// How often a name was taken by another revision.
    pub(super) collisions: i32,
    /// The label with the hash of a revision.
    pub(super) label: &'static str,
}

/// What there is of a set's templates.
pub(super) struct History {
    /// All of them, oldest first.
    all: Vec<ControllerRevision>,
    /// That of the present template.
    pub(super) newest: ControllerRevision,
    /// How often a name was taken by another revision.
    pub(super) collisions: i32,
}

impl History {
    /// The revision of this name, or the newest.
    pub(super) fn find(&self, name: Option<&str>) -> &ControllerRevision {
        let mut all = self.all.iter();
        let found = all.find(|it| it.metadata.name.as_deref() == name && name.is_some());
        found.unwrap_or(&self.newest)
    }
}

/// The name of a revision.
pub(super) fn name(revision: &ControllerRevision) -> &str {
    revision.metadata.name.as_deref().unwrap_or_default()
}

/// The template that a revision keeps.
pub(super) fn template(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
    let mut template = revision.data.as_ref()?.0.pointer("/spec/template")?.clone();
    template.as_object_mut()?.remove("$patch");
    serde_json::from_value(template).ok()
}

/// A template as a patch that brings it back.
fn patch_of(template: &PodTemplateSpec) -> Value {
    let mut template = json!(template);
    template["$patch"] = json!("replace");
    json!({"spec": {"template": template}})
}

impl Workloads {
    /// The history of a set, with its present template as the newest.
    pub(super) async fn history<K: Namespaced>(
        &self,
        author: Author<'_, K>,
    ) -> kube::Result<History> {
        let metadata = author.set.body.meta();
        let known = self.revisions.of(metadata).into_iter();
        let mut all: Vec<_> = known.map(|revision| revision.body.clone()).collect();
        all.sort_by_key(|revision| revision.revision);
        let data = patch_of(author.template);
        let next = all.last().map_or(1, |last| last.revision + 1);
        let is_same = |it: &ControllerRevision| it.data.as_ref().is_some_and(|it| it.0 == data);
        let same = all.iter().rposition(is_same);
        let mut collisions = author.collisions;
        let newest = match same {
            Some(place) if place + 1 == all.len() => all[place].clone(),
            Some(place) => self.bring_forward(&all[place], next).await?,
            None => {
                let (made, tried) = self.make_revision(&author, (data, next)).await?;
                collisions = tried;
                all.push(made.clone());
                made
            }
        };
        Ok(History {
            all,
            newest,
            collisions,
        })
    }

    /// Makes a revision the newest again.
    async fn bring_forward(
        &self,
        revision: &ControllerRevision,
        number: i64,
    ) -> kube::Result<ControllerRevision> {
        let api: Api<ControllerRevision> = self.api(revision.metadata.namespace.as_deref());
        let patch = json!({"revision": number});
        let (parameters, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let patched = api.patch(name(revision), &parameters, &patch).await?;
        self.revisions.settle(&patched.metadata).await;
        Ok(patched)
    }

    /// Keeps a new template, under a name that no other has.
    async fn make_revision<K: Namespaced>(
        &self,
        author: &Author<'_, K>,
        (data, number): (Value, i64),
    ) -> kube::Result<(ControllerRevision, i32)> {
        let namespace = author.set.key.namespace();
        let api: Api<ControllerRevision> = self.api(namespace);
        let given = author.template.metadata.clone().unwrap_or_default();
        let mut collisions = author.collisions;
        loop {
            let hash = hash(author.template, collisions);
            let mut labels = given.labels.clone().unwrap_or_default();
            labels.insert(author.label.to_owned(), hash.clone());
            let revision = ControllerRevision {
                metadata: ObjectMeta {
                    name: Some(format!("{}-{hash}", author.set.key.name())),
                    labels: Some(labels),
                    annotations: author.set.body.meta().annotations.clone(),
                    owner_references: reference_to(&author.set.body).map(|owner| vec![owner]),
                    ..ObjectMeta::default()
                },
                revision: number,
                data: Some(RawExtension(data.clone())),
            };
            match api.create(&PostParams::default(), &revision).await {
                Ok(created) => {
                    self.revisions.settle(&created.metadata).await;
                    return Ok((created, collisions));
                }
                Err(error) if exists_already(&error) && collisions < COLLISIONS_MAX => {
                    let there = api.get_opt(name(&revision)).await?;
                    let is_ours = |it: &ControllerRevision| {
                        it.data == revision.data
                            && it.metadata.owner_references == revision.metadata.owner_references
                    };
                    if let Some(there) = there.filter(is_ours) {
                        return Ok((there, collisions));
                    }
                    collisions += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Deletes the oldest revisions that nobody needs, beyond those that are kept.
    pub(super) async fn forget_history(
        &self,
        history: &History,
        (limit, is_needed): (Option<i32>, impl Fn(&ControllerRevision) -> bool),
    ) -> kube::Result<()> {
        let limit = usize::try_from(limit.unwrap_or(HISTORY_DEFAULT)).unwrap_or_default();
        let idle = history
            .all
            .iter()
            .filter(|it| it.metadata.name != history.newest.metadata.name && !is_needed(it));
        let idle: Vec<_> = idle.collect();
        let surplus = idle.len().saturating_sub(limit);
        for revision in idle.into_iter().take(surplus) {
            let api: Api<ControllerRevision> = self.api(revision.metadata.namespace.as_deref());
            let deleted = api.delete(name(revision), &DeleteParams::default()).await;
            unless_gone(deleted)?;
        }
        Ok(())
    }
}
