"""A fleet as the pages speak of it, by the lines that make it."""

QUEUES = """
apiVersion: v1
kind: Namespace
metadata: {name: team-a}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: gpu, namespace: team-a}
spec: {clusterQueue: cluster-queue-demo2}
"""
TRAIN = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: gpu}}
spec:
  template:
    metadata: {annotations: {fleetqueue.dev/run-for: 1h}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
"""
FLEET = (
    "fleetqueue up --scenario multikueue --detach --in-memory",
    "export KUBECONFIG=$(fleetqueue kubeconfig --path)",
    "fleetqueue clusterset bind spoke --namespace kueue-system",
    "kubectl label managedcluster cluster2 cluster3 accelerator=nvidia-tesla-t4",
    "fleetqueue examples single-clusterqueue | kubectl apply --context cluster1 -f -",
    "fleetqueue examples multikueue-setup-demo1 placement-demo2-1 multikueue-setup-demo2 | kubectl apply -f -",
    "sed 's/name: placement-demo2/name: gpu/' examples/placement-demo2-1.yaml | kubectl apply -f -",
    f"for context in hub cluster1 cluster2 cluster3; do kubectl --context $context apply -f - <<'EOF'{QUEUES}EOF\ndone",
    f"cat > job.yaml <<'EOF'{TRAIN}EOF\nkubectl apply -f job.yaml",
    "until fleetqueue get jobs train -n team-a | grep Admitted; do true; done",
    "for name in hub cluster1; do kubectl config view --context $name --minify --flatten > $name.kubeconfig; done",
    "cp cluster1.kubeconfig cluster1-admin.kubeconfig",
)
"""A fleet with the queues of the stories, a team's queue `gpu` and its job `train`, which runs."""
