#!/usr/bin/env python3
"""Asks a kube-apiserver what it thinks of the definitions and objects of `cases.json`.

    record.py --server https://127.0.0.1:6443 --token-file TOKEN

writes `definitions.jsonl` (each definition with the Status that refused it, or none) and
`objects.jsonl` (a schema, objects one after another, and what came back for each). Everything is
sent with dryRun where that is enough; what must exist for a while is deleted at the end.
"""

import argparse
import json
import pathlib
import ssl
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).parent
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Server:
    def __init__(self, base, token):
        self.base = base
        self.token = token
        self.context = ssl._create_unverified_context()

    def ask(self, method, path, body=None, content_type="application/json"):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.context) as answer:
                return answer.status, json.load(answer), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            text = error.read()
            answer = json.loads(text) if text.startswith(b"{") else {}
            return error.code, answer, error.headers.get_all("Warning") or []


def definition(case, index):
    if "definition" in case:
        return case["definition"]
    version = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": case.get("schema")}
    version.update(case.get("version", {}))
    names = {"plural": f"things{index}", "kind": f"Thing{index}"}
    spec = {"group": "record.example.com", "scope": "Namespaced", "names": names}
    spec["versions"] = case.get("versions", [version])
    spec.update(case.get("spec", {}))
    metadata = {"name": f"things{index}.record.example.com"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def outcome(status, answer):
    if status < 300:
        return None
    causes = answer.get("details", {}).get("causes", [])
    return {"code": status, "causes": causes}


def written(line):
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def record_definitions(server, cases):
    with open(HERE / "definitions.jsonl", "w") as file:
        for index, case in enumerate(cases):
            body = definition(case, index)
            status, answer, warnings = server.ask("POST", DEFINITIONS + "?dryRun=All", body)
            line = {"definition": body, "refusal": outcome(status, answer)}
            if warnings:
                line["warnings"] = warnings
            file.write(written(line) + "\n")


def record_changes(server, cases):
    with open(HERE / "changes.jsonl", "w") as file:
        for index, case in enumerate(cases):
            before = definition(case, f"c{index}")
            name = before["metadata"]["name"]
            forget(server, name)
            status, answer, _ = server.ask("POST", DEFINITIONS, before)
            assert status == 201, answer
            wait_established(server, name)
            _, before, _ = server.ask("GET", f"{DEFINITIONS}/{name}")
            patch = case["patch"]
            path = f"{DEFINITIONS}/{name}?dryRun=All"
            kind = "application/json-patch+json"
            status, answer, _ = server.ask("PATCH", path, patch, kind)
            before["metadata"].pop("managedFields", None)
            line = {"before": before, "patch": patch, "refusal": outcome(status, answer)}
            file.write(written(line) + "\n")
            forget(server, name)


def forget(server, name):
    for _ in range(200):
        status, _, _ = server.ask("DELETE", f"{DEFINITIONS}/{name}")
        if status == 404:
            return
        time.sleep(0.05)
    raise SystemExit(f"{name} never goes")


def wait_established(server, name):
    for _ in range(200):
        _, answer, _ = server.ask("GET", f"{DEFINITIONS}/{name}")
        conditions = answer.get("status", {}).get("conditions") or []
        if any(c["type"] == "Established" and c["status"] == "True" for c in conditions):
            return answer
        time.sleep(0.05)
    raise SystemExit(f"{name} is never served")


def stripped(answer):
    common = ("metadata", "apiVersion", "kind")
    return {key: value for key, value in answer.items() if key not in common}


def record_objects(server, cases, namespace):
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    with open(HERE / "objects.jsonl", "w") as file:
        for index, case in enumerate(cases):
            body = definition(case, f"o{index}")
            name = body["metadata"]["name"]
            forget(server, name)
            status, answer, _ = server.ask("POST", DEFINITIONS, body)
            assert status == 201, answer
            wait_established(server, name)
            kind = body["spec"]["names"]["kind"]
            plural = body["spec"]["names"]["plural"]
            path = f"/apis/record.example.com/v1/namespaces/{namespace}/{plural}"
            base = {"apiVersion": "record.example.com/v1", "kind": kind}
            line = {"kind": kind, "schema": case["schema"], "steps": []}
            scale = body["spec"]["versions"][0].get("subresources", {}).get("scale")
            line["scale"] = scale
            for sent in case["objects"]:
                object_body = {**base, "metadata": {"name": "one"}, **sent}
                query = "?dryRun=All&fieldValidation=Warn"
                for attempt in range(50):
                    status, answer, warnings = server.ask("POST", path + query, object_body)
                    if status != 404:
                        break
                    time.sleep(0.1)
                step = {"sent": sent, "refusal": outcome(status, answer)}
                if status < 300:
                    step["got"] = stripped(answer)
                    for entry in answer["metadata"].get("managedFields", []):
                        step["fields"] = entry["fieldsV1"]
                if warnings:
                    step["warnings"] = warnings
                line["steps"].append(step)
            line["changes"] = record_updates(server, case, path, base)
            line["statuses"] = record_statuses(server, case, path, base)
            file.write(written(line) + "\n")
            forget(server, name)


def record_updates(server, case, path, base):
    """A first object is made under a lenient schema, then the schema of the case judges changes."""
    changes = []
    for change in case.get("changes", []):
        plural = path.rsplit("/", 1)[1]
        name = f"{plural}.record.example.com"
        lenient = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        swap(server, name, lenient)
        before = {**base, "metadata": {"name": "two"}, **change["before"]}
        server.ask("DELETE", f"{path}/two")
        for attempt in range(50):
            status, answer, _ = server.ask("POST", path, before)
            if status == 201:
                break
            time.sleep(0.2)
        assert status == 201, answer
        swap(server, name, case["schema"])
        time.sleep(1.5)
        _, live, _ = server.ask("GET", f"{path}/two")
        metadata = {"name": "two", "resourceVersion": live["metadata"]["resourceVersion"]}
        next_object = {**base, "metadata": metadata, **change["next"]}
        status, answer, _ = server.ask("PUT", f"{path}/two?dryRun=All", next_object)
        changes.append({**change, "refusal": outcome(status, answer)})
        server.ask("DELETE", f"{path}/two")
    return changes


def record_statuses(server, case, path, base):
    """Writes one status, then another, of an object that has them apart."""
    statuses = []
    for change in case.get("statuses", []):
        server.ask("DELETE", f"{path}/three")
        body = {**base, "metadata": {"name": "three"}, **change["before"]}
        for attempt in range(50):
            status, live, _ = server.ask("POST", path, body)
            if status == 201:
                break
            time.sleep(0.2)
        assert status == 201, live
        if "status" in change["before"]:
            status, live, _ = server.ask("PUT", f"{path}/three/status", {**live, **change["before"]})
            assert status == 200, live
        version = live["metadata"]["resourceVersion"]
        metadata = {"name": "three", "resourceVersion": version}
        body = {**base, "metadata": metadata, **change["next"]}
        status, answer, _ = server.ask("PUT", f"{path}/three/status?dryRun=All", body)
        statuses.append({**change, "refusal": outcome(status, answer)})
        server.ask("DELETE", f"{path}/three")
    return statuses


def undescribed(value):
    if isinstance(value, dict):
        left_out = ("description", "x-kubernetes-group-version-kind")
        return {name: undescribed(inner) for name, inner in value.items() if name not in left_out}
    return [undescribed(inner) for inner in value] if isinstance(value, list) else value


def record_open_api(server, cases):
    """How both editions of OpenAPI publish a schema, without the descriptions that all share."""
    with open(HERE / "open_api.jsonl", "w") as file:
        for index, case in enumerate(cases):
            body = definition(case, f"p{index}")
            name = body["metadata"]["name"]
            forget(server, name)
            status, answer, _ = server.ask("POST", DEFINITIONS, body)
            assert status == 201, answer
            wait_established(server, name)
            kind = body["spec"]["names"]["kind"]
            published = {}
            while len(published) < 2:
                _, v2, _ = server.ask("GET", "/openapi/v2")
                _, v3, _ = server.ask("GET", "/openapi/v3/apis/record.example.com/v1")
                editions = {"v2": v2.get("definitions"), "v3": v3.get("components", {}).get("schemas")}
                for edition, schemas in editions.items():
                    for schema_name, schema in (schemas or {}).items():
                        if schema_name.endswith("." + kind):
                            published[edition] = undescribed(schema)
                time.sleep(0.2)
            file.write(written({"schema": case["schema"], **published}) + "\n")
            forget(server, name)


def swap(server, name, schema):
    patch = [{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema}]
    kind = "application/json-patch+json"
    status, answer, _ = server.ask("PATCH", f"{DEFINITIONS}/{name}", patch, kind)
    assert status == 200, answer
    time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True)
    parser.add_argument("--token-file", required=True)
    parser.add_argument("--namespace", default="structural")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    server = Server(options.server, pathlib.Path(options.token_file).read_text().strip())
    cases = json.loads((HERE / "cases.json").read_text())
    wanted = lambda name: not options.only or name in options.only
    if wanted("definitions"):
        record_definitions(server, cases["definitions"])
    if wanted("changes"):
        record_changes(server, cases["changes"])
    if wanted("open_api"):
        record_open_api(server, cases["open_api"])
    if wanted("objects"):
        record_objects(server, cases["objects"], options.namespace)


if __name__ == "__main__":
    main()
