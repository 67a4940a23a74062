"""etcd, a kube-apiserver and a Listwatch on it, as processes, and how to ask them."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time

START_TIMEOUT = 60
ANSWER_TIMEOUT = 30
TOKEN = "conformance"
LAST_WORDS = 3_000  # Characters of a log.


class Process:
    """A program that can be ended and started again, and never outlives its owner."""

    def __init__(self, name, folder, arguments):
        self.name = name
        self.arguments = arguments
        self.log = folder / f"{name}.log"
        self.running = None

    def start(self):
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(self.arguments, stdout=log, stderr=log)

    def end(self):
        self.running.terminate()
        self.running.wait(START_TIMEOUT)
        self.running = None

    def kill(self):
        if self.running is not None:
            self.running.kill()
            self.running.wait()
            self.running = None

    def last_words(self):
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return f"the last words of {self.name}:\n{text[-LAST_WORDS:]}"


class Api:
    """One server of the Kubernetes API."""

    def __init__(self, process, port, tls=None):
        self.name = process.name
        self.process = process
        self.port = port
        self.tls = tls

    def start(self):
        self.process.start()
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            assert self.process.running.poll() is None, f"{self.name} ended by itself"
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            assert time.monotonic() < deadline, f"{self.name} is not ready"
            time.sleep(0.1)

    def end(self):
        self.process.end()

    def request(self, method, path, body=None, content="application/json"):
        """The connection, to be closed, and the answer."""
        if self.tls is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, ANSWER_TIMEOUT)
        else:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=ANSWER_TIMEOUT, context=self.tls
            )
        headers = {"Accept": "application/json", "Authorization": f"Bearer {TOKEN}"}
        if body is not None:
            headers["Content-Type"] = content
            body = json.dumps(body)
        connection.request(method, path, body, headers)
        return connection, connection.getresponse()

    def ask(self, method, path, body=None, content="application/json"):
        connection, response = self.request(method, path, body, content)
        text = response.read()
        connection.close()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(text) if is_json else text.decode()

    def must(self, method, path, body=None, content="application/json"):
        status, answer = self.ask(method, path, body, content)
        assert status in (200, 201, 202), f"{self.name}: {method} {path}: {status} {answer}"
        return answer

    def merge(self, path, patch):
        return self.must("PATCH", path, patch, "application/merge-patch+json")

    def kinds(self):
        """The paths under which all objects of a kind are listed."""
        groups = self.must("GET", "/apis")["groups"]
        versions = [version["groupVersion"] for group in groups for version in group["versions"]]
        paths = set()
        for path in ["/api/v1"] + [f"/apis/{version}" for version in versions]:
            for resource in self.must("GET", path)["resources"]:
                if {"list", "watch"} <= set(resource["verbs"]):
                    paths.add(f"{path}/{resource['name']}")
        return paths


class Watch:
    """What a watch tells: type, namespace, name and version of each event."""

    def __init__(self, api, path, version):
        separator = "&" if "?" in path else "?"
        self.events = []
        self.connection, self.response = api.request(
            "GET", f"{path}{separator}watch=true&resourceVersion={version}"
        )
        assert self.response.status == 200, f"{api.name}: {path}: {self.response.read()}"
        self.connection.sock.settimeout(None)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in self.response:
                event = json.loads(line)
                about = event["object"].get("metadata", {})
                version = about.get("resourceVersion")
                self.events.append((event["type"], about.get("namespace"), about.get("name"), version))
        except (OSError, ValueError, AttributeError):
            pass  # The watch was closed, or the server ended.

    def close(self):
        self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def wait_for(self, wanted):
        deadline = time.monotonic() + ANSWER_TIMEOUT
        while not wanted(self.events):
            assert time.monotonic() < deadline, f"the watch told only {self.events[-5:]}"
            time.sleep(0.02)


class Together:
    """One etcd and both servers on it."""

    def __init__(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        client, peer, kube, ours = free_ports(4)
        store = f"http://127.0.0.1:{client}"
        self.etcd = Process("etcd", folder, etcd_command(folder, client, peer))
        kube_process = Process("kube-apiserver", folder, kube_command(folder, store, kube))
        ours_process = Process("listwatch", folder, ours_command(store, ours))
        self.kube = Api(kube_process, kube, ssl._create_unverified_context())
        self.ours = Api(ours_process, ours)

    def __enter__(self):
        try:
            self.etcd.start()
            self.kube.start()
            self.ours.start()
        except BaseException:
            self.__exit__(True)
            raise
        return self

    def __exit__(self, failure, *_):
        processes = [self.ours.process, self.kube.process, self.etcd]
        for process in processes:
            process.kill()
        if failure:
            print("\n".join(process.last_words() for process in processes), flush=True)


def etcd_command(folder, client, peer):
    clients, peers = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return [
        os.environ["ETCD"],
        "--log-level=error",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
    ]


def kube_command(folder, store, port):
    key = folder / "service-accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    tokens = folder / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,admin,"system:masters"\n')
    return [
        os.environ["KUBE_APISERVER"],
        f"--etcd-servers={store}",
        "--etcd-compaction-interval=5s",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--disable-admission-plugins=ServiceAccount",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]


def ours_command(store, port):
    return [
        os.environ["LISTWATCH"],
        "serve",
        f"--listen=127.0.0.1:{port}",
        f"--etcd={store}",
        "--etcd-compaction-seconds=4",
    ]


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
