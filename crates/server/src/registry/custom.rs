//! Custom kinds: what a CustomResourceDefinition says, made into definitions like those built in.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, OnceLock},
};

use listwatch_api::{
    object::{StoredObject, to_canonical},
    schema::{Schema, TypeId},
};
use listwatch_store::Revision;
use listwatch_structural::Structural;
use serde_json::Value;

use super::{
    Conversion, Definition, DeletionAnswer, FieldRefusal, Generation, Lifetime, Naming,
    Persistence, PutToMissing, PutWithoutVersion, Scope, SelectableField, StatusWriting,
    Subresource, Verb, kind_table::storage_version_hash,
};

mod version_order;
mod webhook;

pub use webhook::ConversionWebhook;

/// Selectable fields of one version that are looked at; Kubernetes allows as many.
const SELECTABLE_FIELDS_MAX: usize = 8;

/// What can be done with a custom kind, in discovery's order.
const VERBS: [Verb; 8] = [
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];

/// What can be done with a part of an object of it.
const PART_VERBS: [Verb; 3] = [Verb::Get, Verb::Patch, Verb::Update];

/// What a version of a custom kind has beyond what all kinds have.
#[derive(Debug)]
pub struct CustomVersion {
    /// The `apiVersion` in which its objects are stored.
    pub stored_as: Box<str>,
    /// Objects that were written up to here may have been written by other rules.
    pub since: Revision,
    /// Tells whether the rules are others.
    fingerprint: u64,
    /// Whether new objects are taken.
    pub life: Life,
    /// How objects of other versions become objects of this one.
    pub strategy: Strategy,
    /// The `additionalPrinterColumns`.
    pub printer_columns: Value,
    /// Where the number of replicas is, if it has a `scale`.
    pub scale: Option<ScalePaths>,
    /// What whoever uses this version is told.
    pub warning: Option<Box<str>>,
    /// What its objects are held against; `None` keeps anything.
    pub structural: Option<Structural>,
    /// The name of the type of its objects.
    type_name: Box<str>,
    /// Their types, made when the first object is written.
    types: OnceLock<Option<(Schema, TypeId)>>,
}

impl CustomVersion {
    /// The types of its objects.
    pub fn types(&self) -> Option<(&Schema, TypeId)> {
        let types = self.types.get_or_init(|| {
            let types = self.structural.as_ref()?.types(&self.type_name);
            let type_id = types.find(&self.type_name)?;
            Some((types, type_id))
        });
        types.as_ref().map(|(types, type_id)| (types, *type_id))
    }

    /// Tells one schema from another.
    pub fn schema_identity(&self) -> u64 {
        self.fingerprint
    }

    /// Tells one state of this version from any other.
    pub fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.type_name, self.fingerprint, self.since.get()).hash(&mut hasher);
        let webhook = self.webhook();
        webhook.map(|it| it.fingerprint()).hash(&mut hasher);
        hasher.finish()
    }

    /// Who converts between its versions, if somebody has to be asked.
    pub fn webhook(&self) -> Option<&Arc<ConversionWebhook>> {
        match &self.strategy {
            Strategy::Renamed => None,
            Strategy::Webhook(webhook) => Some(webhook),
        }
    }

    /// A stored object as this version shows it, but for its header: what newer rules take away
    /// or fill in; `None` when that is nothing.
    pub fn shown(&self, object: &StoredObject, written: Revision) -> Option<StoredObject> {
        if written > self.since {
            return None;
        }
        let structural = self.structural.as_ref()?;
        let stored: Value = serde_json::from_slice(object.value()).ok()?;
        let mut shown = stored.clone();
        structural.prune(&mut shown);
        structural.default(&mut shown);
        (shown != stored).then(|| scanned(&shown))
    }

    /// A stored object as a write begins with it; `None` when that is as it is stored.
    pub fn begun(&self, object: &StoredObject, written: Revision) -> Option<StoredObject> {
        let shown = self.shown(object, written);
        let object = shown.as_ref().unwrap_or(object);
        let member = format!(r#""apiVersion":"{}","#, self.stored_as);
        let head = &object.value()[..object.value().len().min(HEAD_BYTES_MAX)];
        if head
            .windows(member.len())
            .any(|part| part == member.as_bytes())
        {
            return shown;
        }
        let mut value: Value = serde_json::from_slice(object.value()).ok()?;
        value["apiVersion"] = (*self.stored_as).into();
        Some(scanned(&value))
    }
}

/// Bytes at the beginning of a stored object that hold its kind and its version.
const HEAD_BYTES_MAX: usize = 512;

fn scanned(object: &Value) -> StoredObject {
    StoredObject::scan(to_canonical(object).into(), &[])
        .expect("canonical bytes are what the scanner reads")
}

