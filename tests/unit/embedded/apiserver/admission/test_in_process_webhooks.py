"""Who is asked about a write, and in which order."""

import pytest

from fleetqueue.api.admission_hooks import AdmissionHook
from fleetqueue.api.scheme import Resource
from fleetqueue.embedded.apiserver.admission.chain import AdmissionRequest
from fleetqueue.embedded.apiserver.admission.in_process_webhooks import InProcessWebhooks
from fleetqueue.embedded.apiserver.auth.users import User

JOBS = Resource("batch", "v1", "Job", "jobs")


@pytest.fixture
def webhooks():
    return InProcessWebhooks(lambda asked: True)


def hook(name, *, resources=("jobs",), operations=("CREATE",), **more):
    def call(old, new):
        return {**new, "asked": [*new.get("asked", ()), name]}

    return AdmissionHook(name, "batch", "v1", resources, operations, call, **more)


async def asked(webhooks, operation="CREATE", *, resource=JOBS, subresource="", namespace="default", labels=None):
    job = {"metadata": {"name": "j", "namespace": namespace, "labels": labels}}
    review = AdmissionRequest(operation, resource, User("alice"), job, None, subresource)
    return (await webhooks.admit(review)).get("asked", [])


async def test_those_that_change_objects_come_first_and_then_the_order_is_that_of_owners(webhooks):
    webhooks.install("z", [hook("z-judges"), hook("z-changes", is_mutating=True)])
    webhooks.install("a", [hook("a-judges")])

    assert await asked(webhooks) == ["z-changes", "a-judges", "z-judges"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"operation": "UPDATE"}, id="another operation"),
        pytest.param({"subresource": "status"}, id="a subresource"),
        pytest.param({"resource": Resource("batch", "v2", "Job", "jobs")}, id="another version"),
        pytest.param({"resource": Resource("batch", "v1", "CronJob", "cronjobs")}, id="another kind"),
        pytest.param({"namespace": "spared"}, id="a namespace that is spared"),
    ],
)
async def test_nobody_is_asked_about_what_does_not_concern_them(webhooks, other):
    webhooks.install("a", [hook("a", spared=("spared",))])

    assert await asked(webhooks) == ["a"]
    assert await asked(webhooks, **other) == []


async def test_who_names_a_label_is_asked_only_about_objects_that_have_it(webhooks):
    webhooks.install("a", [hook("a", label="app")])

    assert await asked(webhooks) == []
    assert await asked(webhooks, labels={"app": ""}) == ["a"]


async def test_who_comes_and_goes_is_asked_from_the_next_write_on(webhooks):
    heard = []
    for hooks in ([hook("old")], [hook("new")], []):
        webhooks.install("a", hooks)
        heard.append(await asked(webhooks))

    assert heard == [["old"], ["new"], []]
