//! Pods, and what runs them.

use crate::field::Field;
use crate::rules::Rules;

mod annotations;
mod birth;
mod claims;
mod containers;
mod controllers;
mod counts;
mod defaults;
mod env;
mod image;
mod job;
mod mounts;
mod network;
mod pod;
mod pod_spec;
mod pod_status;
mod probes;
mod replicas;
mod resources;
pub mod running;
mod schedule;
mod scheduling;
mod security;
mod sets;
mod shown;
mod template;
mod volumes;
mod warnings;
#[cfg(test)]
mod tests;

pub(crate) use scheduling::check_node_selector;

pub(crate) const PODS: Rules = Rules {
    default: defaults::fill_pod,
    begin: birth::begin_pod,
    check_new: pod::check_new,
    check_change: pod::check_change,
    check_status: pod_status::check_pod_status,
    warn: warnings::of_pod,
    ..Rules::NONE
};

pub(crate) const POD_TEMPLATES: Rules = Rules {
    default: controllers::fill_pod_template,
    check_new: replicas::check_pod_template,
    check_change: replicas::check_pod_template_change,
    warn: warnings::of_pod_template,
    ..Rules::NONE
};

pub(crate) const REPLICATION_CONTROLLERS: Rules = Rules {
    default: controllers::fill_replication_controller,
    check_new: replicas::check_controller,
    check_change: replicas::check_controller_change,
    check_status: counts::check_controller_status,
    warn: warnings::of_controller,
    ..Rules::NONE
};

pub(crate) const REPLICA_SETS: Rules = Rules {
    default: controllers::fill_replica_set,
    check_new: replicas::check_replica_set,
    check_change: replicas::check_replica_set_change,
    check_status: counts::check_controller_status,
    warn: warnings::of_controller,
    ..Rules::NONE
};

pub(crate) const DEPLOYMENTS: Rules = Rules {
    default: controllers::fill_deployment,
    check_new: replicas::check_deployment,
    check_change: replicas::check_deployment_change,
    check_status: counts::check_deployment_status,
    warn: warnings::of_controller,
    ..Rules::NONE
};

pub(crate) const DAEMON_SETS: Rules = Rules {
    default: controllers::fill_daemon_set,
    begin: controllers::begin_daemon_set,
    check_new: sets::check_daemon_set,
    check_change: sets::check_daemon_set_change,
    check_status: counts::check_daemon_set_status,
    adjust: controllers::adjust_daemon_set,
    warn: warnings::of_daemon_set,
};

pub(crate) const STATEFUL_SETS: Rules = Rules {
    default: controllers::fill_stateful_set,
    check_new: sets::check_stateful_set,
    check_change: sets::check_stateful_set_change,
    check_status: counts::check_stateful_set_status,
    warn: warnings::of_stateful_set,
    ..Rules::NONE
};

pub(crate) const CONTROLLER_REVISIONS: Rules = Rules {
    check_new: sets::check_revision,
    check_change: sets::check_revision_change,
    ..Rules::NONE
};

pub(crate) const JOBS: Rules = Rules {
    default: controllers::fill_job,
    begin: controllers::begin_job,
    check_new: job::check_job,
    check_change: job::check_job_change,
    check_status: job::check_job_status,
    adjust: controllers::adjust_job,
    warn: warnings::of_job,
};

pub(crate) const CRON_JOBS: Rules = Rules {
    default: controllers::fill_cron_job,
    check_new: job::check_cron_job,
    check_change: job::check_cron_job_change,
    warn: warnings::of_cron_job,
    ..Rules::NONE
};

const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];

/// Calls `visit` with each container of a pod: those that run before, those that run, and those
/// that look in.
fn each_container<'v>(spec: &Field<'v, '_>, mut visit: impl FnMut(&Field<'v, '_>)) {
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        let list = spec.child(list);
        for container in list.elements() {
            visit(&container);
        }
    }
}
