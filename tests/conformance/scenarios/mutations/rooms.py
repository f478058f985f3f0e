"""The rooms whose scenarios are about kinds of jobs or about scheduling, and the mutations that these must notice.

A room that is listed here has to have a mutation for every scenario.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any
from unittest import mock

from ..kueue_fair_sharing import world as fair_sharing_world  # noqa: TID252 - what the rooms share stands above them
from ..kueue_integrations import world as integrations  # noqa: TID252
from ..kueue_jobs import world as jobs  # noqa: TID252
from ..kueue_readiness import world as readiness_world  # noqa: TID252
from ..kueue_topology import world as topology_world  # noqa: TID252
from ..kueue_topology_pods import world as pods_world  # noqa: TID252
from ..multikueue import world as multikueue  # noqa: TID252
from ..multikueue_kinds.world import WORLDS as MULTIKUEUE_KINDS  # noqa: TID252
from ..multikueue_readiness import world as remote_readiness  # noqa: TID252
from ..multikueue_topology import world as remote_topology  # noqa: TID252
from ..world import Described, Ends, World  # noqa: TID252
from . import (
    app_wrappers,
    batch_jobs,
    checks_and_queues,
    delayed_topologies,
    deployments,
    elastic_jobs,
    external,
    fair_preemption,
    fair_sharing,
    job_kinds,
    leader_worker_sets,
    multikueue_connections,
    multikueue_jobs,
    multikueue_kinds,
    pod_groups,
    pods,
    queueing,
    readiness,
    refusals,
    resources,
    slices,
    spark_applications,
    stateful_sets,
    topologies,
    topology_nodes,
    topology_placement,
    topology_pods,
    topology_turns,
    train_jobs,
)
from .mutation import Mutation


@dataclass(frozen=True, eq=False)
class Room:
    world: World
    described: Sequence[Described]
    """The scenarios that are about rules."""
    run_on_ours: Callable[[Sequence[Described]], Coroutine[Any, Any, Ends]]
    """Runs some of them, and does not ask whether all invariants hold: rules are wrong."""
    mutations: Sequence[Mutation]

    @property
    def name(self) -> str:
        return self.world.name

    def named(self, mutation: Mutation) -> list[Described]:
        """Return the scenarios that are about a rule."""
        return named(self.described, mutation)


def named(described: Sequence[Described], mutation: Mutation) -> list[Described]:
    return [each for each in described if any(fnmatchcase(each["name"], one) for one in mutation.noticed)]


async def run_multikueue(described: Sequence[Described]) -> Ends:
    """Run only some scenarios of a world that always runs all, and is always checked."""
    unchecked = partial(multikueue.lived_in, is_checked=False)
    with mock.patch.multiple(multikueue, DESCRIBED=described, lived_in=unchecked):
        return await multikueue.run_on_ours()


ROOMS = (
    Room(
        jobs.WORLD,
        jobs.DESCRIBED,
        partial(jobs.run_on_ours, is_checked=False),
        (
            *job_kinds.MUTATIONS,
            *batch_jobs.MUTATIONS,
            *checks_and_queues.MUTATIONS,
            *refusals.MUTATIONS,
            *topologies.MUTATIONS,
            *slices.MUTATIONS,
            *elastic_jobs.MUTATIONS,
        ),
    ),
    Room(
        integrations.WORLD,
        integrations.DESCRIBED,
        partial(integrations.run_on_ours, is_checked=False),
        (
            *queueing.MUTATIONS,
            *pods.MUTATIONS,
            *pod_groups.MUTATIONS,
            *deployments.MUTATIONS,
            *stateful_sets.MUTATIONS,
            *leader_worker_sets.MUTATIONS,
            *external.MUTATIONS,
            *train_jobs.MUTATIONS,
            *app_wrappers.MUTATIONS,
            *spark_applications.MUTATIONS,
        ),
    ),
    Room(
        topology_world.WORLD,
        topology_world.DESCRIBED,
        partial(topology_world.run_on_ours, is_checked=False),
        (*topology_placement.MUTATIONS, *topology_nodes.MUTATIONS, *topology_turns.MUTATIONS),
    ),
    Room(
        pods_world.WORLD,
        pods_world.DESCRIBED,
        partial(pods_world.run_on_ours, is_checked=False),
        topology_pods.MUTATIONS,
    ),
    Room(
        fair_sharing_world.WORLD,
        fair_sharing_world.DESCRIBED,
        partial(fair_sharing_world.run_on_ours, is_checked=False),
        (*fair_sharing.MUTATIONS, *fair_preemption.MUTATIONS),
    ),
    Room(
        multikueue.WORLD,
        multikueue.DESCRIBED,
        run_multikueue,
        (*multikueue_connections.MUTATIONS, *multikueue_jobs.MUTATIONS),
    ),
    *(
        Room(
            each.WORLD,
            each.DESCRIBED,
            partial(each.run_on_ours, is_checked=False),
            [one for one in (*readiness.MUTATIONS, *resources.MUTATIONS) if named(each.DESCRIBED, one)],
        )
        for each in (readiness_world, remote_readiness)
    ),
    Room(
        remote_topology.WORLD,
        remote_topology.DESCRIBED,
        partial(remote_topology.run_on_ours, is_checked=False),
        delayed_topologies.MUTATIONS,
    ),
    *(
        Room(
            world,
            world.described,
            partial(world.run_on_ours, is_checked=False),
            [each for each in multikueue_kinds.MUTATIONS if named(world.described, each)],
        )
        for world in MULTIKUEUE_KINDS
    ),
)
