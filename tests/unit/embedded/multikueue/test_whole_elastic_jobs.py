"""Elastic jobs on workers, with our own Kueue everywhere: they grow and shrink there as they do on the hub."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.testing.builders import pod_template

from .objects import NAMESPACE, QUEUE
from .queues import arrange


def elastic(parallelism):
    annotations = {"kueue.x-k8s.io/elastic-job": "true"}
    template = pod_template(requests={"cpu": "1"}, annotations={"fleetqueue.dev/run-for": "90h"})
    spec = {"template": template, "parallelism": parallelism}
    return Job.manifest("j", NAMESPACE, labels={kueue.QUEUE_LABEL: QUEUE}, annotations=annotations, spec=spec)


def live(api):
    """Return the slices of a cluster that have not finished."""
    return [view for view in api.list(kueue.Workload) if view.namespace == NAMESPACE and not view.is_finished]


async def resize(env, parallelism):
    env.hub.change(Job, "j", NAMESPACE, spec={"parallelism": parallelism})
    await env.fleet.advance(20)


async def test_an_elastic_job_grows_where_it_runs_and_does_not_begin_anew(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(elastic(1))
        await env.fleet.advance(10)
        (where,) = env.has_job()
        uid = env.job(cluster=where).uid
        await resize(env, 2)

    copy, (current,) = env.job(cluster=where), live(env.hub)
    assert env.has_job() == [where]
    assert (copy.uid, copy.spec.parallelism, copy.status.active) == (uid, 2, 2)
    assert copy.metadata.annotations[kueue.PREBUILT_WORKLOAD] == current.name
    assert (current.status.cluster_name, current.is_true(kueue.ADMITTED)) == (where, True)
    assert [view.name for view in live(env.fleet[where])] == [current.name]
    assert env.job().status.active == 2


async def test_an_elastic_job_shrinks_where_it_runs_and_does_not_begin_anew(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(elastic(2))
        await env.fleet.advance(10)
        (where,) = env.has_job()
        uid, (before,) = env.job(cluster=where).uid, live(env.hub)
        await resize(env, 1)

    copy, (current,) = env.job(cluster=where), live(env.hub)
    assert (copy.uid, copy.spec.parallelism, copy.status.active) == (uid, 1, 1)
    assert current.name == before.name
    assert [view.spec.pod_sets[0]["count"] for view in (current, *live(env.fleet[where]))] == [1, 1]


async def test_an_elastic_job_that_does_not_fit_where_it_runs_goes_on_as_it_was(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(elastic(1))
        await env.fleet.advance(10)
        (where,) = env.has_job()
        await resize(env, 100)

    assert env.has_job() == [where]
    assert env.job(cluster=where).status.active == 1


async def test_an_elastic_job_that_has_grown_leaves_nothing_when_it_is_deleted(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(elastic(1))
        await env.fleet.advance(10)
        await resize(env, 2)
        env.hub.remove(Job, "j", NAMESPACE)
        await env.fleet.advance(100)

    assert env.has_anything() == []


async def test_a_job_that_is_left_of_another_job_of_the_same_name_is_not_taken_over(env):
    arrange(env)
    async with env.kueue():
        env.hub.add(elastic(1))
        await env.fleet.advance(10)
        (where,) = env.has_job()
        first = env.job(cluster=where).uid
        env.fleet[where].change(Job, "j", NAMESPACE, metadata={"finalizers": ["example.com/hold"]})
        env.hub.remove(Job, "j", NAMESPACE)
        await env.fleet.advance(20)
        env.hub.add(elastic(2))
        await env.fleet.advance(20)
        held = env.job(cluster=where)
        env.fleet[where].change(Job, "j", NAMESPACE, metadata={"finalizers": None})
        await env.fleet.advance(60)

    assert (held.uid, held.spec.parallelism) == (first, 1)
    (now,) = env.has_job()
    assert env.job(cluster=now).spec.parallelism == 2
    assert env.job(cluster=now).uid != first
