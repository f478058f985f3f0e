"""What the seeds' smaller pages need in every world."""

WORKERS = ("cluster1", "cluster2", "cluster3")
KEPT_BY_KUBERNETES = ("events", "events.events.k8s.io", "certificatesigningrequests.certificates.k8s.io")
"""Records that Kubernetes itself deletes after an hour."""
LINES = '{range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
POD = """
apiVersion: v1
kind: Pod
metadata: {name: large, namespace: default}
spec:
  containers: [{name: main, image: sleep, args: ["3600s"], resources: {requests: {memory: 6Gi}}}]
"""
