#!/usr/bin/env python3
"""Asks a kube-apiserver what it makes of good and bad objects of the kinds that run no containers.

    record.py https://127.0.0.1:6443 TOKEN [FAMILY ...]

The family `dual_stack` is recorded only if named, from a server that was started with
`--service-cluster-ip-range=10.7.0.0/24,fd00:7::/112`. Writes a file per family beside itself, and in it one line per exchange: request, status, response
and warnings, without what differs from one run to the next. Objects live in namespace `kinds` or have names that begin with `kinds-`; all are
deleted at the end. Nothing here matches requests of others.
"""
import copy, json, pathlib, ssl, sys, urllib.request

BASE, TOKEN = sys.argv[1], sys.argv[2]
CONTEXT = ssl._create_unverified_context()
STORED, LINES, NUMBER = {}, [], [0]
# A request for a certificate, made for this file; nobody has its key.
REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIS01ISUNBUUF3RURFT01Bd0dBMVVFQXd3RmEybH"
    "VaSE13V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQgpCd05DQUFRYzJrakJyTzBMa2tzSkxYWjU3VXBCeUJTSnJs"
    "bjZsUmI2QWFoR3JDWCtZVnJrLzBDQmttaHBSMFdKCnJXVStnN2RJSHNTUDd4dHIxN3NSc1RJbnphbWJvQUF3Q2dZSU"
    "tvWkl6ajBFQXdJRFNBQXdSUUlnWTNOaHJ5OTUKTnhCRlQzZUJwNmhqZEVMN1JlR1BGaVJiWjNDVnJYZlZDS1FDSVFE"
    "OUd5Tm0vbmR2Y1FKVjVoZUErLy9qQ2pFcgpCU1ZwaHhLczVDUWRmcmFKYXc9PQotLS0tLUVORCBDRVJUSUZJQ0FURS"
    "BSRVFVRVNULS0tLS0K"
)


def send(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind}
    request = urllib.request.Request(BASE + path, data, headers, method=method)
    try:
        answer = urllib.request.urlopen(request, context=CONTEXT)
    except urllib.error.HTTPError as error:
        answer = error
    warnings = [w.split('"', 1)[1][:-1].replace('\\"', '"') for w in answer.headers.get_all("Warning") or []]
    return answer.status, json.loads(answer.read() or b"{}"), warnings


def masked(value):
    value = copy.deepcopy(value)
    metadata = value.get("metadata", {})
    for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink"]:
        metadata.pop(field, None)
    value.get("details", {}).pop("uid", None)
    return value


def record(method, path, body):
    status, response, warnings = send(method, path, body)
    line = {"request": {"method": method, "path": path, "body": masked(body)}, "status": status,
            "response": masked(response)}
    if warnings:
        line["warnings"] = warnings
    LINES.append(line)
    if status < 300:
        key = path if method == "PUT" else f"{path}/{response['metadata']['name']}"
        STORED[key.removesuffix("/status")] = response
    return status


class Kind:
    """A kind and the path of its collection."""

    def __init__(self, version, kind, resource, namespaced=True):
        self.version, self.kind, self.namespaced = version, kind, namespaced
        root = "/api/" if "/" not in version else "/apis/"
        self.path = root + version + ("/namespaces/kinds/" if namespaced else "/") + resource

    def new(self, name=None, metadata=None, dry=False, **fields):
        """Creates an object; without a name it gets one of its own."""
        if name is None:
            NUMBER[0] += 1
            name = ("" if self.namespaced else "kinds-") + f"x{NUMBER[0]}"
        body = {"apiVersion": self.version, "kind": self.kind,
                "metadata": {"name": name, **(metadata or {})}, **fields}
        record("POST", self.path, body)
        return name

    def change(self, name, mutate, sub=""):
        """Changes the object as it is stored."""
        body = copy.deepcopy(STORED[f"{self.path}/{name}"])
        mutate(body)
        record("PUT", f"{self.path}/{name}{sub}", body)

    def set(self, name, at, value, sub=""):
        """Changes one member, named by its path; None removes it."""
        def mutate(body):
            *way, last = at.split(".")
            for step in way:
                body = body[int(step)] if step.isdigit() else body.setdefault(step, {})
            last = int(last) if last.isdigit() else last
            if value is None:
                body.pop(last, None)
            else:
                body[last] = value
        self.change(name, mutate, sub)

    def specs(self, *specs):
        """Creates one object for each spec."""
        for spec in specs:
            self.new(spec=spec)

    def bodies(self, *bodies):
        """Creates one object for each body."""
        for body in bodies:
            self.new(**body)


def configuration():
    maps, secrets = Kind("v1", "ConfigMap", "configmaps"), Kind("v1", "Secret", "secrets")
    maps.bodies({}, {"data": {"a": "b"}}, {"data": {"a b": "x"}}, {"data": {".": "x"}}, {"data": {"..": "y"}}, {"data": {"..c": "z"}}, {"data": {"k" * 254: "x"}},
                {"binaryData": {"a/b": "AA=="}}, {"data": {"a": "x"}, "binaryData": {"a": "AA=="}},
                {"data": {".ok": "x", "-": "y"}}, {"immutable": True, "data": {"a": "b"}})
    name = maps.new(data={"a": "b"}, immutable=True)
    maps.set(name, "immutable", False)
    maps.set(name, "immutable", None)
    maps.set(name, "data", None)
    maps.set(name, "binaryData", {"z": "AA=="})
    maps.set(name, "metadata.labels", {"a": "b"})
    name = maps.new(data={"a": "b"})
    maps.set(name, "data", {"c": "d"})
    maps.set(name, "data", {"c/d": "d"})
    for kind, data in [("kubernetes.io/tls", {}), ("kubernetes.io/tls", {"tls.crt": ""}),
                       ("kubernetes.io/dockercfg", {}), ("kubernetes.io/dockercfg", {".dockercfg": "e30="}),
                       ("kubernetes.io/dockercfg", {".dockercfg": "eA=="}),
                       ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "WzFd"}),
                       ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": "e30="}),
                       ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": ""}),
                       ("kubernetes.io/dockerconfigjson", {}),
                       ("kubernetes.io/basic-auth", {}), ("kubernetes.io/basic-auth", {"username": "YQ=="}),
                       ("kubernetes.io/ssh-auth", {}), ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}),
                       ("kubernetes.io/ssh-auth", {"ssh-privatekey": "YQ=="}), ("my/own", {"x y": "YQ=="}),
                       ("kubernetes.io/service-account-token", {}), ("bootstrap.kubernetes.io/token", {})]:
        secrets.new(type=kind, data=data)
    secrets.new(type="kubernetes.io/service-account-token", metadata={"annotations": {"kubernetes.io/service-account.name": "d"}})
    secrets.bodies({"stringData": {"a": "b"}, "data": {"a": "eA==", "c": "ZA=="}}, {"stringData": {"a b": "b"}}, {"data": {"..": "YQ=="}})
    name = secrets.new(data={"a": "YQ=="}, immutable=True)
    secrets.set(name, "type", "other")
    secrets.set(name, "immutable", None)
    secrets.set(name, "stringData", {"b": "c"})
    secrets.set(name, "type", "")


