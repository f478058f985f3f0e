"""What `fleetqueue get` adds to the listings."""

import pytest

from fleetqueue.api import errors
from fleetqueue.cli.exit_codes import CommandFailure
from fleetqueue.cli.get import list_jobs
from fleetqueue.cli.options import JobOutputFormat
from fleetqueue.client import Client

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
