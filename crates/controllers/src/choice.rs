//! Which controllers run, as users say it.

use std::{collections::BTreeSet, fmt, str::FromStr};

use thiserror::Error;

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// Empties namespaces that are deleted.
    Namespace,
    /// Deletes what has no owner left.
    GarbageCollector,
    /// Gives every namespace its `default` service account.
    ServiceAccount,
    /// Gives every namespace the certificate of the cluster's authority.
    RootCa,
    /// Lets volumes and claims go that nobody uses.
    StorageProtection,
    /// Says how many pods may go.
    Disruption,
    /// Replaces the pods of deployments by those of the newest template.
    Deployment,
    /// Keeps as many pods as replica sets ask for.
    ReplicaSet,
    /// Keeps as many pods as replication controllers ask for.
    ReplicationController,
    /// Keeps the numbered pods of stateful sets.
    StatefulSet,
    /// Keeps a pod of each daemon set on every node.
    DaemonSet,
    /// Runs pods until jobs are done.
    Job,
    /// Makes jobs at the times that cron jobs name.
    CronJob,
    /// Writes down where services lead, as Endpoints.
    Endpoint,
    /// Writes down where services lead, as EndpointSlices.
    EndpointSlice,
    /// Writes down as EndpointSlices what people wrote as Endpoints.
    EndpointSliceMirroring,
}

/// The controllers that run.
///
/// Written as a list of names: `namespace` runs one, `-namespace` does not, and `*` stands for all
/// that run unless told otherwise. Without `*` only those named run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    chosen: BTreeSet<Name>,
}

/// There is no such controller.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("there is no controller {name:?}; there are {}", Name::ALL.map(Name::as_str).join(", "))]
pub struct UnknownController {
    name: String,
}

impl Name {
    /// All that there are.
    pub const ALL: [Self; 16] = [
        Self::Namespace,
        Self::GarbageCollector,
        Self::ServiceAccount,
        Self::RootCa,
        Self::StorageProtection,
        Self::Disruption,
        Self::Deployment,
        Self::ReplicaSet,
        Self::ReplicationController,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
        Self::Endpoint,
        Self::EndpointSlice,
        Self::EndpointSliceMirroring,
    ];

    /// Those that make pods, and those that say how they are reached.
    pub const WORKLOADS: [Self; 10] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::ReplicationController,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
        Self::Endpoint,
        Self::EndpointSlice,
        Self::EndpointSliceMirroring,
    ];

    /// What users call it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::GarbageCollector => "garbage-collector",
            Self::ServiceAccount => "serviceaccount",
            Self::RootCa => "root-ca",
            Self::StorageProtection => "storage-protection",
            Self::Disruption => "disruption",
            Self::Deployment => "deployment",
            Self::ReplicaSet => "replicaset",
            Self::ReplicationController => "replicationcontroller",
            Self::StatefulSet => "statefulset",
            Self::DaemonSet => "daemonset",
            Self::Job => "job",
            Self::CronJob => "cronjob",
            Self::Endpoint => "endpoint",
            Self::EndpointSlice => "endpointslice",
            Self::EndpointSliceMirroring => "endpointslicemirroring",
        }
    }

    /// Whether it runs unless told otherwise.
    fn is_default(self) -> bool {
        !Self::WORKLOADS.contains(&self)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Name {
    type Err = UnknownController;

    fn from_str(text: &str) -> Result<Self, UnknownController> {
        let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
        found.ok_or_else(|| UnknownController {
            name: text.to_owned(),
        })
    }
}

impl Choice {
    /// None of them.
    pub fn none() -> Self {
        Self {
            chosen: BTreeSet::new(),
        }
    }

    /// Those named and no others.
    pub fn only(names: impl IntoIterator<Item = Name>) -> Self {
        Self {
            chosen: names.into_iter().collect(),
        }
    }

    /// The same and this one.
    #[must_use]
    pub fn with(mut self, name: Name) -> Self {
        self.chosen.insert(name);
        self
    }

    /// The same and all that have to do with pods.
    #[must_use]
    pub fn with_workloads(mut self) -> Self {
        self.chosen.extend(Name::WORKLOADS);
        self
    }

    /// Whether a controller runs.
    pub fn includes(&self, name: Name) -> bool {
        self.chosen.contains(&name)
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }
}

impl Default for Choice {
    fn default() -> Self {
        Self::only(Name::ALL.into_iter().filter(|name| name.is_default()))
    }
}

impl FromStr for Choice {
    type Err = UnknownController;

    fn from_str(text: &str) -> Result<Self, UnknownController> {
        let words = text.split(',').map(str::trim);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let mut choice = match words.contains(&"*") {
            true => Self::default(),
            false => Self::none(),
        };
        for word in words.into_iter().filter(|word| *word != "*") {
            match word.strip_prefix('-') {
                Some(name) => drop(choice.chosen.remove(&name.parse()?)),
                None => {
                    let name = word.strip_prefix('+').unwrap_or(word);
                    choice.chosen.insert(name.parse()?);
                }
            }
        }
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        let choice: Choice = text.parse().unwrap();
        choice.chosen.into_iter().map(Name::as_str).collect()
    }

    #[test]
    fn a_choice_is_a_list_of_names_with_and_without() {
        let default = [
            "namespace",
            "garbage-collector",
            "serviceaccount",
            "root-ca",
            "storage-protection",
            "disruption",
        ];
        assert_eq!(names("*"), default);
        assert_eq!(
            names("*,-namespace, -root-ca, -storage-protection,-disruption"),
            default[1..3]
        );
        assert_eq!(names("garbage-collector"), ["garbage-collector"]);
        assert_eq!(names("+root-ca,namespace"), ["namespace", "root-ca"]);
        assert_eq!(names("job, deployment"), ["deployment", "job"]);
        assert_eq!(names(""), [""; 0]);
        assert_eq!(Choice::default(), "*".parse().unwrap());
    }

    #[test]
    fn a_controller_that_does_not_exist_is_named() {
        let error = "*,-kubelet".parse::<Choice>().unwrap_err().to_string();
        assert!(error.starts_with("there is no controller \"kubelet\"; there are namespace, "));
    }
}
