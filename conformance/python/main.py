"""The official Python client on a server that is restarted and crashed under it."""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import urllib3
from kubernetes import client, dynamic, watch
from kubernetes.client.rest import ApiException

OBJECTS = 1_000
PAGE = 100
HISTORY = 1_000_000  # Bytes of changes that the server keeps.
NAMESPACE = "default"
TIMEOUT = 120
CONNECTION_LOST = (urllib3.exceptions.HTTPError, ConnectionError)


def main():
    scenarios = [
        a_recorded_watch_misses_nothing_through_a_restart_and_a_crash,
        pages_of_one_list_are_one_state,
        a_watch_goes_on_exactly_after_a_list,
        who_comes_back_too_late_is_told_so,
        all_three_patches_do_what_they_say,
        a_stale_update_is_refused,
        deletion_waits_for_finalizers,
        the_dynamic_client_finds_resources_by_discovery,
        typed_objects_of_other_groups_are_written_and_read,
        a_refused_typed_write_says_which_field_is_wrong,
    ]
    for scenario in scenarios:
        begun = time.monotonic()
        scenario(connect())
        name = scenario.__name__.replace("_", " ")
        print(f"{name} ({time.monotonic() - begun:.1f} s)", flush=True)


def connect():
    configuration = client.Configuration(host=os.environ["LISTWATCH_SERVER"])
    configuration.connection_pool_maxsize = 16
    configuration.retries = False
    return client.CoreV1Api(client.ApiClient(configuration))


def ask(what):
    """Asks the owner of the server to end it and start it again."""
    print(what, flush=True)
    assert sys.stdin.readline().strip() == "done"


