"""The witness has teeth for every kind: a mistake that runs jobs twice is noticed by the pods of each."""

import asyncio

import pytest

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.job_kinds import JobKind
from fleetqueue.embedded.kueue.pods import controller, group_controller
from fleetqueue.embedded.multikueue import copies, workloads
from fleetqueue.embedded.multikueue.decisions import Wanted
from fleetqueue.embedded.operators.controller import OperatorController
from fleetqueue.testing.virtual_time import VirtualClock, VirtualTimeLoop, advance
from tests import job_kinds

from .fleet_template import template
from .happenings import create_job_of
from .mixed_kinds import KINDS
from .seeds import unlogged
from .world import World

BY_THEIR_PODS = (
    job_kinds.POD,
    job_kinds.POD_GROUP,
    job_kinds.STATEFUL_SET,
    job_kinds.LEADER_WORKER_SET,
    job_kinds.DEPLOYMENT,
)
"""Kinds whose pods wait at a gate of Kueue."""
BY_THE_SAME_OPERATOR = (
    job_kinds.RAY_JOB,
    job_kinds.MPI_JOB,
    *job_kinds.KUBEFLOW,
    job_kinds.RAY_CLUSTER,
    job_kinds.RAY_SERVICE,
)
"""Kinds that differ in data and a plan only."""


def multikueue_sends_to_all(patch):
    """Give the job to every worker that has the Workload, and the Workload to all others."""

    def wanted(group):
        return {cluster: Wanted.JOB if copy.view else Wanted.WORKLOAD for cluster, copy in group.copies.items()}

    for module in (copies, workloads):
        patch.setattr(module, "wanted_on_each", wanted)


def operators_run_what_is_sent(patch):
    """Let operators not look at who manages a job; what they say of it would be overwritten without end."""
    tell = OperatorController._tell

    async def tell_of_copies(self, view, job, plan):
        if self.operated.job_kind.manager_of(job) != kueue.MULTIKUEUE_CONTROLLER:
            await tell(self, view, job, plan)

    patch.setattr(OperatorController, "_tell", tell_of_copies)
    patch.setattr(JobKind, "is_for_own_controller", lambda self, job: True)


def the_gate_opens_on_the_hub(patch):
    for module in (controller, group_controller):
        patch.setattr(module, "runs_elsewhere", lambda hub, workload: False)


def nothing_is_wrong(patch):
    """Let all be as it is."""


async def lived():
    """Let one job of every kind live; return what was broken."""
    world = World(0)
    async with world.living(template()):
        await advance(20)
        for kind in KINDS:
            world.note(await create_job_of(world, kind))
        await advance(40)
        return world.witness.broken


def is_noticed(kind, broken, where):
    """Tell whether pods of a job are said to run on clusters; the jobs are numbered in the order of their kinds."""
    name = f" default/job-{KINDS.index(kind):02}"
    return any(line.startswith("ran twice: pods of") and name in line and line.endswith(where) for line in broken)


@pytest.mark.parametrize(
    ("mistake", "kinds", "where"),
    [
        pytest.param(multikueue_sends_to_all, KINDS, "cluster2, cluster3", id="two workers have copies"),
        pytest.param(
            operators_run_what_is_sent, BY_THE_SAME_OPERATOR, "hub", id="the hub's operators run what is sent"
        ),
        pytest.param(the_gate_opens_on_the_hub, BY_THEIR_PODS, "hub", id="the hub's pods pass the gate"),
        pytest.param(nothing_is_wrong, (), "", id="nothing is wrong"),
    ],
)
def test_a_mistake_that_runs_jobs_twice_is_noticed_of_every_kind(monkeypatch, mistake, kinds, where):
    made = template()
    mistake(monkeypatch)

    with unlogged(), clock.use(VirtualClock(0, made.moment)), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        broken = runner.run(lived())

    assert {kind.resource.kind for kind in KINDS if is_noticed(kind, broken, where)} == {
        kind.resource.kind for kind in kinds
    }
    assert bool(broken) is bool(kinds)
