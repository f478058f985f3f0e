"""What `fleetqueue get` adds to the listings."""

import pytest

from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.cli.exit_codes import Code, CommandFailure
from fleetqueue.cli.get import list_jobs
from fleetqueue.cli.options import JobOutputFormat
from fleetqueue.client import Client
from tests.unit.unserved_kinds import lack

FORBIDDEN = "workloads is forbidden: User x cannot list at the cluster scope"


async def test_who_may_not_list_all_jobs_is_told_to_name_a_namespace(api):
    api.fail_on("list workloads", errors.Forbidden(FORBIDDEN))

    with pytest.raises(CommandFailure) as failure:
        await list_jobs(Client(api), JobOutputFormat.TABLE, "")

    assert str(failure.value) == f"{FORBIDDEN}; try -n NAMESPACE, or use a kubeconfig with more rights"


async def test_who_has_named_a_namespace_is_not(api):
    api.fail_on("list workloads*", errors.Forbidden(FORBIDDEN))

    with pytest.raises(errors.Forbidden):
        await list_jobs(Client(api), JobOutputFormat.TABLE, "team-a")


async def test_a_worker_is_not_said_to_have_no_jobs(api):
    lack(api, ManagedCluster)

    with pytest.raises(CommandFailure, match=r"this cluster is no hub: .* name the hub with") as failure:
        await list_jobs(Client(api), JobOutputFormat.TABLE, "")

    assert failure.value.code == Code.NOT_FOUND
