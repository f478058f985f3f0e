"""Every kind knows its paths."""

import pytest

from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Secret
from fleetqueue.api.kueue_v1beta2 import ClusterQueue, Workload
from fleetqueue.api.rbac_v1 import ClusterRole


@pytest.mark.parametrize(
    ("kind", "arguments", "path"),
    [
        (Secret, (), "/api/v1/secrets"),
        (Secret, ("ns",), "/api/v1/namespaces/ns/secrets"),
        (Secret, ("ns", "s"), "/api/v1/namespaces/ns/secrets/s"),
        (Namespace, ("", "ns"), "/api/v1/namespaces/ns"),
        (Job, ("ns", "j", "status"), "/apis/batch/v1/namespaces/ns/jobs/j/status"),
        (Workload, ("ns", "w"), "/apis/kueue.x-k8s.io/v1beta2/namespaces/ns/workloads/w"),
        (ClusterQueue, ("ignored", "q"), "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/q"),
        (ClusterRole, ("", "a:b c"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/a:b%20c"),
    ],
)
def test_path(kind, arguments, path):
    assert kind.resource.path(*arguments) == path


def test_a_resource_is_named_as_kubectl_names_it():
    assert [str(kind.resource) for kind in (Secret, Workload)] == ["secrets", "workloads.kueue.x-k8s.io"]


def test_api_version():
    assert [kind.resource.api_version for kind in (Secret, Workload)] == ["v1", "kueue.x-k8s.io/v1beta2"]