/// Whether a custom kind takes new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It does.
    Serving,
    /// Its definition is being deleted, and its objects with it.
    Terminating,
}

/// How an object of one version of a custom kind becomes one of another.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// It says so.
    Renamed,
    /// A webhook is asked.
    Webhook(Arc<ConversionWebhook>),
}

/// Where a custom kind keeps what its `scale` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// The members to descend to the wanted replicas.
    pub spec_replicas: Vec<Box<str>>,
    /// The members to descend to the replicas there are.
    pub status_replicas: Vec<Box<str>>,
    /// The members to descend to the selector of the replicas, as text.
    pub label_selector: Option<Vec<Box<str>>>,
}

/// A custom kind in all its served versions.
#[derive(Debug)]
pub struct CustomKind {
    /// The name of its definition, such as `foos.example.com`.
    pub name: Box<str>,
    /// The state of the definition that this was made of.
    pub revision: Revision,
    /// The served versions, the one to prefer first.
    pub versions: Vec<Arc<Definition>>,
    /// The version in which objects are stored, whether it is served or not.
    pub stored: Arc<Definition>,
    /// The versions that are neither served nor stored any more, in which objects may still be.
    pub retired: Vec<Arc<Definition>>,
    /// The beginning of the keys of its objects.
    pub storage_prefix: Box<str>,
    /// Where its objects live.
    pub scope: Scope,
    /// Its group.
    pub group: Box<str>,
    /// Its name in paths.
    pub resource: Box<str>,
    /// Its kind.
    pub kind: Box<str>,
    /// The `apiVersion` in which its objects are stored.
    pub stored_as: Box<str>,
}

/// A stored definition that says too little to be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the definition says nothing of {0}")]
pub struct MalformedDefinition(&'static str);

/// All custom kinds of one moment.
#[derive(Clone, Debug, Default)]
pub struct CustomKinds {
    groups: BTreeMap<Box<str>, Arc<Kinds>>,
}

type Kinds = BTreeMap<Box<str>, Arc<CustomKind>>;

impl CustomKinds {
    /// The resource of this group and version.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<Arc<Definition>> {
        let kind = self.groups.get(group)?.get(resource)?;
        let mut versions = kind.versions.iter();
        versions.find(|it| *it.version == *version).cloned()
    }

    /// The kind of this group with this name in paths.
    pub fn kind(&self, group: &str, resource: &str) -> Option<&Arc<CustomKind>> {
        self.groups.get(group)?.get(resource)
    }

    /// Whether any kind of this group is served.
    pub fn group_exists(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// Whether any kind of this version of the group is served.
    pub fn version_exists(&self, group: &str, version: &str) -> bool {
        let kinds = self.groups.get(group);
        let mut kinds = kinds.into_iter().flat_map(|kinds| kinds.values());
        kinds.any(|kind| kind.versions.iter().any(|it| *it.version == *version))
    }

    /// The kinds of a group, by name.
    pub fn of_group(&self, group: &str) -> impl Iterator<Item = &Arc<CustomKind>> {
        let kinds = self.groups.get(group);
        kinds.into_iter().flat_map(|kinds| kinds.values())
    }

    /// All kinds, by group and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<CustomKind>> {
        self.groups.values().flat_map(|kinds| kinds.values())
    }

    /// The kinds as discovery tells of them: groups by name, in each the versions to prefer first,
    /// in each version the kinds by name.
    pub fn definitions(&self) -> Vec<Arc<Definition>> {
        let mut told = Vec::new();
        for kinds in self.groups.values() {
            let versions = kinds.values().flat_map(|kind| &kind.versions);
            let mut versions: Vec<Arc<Definition>> = versions.cloned().collect();
            versions.sort_by(|one, other| {
                version_order::compare(&other.version, &one.version)
                    .then_with(|| one.resource.cmp(&other.resource))
            });
            told.extend(versions);
        }
        told
    }

    /// Adds a kind, or puts it in the place of an earlier state of it.
    pub fn insert(&mut self, kind: CustomKind) {
        let kinds = self.groups.entry(kind.group.clone()).or_default();
        Arc::make_mut(kinds).insert(kind.resource.clone(), Arc::new(kind));
    }

    /// Takes a kind out.
    pub fn remove(&mut self, group: &str, resource: &str) {
        let Some(kinds) = self.groups.get_mut(group) else {
            return;
        };
        Arc::make_mut(kinds).remove(resource);
        if kinds.is_empty() {
            self.groups.remove(group);
        }
    }
}

