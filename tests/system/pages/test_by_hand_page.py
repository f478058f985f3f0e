"""What the page about MultiKueue by hand says of connections that fail is what a fleet says of them."""

import time

import pytest

from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS

from .shell import lines_of

pytestmark = pytest.mark.timeout(420)
PAGE = "docs/en/guides/by-hand.md"
SCRIPT_LEAVES_OUT = {"kubeflow.org/jaxjob", "trainer.kubeflow.org/trainjob"}
"""Kinds that the role of Kueue's script does not name."""
CLUSTER = "multikueuecluster/multikueue-test-worker1"
PATIENCE = 120.0
"""Seconds; attempts to connect are some apart."""
SECRET = "kubectl create secret generic worker1-secret -n kueue-system"


@pytest.fixture
def fleet(empty):
    """The page's hub, without the secret, and the page's worker."""
    for line in (
        *lines_of(PAGE, (0,)),
        "kubectl apply --context worker1-cluster -f examples/single-clusterqueue-setup.yaml",
    ):
        empty.type(line)
    empty.type("kubectl config use-context manager-cluster")
    empty.type("kubectl apply -f examples/multikueue-setup.yaml")
    return empty


def made_without(shell, kinds):
    """Make the secret of a kubeconfig that leaves some kinds out."""
    options = " ".join(f"--job-kind {kind}" for kind in sorted(JOB_KINDS.keys() - kinds))
    shell.type(f"fleetqueue kubeconfig create --context worker1-cluster {options} > worker1.kubeconfig")
    shell.type(f"{SECRET} --from-file=kubeconfig=worker1.kubeconfig --dry-run=client -o yaml | kubectl apply -f -")


def until_it_says(shell, *wanted):
    """Ask again and again until the cluster's condition has some of these words."""
    ends = time.monotonic() + PATIENCE
    said = ""
    while not any(words in said for words in wanted):
        assert time.monotonic() < ends, f"{wanted} is not said: {said}"
        said = shell.type(f"kubectl get {CLUSTER} -o jsonpath='{{.status.conditions[0].message}}'")


def test_a_secret_that_is_missing_or_wrong_is_told(fleet):
    until_it_says(fleet, 'Secret "worker1-secret" not found')
    fleet.type(f"{SECRET} --from-literal=other=x")
    until_it_says(fleet, 'key "kubeconfig" not found in secret')


def test_a_kind_that_may_not_be_watched_fails_the_connection_until_it_may(fleet):
    made_without(fleet, {"jobset.x-k8s.io/jobset"})
    until_it_says(fleet, "jobsets.jobset.x-k8s.io is forbidden")

    made_without(fleet, SCRIPT_LEAVES_OUT)
    until_it_says(fleet, "jaxjobs.kubeflow.org is forbidden", "trainjobs.trainer.kubeflow.org is forbidden")

    made_without(fleet, set())
    until_it_says(fleet, "Connected")
