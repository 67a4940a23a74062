"""Asks a kube-apiserver again what the requests of a recording were answered, and writes it down.

python3 record.py FILE.jsonl, with SERVER (https://host:port) and TOKEN in the environment.

A line has a request, the status and what matters of the answer. A POST has its object; a PUT has a
JSON patch, which is made to the object as it is stored. With `dryRun` nothing is stored. What is
stored is deleted at the end.
"""

import copy
import json
import os
import pathlib
import re
import ssl
import sys
import urllib.error
import urllib.request

UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SAME_UID = "00000000-0000-0000-0000-000000000001"
UNSTABLE = ("managedFields", "creationTimestamp", "resourceVersion", "lastTransitionTime")


def main(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    stored, recorded = [], []
    namespace = lines[0]["request"]["path"].split("/namespaces/")[1].split("/")[0]
    call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    for line in lines:
        request = line["request"]
        recorded.append(ask(request))
        if request["method"] == "POST" and not request.get("dryRun"):
            stored.append(request["path"] + "/" + request["body"]["metadata"]["name"])
    for target in stored:
        call("DELETE", target + "?gracePeriodSeconds=0")
    path.write_text("".join(line + "\n" for line in recorded))


def ask(request):
    body = request.get("body")
    if "patch" in request:
        target = "/".join(request["path"].split("/")[: -1 if is_part(request) else None])
        body = patched(call("GET", target)[1], request["patch"])
    query = "?dryRun=All" if request.get("dryRun") else ""
    status, answer, warnings = call(request["method"], request["path"] + query, body)
    line = {"request": request, "status": status, "response": essence(request, status, answer)}
    if warnings:
        line["warnings"] = warnings
    text = json.dumps(line, separators=(",", ":"), ensure_ascii=False)
    return UID.sub(SAME_UID, text)


def is_part(request):
    return len(request["path"].split("/namespaces/")[1].split("/")) == 4


def essence(request, status, answer):
    if status == 422:
        return {"message": answer["message"]}
    if request["method"] == "PUT":
        return {}
    return {k: v for k, v in masked(answer).items() if k not in ("kind", "apiVersion")}


def masked(value):
    if isinstance(value, dict):
        return {k: masked(v) for k, v in value.items() if k not in UNSTABLE}
    return [masked(v) for v in value] if isinstance(value, list) else value


def patched(before, operations):
    value = copy.deepcopy(before)
    value["metadata"].pop("managedFields", None)
    for operation in operations:
        *way, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        ]
        place = value
        for part in way:
            place = place[int(part) if isinstance(place, list) else part]
        last = int(last) if isinstance(place, list) else last
        if operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return value


def call(method, path, body=None):
    request = urllib.request.Request(
        os.environ["SERVER"] + path,
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={
            "Authorization": "Bearer " + os.environ["TOKEN"],
            "Content-Type": "application/json",
        },
    )
    try:
        answer = urllib.request.urlopen(request, context=ssl._create_unverified_context())
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        warnings = [
            text[len('299 - "') : -1].replace('\\"', '"').replace("\\\\", "\\")
            for text in answer.headers.get_all("Warning") or []
        ]
        return answer.status, json.load(answer), warnings


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