impl CustomKind {
    /// The kind that a definition describes, as it was accepted: by the names that it got.
    ///
    /// `earlier` is the same kind as it was served before. Versions of it that say what they said
    /// keep their age, so that objects written since need no second look.
    pub fn read(
        definition: &Value,
        revision: Revision,
        (earlier, scale): (Option<&Self>, Option<TypeId>),
    ) -> Result<Self, MalformedDefinition> {
        let spec = &definition["spec"];
        let text = |value: &Value, what| {
            let text = value.as_str().filter(|text| !text.is_empty());
            text.map(Box::<str>::from).ok_or(MalformedDefinition(what))
        };
        let group = text(&spec["group"], "a group")?;
        let resource = text(&spec["names"]["plural"], "a plural")?;
        let versions = spec["versions"].as_array();
        let versions = versions.ok_or(MalformedDefinition("versions"))?;
        let stored = versions.iter().find(|version| version["storage"] == true);
        let stored = stored.ok_or(MalformedDefinition("a stored version"))?;
        let stored_as = format!("{group}/{}", text(&stored["name"], "the stored version")?);
        let reader = Reader {
            definition,
            group: group.clone(),
            storage_prefix: format!("/registry/{group}/{resource}/").into(),
            stored_as: stored_as.clone().into(),
            revision,
            earlier,
            scale,
            webhook: webhook::read(spec, earlier.and_then(Self::webhook)),
        };
        let retired = versions
            .iter()
            .filter(|version| version["served"] != true && version["storage"] != true)
            .map(|version| Arc::new(reader.version(version)))
            .collect();
        let served = versions.iter().filter(|version| version["served"] == true);
        let mut served: Vec<Arc<Definition>> = served
            .map(|version| Arc::new(reader.version(version)))
            .collect();
        served.sort_by(|one, other| version_order::compare(&other.version, &one.version));
        Ok(Self {
            name: format!("{resource}.{group}").into(),
            revision,
            versions: served,
            stored: Arc::new(reader.version(stored)),
            retired,
            storage_prefix: reader.storage_prefix.clone(),
            scope: reader.scope(),
            group,
            resource,
            kind: reader.name("kind"),
            stored_as: stored_as.into(),
        })
    }

    fn version(&self, name: &str) -> Option<&CustomVersion> {
        self.in_version(name)?.custom.as_ref()
    }

    /// The kind in one of its versions, served or not.
    pub fn in_version(&self, name: &str) -> Option<&Arc<Definition>> {
        let versions = self.versions.iter().chain([&self.stored]);
        let mut versions = versions.chain(&self.retired);
        versions.find(|it| *it.version == *name)
    }

    /// Who converts between its versions, if somebody has to be asked.
    pub fn webhook(&self) -> Option<&Arc<ConversionWebhook>> {
        self.stored.custom.as_ref()?.webhook()
    }

    /// The fields by which objects can be selected, in any version.
    pub fn selectable_fields(&self) -> impl Iterator<Item = &SelectableField> {
        self.versions.iter().flat_map(|it| &it.selectable_fields)
    }
}

/// One definition while it is read.
struct Reader<'a> {
    definition: &'a Value,
    group: Box<str>,
    storage_prefix: Box<str>,
    stored_as: Box<str>,
    revision: Revision,
    earlier: Option<&'a CustomKind>,
    /// The type of what a `scale` speaks.
    scale: Option<TypeId>,
    webhook: Option<Arc<ConversionWebhook>>,
}