def a_recorded_watch_misses_nothing_through_a_restart_and_a_crash(api):
    recorder = Recorder(api)
    recorder.start()
    events = {OBJECTS // 3: "restart", OBJECTS * 2 // 3: "crash"}
    for first, last in [(0, OBJECTS // 3), (OBJECTS // 3, OBJECTS * 2 // 3), (OBJECTS * 2 // 3, OBJECTS)]:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda index: persist(lambda: create(api, index)), range(first, last)))
        if last in events:
            ask(events[last])
    for index in range(0, OBJECTS, 10):
        persist(lambda: patch(api, name(index), {"data": {"changed": "yes"}}))
    for index in range(5, OBJECTS, 10):
        persist(lambda: api.delete_namespaced_config_map(name(index), NAMESPACE))
    expected = versions(api.list_namespaced_config_map(NAMESPACE).items)
    assert len(expected) == OBJECTS - OBJECTS // 10, len(expected)
    recorder.until(lambda: recorder.objects == expected)
    assert recorder.counts == {
        "ADDED": OBJECTS,
        "MODIFIED": OBJECTS // 10,
        "DELETED": OBJECTS // 10,
    }, recorder.counts


class Recorder(threading.Thread):
    """Folds one watch, which it takes up again wherever it broke."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api = api
        listed = api.list_namespaced_config_map(NAMESPACE)
        self.version = listed.metadata.resource_version
        self.objects = versions(listed.items)
        self.counts = {}
        self.problem = None

    def run(self):
        try:
            while True:
                self.watch_once()
        except Exception as error:  # Shown by the thread that waits.
            self.problem = error

    def watch_once(self):
        try:
            stream = watch.Watch().stream(
                self.api.list_namespaced_config_map,
                NAMESPACE,
                resource_version=self.version,
                allow_watch_bookmarks=True,
                timeout_seconds=TIMEOUT,
            )
            for event in stream:
                self.take(event["type"], event["raw_object"]["metadata"])
        except CONNECTION_LOST:
            time.sleep(0.05)

    def take(self, kind, metadata):
        version = metadata["resourceVersion"]
        if kind == "BOOKMARK":
            assert int(version) >= int(self.version), f"a bookmark at {version} after {self.version}"
            self.version = version
            return
        assert int(version) > int(self.version), f"{kind} at {version} after {self.version}"
        present = metadata["name"] in self.objects
        assert present == (kind != "ADDED"), f"{kind} of {metadata['name']}, present: {present}"
        if kind == "DELETED":
            del self.objects[metadata["name"]]
        else:
            self.objects[metadata["name"]] = version
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.version = version

    def until(self, condition):
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            if self.problem:
                raise self.problem
            assert time.monotonic() < deadline, f"{len(self.objects)} objects, {self.counts}"
            time.sleep(0.05)


def pages_of_one_list_are_one_state(api):
    whole = api.list_namespaced_config_map(NAMESPACE)
    items, token, version = [], None, None
    while True:
        page = api.list_namespaced_config_map(NAMESPACE, limit=PAGE, _continue=token)
        items += page.items
        if version is None:
            version = page.metadata.resource_version
            create(api, OBJECTS + 1)
        assert page.metadata.resource_version == version
        token = page.metadata._continue
        if not token:
            break
        assert len(page.items) == PAGE
        assert page.metadata.remaining_item_count == len(whole.items) - len(items)
    assert [item.metadata.name for item in items] == [item.metadata.name for item in whole.items]


def a_watch_goes_on_exactly_after_a_list(api):
    version = api.list_namespaced_config_map(NAMESPACE, limit=1).metadata.resource_version
    create(api, OBJECTS + 2)
    patch(api, name(OBJECTS + 2), {"data": {"changed": "yes"}})
    api.delete_namespaced_config_map(name(OBJECTS + 2), NAMESPACE)
    found = []
    watcher = watch.Watch()
    for event in watcher.stream(
        api.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=TIMEOUT
    ):
        found.append((event["type"], event["object"].metadata.name))
        if len(found) == 3:
            watcher.stop()
    expected = name(OBJECTS + 2)
    assert found == [("ADDED", expected), ("MODIFIED", expected), ("DELETED", expected)], found


def who_comes_back_too_late_is_told_so(api):
    """The server was started with little history; more than that happens here."""
    page = api.list_namespaced_config_map(NAMESPACE, limit=PAGE)
    changes = [{"data": {"large": f"{number}" * 1_000}} for number in range(1_000, 1_500)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda change: patch(api, name(0), change), changes))
    assert sum(len(change["data"]["large"]) for change in changes) > HISTORY
    version = page.metadata.resource_version
    refused(410, lambda: watch_until_expired(api, version))
    fresh = api.list_namespaced_config_map(NAMESPACE, limit=1).metadata.resource_version
    assert list(short_watch(api, fresh)) == []
    token = page.metadata._continue
    error = refused(
        410, lambda: api.list_namespaced_config_map(NAMESPACE, limit=PAGE, _continue=token)
    )
    token = json.loads(error.body)["metadata"]["continue"]
    rest = api.list_namespaced_config_map(NAMESPACE, _continue=token)
    names = [item.metadata.name for item in page.items + rest.items]
    assert names == sorted(set(names)) and len(names) > PAGE


def watch_until_expired(api, version):
    """History is forgotten in the background; until then a watch gets all of it."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        list(short_watch(api, version))


def short_watch(api, version):
    return watch.Watch().stream(
        api.list_namespaced_config_map, NAMESPACE, resource_version=version, timeout_seconds=1
    )


def all_three_patches_do_what_they_say(api):
    create(api, OBJECTS + 3)
    target = name(OBJECTS + 3)
    json_patch = [{"op": "add", "path": "/data/json", "value": "1"}]
    assert patch(api, target, json_patch, "json-patch").data["json"] == "1"
    merged = patch(api, target, {"data": {"json": None, "merge": "2"}}, "merge-patch")
    assert merged.data == {"index": str(OBJECTS + 3), "merge": "2"}, merged.data
    strategic = {"metadata": {"labels": {"strategic": "3"}}}
    labels = patch(api, target, strategic, "strategic-merge-patch").metadata.labels
    assert labels == {"strategic": "3"}, labels
    again = patch(api, target, strategic, "strategic-merge-patch")
    read = api.read_namespaced_config_map(target, NAMESPACE)
    assert again.metadata.resource_version == read.metadata.resource_version


def a_stale_update_is_refused(api):
    create(api, OBJECTS + 4)
    old = api.read_namespaced_config_map(name(OBJECTS + 4), NAMESPACE)
    patch(api, name(OBJECTS + 4), {"data": {"changed": "yes"}})
    old.data = {"index": "overwritten"}
    refused(409, lambda: api.replace_namespaced_config_map(name(OBJECTS + 4), NAMESPACE, old))
    fresh = api.read_namespaced_config_map(name(OBJECTS + 4), NAMESPACE)
    fresh.data = {"index": "new"}
    replaced = api.replace_namespaced_config_map(name(OBJECTS + 4), NAMESPACE, fresh)
    assert replaced.data == {"index": "new"}


def deletion_waits_for_finalizers(api):
    create(api, OBJECTS + 5)
    target = name(OBJECTS + 5)
    patch(api, target, {"metadata": {"finalizers": ["example.com/hold"]}})
    api.delete_namespaced_config_map(target, NAMESPACE)
    assert api.read_namespaced_config_map(target, NAMESPACE).metadata.deletion_timestamp
    patch(api, target, {"metadata": {"finalizers": None}})
    refused(404, lambda: api.read_namespaced_config_map(target, NAMESPACE))
    api.delete_collection_namespaced_config_map(NAMESPACE, label_selector="strategic=3")
    refused(404, lambda: api.read_namespaced_config_map(name(OBJECTS + 3), NAMESPACE))


def the_dynamic_client_finds_resources_by_discovery(api):
    resources = dynamic.DynamicClient(api.api_client).resources
    deployments = resources.get(api_version="apps/v1", kind="Deployment")
    assert deployments.namespaced and deployments.name == "deployments"
    namespaces = resources.get(api_version="v1", kind="Namespace").get()
    found = {item.metadata.name for item in namespaces.items}
    assert {"default", "kube-system", "kube-public", "kube-node-lease"} <= found, found


def create(api, index):
    body = {"metadata": {"name": name(index)}, "data": {"index": str(index)}}
    try:
        api.create_namespaced_config_map(NAMESPACE, body)
    except ApiException as error:
        if error.status != 409:
            raise


def patch(api, target, body, kind="merge-patch"):
    content_type = f"application/{kind}+json"
    return api.patch_namespaced_config_map(target, NAMESPACE, body, _content_type=content_type)


def persist(request):
    """Repeats a request while the server is away."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            return request()
        except CONNECTION_LOST:
            assert time.monotonic() < deadline, "the server stays away"
            time.sleep(0.05)


def refused(code, request):
    try:
        request()
    except ApiException as error:
        assert error.status == code, error
        return error
    raise AssertionError(f"{code} expected")


def versions(items):
    return {item.metadata.name: item.metadata.resource_version for item in items}


def name(index):
    return f"config-{index:05}"


def deployment(labels):
    container = client.V1Container(
        name="main",
        image="example.com/app:1",
        ports=[client.V1ContainerPort(container_port=80, name="http")],
        resources=client.V1ResourceRequirements(requests={"cpu": "100m", "memory": "64Mi"}),
    )
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels),
        spec=client.V1PodSpec(containers=[container]),
    )
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name="typed", labels=labels),
        spec=client.V1DeploymentSpec(
            replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template
        ),
    )


def typed_objects_of_other_groups_are_written_and_read(api):
    apps = client.AppsV1Api(api.api_client)
    created = apps.create_namespaced_deployment(NAMESPACE, deployment({"app": "typed"}))
    assert created.metadata.uid and created.metadata.creation_timestamp.tzinfo
    created.spec.template.spec.containers[0].image = "example.com/app:2"
    replaced = apps.replace_namespaced_deployment("typed", NAMESPACE, created)
    assert replaced.metadata.generation == created.metadata.generation + 1
    scale = apps.read_namespaced_deployment_scale("typed", NAMESPACE)
    scale.spec.replicas = 5
    apps.replace_namespaced_deployment_scale("typed", NAMESPACE, scale)
    read = apps.read_namespaced_deployment("typed", NAMESPACE)
    assert read.spec.replicas == 5
    assert read.spec.template.spec.containers[0].image == "example.com/app:2"
    read.status = client.V1DeploymentStatus(observed_generation=read.metadata.generation)
    seen = apps.replace_namespaced_deployment_status("typed", NAMESPACE, read)
    assert seen.status.observed_generation == read.metadata.generation
    options = client.V1DeleteOptions(propagation_policy="Background")
    apps.delete_namespaced_deployment("typed", NAMESPACE, body=options)
    refused(404, lambda: apps.read_namespaced_deployment("typed", NAMESPACE))


def a_refused_typed_write_says_which_field_is_wrong(api):
    apps = client.AppsV1Api(api.api_client)
    wrong = deployment({"app": "typed"})
    wrong.metadata.name = "Not A Name"
    error = refused(422, lambda: apps.create_namespaced_deployment(NAMESPACE, wrong))
    causes = json.loads(error.body)["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["metadata.name"], causes


if __name__ == "__main__":
    main()
