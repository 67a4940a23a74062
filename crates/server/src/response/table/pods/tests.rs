use serde_json::{Value, json};

use crate::response::table::test_rows::row;

const AN_HOUR_AGO: &str = "2026-11-15T11:00:00Z";

/// The first four cells of a pod with two containers, two init containers and this status.
fn status(status: Value) -> String {
    pod(json!({
        "metadata": {"name": "p", "creationTimestamp": AN_HOUR_AGO},
        "spec": {
            "initContainers": [{"name": "i"}, {"name": "j"}],
            "containers": [{"name": "a"}, {"name": "b"}],
        },
        "status": status,
    }))
}

fn pod(object: Value) -> String {
    let row = row("pods", &object);
    let cells: Vec<_> = row.split(" | ").take(4).collect();
    cells.join(" | ")
}

fn running(name: &str) -> Value {
    json!({"name": name, "ready": true, "state": {"running": {}}})
}

fn waiting(name: &str, reason: &str) -> Value {
    json!({"name": name, "state": {"waiting": {"reason": reason}}})
}

fn terminated(name: &str, terminated: Value) -> Value {
    json!({"name": name, "state": {"terminated": terminated}})
}

fn with_containers(first: Value, second: Value) -> String {
    status(json!({"phase": "Running", "containerStatuses": [first, second]}))
}

fn initializing(first: Value, second: Value) -> String {
    status(json!({"phase": "Pending", "initContainerStatuses": [first, second]}))
}

#[test]
fn a_new_pod_shows_its_phase() {
    assert_eq!(status(json!({"phase": "Pending"})), "p | 0/2 | Pending | 0");
}

#[test]
fn a_reason_wins_over_the_phase() {
    let evicted = json!({"phase": "Failed", "reason": "Evicted"});
    assert_eq!(status(evicted), "p | 0/2 | Evicted | 0");
}

#[test]
fn a_gated_pod_says_so() {
    let gated = json!({
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
    });
    assert_eq!(status(gated), "p | 0/2 | SchedulingGated | 0");
}

#[test]
fn ready_containers_are_counted() {
    let unready = json!({"name": "b", "ready": false, "state": {"running": {}}});
    assert_eq!(
        with_containers(running("a"), unready),
        "p | 1/2 | Running | 0"
    );
}

#[test]
fn the_first_container_that_does_not_run_gives_the_status() {
    let row = with_containers(
        waiting("a", "CrashLoopBackOff"),
        waiting("b", "ErrImagePull"),
    );
    assert_eq!(row, "p | 0/2 | CrashLoopBackOff | 0");
}

#[test]
fn a_terminated_container_shows_reason_signal_or_exit_code() {
    let ended = |state| with_containers(terminated("a", state), running("b"));
    assert_eq!(
        ended(json!({"reason": "OOMKilled", "exitCode": 137})),
        "p | 1/2 | OOMKilled | 0"
    );
    assert_eq!(
        ended(json!({"signal": 9, "exitCode": 137})),
        "p | 1/2 | Signal:9 | 0"
    );
    assert_eq!(ended(json!({"exitCode": 3})), "p | 1/2 | ExitCode:3 | 0");
}

#[test]
fn a_completed_container_beside_a_running_one_leaves_the_pod_running_or_not_ready() {
    let completed = terminated("a", json!({"reason": "Completed", "exitCode": 0}));
    let ready = json!({
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [completed, running("b")],
    });
    assert_eq!(status(ready), "p | 1/2 | Running | 0");
    assert_eq!(
        with_containers(completed, running("b")),
        "p | 1/2 | NotReady | 0"
    );
}

#[test]
fn a_finished_pod_is_completed() {
    let completed = |name| terminated(name, json!({"reason": "Completed", "exitCode": 0}));
    let finished = json!({
        "phase": "Succeeded",
        "containerStatuses": [completed("a"), completed("b")],
    });
    assert_eq!(status(finished), "p | 0/2 | Completed | 0");
}

#[test]
fn init_containers_are_counted_while_they_run() {
    let done = || terminated("i", json!({"exitCode": 0}));
    let busy = |name: &str| json!({"name": name, "state": {"running": {}}});
    assert_eq!(
        initializing(busy("i"), waiting("j", "PodInitializing")),
        "p | 0/2 | Init:0/2 | 0"
    );
    assert_eq!(initializing(done(), busy("j")), "p | 0/2 | Init:1/2 | 0");
    assert_eq!(
        initializing(done(), waiting("j", "PodInitializing")),
        "p | 0/2 | Init:1/2 | 0"
    );
}

