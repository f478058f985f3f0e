"""What the walkthroughs' smaller pages need in every world."""

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
PLACEMENT = """
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: Placement
metadata:
  name: placement
  namespace: ns1
spec:
  numberOfClusters: 1
  prioritizerPolicy:
    mode: Exact
    configurations:
      - scoreCoordinate:
          type: AddOn
          addOn:
            resourceName: test-score1
            scoreName: memAvailable
        weight: 1
"""
"""As the page of the score add-on's first version prints it; the add-on never made a `test-score1`."""
