"""Runs the operator on kopf and checks what it makes of paintings that come, change and go."""

import logging
import os
import re
import time
from urllib.request import urlopen

from kubernetes import client, watch
from kubernetes.client.rest import ApiException
from painter import DRIES, GROUP, Painter, connect

TIMEOUT = 60
FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
WATCHES_OF_DEFINITIONS = re.compile(
    r'apiserver_longrunning_requests\{.*resource="customresourcedefinitions"'
)
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["colors"],
            "properties": {"colors": {"type": "array", "items": {"type": "string"}}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
DEFINITION = {
    "metadata": {"name": f"paintings.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "paintings", "singular": "painting", "kind": "Painting"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
            }
        ],
    },
}


def main():
    logging.disable()  # Every retry is told, and retrying is what this is about.
    api = Api()
    watching = api.watches_of_definitions()
    scenarios = [
        a_kind_that_comes_after_the_operator_is_followed,
        changes_are_told_with_what_was_before,
        a_deletion_waits_for_its_handler_and_takes_the_owned_along,
        what_happened_while_nobody_looked_is_found,
        a_namespace_goes_when_the_operator_lets_it,
    ]
    with Painter(TIMEOUT) as diary:
        api.until_more_watch_definitions(watching)
        for scenario in scenarios[:3]:
            run(scenario, api, diary)
    api.paint("later", {"colors": ["black"]})
    with Painter(TIMEOUT) as diary:
        for scenario in scenarios[3:]:
            run(scenario, api, diary)


def run(scenario, api, diary):
    begun = time.monotonic()
    scenario(api, diary)
    name = scenario.__name__.replace("_", " ")
    print(f"{name} ({time.monotonic() - begun:.1f} s)", flush=True)


class Api:
    """The paintings and config maps of one namespace."""

    def __init__(self, namespace="default"):
        self.connection = connect()
        self.core = client.CoreV1Api(self.connection)
        self.custom = client.CustomObjectsApi(self.connection)
        self.place = (GROUP, "v1", namespace, "paintings")
        self.namespace = namespace

    def watches_of_definitions(self):
        with urlopen(os.environ["LISTWATCH_SERVER"] + "/metrics", timeout=TIMEOUT) as answer:
            metrics = answer.read().decode()
        lines = [line for line in metrics.splitlines() if WATCHES_OF_DEFINITIONS.match(line)]
        return sum(float(line.split()[-1]) for line in lines)

    def until_more_watch_definitions(self, before):
        """kopf looks for kinds once and then for new ones: none may come in between."""
        deadline = time.monotonic() + TIMEOUT
        while self.watches_of_definitions() <= before:
            assert time.monotonic() < deadline, "the operator does not watch definitions"
            time.sleep(0.05)

    def define(self):
        client.ApiextensionsV1Api(self.connection).create_custom_resource_definition(DEFINITION)

    def paint(self, name, spec, labels=None):
        metadata = {"name": name, "labels": {"art": "yes", **(labels or {})}}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Painting", "metadata": metadata, "spec": spec}
        return self.custom.create_namespaced_custom_object(*self.place, body)

    def change(self, name, body):
        return self.custom.patch_namespaced_custom_object(*self.place, name, body)

    def remove(self, name):
        return self.custom.delete_namespaced_custom_object(*self.place, name)

    def painting(self, name, holds):
        """The painting, once it is as it should be."""
        return until(self.custom.list_namespaced_custom_object, self.place, name, holds)

    def frame(self, name, holds):
        """The config map, once it is as it should be."""
        place = (self.namespace,)
        return until(self.core.list_namespaced_config_map, place, name, holds)

    def painting_is_gone(self, name):
        until(self.custom.list_namespaced_custom_object, self.place, name, gone)

    def frame_is_gone(self, name):
        until(self.core.list_namespaced_config_map, (self.namespace,), name, gone)


def gone(found):
    return found is None


def until(listing, place, name, holds):
    """Follows one object by name until something holds of it, or of its absence."""
    selector = f"metadata.name={name}"
    listed = plain(listing(*place, field_selector=selector))
    found = listed["items"][0] if listed["items"] else None
    if holds(found):
        return found
    follower = watch.Watch()
    events = follower.stream(
        listing,
        *place,
        field_selector=selector,
        resource_version=listed["metadata"]["resourceVersion"],
        timeout_seconds=TIMEOUT,
    )
    for event in events:
        found = None if event["type"] == "DELETED" else event["raw_object"]
        if holds(found):
            follower.stop()
            return found
    raise AssertionError(f"{name} never became what it should be, but {found}")


