"""Commands of ours that are answered in this process, in the words of the command line."""

import pytest

from fleetqueue.admin import cluster_sets
from fleetqueue.api.cluster_v1 import ManagedClusterSetBinding
from fleetqueue.client import Client
from fleetqueue.demo.commands import run_own_command
from fleetqueue.real.kubectl import KubectlFailed


async def test_a_set_is_made_and_bound_and_unbound(api):
    hub = Client(api)
    api.namespace("more")

    said = [
        await run_own_command(hub, f"clusterset {line}".split())
        for line in ("create spoke", "create spoke", "bind spoke --namespace more", "bind spoke --namespace=more")
    ]

    assert said == [
        "clusterset spoke created\n",
        "clusterset spoke is there already\n",
        "clusterset spoke bound to namespace more\n",
        "clusterset spoke is bound already to namespace more\n",
    ]
    assert api.get(ManagedClusterSetBinding, "spoke", "more") is not None
    assert await cluster_sets.unbind_command(hub, "spoke", "more") == "clusterset spoke unbound from namespace more"


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("get scores", "no scores"),
        ("get placements", "no placements"),
        ("get jobs", "no jobs"),
        ("get clusters", "no clusters"),
        ("get clustersets --tree", "<ManagedClusterSet> \n"),
        ("get scores --output json", "[]\n"),
    ],
)
async def test_listings_are_those_of_the_command_line(api, line, begins):
    assert (await run_own_command(Client(api), line.split())).startswith(begins)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sing a song", "only clusterset bind, clusterset create"),
        ("clusterset bind none --namespace default", r'managedclustersets\S* "none" not found'),
    ],
)
async def test_what_cannot_be_done_is_told(api, line, told):
    with pytest.raises(KubectlFailed, match=told):
        await run_own_command(Client(api), line.split())