impl Reader<'_> {
    fn version(&self, version: &Value) -> Definition {
        let name = version["name"].as_str().unwrap_or_default();
        let kind = self.name("kind");
        let parts = &version["subresources"];
        let has_status = !parts["status"].is_null();
        let (_, stored_version) = self.stored_as.rsplit_once('/').unwrap_or_default();
        Definition {
            group: self.group.clone(),
            version: name.into(),
            resource: self.name("plural"),
            list_kind: self.name("listKind"),
            singular: self.name("singular"),
            short_names: self.names("shortNames"),
            categories: self.names("categories"),
            scope: self.scope(),
            verbs: VERBS.to_vec(),
            subresources: subresources(&kind, parts, self.scale),
            selectable_fields: selectable_fields(version),
            field_refusal: FieldRefusal::Unsupported,
            persistence: Persistence::Stored,
            storage_prefix: self.storage_prefix.clone(),
            also_stored_as: Vec::new(),
            storage_version_hash: Some(storage_version_hash(&self.group, stored_version, &kind)),
            conversion: Conversion::None,
            schema: None,
            generation: match has_status {
                true => Generation::OutsideStatus,
                false => Generation::OutsideMetadata,
            },
            status: match has_status {
                true => StatusWriting::Separate,
                false => StatusWriting::Open,
            },
            naming: Naming::DnsSubdomain,
            put_to_missing: PutToMissing::Refuses,
            put_without_version: PutWithoutVersion::Refuses,
            deletion_answer: DeletionAnswer::Status,
            lifetime: Lifetime::Unlimited,
            custom: Some(self.custom(version, &kind)),
            kind,
        }
    }

    fn custom(&self, version: &Value, kind: &str) -> CustomVersion {
        let fingerprint = fingerprint(version);
        let name = version["name"].as_str().unwrap_or_default();
        let served = self.earlier.and_then(|earlier| earlier.version(name));
        let unchanged = served.filter(|served| served.fingerprint == fingerprint);
        CustomVersion {
            stored_as: self.stored_as.clone(),
            since: unchanged.map_or(self.revision, |served| served.since),
            fingerprint,
            life: self.life(),
            strategy: match &self.webhook {
                Some(webhook) => Strategy::Webhook(Arc::clone(webhook)),
                None => Strategy::Renamed,
            },
            printer_columns: version["additionalPrinterColumns"].clone(),
            scale: scale_paths(&version["subresources"]["scale"]),
            warning: self.warning(version, kind),
            structural: structural(version),
            type_name: format!("{}.{name}.{kind}", self.group).into(),
            types: OnceLock::new(),
        }
    }

    fn warning(&self, version: &Value, kind: &str) -> Option<Box<str>> {
        if version["deprecated"] != true {
            return None;
        }
        let said = version["deprecationWarning"].as_str();
        let name = version["name"].as_str().unwrap_or_default();
        let usual = || format!("{}/{name} {kind} is deprecated", self.group);
        Some(said.map_or_else(usual, str::to_owned).into())
    }

    fn life(&self) -> Life {
        match self.definition["metadata"]["deletionTimestamp"].is_null() {
            true => Life::Serving,
            false => Life::Terminating,
        }
    }

    fn scope(&self) -> Scope {
        match self.definition["spec"]["scope"].as_str() {
            Some("Cluster") => Scope::Cluster,
            _ => Scope::Namespaced,
        }
    }

    /// A name that was accepted, else the one that was asked for.
    fn name(&self, member: &str) -> Box<str> {
        let accepted = self.definition["status"]["acceptedNames"][member].as_str();
        let wanted = self.definition["spec"]["names"][member].as_str();
        let accepted = accepted.filter(|name| !name.is_empty());
        accepted.or(wanted).unwrap_or_default().into()
    }

    fn names(&self, member: &str) -> Vec<Box<str>> {
        let names = self.definition["status"]["acceptedNames"][member].as_array();
        let names = names.into_iter().flatten();
        names.filter_map(Value::as_str).map(Into::into).collect()
    }
}

/// The schema of a version. Of one that is not structural everything is kept, as of the old ones
/// that others may have stored.
fn structural(version: &Value) -> Option<Structural> {
    let schema = version.pointer("/schema/openAPIV3Schema")?;
    let parsed = Structural::parse(schema).ok()?;
    let scale = version.pointer("/subresources/scale");
    Some(match scale {
        Some(scale) => parsed.with_scale(scale),
        None => parsed,
    })
}

/// What tells one schema from another.
fn fingerprint(version: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    to_canonical(&version["schema"]).hash(&mut hasher);
    hasher.finish()
}

fn subresources(kind: &str, parts: &Value, scale: Option<TypeId>) -> Vec<Subresource> {
    let mut subresources = Vec::new();
    if !parts["status"].is_null() {
        subresources.push(Subresource {
            name: "status".into(),
            group: None,
            version: None,
            kind: kind.into(),
            schema: None,
            verbs: PART_VERBS.to_vec(),
        });
    }
    if !parts["scale"].is_null() {
        subresources.push(Subresource {
            name: "scale".into(),
            group: Some("autoscaling".into()),
            version: Some("v1".into()),
            kind: "Scale".into(),
            schema: scale,
            verbs: PART_VERBS.to_vec(),
        });
    }
    subresources
}

fn scale_paths(scale: &Value) -> Option<ScalePaths> {
    Some(ScalePaths {
        spec_replicas: members(scale["specReplicasPath"].as_str()?),
        status_replicas: members(scale["statusReplicasPath"].as_str()?),
        label_selector: scale["labelSelectorPath"].as_str().map(members),
    })
}

fn selectable_fields(version: &Value) -> Vec<SelectableField> {
    let fields = version["selectableFields"].as_array();
    let paths = fields
        .into_iter()
        .flatten()
        .filter_map(|field| field["jsonPath"].as_str());
    let fields = paths.map(|path| SelectableField {
        name: path.trim_start_matches('.').into(),
        path: members(path),
        fallback: None,
        default: "".into(),
        indexed: false,
    });
    fields.take(SELECTABLE_FIELDS_MAX).collect()
}

/// The members that a simple path such as `.spec.replicas` names.
fn members(path: &str) -> Vec<Box<str>> {
    let path = path.trim_start_matches('.');
    path.split('.').map(Into::into).collect()
}

#[cfg(test)]
mod tests;