def plain(listed):
    return listed if isinstance(listed, dict) else client.ApiClient().sanitize_for_serialization(listed)


def a_kind_that_comes_after_the_operator_is_followed(api, diary):
    api.define()
    api.paint("sky", {"colors": ["grey"]})
    diary.until(TIMEOUT, "painted", "sky", 1)
    api.painting("sky", lambda it: it.get("status", {}).get("paint"))
    api.paint("sea", {"colors": ["blue", "green"]}, DRIES)
    diary.until(TIMEOUT, "painted", "sea", 1)
    painting = api.painting("sea", lambda it: it.get("status", {}).get("paint"))
    assert painting["status"]["phase"] == "Painted", painting["status"]
    assert painting["metadata"]["finalizers"] == [FINALIZER], painting["metadata"]
    frame = api.frame(painting["status"]["paint"]["frame"], lambda it: it)
    assert frame["data"] == {"colors": "blue green"}, frame
    [owner] = frame["metadata"]["ownerReferences"]
    assert owner["uid"] == painting["metadata"]["uid"] and owner["controller"], owner
    diary.until(TIMEOUT, "heard", "ADDED", frame["metadata"]["name"])
    place = (api.namespace,)
    until_event = lambda it: it["reason"] == "Painted" and it["involvedObject"]["name"] == "sea"
    followed(api.core.list_namespaced_event, place, until_event)


def followed(listing, place, holds):
    """Follows all objects of a kind until something holds of one."""
    follower = watch.Watch()
    for event in follower.stream(listing, *place, timeout_seconds=TIMEOUT):
        if holds(event["raw_object"]):
            follower.stop()
            return
    raise AssertionError("no object became what it should be")


def changes_are_told_with_what_was_before(api, diary):
    diary.until(TIMEOUT, "guarded", "sea")
    api.painting("sea", lambda it: it["status"].get("ticks", 0) >= 3)
    api.change("sea", {"spec": {"colors": ["red"]}})
    diary.until(TIMEOUT, "repainted", "sea", ("blue", "green"), ("red",))
    frame = api.painting("sea", bool)["status"]["paint"]["frame"]
    assert api.frame(frame, bool)["data"] == {"colors": "red"}
    api.change("sea", {"metadata": {"labels": {"drying": None}}})
    diary.until(TIMEOUT, "left", "sea")


def a_deletion_waits_for_its_handler_and_takes_the_owned_along(api, diary):
    frame = api.painting("sea", bool)["status"]["paint"]["frame"]
    api.remove("sea")
    diary.until(TIMEOUT, "taken down", "sea")
    api.painting_is_gone("sea")
    api.frame_is_gone(frame)
    diary.until(TIMEOUT, "heard", "DELETED", frame)


def what_happened_while_nobody_looked_is_found(api, diary):
    diary.until(TIMEOUT, "painted", "later", 1)
    api.painting("later", lambda it: it.get("status", {}).get("phase") == "Painted")
    diary.until(TIMEOUT, "found", "sky")
    assert not any(entry[:2] == ("painted", "sky") for entry in diary.entries), diary.entries


def a_namespace_goes_when_the_operator_lets_it(api, diary):
    gallery = Api("gallery")
    gallery.core.create_namespace({"metadata": {"name": "gallery"}})
    gallery.paint("moon", {"colors": ["white"]}, DRIES)
    diary.until(TIMEOUT, "painted", "moon", 1)
    diary.until(TIMEOUT, "guarded", "moon")
    gallery.core.delete_namespace("gallery")
    diary.until(TIMEOUT, "left", "moon")
    diary.until(TIMEOUT, "taken down", "moon")
    until(gallery.core.list_namespace, (), "gallery", gone)
    try:
        gallery.custom.get_namespaced_custom_object(*gallery.place, "moon")
    except ApiException as error:
        assert error.status == 404, error
    else:
        raise AssertionError("the painting outlived its namespace")


if __name__ == "__main__":
    main()
