"""Kueue's page about a MultiKueue that is set up by hand, and the three lines with which it ends."""

import yaml

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Secret, ServiceAccount
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS, rules_for
from fleetqueue.demo.story_run import LIMIT, StoryRun
from fleetqueue.lab.cluster_names import HUB

IDS = ("DOC-1",)
ACCOUNT = "multikueue-sa"
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, memory]
      flavors:
        - name: default-flavor
          resources: [{name: cpu, nominalQuota: 9}, {name: memory, nominalQuota: 36Gi}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: user-queue, namespace: default}
spec: {clusterQueue: cluster-queue}
"""
MULTIKUEUE = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: sample-multikueue}
spec:
  controllerName: kueue.x-k8s.io/multikueue
  parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: multikueue-test}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueConfig
metadata: {name: multikueue-test}
spec: {clusters: [multikueue-test-worker1]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: MultiKueueCluster
metadata: {name: multikueue-test-worker1}
spec: {clusterSource: {kubeConfig: {locationType: Secret, location: worker1-secret}}}
"""
CHECKED = "  admissionChecksStrategy: {admissionChecks: [{name: sample-multikueue}]}\n"
SETUP = QUEUES.replace("  namespaceSelector: {}\n", f"  namespaceSelector: {{}}\n{CHECKED}") + MULTIKUEUE
ACTIVE = r"""-o jsonpath="{range .status.conditions[?(@.type == \"Active\")]}%s - Active: {@.status} """
ACTIVE += r"""Reason: {@.reason} Message: {@.message}{'\n'}{end}" """
LINES = {
    "clusterqueues cluster-queue": ("CQ", "CQ - Active: True Reason: Ready Message: Can admit new workloads\n"),
    "admissionchecks sample-multikueue": (
        "AC",
        "AC - Active: True Reason: Active Message: The admission check is active\n",
    ),
    "multikueuecluster multikueue-test-worker1": ("MC", "MC - Active: True Reason: Active Message: Connected\n"),
}
"""What is asked as the page has it, and what the page expects."""


async def tell(run: StoryRun) -> None:
    await run.do("kubectl apply -f - --context worker1-cluster", stdin=QUEUES)
    kubeconfig = await worker_kubeconfig(run)
    secret = Secret.manifest("worker1-secret", KUEUE_NAMESPACE, stringData={"kubeconfig": kubeconfig})
    await run.do("kubectl apply -f - --context manager-cluster", stdin=yaml.safe_dump(secret))
    await run.do("kubectl apply -f - --context manager-cluster", stdin=SETUP)
    for name in LINES:
        await run.do(f"kubectl wait {name} --for=condition=Active --timeout={LIMIT:.0f}s --context manager-cluster")
    for name, (short, line) in LINES.items():
        told = await run.do(f"kubectl get {name} {ACTIVE % short} --context manager-cluster")
        run.judge("DOC-1", told == line, told, part=f"the line of {name} is that of the page")
    await run.do("kubectl delete -f - --timeout=60s --context manager-cluster", stdin=SETUP)
    await run.do("kubectl delete -f - --timeout=60s --context worker1-cluster", stdin=QUEUES)


async def worker_kubeconfig(run: StoryRun) -> str:
    """Do what the page's script does on the worker: an account with rights, its token, a kubeconfig of both."""
    await run.do("kubectl apply -f - --context worker1-cluster", stdin=account())
    secret = f"secret/{ACCOUNT} -n {KUEUE_NAMESPACE}"
    await run.do(f"kubectl wait {secret} --for=jsonpath={{.data.token}} --timeout=60s --context worker1-cluster")
    found = Secret.view(await run.clients["cluster1"].get(Secret.resource, ACCOUNT, KUEUE_NAMESPACE))
    token, ca = (found.text(key) or "" for key in ("token", "ca.crt"))
    worker = ManagedCluster.view(await run.clients[HUB].get(ManagedCluster.resource, "cluster1"))
    (where,) = worker.spec.managed_cluster_client_configs
    return render("worker1", server=where.url, ca=ca, token=token, user=ACCOUNT)


def account() -> str:
    """Write the account, with rights for the kinds of jobs that the manager's Kueue sends, and a token."""
    role = f"{ACCOUNT}-role"
    of_account = {"kubernetes.io/service-account.name": ACCOUNT}
    token = Secret.manifest(
        ACCOUNT, KUEUE_NAMESPACE, annotations=of_account, type="kubernetes.io/service-account-token"
    )
    objects = [
        ServiceAccount.manifest(ACCOUNT, KUEUE_NAMESPACE),
        ClusterRole.manifest(role, rules=[rule.manifest() for rule in rules_for(JOB_KINDS)]),
        ClusterRoleBinding.manifest(
            f"{ACCOUNT}-crb",
            roleRef={"apiGroup": ClusterRole.resource.group, "kind": "ClusterRole", "name": role},
            subjects=[{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": KUEUE_NAMESPACE}],
        ),
        token,
    ]
    return yaml.safe_dump_all(objects)