#[test]
fn a_failing_init_container_gives_the_status() {
    let failed = |state| initializing(terminated("i", state), waiting("j", "PodInitializing"));
    assert_eq!(
        failed(json!({"reason": "Error", "exitCode": 1})),
        "p | 0/2 | Init:Error | 0"
    );
    assert_eq!(
        failed(json!({"exitCode": 4})),
        "p | 0/2 | Init:ExitCode:4 | 0"
    );
    assert_eq!(
        failed(json!({"exitCode": 4, "signal": 15})),
        "p | 0/2 | Init:Signal:15 | 0"
    );
    let stuck = initializing(
        waiting("i", "CrashLoopBackOff"),
        waiting("j", "PodInitializing"),
    );
    assert_eq!(stuck, "p | 0/2 | Init:CrashLoopBackOff | 0");
}

#[test]
fn an_initialized_pod_shows_its_containers_even_if_an_init_container_runs_again() {
    let restarted = json!({
        "phase": "Running",
        "conditions": [{"type": "Initialized", "status": "True"}],
        "initContainerStatuses": [{"name": "i", "restartCount": 7, "state": {"running": {}}}],
        "containerStatuses": [running("a"), waiting("b", "ErrImagePull")],
    });
    assert_eq!(status(restarted), "p | 1/2 | ErrImagePull | 0");
}

#[test]
fn a_sidecar_counts_as_a_container() {
    let object = json!({
        "metadata": {"name": "p"},
        "spec": {
            "initContainers": [{"name": "proxy", "restartPolicy": "Always"}, {"name": "i"}],
            "containers": [{"name": "a"}],
        },
        "status": {
            "phase": "Running",
            "initContainerStatuses": [
                {"name": "proxy", "ready": true, "started": true, "restartCount": 2,
                 "state": {"running": {}},
                 "lastState": {"terminated": {"finishedAt": "2026-11-15T11:55:00Z"}}},
                {"name": "i", "restartCount": 5, "state": {"terminated": {"exitCode": 0}}},
            ],
            "containerStatuses": [running("a")],
        },
    });
    assert_eq!(pod(object), "p | 2/2 | Running | 2 (5m ago)");
}

#[test]
fn restarts_say_how_long_ago_the_last_was() {
    let restarted = |count: i64, finished: &str| {
        json!({"name": "a", "ready": true, "restartCount": count, "state": {"running": {}},
               "lastState": {"terminated": {"finishedAt": finished}}})
    };
    assert_eq!(
        with_containers(
            restarted(1, "2026-11-15T11:00:00Z"),
            restarted(2, "2026-11-15T11:59:30Z")
        ),
        "p | 2/2 | Running | 3 (30s ago)"
    );
    let untold = json!({"name": "b", "restartCount": 4, "state": {"running": {}}});
    assert_eq!(
        with_containers(running("a"), untold),
        "p | 1/2 | Running | 4"
    );
}

#[test]
fn restarts_beyond_all_counting_stay_at_the_most() {
    let restarted = || json!({"restartCount": i64::MAX, "state": {"running": {}}});
    let expected = format!("p | 0/2 | Running | {}", i64::MAX);
    assert_eq!(with_containers(restarted(), restarted()), expected);
}

#[test]
fn restarts_of_init_containers_count_only_while_they_initialize() {
    let restarting = json!({"name": "i", "restartCount": 6, "state": {"running": {}}});
    assert_eq!(
        initializing(restarting, waiting("j", "")),
        "p | 0/2 | Init:0/2 | 6"
    );
}

#[test]
fn a_deleted_pod_is_terminating_unless_it_has_finished_or_its_node_is_lost() {
    let deleted = |status: Value| {
        pod(json!({
            "metadata": {"name": "p", "deletionTimestamp": AN_HOUR_AGO},
            "spec": {"containers": [{"name": "a"}]},
            "status": status,
        }))
    };
    let finished = json!({"phase": "Succeeded"});
    assert_eq!(
        deleted(json!({"phase": "Running"})),
        "p | 0/1 | Terminating | 0"
    );
    assert_eq!(deleted(finished), "p | 0/1 | Succeeded | 0");
    let lost = json!({"phase": "Running", "reason": "NodeLost"});
    assert_eq!(deleted(lost), "p | 0/1 | Unknown | 0");
}

#[test]
fn a_wide_row_says_where_the_pod_is() {
    let object = json!({
        "metadata": {"name": "p", "creationTimestamp": AN_HOUR_AGO},
        "spec": {
            "nodeName": "n1",
            "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}],
        },
        "status": {
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            "nominatedNodeName": "n2",
            "conditions": [{"type": "x", "status": "True"}, {"type": "y", "status": "False"}],
        },
    });
    assert_eq!(
        row("pods", &object),
        "p | 0/0 |  | 0 | 60m | 10.0.0.1 | n1 | n2 | 1/2"
    );
}

#[test]
fn a_template_shows_its_containers_and_labels() {
    let object = json!({
        "metadata": {"name": "t"},
        "template": {
            "metadata": {"labels": {"b": "2", "a": "1"}},
            "spec": {"containers": [{"name": "x", "image": "i:1"}, {"name": "y", "image": "j"}]},
        },
    });
    assert_eq!(row("podtemplates", &object), "t | x,y | i:1,j | a=1,b=2");
}
