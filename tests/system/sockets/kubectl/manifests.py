"""What the tests of kubectl apply."""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: "nginx:1", ports: [{containerPort: 80}]}
      - {name: d, image: "nginx:1"}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.t.io}
spec:
  group: t.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1}
              parts: {type: array, items: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Admitted, type: string, jsonPath: ".status.conditions[?(@.type=='Admitted')].status"}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
"""
WIDGET = """
apiVersion: t.io/v1
kind: Widget
metadata: {name: w}
spec: {size: %s, parts: [a, b]}
"""
EVENT = """
apiVersion: v1
kind: Event
metadata: {name: e}
involvedObject: {apiVersion: v1, kind: Pod, name: web, namespace: %s}
reason: Started
type: Normal
message: it runs
lastTimestamp: "2026-01-01T00:00:00Z"
"""
# One object for each kind whose columns people know by heart; nothing acts on any of them.
MANY = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {schedulerName: nobody, containers: [{name: c, image: i}, {name: d, image: j}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: one}
spec:
  replicas: 0
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: one}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: v1
kind: Secret
metadata: {name: one}
stringData: {a: b}
---
apiVersion: v1
kind: Service
metadata: {name: one}
spec: {clusterIP: None, ports: [{port: 80}], selector: {a: b}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: one}
spec: {hard: {count/podtemplates: "1"}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: one}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: one}
spec: {holderIdentity: me}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: one}
spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: one}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: one}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: one}
"""
LIST = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}
- {apiVersion: v1, kind: Secret, metadata: {name: two}}
"""

SET = """
apiVersion: apps/v1
kind: %s
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: c, image: "agent:1"}]}
"""
