"""Records answers of a kube-apiserver in protobuf and in JSON, so that each can be made of the other.

    record_answers.py URL TOKEN-FILE ../../crates/server/tests/data/protobuf/answers.jsonl.gz

Makes the smallest object of each kind that the recorded defaults know, asks for each in every form,
and deletes them again.
"""

import base64
import gzip
import json
import pathlib
import ssl
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
DEFAULTS = HERE.parent / "golden" / "07-built-in-defaults.jsonl"
MORE_KINDS = HERE.parent / "kube_apiserver" / "more_kinds.jsonl"
NAMESPACE = "recorded-answers"
JSON = "application/json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
# How often an answer is asked for until nothing has changed meanwhile.
TRIES = 50
# What is asked for beside whole objects.
METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Server:
    def __init__(self, url, token):
        self.url = url
        self.token = token
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    def ask(self, path, accept, method="GET", body=None):
        """The code and the bytes of an answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": accept}
        if body is not None:
            headers["Content-Type"] = JSON
            body = json.dumps(body, separators=(",", ":")).encode()
        request = urllib.request.Request(
            self.url + path, data=body, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read()


def main():
    url, token_file, target = sys.argv[1:]
    server = Server(url, pathlib.Path(token_file).read_text().strip())
    made = make_objects(server)
    try:
        records = list(record(server, made))
    finally:
        for path, collection in reversed(made):
            remove(server, path, collection)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in records)
    with open(target, "wb") as file:
        file.write(gzip.compress(text.encode(), mtime=0))
    print(f"{target}: {len(records)} answers")


def make_objects(server):
    """The paths of what was made, and of the collections."""
    namespace = {"metadata": {"name": NAMESPACE}}
    code, text = server.ask("/api/v1/namespaces", JSON, "POST", namespace)
    assert code in (201, 409), text
    made = [(f"/api/v1/namespaces/{NAMESPACE}", "/api/v1/namespaces")]
    for line in DEFAULTS.read_text().splitlines():
        request = json.loads(line)["request"]
        if request["method"] == "POST":
            make(server, request["path"], request["body"], made)
    for line in MORE_KINDS.read_text().splitlines():
        known = json.loads(line)
        make(server, known["path"], known["body"], made)
    return made


def make(server, path, body, made):
    collection = path.replace("/namespaces/default/", f"/namespaces/{NAMESPACE}/")
    if collection == path:
        body["metadata"]["name"] = "recorded-" + body["metadata"].get("name", "")
    body.get("involvedObject", {})["namespace"] = NAMESPACE
    code, text = server.ask(collection, JSON, "POST", body)
    if code != 201:
        print(f"left out: {collection}: {code} {text[:120]}")
        return
    name = json.loads(text).get("metadata", {}).get("name")
    if name:
        made.append((f"{collection}/{name}", collection))


def remove(server, path, collection):
    """Deletes an object, and what keeps it: there may be nobody else who does."""
    _, text = server.ask(path, JSON)
    kept = json.loads(text)
    kept["metadata"].pop("finalizers", None)
    server.ask(path, JSON, "PUT", kept)
    server.ask(f"{path}?propagationPolicy=Background", JSON, "DELETE")
    if collection == "/api/v1/namespaces":
        _, text = server.ask(path, JSON)
        empty = json.loads(text) | {"spec": {"finalizers": []}}
        server.ask(f"{path}/finalize", JSON, "PUT", empty)


def record(server, made):
    for path, collection in made:
        yield from both(server, path)
        yield from both(server, path, METADATA)
        if NAMESPACE in collection:
            yield from both(server, collection)
            yield from both(server, collection, METADATA_LIST)
        if path.split("/")[-2] in ("deployments", "replicasets", "statefulsets"):
            yield from both(server, path + "/scale")
    for path in [
        "/apis/rbac.authorization.k8s.io/v1/clusterroles?limit=3",
        "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?limit=2",
        "/apis/apiregistration.k8s.io/v1/apiservices?limit=2",
        f"/api/v1/namespaces/{NAMESPACE}/pods?limit=1",
        f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=none%3Dsuch",
        f"/api/v1/namespaces/{NAMESPACE}/pods/missing",
        f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=a+b",
        "/api/v1/nothings",
        "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1",
    ]:
        yield from both(server, path)
    yield from refused(server)
    yield from reviews(server)
    yield from watched(server)


def both(server, path, form="", method="GET", body=None):
    """One answer in both forms, which are of the same moment when their versions are equal."""
    for _ in range(TRIES):
        code, text = server.ask(path, JSON + form, method, body)
        in_json = json.loads(text)
        code_again, in_protobuf = server.ask(path, PROTOBUF + form, method, body)
        _, again = server.ask(path, JSON + form, method, body)
        if json.loads(again) == in_json:
            break
    else:
        raise AssertionError(f"{path} changes all the time")
    assert code == code_again, (path, code, code_again)
    yield line(in_json, in_protobuf)


def line(in_json, in_protobuf, **more):
    return {
        "apiVersion": in_json.get("apiVersion", ""),
        "kind": in_json["kind"],
        **more,
        "protobuf": base64.b64encode(in_protobuf).decode(),
        "json": in_json,
    }


def refused(server):
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    for body in [
        {"metadata": {"name": "Bad_Name"}},
        {"metadata": {"name": "x"}, "spec": {"containers": []}},
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}},
    ]:
        yield from both(server, pods, "", "POST", body)


def reviews(server):
    attributes = {"verb": "get", "resource": "pods"}
    question = {"spec": {"user": "someone", "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    yield from both(server, path, "", "POST", question)


def watched(server):
    """The frames of one history in both forms."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    _, text = server.ask(path, JSON)
    version = json.loads(text)["metadata"]["resourceVersion"]
    body = {"metadata": {"name": "watched"}, "data": {"k": "0"}}
    server.ask(path, JSON, "POST", body)
    body["data"]["k"] = "1"
    server.ask(f"{path}/watched", JSON, "PUT", body)
    server.ask(f"{path}/watched", JSON, "DELETE")
    wanted = f"{path}?watch=1&resourceVersion={version}&timeoutSeconds=2"
    yield from frames(server, wanted)
    yield from frames(server, f"{path}?watch=1&resourceVersion=1&timeoutSeconds=1")
    state = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    yield from frames(server, f"{path}?watch=1&timeoutSeconds=2{state}")


def frames(server, path):
    _, in_json = server.ask(path, JSON)
    _, in_protobuf = server.ask(path, PROTOBUF)
    for text in in_json.splitlines():
        event = json.loads(text)
        end = 4 + int.from_bytes(in_protobuf[:4], "big")
        yield line(event["object"], in_protobuf[:end], event=event["type"])
        in_protobuf = in_protobuf[end:]
    assert not in_protobuf, in_protobuf


if __name__ == "__main__":
    main()
