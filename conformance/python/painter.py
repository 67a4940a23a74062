"""An operator on kopf: every painting gets a config map with its colors, and keeps it up to date."""

import os
import threading

import kopf
from kubernetes import client

GROUP = "kopf.example.com"
KIND = (GROUP, "v1", "paintings")
DRIES = {"drying": "yes"}
TICK_SECONDS = 0.2


class Diary:
    """What the handlers did, in order, for those who wait for it."""

    def __init__(self):
        self.entries = []
        self.written = threading.Condition()

    def write(self, *entry):
        with self.written:
            self.entries.append(entry)
            self.written.notify_all()

    def until(self, timeout, *entry):
        with self.written:
            found = self.written.wait_for(lambda: entry in self.entries, timeout)
            assert found, f"never: {entry}; but {self.entries}"


def registry(diary, core):
    """The handlers, none of them global, so that an operator can be run again with another diary."""
    handlers = kopf.OperatorRegistry()

    @kopf.on.login(registry=handlers)
    def login(**_):
        return kopf.ConnectionInfo(server=os.environ["LISTWATCH_SERVER"])

    @kopf.on.create(*KIND, id="paint", registry=handlers)
    def paint(body, name, namespace, spec, patch, retry, **_):
        if retry == 0:
            raise kopf.TemporaryError("the brush is wet", delay=0.1)
        frame = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"colors": joined(spec)}}
        kopf.adopt(frame)
        frame = core.create_namespaced_config_map(namespace, frame)
        kopf.info(body, reason="Painted", message=f"{name} is painted")
        patch.status["phase"] = "Painted"
        diary.write("painted", name, retry)
        return {"frame": frame.metadata.name}

    @kopf.on.update(*KIND, field="spec.colors", registry=handlers)
    def repaint(name, namespace, spec, status, old, new, **_):
        frame = status["paint"]["frame"]
        core.patch_namespaced_config_map(frame, namespace, {"data": {"colors": joined(spec)}})
        diary.write("repainted", name, tuple(old), tuple(new))

    @kopf.on.resume(*KIND, registry=handlers)
    def look_again(name, **_):
        diary.write("found", name)

    @kopf.on.delete(*KIND, registry=handlers)
    def take_down(name, **_):
        diary.write("taken down", name)

    @kopf.timer(*KIND, interval=TICK_SECONDS, labels=DRIES, registry=handlers)
    def dry(status, patch, **_):
        patch.status["ticks"] = status.get("ticks", 0) + 1

    @kopf.daemon(*KIND, labels=DRIES, cancellation_polling=TICK_SECONDS, registry=handlers)
    def guard(name, stopped, **_):
        diary.write("guarded", name)
        stopped.wait()
        diary.write("left", name)

    @kopf.on.event("", "v1", "configmaps", labels={"art": "yes"}, registry=handlers)
    def hear(type, name, **_):
        diary.write("heard", type, name)

    return handlers


def joined(spec):
    return " ".join(spec["colors"])


def connect():
    return client.ApiClient(client.Configuration(host=os.environ["LISTWATCH_SERVER"]))


class Painter:
    """The operator in a thread of its own, for as long as the block lasts."""

    def __init__(self, timeout):
        self.diary = Diary()
        self.timeout = timeout
        self.stop = threading.Event()
        self.ready = threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        settings = kopf.OperatorSettings()
        settings.process.ultimate_exiting_timeout = None
        settings.posting.reporting_instance = "painter"
        try:
            kopf.run(
                registry=registry(self.diary, client.CoreV1Api(connect())),
                settings=settings,
                standalone=True,
                clusterwide=True,
                ready_flag=self.ready,
                stop_flag=self.stop,
            )
        except Exception as error:  # Shown by the thread that waits.
            self.problem = error

    def __enter__(self):
        self.thread.start()
        assert self.ready.wait(self.timeout), f"the operator does not start: {self.problem}"
        return self.diary

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(self.timeout)
        assert not self.thread.is_alive(), "the operator does not stop"
        assert self.problem is None, self.problem
