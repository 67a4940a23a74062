"""A kube-apiserver and a Listwatch on one etcd: each understands what the other writes.

Environment: KUBE_APISERVER, ETCD and LISTWATCH, the programs; FOLDER, for what they write.
"""

import itertools
import json
import os
import pathlib
import re
import threading
import time

from processes import ANSWER_TIMEOUT, Together, Watch

HERE = pathlib.Path(__file__).parent
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
# Answered without being stored anywhere.
NOT_STORED = {"/api/v1/componentstatuses"}
# What kube-apiserver says differently of an object that it reads, beyond members it adds.
SAID_DIFFERENTLY = (
    r"/services/.*\.targetPort",  # 0 stands for the port itself
    r"/secrets/.*\.stringData",  # becomes part of `data`
    r"/customresourcedefinitions/.*\.storedVersions",  # none stands for those of the definition
    r"/rolebindings/.*\.apiGroup",  # empty stands for the group of roles
)
# What kube-apiserver does not store and adds whenever it answers.
ADDED_BY_KUBE = (
    r"/persistentvolumeclaims/.*\.status\.phase",
    r"/statefulsets/.*\.volumeClaimTemplates\[\d+\]\.(kind|apiVersion)",
    r"/jobs/.*\.metadata\.labels",
)


def main():
    begun = time.monotonic()
    with Together(pathlib.Path(os.environ["FOLDER"])) as both:
        say(begun, "both are ready")
        for scenario in [
            what_kube_apiserver_writes_by_itself_reads_the_same,
            each_reads_changes_and_deletes_what_the_other_wrote,
            what_one_has_written_the_other_has_at_once,
            a_list_of_one_goes_on_as_a_watch_of_the_other,
            writers_of_both_lose_no_update,
            definitions_made_here_are_served_there,
            what_would_bring_the_other_down_is_refused,
            both_compact_and_watches_go_on,
            either_goes_on_alone_with_the_data_of_both,
        ]:
            begun = time.monotonic()
            scenario(both.kube, both.ours)
            say(begun, scenario.__name__.replace("_", " "))
        unreadable = unreadable_objects(both.ours)
        assert not unreadable, unreadable


def say(begun, what):
    print(f"{what} ({time.monotonic() - begun:.1f} s)", flush=True)


def what_kube_apiserver_writes_by_itself_reads_the_same(kube, ours):
    assert kube.kinds() ^ ours.kinds() <= NOT_STORED, kube.kinds() ^ ours.kinds()
    compared = compare_lists(kube, ours, ())
    assert compared > 100, compared


def each_reads_changes_and_deletes_what_the_other_wrote(kube, ours):
    for writer, reader in [(ours, kube), (kube, ours)]:
        version = ours.must("GET", "/api/v1/namespaces")["metadata"]["resourceVersion"]
        paths = sorted(ours.kinds() - NOT_STORED)
        watches = [(path, Watch(kube, path, version), Watch(ours, path, version)) for path in paths]
        objects = [write(writer, reader, path, body) for path, body in samples()]
        for path in objects:
            if "/jobs/" not in path or writer is kube:
                change(reader, writer, path)
                change(writer, reader, path)
        compare_lists(kube, ours, ADDED_BY_KUBE)
        for path in objects:
            delete(reader, writer, path)
        last = mark(kube, ours, watches)
        for path, theirs, own in watches:
            until = last if path == "/api/v1/configmaps" else None
            equal_events(path, theirs, own, until)
        assert sum(len(own.events) for _, _, own in watches) >= 3 * len(objects)
        for _, theirs, own in watches:
            theirs.close()
            own.close()


def samples():
    """The smallest object of every kind."""
    recorded = HERE.parent / "golden/07-built-in-defaults.jsonl"
    for line in recorded.read_text().splitlines():
        recording = json.loads(line)
        request = recording["request"]
        if request["method"] == "POST" and recording["status"] == 201:
            if "name" in request["body"].get("metadata", {}):
                yield request["path"].split("?")[0], request["body"]
    for line in (HERE / "more_kinds.jsonl").read_text().splitlines():
        sample = json.loads(line)
        yield sample["path"], sample["body"]


def write(writer, reader, path, body):
    writer.must("POST", path, body)
    path = f"{path}/{body['metadata']['name']}"
    if writer.name == "listwatch":
        read_same(writer, reader, path, True, SAID_DIFFERENTLY)
    else:
        read_same(reader, writer, path, False, ADDED_BY_KUBE)
    return path