def services():
    kind = Kind("v1", "Service", "services")
    port = {"port": 80}
    kind.specs(
        {"ports": [{"port": 0}]}, {"ports": [{"port": 70000, "targetPort": 0}]}, {"ports": [{"port": 80, "protocol": "X"}]},
        {"ports": [{"port": 80, "targetPort": "way-too-long-a-name-for-this"}]}, {"ports": [{"port": 80, "targetPort": "A--b-"}]},
        {"ports": [{"port": 80, "targetPort": 70000}]}, {"ports": [{"port": 80, "appProtocol": "a b"}]},
        {"ports": [{"name": "A", "port": 80}]}, {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]},
        {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]},
        {"ports": [port], "selector": {"-a": "d e"}},
        {"ports": [port], "sessionAffinity": "Some"}, {"ports": [port], "sessionAffinity": "ClientIP"},
        {"ports": [port], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
        {"ports": [port], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 90000}}},
        {"ports": [port], "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
        {"ports": [port], "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
        {"ports": [port], "clusterIP": "x"}, {"ports": [port], "clusterIP": "10.000.0.7"}, {"ports": [port], "clusterIP": "None", "type": "NodePort"},
        {"ports": [port], "clusterIP": "None", "type": "LoadBalancer"}, {"clusterIP": "None"}, {"clusterIP": "None", "selector": {"a": "b"}},
        {"ports": [port], "clusterIPs": ["None"]}, {"ports": [port], "clusterIP": "None", "clusterIPs": ["None", "10.0.0.9"]},
        {"ports": [port], "ipFamilies": ["IPv5"]}, {"ports": [port], "ipFamilies": ["IPv4", "IPv4"]}, {"ports": [port], "ipFamilies": ["IPv6"]},
        {"ports": [port], "ipFamilyPolicy": "X"}, {"ports": [port], "ipFamilyPolicy": "PreferDualStack"}, {"ports": [port], "ipFamilyPolicy": "RequireDualStack"},
        {"ports": [port], "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.8"]}, {"ports": [port], "clusterIP": "fd00::1"},
        {"ports": [port], "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "10.0.0.8"]}, {"ports": [port], "ipFamilies": ["IPv4", "IPv6"]},
        {"ports": [port], "clusterIP": "10.0.0.9", "ipFamilies": ["IPv6"]}, {"ports": [port], "clusterIP": "11.0.0.9"},
        {"ports": [port], "externalIPs": ["1.2.3.4"]}, {"ports": [port], "externalIPs": ["127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1", "x", "::ffff:1.2.3.4", "01.2.3.4", "::1", "fe80::1"]},
        {"ports": [port], "externalIPs": ["2001:DB8::1"]},
        {"type": "X", "ports": [port]}, {"ports": [{"port": 80, "nodePort": 30100}]}, {"type": "NodePort", "ports": [{"port": 80, "nodePort": 1}]},
        {"type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30101}, {"name": "b", "port": 81, "nodePort": 30101}]},
        {"type": "NodePort", "ports": [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53}]},
        {"ports": [port], "loadBalancerSourceRanges": ["10.0.0.0/8"]}, {"type": "LoadBalancer", "ports": [port], "loadBalancerSourceRanges": ["10.0.0.1/8", "x", " 10.0.0.0/8 ", "10.0.0.0/08", "::ffff:10.0.0.0/112"]},
        {"ports": [port], "allocateLoadBalancerNodePorts": True}, {"type": "LoadBalancer", "ports": [port], "allocateLoadBalancerNodePorts": False},
        {"ports": [port], "loadBalancerClass": "a/b"}, {"type": "LoadBalancer", "ports": [port], "loadBalancerClass": "a b"}, {"type": "LoadBalancer", "ports": [port], "loadBalancerClass": "a.io/b"},
        {"ports": [port], "externalTrafficPolicy": "Local"}, {"type": "NodePort", "ports": [port], "externalTrafficPolicy": "X"}, {"type": "LoadBalancer", "ports": [port], "externalTrafficPolicy": "Local"},
        {"ports": [port], "healthCheckNodePort": 30200}, {"type": "LoadBalancer", "ports": [port], "externalTrafficPolicy": "Local", "healthCheckNodePort": 70000},
        {"ports": [port], "internalTrafficPolicy": "X"}, {"ports": [port], "internalTrafficPolicy": "Local"},
        {"ports": [port], "trafficDistribution": "X"}, {"ports": [port], "trafficDistribution": "PreferClose"}, {"ports": [port], "trafficDistribution": "PreferSameNode"},
        {"type": "ExternalName"}, {"type": "ExternalName", "externalName": "a b"}, {"type": "ExternalName", "externalName": "a.example.com."},
        {"type": "ExternalName", "externalName": "a", "clusterIP": "None"}, {"type": "ExternalName", "externalName": "a", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"},
        {"type": "ExternalName", "externalName": "a", "externalIPs": ["1.2.3.4"], "ports": [port]}, {"ports": [port], "externalName": "a.b"},
        {"clusterIP": "None", "ports": [port], "sessionAffinity": "ClientIP", "externalIPs": ["1.2.3.4"], "loadBalancerIP": "1.2.3.4"})
    hints, mode = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
    kind.new(metadata={"annotations": {hints: "a", mode: "b"}}, spec={"ports": [port]})
    kind.new(metadata={"annotations": {hints: "a"}}, spec={"ports": [port]})
    ranges = "service.beta.kubernetes.io/load-balancer-source-ranges"
    kind.new(metadata={"annotations": {ranges: "10.0.0.0/8, x"}}, spec={"ports": [port], "type": "LoadBalancer"})
    kind.new(metadata={"annotations": {ranges: "10.0.0.0/8"}}, spec={"ports": [port]})
    name = kind.new(spec={"ports": [port]})
    kind.set(name, "spec.clusterIP", "10.0.0.201")
    kind.set(name, "spec.clusterIPs", ["10.0.0.201"])
    kind.set(name, "spec.ipFamilies", ["IPv6"])
    kind.set(name, "spec.ipFamilyPolicy", "PreferDualStack")
    kind.set(name, "spec.ports", [])
    kind.change(name, lambda body: body["spec"].update({"clusterIP": "", "clusterIPs": None}))
    kind.set(name, "spec.type", "NodePort")
    kind.set(name, "spec.type", "LoadBalancer")
    kind.set(name, "status.loadBalancer", {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "a.b"}]}, "/status")
    kind.set(name, "status.loadBalancer", {"ingress": [{"ip": "01.2.3.4"}, {"hostname": "1.2.3.4"}, {"hostname": "a b"}, {"ipMode": "VIP"}, {"ip": "1.1.1.1", "ipMode": "X"}]}, "/status")
    kind.set(name, "spec.loadBalancerClass", "a/b")
    kind.set(name, "spec.externalTrafficPolicy", "Local")
    kind.set(name, "spec.healthCheckNodePort", 30333)
    kind.set(name, "spec.externalTrafficPolicy", "Cluster")
    kind.set(name, "spec.type", "ClusterIP")
    kind.set(name, "status.loadBalancer", {"ingress": [{"ip": "1.2.3.4"}]}, "/status")
    kind.change(name, lambda body: body["spec"].update({"type": "ExternalName", "externalName": "a.b"}))
    kind.set(name, "spec.type", "ClusterIP")
    name = kind.new(spec={"clusterIP": "None", "ports": [port]})
    kind.change(name, lambda body: body["spec"].update({"clusterIP": "10.0.0.202", "clusterIPs": ["10.0.0.202"]}))
    kind.set(name, "spec.ipFamilies", ["IPv4"])


