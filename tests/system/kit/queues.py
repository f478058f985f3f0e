"""A queue whose jobs go to the workers of a Placement, and a job of ten minutes."""

QUEUES = """
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: spoke, namespace: kueue-system}
spec: {clusterSet: spoke}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: placement-gpu, namespace: kueue-system}
spec: {clusterSets: [spoke]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: multikueue}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: placement-gpu}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: placement-gpu}
spec:
  controllerName: open-cluster-management.io/placement
  parameters: {apiGroup: cluster.open-cluster-management.io, kind: Placement, name: placement-gpu}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: team}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: any, resources: [{name: cpu, nominalQuota: 9}]}]
  admissionChecksStrategy:
    admissionChecks: [{name: multikueue}, {name: placement-gpu}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue-demo1}
spec: {clusterQueue: team}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {kueue.x-k8s.io/queue-name: user-queue-demo1}
spec:
  template:
    metadata: {annotations: {fleetqueue.dev/run-for: 10m}}
    spec:
      restartPolicy: Never
      containers:
        - {name: main, image: busybox, resources: {requests: {cpu: 1}}}
"""


def with_name(name):
    return JOB.replace("name: train", f"name: {name}")