def change(writer, reader, path):
    writer.merge(path, {"metadata": {"annotations": {"changed-by": writer.name}}})
    ours, kube = (writer, reader) if writer.name == "listwatch" else (reader, writer)
    read_same(ours, kube, path, False, ADDED_BY_KUBE)


def read_same(ours, kube, path, added, allowed):
    """Reads one version of an object from both, whoever else changes it."""
    for _ in range(10):
        own, their = ours.must("GET", path), kube.must("GET", path)
        if own["metadata"]["resourceVersion"] == their["metadata"]["resourceVersion"]:
            unexpected = differences(path, own, their, added, allowed)
            assert not unexpected, unexpected
            return
    raise AssertionError(f"{path} changes all the time")


def delete(writer, reader, path):
    writer.ask("DELETE", f"{path}?propagationPolicy=Background&gracePeriodSeconds=0")
    status, left = reader.ask("GET", path)
    if status == 200 and left["metadata"].get("finalizers"):
        reader.merge(path, {"metadata": {"finalizers": None}})
    if status == 200 and left["kind"] == "Namespace":
        reader.must("PUT", f"{path}/finalize", left | {"spec": {}})
    status, left = reader.ask("GET", path)
    assert status == 404, f"{reader.name}: {path}: {left}"


def mark(kube, ours, watches):
    """Writes once more, so that everything before it has been told."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mark"}}
    ours.must("POST", CONFIG_MAPS, body)
    kube.must("DELETE", f"{CONFIG_MAPS}/mark")
    return "mark"


def equal_events(path, theirs, own, until):
    if until is not None:
        for watch in (theirs, own):
            watch.wait_for(lambda events: ("DELETED", until) in [(e[0], e[2]) for e in events])
    deadline = time.monotonic() + ANSWER_TIMEOUT
    while theirs.events != own.events:
        assert time.monotonic() < deadline, f"{path}:\n{theirs.events}\n{own.events}"
        time.sleep(0.02)


def what_one_has_written_the_other_has_at_once(kube, ours):
    for turn, (writer, reader) in enumerate([(kube, ours), (ours, kube)] * 20):
        path = f"{CONFIG_MAPS}/at-once-{turn}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"at-once-{turn}"}}
        written = writer.must("POST", CONFIG_MAPS, body)
        assert differences(path, reader.must("GET", path), written, False, ()) == []
        listed = reader.must("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name=at-once-{turn}")
        assert len(listed["items"]) == 1, f"{reader.name} lists {listed}"
        version = written["metadata"]["resourceVersion"]
        assert int(listed["metadata"]["resourceVersion"]) >= int(version)
        at = reader.must("GET", f"{CONFIG_MAPS}?resourceVersion={version}")
        assert any(item["metadata"]["name"] == f"at-once-{turn}" for item in at["items"])
        reader.must("DELETE", path)
        assert writer.ask("GET", path)[0] == 404


def a_list_of_one_goes_on_as_a_watch_of_the_other(kube, ours):
    for lister, watcher in [(kube, ours), (ours, kube)]:
        listed = lister.must("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
        versions = []
        for index in range(20):
            writer = (lister, watcher)[index % 2]
            body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"go-on-{index}"}}
            versions.append(writer.must("POST", CONFIG_MAPS, body)["metadata"]["resourceVersion"])
        watch = Watch(watcher, CONFIG_MAPS, listed)
        watch.wait_for(lambda events: len(events) >= 20)
        assert [event[3] for event in watch.events] == versions, watch.events
        watch.close()
        for index in range(20):
            lister.must("DELETE", f"{CONFIG_MAPS}/go-on-{index}")


def writers_of_both_lose_no_update(kube, ours):
    path = f"{CONFIG_MAPS}/counter"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "counter"}}
    kube.must("POST", CONFIG_MAPS, body | {"data": {"count": "0"}})
    failures = []

    def count(api):
        done = 0
        while done < 25:
            read = api.must("GET", path)
            read["data"]["count"] = str(int(read["data"]["count"]) + 1)
            status, answer = api.ask("PUT", path, read)
            done += status == 200
            if status not in (200, 409):
                failures.append(answer)
                return

    writers = [threading.Thread(target=count, args=(api,)) for api in (kube, ours, kube, ours)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failures, failures
    assert kube.must("GET", path)["data"] == ours.must("GET", path)["data"] == {"count": "100"}
    ours.must("DELETE", path)


def definitions_made_here_are_served_there(kube, ours):
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }
    ours.must("POST", definitions, body)
    toys = "/apis/example.com/v1/namespaces/default/toys"
    deadline = time.monotonic() + ANSWER_TIMEOUT
    while kube.ask("GET", toys)[0] != 200:
        assert time.monotonic() < deadline, "the kind is not served"
        time.sleep(0.1)
    toy = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "bear"}}
    kube.must("POST", toys, toy)
    path = f"{definitions}/toys.example.com"
    assert not differences(path, ours.must("GET", path), kube.must("GET", path), False, ())


def what_would_bring_the_other_down_is_refused(kube, ours):
    """It ends in a panic when it reads such an object, and again whenever it is started."""
    services = "/apis/apiregistration.k8s.io/v1/apiservices"
    levels = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
    spec = {"group": "a.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    cases = [(services, "APIService", spec)]
    cases += [(levels, "PriorityLevelConfiguration", spec) for spec in ({}, {"type": "Limited"})]
    for path, kind, spec in cases:
        version = "/".join(path.split("/")[2:4])
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": "bad"}, "spec": spec}
        own, their = (api.ask("POST", f"{path}?dryRun=All", body) for api in (ours, kube))
        assert own == their and own[0] == 422, f"{own}\n{their}"


def both_compact_and_watches_go_on(kube, ours):
    old = ours.must("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
    exact = f"{CONFIG_MAPS}?resourceVersion={old}&resourceVersionMatch=Exact"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "compacted"}}
    watches = [Watch(api, CONFIG_MAPS, old) for api in (kube, ours)]
    deadline = time.monotonic() + ANSWER_TIMEOUT
    for turn in itertools.count(1):
        (kube, ours)[turn % 2].must("POST", CONFIG_MAPS, body)
        (ours, kube)[turn % 2].must("DELETE", f"{CONFIG_MAPS}/compacted")
        if kube.ask("GET", exact)[0] == 410:
            break
        assert time.monotonic() < deadline, "nothing is compacted"
        time.sleep(0.2)
    for watch in watches:
        watch.wait_for(lambda events: len(events) == 2 * turn)
    assert watches[0].events == watches[1].events
    for watch in watches:
        watch.close()
    ours.end()  # Its memory reaches further back than etcd.
    ours.start()
    assert ours.ask("GET", exact)[0] == 410


def either_goes_on_alone_with_the_data_of_both(kube, ours):
    for gone, alone in [(kube, ours), (ours, kube)]:
        gone.end()
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "alone"}}
        written = alone.must("POST", CONFIG_MAPS, body)
        gone.start()
        path = f"{CONFIG_MAPS}/alone"
        assert not differences(path, gone.must("GET", path), written, False, ())
        listed = alone.must("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
        watch = Watch(gone, CONFIG_MAPS, listed)
        gone.must("DELETE", path)
        watch.wait_for(lambda events: [event[0] for event in events] == ["DELETED"])
        watch.close()
        compare_lists(kube, ours, ADDED_BY_KUBE)


def compare_lists(kube, ours, allowed):
    """Lists every kind from both; the number of objects."""
    compared = 0
    for path in sorted(ours.kinds() - NOT_STORED):
        by_key = [
            {
                (item["metadata"].get("namespace"), item["metadata"]["name"]): item
                for item in api.must("GET", path)["items"]
            }
            for api in (ours, kube)
        ]
        assert by_key[0].keys() == by_key[1].keys(), f"{path}: {by_key}"
        for key, item in by_key[0].items():
            where = f"{path}/{key[1]}"
            unexpected = differences(where, item, by_key[1][key], "/jobs/" in where, allowed)
            # A lease is renewed between the two lists.
            if item["metadata"]["resourceVersion"] == by_key[1][key]["metadata"]["resourceVersion"]:
                assert not unexpected, unexpected
                compared += 1
    return compared


def differences(path, ours, theirs, added, allowed):
    """What differs, without what the real one may have `added` and what is `allowed`."""
    found = []

    def look(where, own, their):
        if isinstance(own, dict) and isinstance(their, dict):
            for name in sorted(own.keys() | their.keys()):
                if name in own or not added:
                    look(f"{where}.{name}", own.get(name), their.get(name))
        elif isinstance(own, list) and isinstance(their, list) and len(own) == len(their):
            for index, (one, other) in enumerate(zip(own, their)):
                look(f"{where}[{index}]", one, other)
        elif own != their and not any(re.search(pattern, where) for pattern in allowed):
            found.append(f"{where}: listwatch {own}, kube-apiserver {their}")

    look(path, ours, theirs)
    return found


def unreadable_objects(ours):
    lines = ours.must("GET", "/metrics").splitlines()
    counts = [line for line in lines if line.startswith("listwatch_unreadable_objects{")]
    assert counts, "no kind is counted"
    return [line for line in counts if not line.endswith(" 0")]


if __name__ == "__main__":
    main()
