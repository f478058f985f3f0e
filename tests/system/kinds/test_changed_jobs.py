"""What becomes of a sent set whose object on the hub is changed: it never runs on the hub, too."""

import pytest

from fleetqueue.admin import explain
from fleetqueue.admin.step_commands import commands_of
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.kueue_pods import is_gated
from fleetqueue.api.meta import replacement
from fleetqueue.testing.virtual_time import advance
from tests.job_kinds import LEADER_WORKER_SET, STATEFUL_SET
from tests.system.printed_commands import Terminal

from .arranging import LONG
from .worlds import told

pytestmark = pytest.mark.timeout(600)
TEMPLATES = {
    STATEFUL_SET: [("spec", "template")],
    LEADER_WORKER_SET: [("spec", "leaderWorkerTemplate", f"{role}Template") for role in ("leader", "worker")],
}
sets = pytest.mark.parametrize("kind", TEMPLATES, ids=lambda kind: kind.name)
A_MINUTE = 60


async def run(trial, kind):
    await trial.begin()
    await trial.submit(kind, kind.manifests(LONG))
    await trial.has_one_copy(kind)


async def change_image(trial, kind, image):
    (raw,) = await trial.objects(trial.hub, kind, LONG)
    wanted = raw
    for template in TEMPLATES[kind]:
        field = (*template, "spec", "containers")
        wanted = with_value(wanted, field, [{**one, "image": image} for one in value_at(raw, field)])
    await trial.hub.merge(kind.resource, kind.name, LONG, replacement(raw, wanted))
    await advance(A_MINUTE)


async def scale(trial, kind, replicas):
    await trial.hub.merge(kind.resource, kind.name, LONG, {"spec": {"replicas": replicas}}, subresource="scale")
    await advance(A_MINUTE)


async def images(trial, kind):
    """Return what the pods on the worker run."""
    found = await trial.pods(trial.workers[trial.where[kind]], kind, LONG)
    return {one["image"] for pod in found for one in pod["spec"]["containers"]}


@sets
def test_a_set_whose_template_is_changed_runs_on_its_worker_only(kind):
    async def story(trial):
        await run(trial, kind)

        await change_image(trial, kind, "example.com/other")

        assert await trial.place(kind, LONG) == trial.where[kind]
        assert all(map(is_gated, await trial.pods(trial.hub, kind, LONG)))
        assert await images(trial, kind) == {"example.com/sleep"}

    told(story, workers=1)


@sets
def test_the_changed_template_is_sent_when_the_set_is_scaled_to_none_and_up_again(kind):
    async def story(trial):
        await run(trial, kind)

        await scale(trial, kind, 0)
        await change_image(trial, kind, "example.com/other")
        await scale(trial, kind, kind.spec["replicas"])
        await trial.has_one_copy(kind)

        assert await images(trial, kind) == {"example.com/other"}
        assert all(map(is_gated, await trial.pods(trial.hub, kind, LONG)))

    told(story, workers=1)


@sets
def test_a_set_whose_template_is_changed_is_explained_and_sent_again_as_its_step_says(kind):
    async def story(trial):
        await run(trial, kind)
        await change_image(trial, kind, "example.com/other")

        changed = await explained(trial, kind)
        (command,) = commands_of(changed.step)
        await Terminal(trial.clients).enter(command)
        await advance(A_MINUTE)
        await scale(trial, kind, kind.spec["replicas"])
        await trial.has_one_copy(kind)

        assert changed.code == "TemplateChanged"
        assert (await explained(trial, kind)).code == "Admitted"
        assert await images(trial, kind) == {"example.com/other"}

    told(story, workers=1)


async def explained(trial, kind):
    name = f"{kind.resource.kind}/{kind.name}"
    return (await explain.job(trial.hub, name, LONG, kueue_namespace=KUEUE_NAMESPACE)).cause