def dual_stack():
    kind = Kind("v1", "Service", "services")
    port = {"port": 80}
    both, either = ["IPv4", "IPv6"], ["IPv6", "IPv4"]
    specs = [{}, {"ipFamilies": ["IPv6"]}, {"ipFamilies": both}, {"ipFamilies": either}, {"ipFamilies": ["IPv4", "IPv4"]},
             {"clusterIP": "fd00:7::20"}, {"clusterIPs": ["fd00:7::21", "10.7.0.221"], "clusterIP": "fd00:7::21"},
             {"clusterIP": "10.7.0.222", "ipFamilies": ["IPv6"]}, {"clusterIP": "fd00:8::1"}, {"clusterIP": "fd00:7::0023"},
             {"clusterIP": "10.7.0.223", "clusterIPs": ["10.7.0.223", "10.7.0.224"]},
             {"clusterIP": "None"}, {"clusterIP": "None", "selector": {"a": "b"}}, {"clusterIP": "None", "ipFamilies": ["IPv6"], "selector": {"a": "b"}},
             {"type": "ExternalName", "externalName": "x.com"}, {"type": "NodePort"}]
    for policy in [None, "SingleStack", "PreferDualStack", "RequireDualStack"]:
        for number, spec in enumerate(specs):
            spec = json.loads(json.dumps(spec).replace("::2", f"::{len(policy or '')}2").replace("10.7.0.22", f"10.7.0.{len(policy or '')}"))
            kind.new(spec={"ports": [port], **spec, **({"ipFamilyPolicy": policy} if policy else {})})
    name = kind.new(spec={"ports": [port]})
    kind.set(name, "spec.ipFamilies", ["IPv6"])
    kind.set(name, "spec.ipFamilies", both)
    kind.set(name, "spec.ipFamilyPolicy", "PreferDualStack")
    kind.set(name, "spec.ipFamilies", either)
    kind.set(name, "spec.clusterIPs.1", "fd00:7::99")
    kind.set(name, "spec.ipFamilyPolicy", "RequireDualStack")
    kind.set(name, "spec.ipFamilyPolicy", "SingleStack")
    kind.set(name, "spec.ipFamilyPolicy", "RequireDualStack")
    kind.set(name, "spec.type", "ExternalName")
    name = kind.new(spec={"ports": [port], "ipFamilyPolicy": "PreferDualStack", "type": "NodePort"})
    kind.set(name, "spec.ipFamilyPolicy", "X")

    def lone(body):
        body["spec"]["clusterIPs"].pop()
        body["spec"]["ipFamilies"].pop()
        body["spec"]["ipFamilyPolicy"] = "SingleStack"
    kind.change(name, lone)


def endpoints():
    kind = Kind("v1", "Endpoints", "endpoints")
    kind.bodies({}, {"subsets": [{}]}, {"subsets": [{"addresses": [{"ip": "x"}]}]}, {"subsets": [{"addresses": [{"ip": "127.0.0.1"}, {"ip": ""}, {"ip": "10.0.0.01"}]}]},
                {"subsets": [{"addresses": [{"ip": "10.1.1.1", "hostname": "A", "nodeName": "B_"}], "ports": [{"port": 0}, {"port": 1, "protocol": "X", "appProtocol": "/"}]}]},
                {"subsets": [{"notReadyAddresses": [{"ip": "2001:DB8::1"}], "ports": [{"name": "a", "port": 1}]}]})
    name = kind.new(subsets=[{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}])
    kind.set(name, "subsets.0.addresses", [{"ip": "10.1.1.300"}])
    kind.set(name, "subsets.0.ports", [{"port": 81}])
    kind = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
    good = {"addresses": ["10.1.1.1"]}
    kind.bodies({}, {"addressType": "X"}, {"addressType": "IPv4"}, {"addressType": "IPv4", "endpoints": [{}]}, {"addressType": "IPv4", "endpoints": [{"addresses": ["x", "127.0.0.1", "2001:db8::1", "10.0.0.01"]}]},
                {"addressType": "IPv6", "endpoints": [{"addresses": ["10.1.1.1", "2001:DB8::1", "::1", "2001:db8::1"]}]}, {"addressType": "FQDN", "endpoints": [{"addresses": ["a", "a.b", "A.b", "", "a.b."]}]},
                {"addressType": "IPv4", "ports": [{"name": "A"}, {"name": "b", "protocol": "X"}, {"name": "b", "appProtocol": "a b"}], "endpoints": [good]},
                {"addressType": "IPv4", "ports": [{"port": 1}, {"port": 2}], "endpoints": [good]},
                {"addressType": "IPv4", "endpoints": [{**good, "nodeName": "A_", "hostname": "B", "zone": "z", "hints": {"forZones": [{"name": "a b"}, {"name": "c"}, {"name": "c"}], "forNodes": [{"name": "A"}, {"name": "b"}, {"name": "b"}]}}]},
                {"addressType": "IPv4", "endpoints": [{**good, "hints": {"forZones": [{"name": f"z{n}"} for n in range(9)]}}]},
                {"addressType": "IPv4", "endpoints": [{"addresses": [f"10.1.1.{n}" for n in range(101)]}]},
                {"addressType": "IPv4", "endpoints": [{**good, "conditions": {"ready": True}, "deprecatedTopology": {"a b": "c d"}}]})
    name = kind.new(addressType="IPv4", endpoints=[good], ports=[{"port": 80}])
    kind.set(name, "addressType", "IPv6")
    kind.set(name, "endpoints", [{"addresses": ["10.1.1.300"]}])
    kind.set(name, "endpoints", [{"addresses": ["10.1.1.3"]}])


