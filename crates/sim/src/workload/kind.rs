//! The kinds that a workload writes: one in namespaces, one with a field that selectors can follow.

use crate::client::{Collection, Patch};
use serde_json::{Map, Value, json};

use crate::{
    history::{ObjectKey, ObjectVersion, Token},
    selection::{FieldCondition, LabelCondition, Selection},
};

/// Namespaces of which one begins like the other.
const NAMESPACES: [&str; 3] = ["sim", "sim-a", "simb"];
/// Names in each namespace: few, so that writers meet. One begins like the other.
const NAMES: [&str; 10] = ["x", "x-1", "x1", "x10", "x2", "y", "y.z", "z0", "z1", "z2"];
const COLORS: [&str; 3] = ["blue", "green", "red"];
const TIERS: [&str; 2] = ["back", "front"];
const TOKEN: &str = ObjectVersion::TOKEN_ANNOTATION;

/// What kind of objects a run is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In namespaces; selectors follow labels.
    ConfigMap,
    /// In no namespace; selectors follow labels and `spec.unschedulable`.
    Node,
}

/// What selectors look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    color: Option<&'static str>,
    tier: Option<&'static str>,
    mode: Mode,
}

/// Whether a node takes work.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Open,
    Cordoned,
}

impl Look {
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        Self {
            color: (random.u8(0..4) > 0).then(|| pick(random, &COLORS)),
            tier: random.bool().then(|| pick(random, &TIERS)),
            mode: if random.bool() {
                Mode::Open
            } else {
                Mode::Cordoned
            },
        }
    }

    fn labels(self) -> Map<String, Value> {
        let labels = [("color", self.color), ("tier", self.tier)];
        let present = labels
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        present
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect()
    }

    fn is_cordoned(self) -> bool {
        matches!(self.mode, Mode::Cordoned)
    }
}

impl Kind {
    pub(crate) fn random(random: &mut fastrand::Rng) -> Self {
        if random.u8(0..3) > 0 {
            Self::ConfigMap
        } else {
            Self::Node
        }
    }

    /// The namespaces that objects are written to.
    pub(crate) fn namespaces(self) -> &'static [&'static str] {
        match self {
            Self::ConfigMap => &NAMESPACES,
            Self::Node => &[],
        }
    }

    /// One of the objects that there may be.
    pub(crate) fn random_key(self, random: &mut fastrand::Rng) -> ObjectKey {
        let name = pick(random, &NAMES);
        match self {
            Self::ConfigMap => ObjectKey::new(pick(random, &NAMESPACES), name),
            Self::Node => ObjectKey::new("", name),
        }
    }

    /// Where objects are listed and watched.
    pub(crate) fn collection(self, namespace: Option<&str>) -> Collection {
        let everywhere = match self {
            Self::ConfigMap => Collection::core("configmaps"),
            Self::Node => Collection::core("nodes"),
        };
        match namespace {
            Some(namespace) => everywhere.in_namespace(namespace),
            None => everywhere,
        }
    }

    /// Where an object is written.
    pub(crate) fn collection_of(self, key: &ObjectKey) -> Collection {
        match self {
            Self::ConfigMap => self.collection(Some(&key.namespace)),
            Self::Node => self.collection(None),
        }
    }

    /// The whole object as one write makes it.
    pub(crate) fn object(self, key: &ObjectKey, token: Token, look: Look) -> Value {
        let metadata = json!({
            "name": key.name,
            "labels": look.labels(),
            "annotations": {TOKEN: token.0.to_string()},
        });
        match self {
            Self::ConfigMap => json!({
                "metadata": metadata,
                "data": {"value": format!("{key} as of write {}", token.0)},
            }),
            Self::Node => json!({
                "metadata": metadata,
                "spec": {"unschedulable": look.is_cordoned()},
            }),
        }
    }

    /// The part of an object that one patch changes.
    pub(crate) fn patch(self, token: Token, look: Look, random: &mut fastrand::Rng) -> Patch {
        let token = token.0.to_string();
        if random.u8(0..4) == 0 {
            return Patch::Json(json!([
                {"op": "replace", "path": format!("/metadata/annotations/{TOKEN}"), "value": token},
                {"op": "add", "path": "/metadata/annotations/patched", "value": "yes"},
            ]));
        }
        let mut patch = json!({"metadata": {
            "labels": {"color": look.color, "tier": look.tier},
            "annotations": {TOKEN: token},
        }});
        if self == Self::Node {
            patch["spec"] = json!({"unschedulable": look.is_cordoned()});
        }
        Patch::Merge(patch)
    }

    /// What lists and watches ask for. The first is everything.
    pub(crate) fn selections(self, random: &mut fastrand::Rng) -> Vec<Selection> {
        let everything = Selection::everything;
        let color = pick(random, &COLORS).to_owned();
        let tier = pick(random, &TIERS).to_owned();
        let name = pick(random, &NAMES).to_owned();
        let colors = vec!["blue".to_owned(), color.clone()];
        let text = str::to_owned;
        let named = FieldCondition::Equals(text("metadata.name"), name.clone());
        let not_named = FieldCondition::NotEquals(text("metadata.name"), name);
        let mut selections = vec![
            everything(),
            everything().field(named.clone()),
            everything().label(LabelCondition::Equals(text("color"), color.clone())),
            everything().label(LabelCondition::In(text("color"), colors.clone())),
            everything()
                .label(LabelCondition::NotIn(text("color"), colors))
                .label(LabelCondition::Exists(text("tier"))),
        ];
        match self {
            Self::ConfigMap => {
                let namespace = Selection::namespace(pick(random, &NAMESPACES));
                let other = pick(random, &NAMESPACES);
                let elsewhere = FieldCondition::NotEquals(text("metadata.namespace"), text(other));
                let not_color = LabelCondition::NotEquals(text("color"), color);
                let tier = LabelCondition::Equals(text("tier"), tier);
                selections.extend([
                    namespace.clone(),
                    namespace.clone().field(named),
                    namespace.label(tier).field(not_named),
                    Selection::namespace(other).label(not_color),
                    everything()
                        .label(LabelCondition::Absent(text("tier")))
                        .field(elsewhere),
                ]);
            }
            Self::Node => {
                let cordoned =
                    |value: &str| FieldCondition::Equals(text("spec.unschedulable"), text(value));
                selections.extend([
                    everything().field(cordoned("true")),
                    everything().field(cordoned("false")).field(not_named),
                    everything()
                        .label(LabelCondition::NotEquals(text("tier"), tier))
                        .field(cordoned("true")),
                ]);
            }
        }
        selections
    }
}

fn pick<'a>(random: &mut fastrand::Rng, choices: &[&'a str]) -> &'a str {
    choices[random.usize(..choices.len())]
}
