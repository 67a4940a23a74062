//! The truth at the end: what plain lists show once nothing changes any more.

use std::collections::{BTreeMap, HashMap};

use anyhow::Context;
use listwatch::{ObjectKey, Version};
use serde_json::Value;

use crate::client::{Client, Collection, ListOptions};

/// Differences that are told. The first few say what is wrong.
const DIFFERENCES_TOLD_MAX: usize = 5;

/// The kinds that informers follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    ConfigMaps,
    Namespaces,
}

/// Which objects of a kind an informer follows, judged without any selector code of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Everything,
    Namespace(&'static str),
    /// `tier=front`
    Front,
    /// `tier in (front,back),!hidden`
    Shown,
}

/// One object of a list.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) version: Version,
    labels: BTreeMap<String, String>,
}

/// A whole list.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) version: Version,
    items: HashMap<ObjectKey, Item>,
}

/// The lists of all kinds.
#[derive(Debug)]
pub(super) struct Truth {
    configmaps: Listed,
    namespaces: Listed,
}

/// Objects by key, each with its version.
pub(super) type Versions = HashMap<ObjectKey, Version>;

impl Choice {
    pub(super) fn label_selector(self) -> Option<&'static str> {
        match self {
            Self::Everything | Self::Namespace(_) => None,
            Self::Front => Some("tier=front"),
            Self::Shown => Some("tier in (front,back),!hidden"),
        }
    }

    fn takes(self, key: &ObjectKey, item: &Item) -> bool {
        let tier = item.label("tier");
        match self {
            Self::Everything => true,
            Self::Namespace(namespace) => key.namespace() == Some(namespace),
            Self::Front => tier == Some("front"),
            Self::Shown => matches!(tier, Some("front" | "back")) && item.label("hidden").is_none(),
        }
    }
}

impl Item {
    pub(super) fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(String::as_str)
    }
}

impl Truth {
    pub(super) async fn ask(client: &Client) -> anyhow::Result<Self> {
        Ok(Self {
            configmaps: Listed::ask(client, "configmaps").await?,
            namespaces: Listed::ask(client, "namespaces").await?,
        })
    }

    pub(super) fn of(&self, kind: Kind) -> &Listed {
        match kind {
            Kind::ConfigMaps => &self.configmaps,
            Kind::Namespaces => &self.namespaces,
        }
    }
}

impl Listed {
    async fn ask(client: &Client, resource: &str) -> anyhow::Result<Self> {
        let everything = ListOptions::default();
        let page = client.list(&Collection::core(resource), &everything).await;
        let page = page.with_context(|| format!("the last list of {resource}"))?;
        let version = Version::parse(&page.resource_version).context("a list without a version")?;
        Self::new(version, &page.items)
    }

    fn new(version: Version, objects: &[Value]) -> anyhow::Result<Self> {
        let items = objects.iter().map(item).collect::<Option<_>>();
        Ok(Self {
            version,
            items: items.context("an object without name or version")?,
        })
    }

    /// How many objects there are.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The objects that were chosen and of which this holds.
    pub(super) fn versions(&self, choice: Choice, holds: impl Fn(&Item) -> bool) -> Versions {
        let chosen = self.items.iter();
        let chosen = chosen.filter(|(key, item)| choice.takes(key, item) && holds(item));
        chosen
            .map(|(key, item)| (key.clone(), item.version.clone()))
            .collect()
    }
}

fn item(object: &Value) -> Option<(ObjectKey, Item)> {
    let metadata = &object["metadata"];
    let key = ObjectKey::new(metadata["namespace"].as_str(), metadata["name"].as_str()?);
    let labels = metadata["labels"].as_object().into_iter().flatten();
    let labels = labels.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let item = Item {
        version: Version::parse(metadata["resourceVersion"].as_str()?)?,
        labels: labels.collect::<Option<_>>()?,
    };
    Some((key, item))
}

/// How what was found differs from what was expected, in words; nothing when it does not.
pub(super) fn differences(expected: &Versions, found: &Versions) -> Vec<String> {
    let missing = expected.iter().filter_map(|(key, version)| {
        let found = match found.get(key) {
            Some(found) if found == version => return None,
            Some(found) => found.to_string(),
            None => "missing".to_owned(),
        };
        Some(format!("{key} should be at {version} and is {found}"))
    });
    let extra = found.iter().filter(|(key, _)| !expected.contains_key(*key));
    let extra = extra.map(|(key, version)| format!("{key} is at {version} and should be gone"));
    missing.chain(extra).take(DIFFERENCES_TOLD_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    impl Truth {
        /// These ConfigMaps, and no namespace.
        pub(in crate::soak) fn of_configmaps(version: Version, objects: &[Value]) -> Self {
            Self {
                namespaces: Listed::new(version.clone(), &[]).unwrap(),
                configmaps: Listed::new(version, objects).unwrap(),
            }
        }

        /// Gives a ConfigMap another tier, at the same version.
        pub(in crate::soak) fn relabel(&mut self, key: &str, tier: &str) {
            let item = self.configmaps.items.get_mut(key).unwrap();
            item.labels.insert("tier".to_owned(), tier.to_owned());
        }
    }

    fn versions<const N: usize>(pairs: [(&str, u64); N]) -> Versions {
        let pairs = pairs.map(|(key, version)| (key.into(), version.into()));
        HashMap::from(pairs)
    }

    #[test]
    fn every_difference_is_found() {
        let expected = versions([("a", 1), ("b", 2)]);
        assert_eq!(differences(&expected, &expected), [""; 0]);
        for (found, told) in [
            (versions([("a", 1)]), "b should be at 2 and is missing"),
            (versions([("a", 1), ("b", 1)]), "b should be at 2 and is 1"),
            (
                versions([("a", 1), ("b", 2), ("c", 3)]),
                "c is at 3 and should be gone",
            ),
        ] {
            assert_eq!(differences(&expected, &found), [told]);
        }
    }

    #[test]
    fn choices_are_those_of_their_selectors() {
        let chosen = |choice: Choice, labels: Value| {
            let metadata = json!({
                "namespace": "n", "name": "a", "resourceVersion": "1", "labels": labels,
            });
            let (key, item) = item(&json!({"metadata": metadata})).unwrap();
            choice.takes(&key, &item)
        };
        let front = json!({"tier": "front"});
        assert!(chosen(Choice::Front, front.clone()) && chosen(Choice::Shown, front));
        let hidden = json!({"tier": "back", "hidden": "yes"});
        assert!(!chosen(Choice::Front, hidden.clone()) && !chosen(Choice::Shown, hidden));
        assert!(chosen(Choice::Namespace("n"), Value::Null));
        assert!(!chosen(Choice::Namespace("m"), Value::Null));
    }
}