def volumes():
    kind = Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
    good = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    kind.specs(good, {**good, "accessModes": ["X"]}, {**good, "accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}, {**good, "resources": {"requests": {"storage": "0"}}},
               {**good, "resources": {"requests": {"storage": "-1Gi"}}}, {**good, "resources": {"requests": {"cpu": "1"}}}, {**good, "storageClassName": "A_"}, {**good, "storageClassName": ""},
               {**good, "volumeMode": "X"}, {**good, "volumeMode": "Block"}, {**good, "selector": {"matchLabels": {"a b": "c"}, "matchExpressions": [{"key": "a", "operator": "X"}, {"key": "a", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["x"]}]}},
               {**good, "dataSource": {"kind": "X", "name": "y"}}, {**good, "dataSource": {"kind": "PersistentVolumeClaim", "name": "y"}}, {**good, "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "y"}},
               {**good, "dataSource": {"apiGroup": "A_", "kind": "", "name": ""}}, {**good, "dataSourceRef": {"apiGroup": "a.b", "kind": "K", "name": "y"}}, {**good, "volumeAttributesClassName": "A_"},
               {**good, "dataSource": {"kind": "PersistentVolumeClaim", "name": "y"}, "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "z"}}, {**good, "volumeName": "v"})
    name = kind.new(spec=good)
    kind.set(name, "spec.accessModes", ["ReadOnlyMany"])
    kind.set(name, "spec.resources.requests.storage", "2Gi")
    kind.set(name, "spec.volumeMode", "Block")
    kind.set(name, "spec.storageClassName", "x")
    kind.set(name, "spec.storageClassName", "y")
    kind.set(name, "spec.volumeName", "v")
    kind.set(name, "spec.volumeName", "w")
    kind.set(name, "metadata.annotations", {"volume.beta.kubernetes.io/storage-class": "x"})
    kind.change(name, lambda body: body["status"].update({"phase": "Bound", "capacity": {"storage": "1Gi"}}), "/status")
    kind.set(name, "spec.resources.requests.storage", "2Gi")
    kind.set(name, "spec.resources.requests.storage", "512Mi")
    kind.set(name, "spec.selector", {"matchLabels": {"a": "b"}})
    kind.set(name, "status.capacity", {"storage": "-1"}, "/status")
    kind = Kind("v1", "PersistentVolume", "persistentvolumes", False)
    good = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]}}
    kind.specs({}, good, {**good, "accessModes": ["X", "ReadWriteOncePod", "ReadWriteMany"]}, {**good, "capacity": {"cpu": "1"}}, {**good, "capacity": {"storage": "-1"}}, {**good, "persistentVolumeReclaimPolicy": "X"},
               {**good, "hostPath": {"path": "/a/../b", "type": "X"}}, {**good, "hostPath": {"path": ""}}, {**good, "nfs": {"server": "a", "path": "/b"}}, {**good, "hostPath": None, "nfs": {"path": "b"}},
               {**good, "hostPath": None, "local": {"path": "/x"}}, {**good, "hostPath": None, "local": {"path": "/x"}, "nodeAffinity": affinity}, {**good, "nodeAffinity": {}},
               {**good, "nodeAffinity": {"required": {"nodeSelectorTerms": []}}}, {**good, "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a b", "operator": "X", "values": ["c d"]}, {"key": "a", "operator": "Gt"}], "matchFields": [{"key": "a", "operator": "In"}, {"key": "metadata.name", "operator": "Exists", "values": ["A_"]}]}]}}},
               {**good, "hostPath": None, "csi": {"driver": "", "volumeHandle": ""}}, {**good, "hostPath": None, "csi": {"driver": "A_b", "volumeHandle": "h", "nodePublishSecretRef": {"name": "A_"}}},
               {**good, "hostPath": None, "csi": {"driver": "a.b", "volumeHandle": "h"}, "volumeAttributesClassName": ""}, {**good, "volumeAttributesClassName": "a"}, {**good, "storageClassName": "A_"}, {**good, "volumeMode": "X"},
               {**good, "hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"}, {**good, "hostPath": None}, {**good, "hostPath": None, "fc": {}}, {**good, "hostPath": None, "iscsi": {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:x", "lun": 0}})
    name = kind.new(spec=good)
    kind.set(name, "spec.hostPath.path", "/y")
    kind.set(name, "spec.volumeMode", "Block")
    kind.set(name, "spec.capacity.storage", "2Gi")
    kind.change(name, lambda body: (body["spec"].pop("hostPath"), body["spec"].update({"nfs": {"server": "s", "path": "/p"}})))


def storage():
    kind = Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", False)
    kind.bodies({}, {"provisioner": "a b"}, {"provisioner": "x.io/P"}, {"provisioner": "p", "reclaimPolicy": "X", "volumeBindingMode": "Y"}, {"provisioner": "p", "parameters": {"": "x"}},
                {"provisioner": "p", "allowedTopologies": [{"matchLabelExpressions": [{"key": "a b", "values": []}, {"key": "c", "values": ["x", "x"]}, {"key": "c", "values": ["y"]}]}]},
                {"provisioner": "p", "allowedTopologies": [{"matchLabelExpressions": [{"key": "c", "values": ["x"]}]}, {"matchLabelExpressions": [{"key": "c", "values": ["x"]}]}]})
    name = kind.new(provisioner="p", parameters={"a": "b"})
    kind.set(name, "provisioner", "q")
    kind.set(name, "parameters", {"a": "c"})
    kind.set(name, "reclaimPolicy", "Retain")
    kind.set(name, "volumeBindingMode", "WaitForFirstConsumer")
    kind.set(name, "allowVolumeExpansion", True)
    kind.change(name, lambda body: body.update({"provisioner": "q", "reclaimPolicy": "Retain", "parameters": {}}))
    kind = Kind("storage.k8s.io/v1", "VolumeAttributesClass", "volumeattributesclasses", False)
    kind.bodies({}, {"driverName": "a b", "parameters": {"a": "b"}}, {"driverName": "d"})
    name = kind.new(driverName="d", parameters={"a": "b"})
    kind.set(name, "driverName", "e")
    kind.set(name, "parameters", {"a": "c"})
    kind = Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", False)
    kind.specs({}, {"fsGroupPolicy": "X"}, {"volumeLifecycleModes": ["X", "Ephemeral"]}, {"tokenRequests": [{"audience": "a"}, {"audience": "a"}, {"audience": "b", "expirationSeconds": 1}]}, {"nodeAllocatableUpdatePeriodSeconds": 1}, {"serviceAccountTokenInSecrets": True})
    name = kind.new(spec={})
    kind.set(name, "spec.attachRequired", False)
    kind.set(name, "spec.volumeLifecycleModes", ["Ephemeral"])
    kind.set(name, "spec.podInfoOnMount", True)
    kind = Kind("storage.k8s.io/v1", "CSINode", "csinodes", False)
    kind.specs({"drivers": []}, {"drivers": [{"name": "", "nodeID": ""}]}, {"drivers": [{"name": "A_", "nodeID": "n", "allocatable": {"count": -1}, "topologyKeys": ["a b", "c", "c"]}]}, {"drivers": [{"name": "a", "nodeID": "n", "topologyKeys": None}, {"name": "a", "nodeID": "n", "topologyKeys": None}]})
    name = kind.new(spec={"drivers": [{"name": "a", "nodeID": "n", "topologyKeys": ["k"]}]})
    kind.set(name, "spec.drivers.0.nodeID", "m")
    kind.set(name, "spec.drivers.0.allocatable", {"count": 3})
    kind = Kind("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities")
    kind.bodies({}, {"storageClassName": "a", "capacity": "-1"}, {"storageClassName": "a", "nodeTopology": {"matchLabels": {"a b": "c"}}})
    name = kind.new(storageClassName="a", capacity="1Gi")
    kind.set(name, "storageClassName", "b")
    kind.set(name, "capacity", "2Gi")
    kind.set(name, "nodeTopology", {"matchLabels": {"a": "c"}})
    kind = Kind("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments", False)
    kind.specs({}, {"attacher": "A_", "nodeName": "A_", "source": {}}, {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": ""}}, {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "A_"}}, {"attacher": "a", "nodeName": "n", "source": {"inlineVolumeSpec": {}}})
    name = kind.new(spec={"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}})
    kind.set(name, "spec.nodeName", "m")
    kind.set(name, "status.attached", True, "/status")
    kind.set(name, "status.attachError", {"message": "m", "errorCode": -1}, "/status")


def networking():
    kind = Kind("networking.k8s.io/v1", "Ingress", "ingresses")
    service = {"service": {"name": "s", "port": {"number": 80}}}

    def rule(path="/", kind="Prefix", backend=service, **more):
        return {"http": {"paths": [{"path": path, "pathType": kind, "backend": backend}]}, **more}
    kind.specs({}, {"rules": []}, {"defaultBackend": service}, {"defaultBackend": {}}, {"defaultBackend": {"service": {"name": "", "port": {}}}}, {"defaultBackend": {"service": {"name": "A", "port": {"number": 70000}}}},
               {"defaultBackend": {"service": {"name": "1a", "port": {"name": "A-"}}}}, {"defaultBackend": {"service": {"name": "s", "port": {"name": "a", "number": 1}}}}, {"defaultBackend": {**service, "resource": {"kind": "K", "name": "n"}}},
               {"defaultBackend": {"resource": {"kind": "", "name": ""}}}, {"defaultBackend": {"resource": {"apiGroup": "A_", "kind": "a/b", "name": ".."}}}, {"defaultBackend": {"resource": {"apiGroup": "a.b", "kind": "K", "name": "n"}}},
               {"rules": [rule(host="1.2.3.4")]}, {"rules": [rule(host="A_")]}, {"rules": [rule(host="*.a.b")]}, {"rules": [rule(host="*")]}, {"rules": [rule(host="a.*.b")]}, {"rules": [{"host": "a.b"}]}, {"rules": [{"http": {"paths": []}}]},
               {"rules": [rule(path="x")]}, {"rules": [rule(path="/a//b/./c/../d%2f%2F/..")]}, {"rules": [rule(path="/a/.")]}, {"rules": [rule(path="", kind="ImplementationSpecific")]}, {"rules": [rule(path="x", kind="ImplementationSpecific")]}, {"rules": [rule(kind="X")]}, {"rules": [rule(path="", kind="Exact")]},
               {"rules": [rule()], "tls": [{"hosts": ["A_", "*.b", "*x"], "secretName": "A_"}]}, {"rules": [rule()], "ingressClassName": "A_"}, {"rules": [rule(), rule(backend={})]})
    kind.new(metadata={"annotations": {"kubernetes.io/ingress.class": "a"}}, spec={"rules": [rule()], "ingressClassName": "b"})
    kind.new(metadata={"annotations": {"kubernetes.io/ingress.class": "a"}}, spec={"rules": [rule()]})
    name = kind.new(spec={"rules": [rule()]})
    kind.set(name, "spec.rules", [])
    kind.set(name, "spec.rules", [rule(path="/x")])
    kind.set(name, "status.loadBalancer", {"ingress": [{"ip": "1.2.3.4"}]}, "/status")
    kind.set(name, "status.loadBalancer", {"ingress": [{"ip": "x", "hostname": "1.2.3.4"}, {"hostname": "A_"}]}, "/status")
    kind = Kind("networking.k8s.io/v1", "IngressClass", "ingressclasses", False)
    kind.specs({}, {"controller": "a"}, {"controller": "A_/b c"}, {"controller": "a.io/" + "b" * 250}, {"controller": "a.io/b", "parameters": {"kind": "", "name": ""}}, {"controller": "a.io/b", "parameters": {"apiGroup": "A_", "kind": "a/b", "name": "..", "scope": "X"}},
               {"controller": "a.io/b", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}}, {"controller": "a.io/b", "parameters": {"kind": "K", "name": "n", "namespace": "x"}}, {"controller": "a.io/b", "parameters": {"kind": "K", "name": "n", "scope": "Namespace", "namespace": "A"}})
    name = kind.new(spec={"controller": "a.io/b"})
    kind.set(name, "spec.controller", "a.io/c")
    kind.set(name, "spec.parameters", {"kind": "K", "name": "n"})
    kind = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies")

    def policy(**more):
        return {"podSelector": {}, **more}
    kind.specs({}, policy(podSelector={"matchLabels": {"a b": "c d"}, "matchExpressions": [{"key": "", "operator": "In", "values": ["a b"]}, {"key": "a", "operator": "NotIn"}]}), policy(policyTypes=["X"]), policy(policyTypes=["Ingress", "Egress", "Ingress"]), policy(egress=[{}]),
               policy(ingress=[{"ports": [{"protocol": "X"}, {"port": 0}, {"port": "A-"}, {"port": 80, "endPort": 70}, {"port": 80, "endPort": 70000}, {"endPort": 1}, {"port": "a", "endPort": 1}]}]),
               policy(ingress=[{"from": [{}]}]), policy(ingress=[{"from": [{"podSelector": {"matchLabels": {"-": "x"}}, "namespaceSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}]),
               policy(ingress=[{"from": [{"ipBlock": {"cidr": ""}}]}]), policy(egress=[{"to": [{"ipBlock": {"cidr": "10.0.0.1/8", "except": ["10.1.0.0/16", "11.0.0.0/8", "x", "10.0.0.0/8"]}}]}]), policy(egress=[{"to": [{"ipBlock": {"cidr": "x"}}]}]),
               policy(egress=[{"to": [{"ipBlock": {"cidr": "2001:DB8::/32", "except": ["2001:db8:1::/48"]}}]}]))
    name = kind.new(spec=policy(ingress=[{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]))
    kind.set(name, "spec.ingress.0.from.0.ipBlock.cidr", "10.0.0.1/8")
    kind.set(name, "spec.policyTypes", ["Egress"])
    kind = Kind("networking.k8s.io/v1", "IPAddress", "ipaddresses", False)
    for number, spec in enumerate([{}, {"parentRef": {}}, {"parentRef": {"group": "A_", "resource": "a/b", "name": "..", "namespace": "%"}}]):
        kind.new(f"192.168.77.{number}", spec=spec)
    name = kind.new("192.168.77.9", spec={"parentRef": {"resource": "services", "name": "n", "namespace": "kinds"}})
    kind.set(name, "spec.parentRef.name", "m")
    kind = Kind("networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", False)
    kind.specs({}, {"cidrs": ["x"]}, {"cidrs": ["192.168.77.1/24"]}, {"cidrs": ["192.168.77.0/24", "192.168.78.0/24"]}, {"cidrs": ["192.168.77.0/24", "192.168.78.0/24", "fd00::/64"]}, {"cidrs": ["FD00::/64"]})


def access():
    for kind, reach in [(Kind("rbac.authorization.k8s.io/v1", "Role", "roles"), True), (Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False), False)]:
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
        kind.bodies({}, {"rules": [rule]}, {"rules": [{}]}, {"rules": [{"verbs": ["get"]}]}, {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}, {"rules": [{**rule, "nonResourceURLs": ["/x"]}]}, {"rules": [{"apiGroups": ["a"]}, {"resources": ["b"]}]})
        name = kind.new(rules=[rule])
        kind.set(name, "rules", [{"apiGroups": ["a"], "resources": ["b"]}])
        kind.set(name, "rules", [{**rule, "verbs": ["list"]}])
    roles = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
    roles.bodies({"aggregationRule": {}}, {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a b": "c"}}]}}, {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "c"}}]}})
    for kind in [Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"), Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", False)]:
        role = {"kind": "ClusterRole", "name": "view"}
        kind.bodies({}, {"roleRef": {}}, {"roleRef": role}, {"roleRef": {"apiGroup": "x", "kind": "Y", "name": "a/b"}}, {"roleRef": {"kind": "Role", "name": "x"}},
                    {"roleRef": role, "subjects": [{}, {"kind": "User"}, {"kind": "User", "name": "u", "apiGroup": "x"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "A_"}, {"kind": "ServiceAccount", "name": "s", "apiGroup": "x", "namespace": "n"}, {"kind": "X", "name": "x"}]})
        name = kind.new(roleRef=role, subjects=[{"kind": "User", "name": "u"}])
        kind.set(name, "roleRef.name", "edit")
        kind.set(name, "subjects", [{"kind": "Group", "name": "g"}])
        kind.set(name, "subjects", [{"kind": "Group"}])


def quotas():
    kind = Kind("v1", "LimitRange", "limitranges")

    def limits(*items):
        return {"limits": list(items)}
    kind.specs({}, limits({"type": "X"}), limits({"type": "a b"}), limits({"type": "Pod"}, {"type": "Pod"}), limits({"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "2"}}), limits({"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}),
               limits({"type": "Container", "max": {"x": "1", "a/b": "1", "kubernetes.io/z": "1"}}), limits({"type": "Container", "max": {"storage": "1"}}), limits({"type": "PersistentVolumeClaim"}), limits({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}}),
               limits({"type": "Container", "min": {"cpu": "100m"}, "default": {"cpu": "50m"}, "defaultRequest": {"cpu": "70m"}, "max": {"cpu": "60m"}}), limits({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}),
               limits({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}}), limits({"type": "Container", "default": {"hugepages-2Mi": "2Mi"}, "defaultRequest": {"hugepages-2Mi": "4Mi"}}),
               limits({"type": "Container", "min": {"memory": "1Mi"}}), limits({"type": "Container", "max": {"cpu": "1", "memory": "1Gi"}, "default": {"cpu": "500m"}, "defaultRequest": {"memory": "1Mi"}}))
    name = kind.new(spec=limits({"type": "Container", "max": {"cpu": "1"}}))
    kind.set(name, "spec.limits.0.max.cpu", "100m")
    kind.set(name, "spec.limits", [{"type": "Pod", "max": {"cpu": "2"}}])
    kind = Kind("v1", "ResourceQuota", "resourcequotas")
    kind.specs({}, {"hard": {"x": "1"}}, {"hard": {"a b": "1"}}, {"hard": {"cpu": "-1", "count/a.b": "3", "requests.nvidia.com/gpu": "1", "requests.hugepages-2Mi": "2Mi"}}, {"hard": {"pods": "1500m"}}, {"hard": {"pods": "1"}, "scopes": ["X"]}, {"hard": {"cpu": "1", "pods": "1"}, "scopes": ["BestEffort"]},
               {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating"]}, {"hard": {"services": "1"}, "scopes": ["Terminating"]}, {"hard": {"requests.storage": "1Gi"}, "scopes": ["VolumeAttributesClass"]},
               {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "X", "operator": "In"}, {"scopeName": "BestEffort", "operator": "In", "values": ["a"]}, {"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}, {"scopeName": "PriorityClass", "operator": "Y"}]}},
               {"hard": {"services": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}}, {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}})
    name = kind.new(spec={"hard": {"pods": "1"}, "scopes": ["BestEffort"]})
    kind.set(name, "spec.scopes", ["NotBestEffort"])
    kind.set(name, "spec.hard", {"pods": "2"})
    kind.set(name, "status", {"hard": {"pods": "-1"}, "used": {"x": "1"}}, "/status")
    kind.set(name, "status", {"hard": {"pods": "1"}, "used": {"pods": "1"}}, "/status")


def scaling():
    kind = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
    kind.specs({}, {"minAvailable": 1, "maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}, {"minAvailable": -1}, {"minAvailable": "x"}, {"maxUnavailable": "101%"}, {"maxUnavailable": "50%"}, {"selector": {"matchLabels": {"a b": "c"}}}, {"unhealthyPodEvictionPolicy": "X"}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"})
    name = kind.new(spec={"minAvailable": 1})
    kind.set(name, "spec.minAvailable", 2)
    kind.set(name, "spec.minAvailable", "x%")
    kind.set(name, "status.currentHealthy", -1, "/status")
    kind.set(name, "status.conditions", [{"type": "", "status": "X", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": -1}, {"type": "A", "status": "True", "reason": "a b", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}], "/status")
    kind = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    good = {"scaleTargetRef": target, "maxReplicas": 3}

    def metric(kind, **source):
        return {**good, "metrics": [{"type": kind, **source}]}
    kind.specs({}, good, {**good, "maxReplicas": -1}, {**good, "minReplicas": -1}, {**good, "minReplicas": 0}, {**good, "minReplicas": 5}, {"scaleTargetRef": {"kind": "a/b", "name": "..", "apiVersion": "a/b/c"}, "maxReplicas": 1}, {"scaleTargetRef": {"kind": "D", "name": "d"}, "maxReplicas": 1},
               {"scaleTargetRef": {"kind": "ReplicationController", "name": "d"}, "maxReplicas": 1}, metric(""), metric("X"), metric("Resource"), metric("Resource", resource={"name": "", "target": {"type": ""}}), metric("Resource", resource={"name": "cpu", "target": {"type": "X", "averageUtilization": 0, "averageValue": "0"}}),
               metric("Resource", resource={"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}, pods={"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}),
               metric("Pods", pods={"metric": {"name": ""}, "target": {"type": "Value", "value": "-1"}}), metric("External", external={"metric": {"name": "a/b"}, "target": {"type": "Value"}}), metric("External", external={"metric": {"name": "a"}, "target": {"type": "Value", "value": "1", "averageValue": "1"}}),
               metric("Object", object={"describedObject": {"kind": "", "name": ""}, "metric": {"name": "m"}, "target": {"type": "Value"}}), metric("Object", object={"describedObject": {"kind": "Ingress", "name": "i", "apiVersion": "a/b/c"}, "metric": {"name": "m"}, "target": {"type": "Value", "value": "1"}}),
               metric("ContainerResource", containerResource={"name": "", "container": "", "target": {"type": "Utilization"}}), metric("ContainerResource", containerResource={"name": "x", "container": "A", "target": {"type": "Utilization", "averageUtilization": 1}}),
               {**good, "minReplicas": 0, "metrics": [{"type": "External", "external": {"metric": {"name": "a"}, "target": {"type": "Value", "value": "1"}}}]},
               {**good, "behavior": {}}, {**good, "behavior": {"scaleUp": {"stabilizationWindowSeconds": -1, "selectPolicy": "X", "policies": [{"type": "X", "value": 0, "periodSeconds": 0}, {"type": "Pods", "value": 1, "periodSeconds": 2000}]}, "scaleDown": {"stabilizationWindowSeconds": 4000, "policies": [], "tolerance": "-1"}}},
               {**good, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}}})
    name = kind.new(spec=good)
    kind.set(name, "spec.maxReplicas", 0)
    kind.set(name, "spec.maxReplicas", 5)
    kind.set(name, "spec.scaleTargetRef.apiVersion", "v1")
    kind.set(name, "status.desiredReplicas", -1, "/status")


def coordination():
    kind = Kind("coordination.k8s.io/v1", "Lease", "leases")
    kind.specs({}, {"leaseDurationSeconds": -1}, {"leaseTransitions": -1}, {"strategy": "X"}, {"strategy": "a/b/c"}, {"strategy": "a.io/b"}, {"preferredHolder": "x"}, {"strategy": "OldestEmulationVersion", "preferredHolder": "x"}, {"holderIdentity": ""})
    name = kind.new(spec={"holderIdentity": "a", "leaseDurationSeconds": 5})
    kind.set(name, "spec.leaseDurationSeconds", 0)
    kind.set(name, "spec.holderIdentity", "b")


def cluster():
    kind = Kind("v1", "Namespace", "namespaces", False)
    kind.specs({}, {"finalizers": ["x"]}, {"finalizers": ["a b", "c/d"]}, {"finalizers": ["a.io/b"]})
    name = kind.new()
    kind.set(name, "spec.finalizers", [])
    kind.set(name, "metadata.labels", {})
    kind.set(name, "status.phase", "Terminating", "/status")
    kind.set(name, "status.conditions", [{"type": "A", "status": "True"}], "/status")
    kind = Kind("v1", "Node", "nodes", False)
    kind.specs({}, {"taints": [{"key": "a b", "value": "c d", "effect": ""}, {"key": "a", "effect": "X"}, {"key": "c", "effect": "NoSchedule"}, {"key": "c", "effect": "NoSchedule"}]}, {"podCIDR": "x"}, {"podCIDR": "10.1.0.0/24"}, {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]}, {"podCIDRs": ["10.1.0.0/24", "fd00::/64"]}, {"configSource": {}})
    kind.new(status={"capacity": {"cpu": "-1"}})
    kind.new(status={"capacity": {"cpu": "1", "a.b/c": "500m"}, "allocatable": {"pods": "1500m"}})
    kind.new(status={"capacity": {"cpu": "4"}})
    name = kind.new(spec={"podCIDR": "10.1.0.0/24", "providerID": "a"})
    kind.set(name, "spec.podCIDR", "10.2.0.0/24")
    kind.set(name, "spec.podCIDRs", ["10.2.0.0/24"])
    kind.set(name, "spec.providerID", "b")
    kind.set(name, "spec.providerID", None)
    kind.set(name, "spec.unschedulable", True)
    kind.set(name, "spec.taints", [{"key": "a b", "effect": "X"}])
    kind.set(name, "status.addresses", [{"type": "InternalIP", "address": "1.2.3.4"}] * 2, "/status")
    kind.set(name, "status.capacity", {"cpu": "-1"}, "/status")
    kind = Kind("v1", "ServiceAccount", "serviceaccounts")
    kind.bodies({}, {"secrets": [{"name": "a"}], "imagePullSecrets": [{"name": "b"}], "automountServiceAccountToken": False})


def events():
    kind = Kind("v1", "Event", "events")
    about = {"kind": "Pod", "name": "p", "namespace": "kinds"}
    new = {"eventTime": "2026-01-01T00:00:00.000000Z", "action": "A", "reason": "R", "reportingInstance": "i", "type": "Normal"}
    kind.bodies({"involvedObject": about}, {"involvedObject": {}}, {"involvedObject": {"namespace": "other"}}, {"involvedObject": about, "eventTime": new["eventTime"]}, {"involvedObject": {}, **new, "reportingComponent": "a b"}, {"involvedObject": about, **new, "reportingComponent": "c", "message": "m" * 1025},
                {"involvedObject": about, **new, "reportingComponent": "c", "action": "a" * 129, "reason": "r" * 129, "reportingInstance": "i" * 129})
    kind = Kind("events.k8s.io/v1", "Event", "events")
    good = {**new, "reportingController": "c.io/d", "regarding": about}
    kind.bodies({"regarding": about}, good, {**good, "type": "X"}, {**good, "series": {"count": 1, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}, {**good, "deprecatedCount": 1, "deprecatedSource": {"component": "c"}, "deprecatedFirstTimestamp": "2026-01-01T00:00:00Z"}, {**good, "reportingController": ""}, {**good, "regarding": {}})
    name = kind.new(**good)
    kind.set(name, "reason", "S")
    kind.set(name, "note", "n")
    kind.set(name, "series", {"count": 3, "lastObservedTime": "2026-01-01T00:00:00.000000Z"})
    kind.set(name, "reportingController", "e")


def classes():
    kind = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", False)
    kind.bodies({}, {"value": 2000000000}, {"value": 1, "preemptionPolicy": "X"}, {"value": 1, "preemptionPolicy": "Never"})
    kind.new("system-x", value=1)
    name = kind.new(value=5)
    kind.set(name, "value", 6)
    kind.set(name, "preemptionPolicy", "Never")
    kind.set(name, "description", "d")
    kind = Kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", False)
    kind.bodies({}, {"handler": "A_"}, {"handler": "h", "overhead": {"podFixed": {"x": "1"}}}, {"handler": "h", "overhead": {"podFixed": {"cpu": "-1"}}}, {"handler": "h", "overhead": {"podFixed": {"cpu": "1"}}}, {"handler": "h", "scheduling": {"nodeSelector": {"a b": "c"}}})
    name = kind.new(handler="h")
    kind.set(name, "handler", "i")


def admission():
    rule = {"operations": ["CREATE"], "apiGroups": ["nosuch.io"], "apiVersions": ["v1"], "resources": ["foos"]}
    good = {"name": "a.b.c", "clientConfig": {"url": "https://127.0.0.1:1/x"}, "rules": [rule], "sideEffects": "None", "admissionReviewVersions": ["v1"]}

    def service(**more):
        return {**good, "clientConfig": {"service": {"name": "s", "namespace": "n", **more}}}
    for kind in [Kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False), Kind("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False)]:
        for hook in [{}, good, {**good, "name": "a.b"}, {**good, "name": "A_.b.c"}, {**good, "clientConfig": {}}, {**good, "clientConfig": {"url": "https://a", "service": {"name": "s", "namespace": "n"}}}, {**good, "clientConfig": {"url": "http://a/b"}}, {**good, "clientConfig": {"url": "https://u:p@a/b?c=d#e"}}, {**good, "clientConfig": {"url": "https:///b"}},
                     service(), service(port=0), service(port=70000), service(path="x"), service(path="//"), service(path="/a//b/C_/"), service(name="", namespace="x"), service(name="x", namespace=""), {**good, "failurePolicy": "X"}, {**good, "matchPolicy": "X"}, {**good, "sideEffects": "Some"}, {**good, "sideEffects": "X"}, {**good, "timeoutSeconds": 0}, {**good, "timeoutSeconds": 31},
                     {**good, "namespaceSelector": {"matchLabels": {"a b": "c"}}, "objectSelector": {"matchExpressions": [{"key": "a", "operator": "X"}]}}, {**good, "admissionReviewVersions": []}, {**good, "admissionReviewVersions": ["v2", "v2", "A"]}, {**good, "matchConditions": [{"name": "", "expression": " "}]}, {**good, "matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}, {"name": "a b", "expression": "true"}]},
                     {**good, "rules": [{}]}, {**good, "rules": [{**rule, "operations": ["*", "CREATE", "X"], "apiGroups": ["*", "a"], "apiVersions": ["*", "a", ""], "scope": "X"}]}, {**good, "rules": [{**rule, "resources": ["*/*", "a"]}]}, {**good, "rules": [{**rule, "resources": ["*", "a"]}]}, {**good, "rules": [{**rule, "resources": ["a/*", "a/b", "*/c", "d/c", ""]}]}]:
            kind.new(webhooks=[hook])
        kind.new(webhooks=[good, good])
        if kind.kind.startswith("Mutating"):
            kind.new(webhooks=[{**good, "reinvocationPolicy": "X"}])
        name = kind.new(webhooks=[good])
        kind.set(name, "webhooks.0.sideEffects", "Some")
        kind.set(name, "webhooks.0.timeoutSeconds", 5)
    match = {"resourceRules": [rule]}
    kind = Kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", False)
    good = {"matchConstraints": match, "validations": [{"expression": "true"}]}
    kind.specs({}, good, {**good, "failurePolicy": "X"}, {**good, "paramKind": {}}, {**good, "paramKind": {"apiVersion": "a/b/c", "kind": "A_"}}, {**good, "paramKind": {"apiVersion": "A_/B", "kind": "K"}}, {**good, "paramKind": {"apiVersion": "a.b/v1", "kind": "K"}}, {**good, "matchConstraints": {}}, {**good, "matchConstraints": {"resourceRules": [{**rule, "resourceNames": ["a/b", "c", "c"]}], "matchPolicy": "X", "namespaceSelector": {"matchLabels": {"a b": "c"}}}},
               {**good, "matchConditions": [{"name": "", "expression": ""}]}, {**good, "variables": [{"name": "", "expression": ""}, {"name": "a-b", "expression": "1"}, {"name": "for", "expression": "1"}]}, {"matchConstraints": match}, {**good, "validations": [{"expression": " ", "message": " ", "messageExpression": " ", "reason": "X"}, {"expression": "true", "message": "a\nb"}]},
               {**good, "auditAnnotations": [{"key": "a b", "valueExpression": ""}, {"key": "a", "valueExpression": "'x'"}, {"key": "a", "valueExpression": "'x'"}]})
    name = kind.new(spec=good)
    kind.set(name, "spec.failurePolicy", "Ignore")
    kind.set(name, "spec.validations", [])
    kind = Kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", False)
    good = {"policyName": "kinds-nosuch", "validationActions": ["Deny"]}
    kind.specs({}, good, {**good, "policyName": "A_"}, {**good, "validationActions": ["Deny", "Warn", "Warn", "X"]}, {**good, "paramRef": {}}, {**good, "paramRef": {"name": "a/b", "selector": {"matchLabels": {"a b": "c"}}, "parameterNotFoundAction": "X"}}, {**good, "paramRef": {"name": "a", "parameterNotFoundAction": "Deny"}}, {**good, "matchResources": {"resourceRules": [{}], "matchPolicy": "X"}})
    kind = Kind("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "mutatingadmissionpolicies", False)
    apply = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    good = {"matchConstraints": match, "mutations": [apply], "reinvocationPolicy": "Never"}
    kind.specs({}, good, {**good, "mutations": [{}]}, {**good, "mutations": [{"patchType": "X"}]}, {**good, "mutations": [{"patchType": "JSONPatch"}]}, {**good, "mutations": [{**apply, "jsonPatch": {"expression": "[]"}}]}, {**good, "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": ""}}]}, {**good, "reinvocationPolicy": "X"}, {**good, "matchConstraints": {"resourceRules": [{**rule, "operations": ["DELETE"]}]}})
    kind = Kind("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", False)
    kind.specs({}, {"policyName": "kinds-nosuch"}, {"policyName": "A_"}, {"policyName": "p", "matchResources": {"resourceRules": [{**rule, "operations": ["DELETE"]}]}})


def flows():
    kind = Kind("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", False)
    queue = {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}

    def queuing(**more):
        return {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": more}}}
    kind.specs({}, {"type": "X"}, {"type": "Limited"}, {"type": "Exempt"}, {"type": "Limited", "limited": {}}, {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}, {"type": "Limited", "limited": {"limitResponse": {"type": "Reject", "queuing": {}}}}, {"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}}, {"type": "Limited", "limited": {"limitResponse": {"type": "X"}, "nominalConcurrencyShares": -1, "lendablePercent": 101, "borrowingLimitPercent": -1}},
               queue, {**queue, "exempt": {}}, queuing(queues=-1, handSize=-1, queueLengthLimit=-1), queuing(queues=4, handSize=8), queuing(queues=100000000), queuing(queues=1024, handSize=8))
    name = kind.new(spec=queue)
    kind.set(name, "spec.limited.lendablePercent", -1)
    kind.set(name, "spec.limited.lendablePercent", 10)
    kind = Kind("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "flowschemas", False)
    resource = {"verbs": ["get"], "apiGroups": ["nosuch.io"], "resources": ["foos"], "namespaces": ["*"]}
    user = {"kind": "User", "user": {"name": "kinds-nobody"}}
    level = {"priorityLevelConfiguration": {"name": "kinds-nosuch"}}

    def rules(**more):
        return {**level, "rules": [{"subjects": [user], "resourceRules": [resource], **more}]}
    kind.specs({}, level, {**level, "matchingPrecedence": -1}, {**level, "matchingPrecedence": 20000}, {**level, "matchingPrecedence": 1}, {**level, "distinguisherMethod": {"type": "X"}}, {**level, "distinguisherMethod": {"type": "ByUser"}}, {"priorityLevelConfiguration": {"name": "A_"}}, rules(), rules(subjects=[]), rules(resourceRules=[]),
               rules(subjects=[{"kind": "X"}, {"kind": "User"}, {"kind": "Group", "group": {"name": ""}, "user": {"name": "x"}}, {"kind": "ServiceAccount", "serviceAccount": {"name": "A_", "namespace": ""}, "group": {"name": "g"}}]), rules(resourceRules=[{}]), rules(resourceRules=[{**resource, "verbs": ["*", "get"], "apiGroups": ["*", "a"], "resources": ["*", "b"], "namespaces": ["*", "c"]}]),
               rules(resourceRules=[{**resource, "verbs": ["x"], "namespaces": ["A_"]}]), rules(nonResourceRules=[{}]), rules(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": ["", "x", "/a b", "/a//b", "/*/a", "/a/*", "/"]}]), rules(nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": ["*", "/a"]}]))


def registration():
    kind = Kind("apiregistration.k8s.io/v1", "APIService", "apiservices", False)
    good = {"group": "kinds.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    target = {"service": {"name": "s", "namespace": "kinds"}}
    for spec in [{}, {**good, "groupPriorityMinimum": 0}, {**good, "groupPriorityMinimum": 30000, "versionPriority": 2000}, {**good, "caBundle": "YQ=="}, {**good, "insecureSkipTLSVerify": True}, {**good, "service": {}}, {**good, **target, "insecureSkipTLSVerify": True, "caBundle": "YQ=="}, {**good, "service": {"name": "s", "namespace": "n", "port": 70000}}]:
        kind.new("v1.kinds.example.com", spec=spec)
    kind.new("wrong", spec=good)
    kind.new("v2.", spec={**good, "group": "", "version": "v2"})
    kind.new("A_.A_", spec={**good, "group": "A_", "version": "A_"})
    kind.new("v2.kinds.example.com", spec={**good, **target, "version": "v2", "insecureSkipTLSVerify": True})


def certificates():
    kind = Kind("certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests", False)
    kind.specs({}, {"request": "YQ==", "usages": ["x", "any", "any"], "signerName": "a"}, {"request": "YQ==", "usages": ["any"], "signerName": "a/b/c"}, {"request": "YQ==", "usages": ["any"], "signerName": "A_.b/C_"}, {"request": "YQ==", "usages": ["any"], "signerName": "a/b"}, {"request": "YQ==", "usages": ["any"], "signerName": "kubernetes.io/legacy-unknown", "expirationSeconds": 1})
    name = kind.new(spec={"request": REQUEST, "usages": ["client auth"], "signerName": "kinds.example.com/s"})
    approved = {"type": "Approved", "status": "True", "reason": "r"}
    kind.set(name, "spec.signerName", "other.example.com/s")
    kind.set(name, "status.conditions", [approved], "/status")
    kind.set(name, "status.conditions", [{"type": "Failed", "status": "False"}], "/status")


def clean():
    for key in sorted(STORED, reverse=True):
        send("PATCH", key, {"metadata": {"finalizers": None}})
        send("DELETE", key)
        if key.startswith("/api/v1/namespaces/kinds-"):
            send("PUT", key + "/finalize", {**STORED[key], "metadata": {"name": key.rpartition("/")[2]}, "spec": {}})
    STORED.clear()


send("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kinds"}})
PARTS = [configuration, services, endpoints, volumes, storage, networking, access, quotas, scaling,
         coordination, cluster, events, classes, admission, flows, registration, certificates]
PARTS = [globals()[name] for name in sys.argv[3:]] or PARTS
try:
    for part in PARTS:
        NUMBER[0] = 0
        LINES.clear()
        part()
        lines = [json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in LINES]
        target = pathlib.Path(__file__).with_name(part.__name__ + ".jsonl")
        target.write_text("\n".join(lines) + "\n")
        clean()
finally:
    clean()
