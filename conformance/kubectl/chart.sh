#!/usr/bin/env bash
# What `helm template` prints of a large chart: 30 components, each with an account, rights,
# configuration, a workload, a service, what surrounds it, and a custom resource; COMPONENTS says
# how many others. With `crds` the definition of that one, which helm installs first.
set -eu
release=stack
components=${COMPONENTS:-30}
if [ "${1:-}" = crds ]; then
  cat <<YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: monitors.charts.example.com
spec:
  group: charts.example.com
  scope: Namespaced
  names: {kind: Monitor, plural: monitors, singular: monitor}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [selector]
            properties:
              selector:
                type: object
                properties:
                  matchLabels: {type: object, additionalProperties: {type: string}}
              endpoints:
                type: array
                items:
                  type: object
                  properties:
                    port: {type: string}
                    interval: {type: string, default: 30s}
YAML
  exit
fi
for number in $(seq "$components"); do
  name=$release-part$number
  labels="{app.kubernetes.io/name: part$number, app.kubernetes.io/instance: $release, app.kubernetes.io/managed-by: Helm}"
  match="{app.kubernetes.io/name: part$number, app.kubernetes.io/instance: $release}"
  cat <<YAML
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: $name, labels: $labels}
automountServiceAccountToken: false
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: $name, labels: $labels}
rules:
- {apiGroups: [""], resources: [nodes, services, endpoints, pods], verbs: [get, list, watch]}
- {nonResourceURLs: [/metrics], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: $name, labels: $labels}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: $name}
subjects:
- {kind: ServiceAccount, name: $name, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: $name, labels: $labels}
data:
  config.yaml: |
    global:
      scrape_interval: 30s
      part: $number
---
apiVersion: v1
kind: Secret
metadata: {name: $name, labels: $labels}
type: Opaque
stringData: {password: secret-$number}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: $name, labels: $labels}
spec:
  replicas: 2
  selector: {matchLabels: $match}
  template:
    metadata:
      labels: $labels
      annotations: {checksum/config: "$number"}
    spec:
      serviceAccountName: $name
      securityContext: {runAsNonRoot: true, runAsUser: 65534, fsGroup: 65534, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: example.com/part$number:1.2.3
        args: [--config=/etc/config/config.yaml, --log.level=info]
        ports: [{name: http, containerPort: 9090}]
        env:
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: $name, key: password}}}
        livenessProbe: {httpGet: {path: /-/healthy, port: http}, initialDelaySeconds: 30}
        readinessProbe: {httpGet: {path: /-/ready, port: http}}
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: config, mountPath: /etc/config}, {name: data, mountPath: /data}]
      volumes:
      - {name: config, configMap: {name: $name}}
      - {name: data, emptyDir: {sizeLimit: 1Gi}}
---
apiVersion: v1
kind: Service
metadata: {name: $name, labels: $labels}
spec:
  selector: $match
  ports: [{name: http, port: 80, targetPort: http}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: $name, labels: $labels}
spec: {minAvailable: 1, selector: {matchLabels: $match}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: $name, labels: $labels}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: $name}
  minReplicas: 2
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: $name, labels: $labels}
spec:
  podSelector: {matchLabels: $match}
  policyTypes: [Ingress]
  ingress: [{ports: [{port: http, protocol: TCP}]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: $name, labels: $labels}
spec:
  rules:
  - host: part$number.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: $name, port: {name: http}}}}]}
---
apiVersion: charts.example.com/v1
kind: Monitor
metadata: {name: $name, labels: $labels}
spec:
  selector: {matchLabels: $match}
  endpoints: [{port: http}]
YAML
done
