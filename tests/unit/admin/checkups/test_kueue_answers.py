"""Whether Kueue answers is asked of Kueue itself, and nothing is stored by the question."""

import pytest

from fleetqueue.admin.checkups.examination import examine
from fleetqueue.admin.checkups.installation import kueue_silent
from fleetqueue.admin.checkups.kueue_answers import ask_kueue
from fleetqueue.admin.checkups.survey import FleetSurvey, KueueAnswer, SeenObjects, WorkerSurvey
from fleetqueue.admin.checkups.system_parts import KueuePart
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.client import Client
from fleetqueue.testing.virtual_time import START

CREATE = "create resourceflavors*"
SILENT = (
    'Internal error occurred: failed calling webhook "mresourceflavor.kb.io": failed to call webhook: Post'
    ' "https://127.0.0.1:9443": connect: connection refused'
)


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        pytest.param(errors.ServerError(SILENT), KueueAnswer(silence=SILENT), id="nobody listens"),
        pytest.param(
            errors.ServerError('failed calling webhook "guard.example.com": no'),
            KueueAnswer(unasked='failed calling webhook "guard.example.com": no'),
            id="the webhook of somebody else",
        ),
        pytest.param(errors.ServerError("etcd is full"), KueueAnswer(unasked="etcd is full"), id="another trouble"),
        pytest.param(errors.Forbidden("you may not"), KueueAnswer(unasked="you may not"), id="no right"),
        pytest.param(errors.Unreachable("timed out"), KueueAnswer(unasked="timed out"), id="no answer at all"),
        pytest.param(errors.NotFound("no such kind"), KueueAnswer(), id="its kinds are not served"),
    ],
)
async def test_only_a_webhook_of_kueues_that_does_not_answer_tells_of_kueue(api, error, answer):
    api.fail_on(CREATE, error)

    assert await ask_kueue(Client(api)) == answer


async def test_nothing_is_stored_by_the_question(api):
    await ask_kueue(Client(api))

    assert (await Client(api).list(kueue.ResourceFlavor.resource)).items == []


async def test_a_kueue_without_webhooks_cannot_be_asked(api):
    answer = await ask_kueue(Client(api))

    assert answer.unasked == "its webhook mresourceflavor.kb.io is not installed, so it was not asked"
    assert answer.silence == ""


def manager(available: int) -> SeenObjects:
    status = {"availableReplicas": available}
    return SeenObjects({KueuePart: [KueuePart.view(KueuePart.manifest("kueue", "kueue-system", status=status))]})


@pytest.mark.parametrize(
    ("objects", "step"),
    [
        pytest.param(SeenObjects(), "start Kueue on c1, or look at its log: no Deployment", id="a process"),
        pytest.param(manager(1), "look at the log of Deployment kueue-system/kueue on c1, at the Service", id="a pod"),
        pytest.param(manager(0), "", id="its pod is down, which is found as such"),
    ],
)
def test_a_silent_kueue_is_found_with_what_to_look_at(objects, step):
    worker = WorkerSurvey("c1", "c1", objects=objects, answer=KueueAnswer(silence=SILENT))

    found = [finding for finding in kueue_silent(FleetSurvey(START, workers=[worker]))]

    assert [(finding.code, finding.cluster, finding.wrong) for finding in found] == (
        [("KueueSilent", "c1", SILENT)] if step else []
    )
    assert all(finding.steps[0].sentence.startswith(step) for finding in found)


def test_a_kueue_that_could_not_be_asked_is_not_looked_at():
    worker = WorkerSurvey("c1", "c1", answer=KueueAnswer(unasked="no right"))
    fleet = FleetSurvey(START, answer=KueueAnswer(unasked="no way"), workers=[worker])

    diagnosis = examine(fleet)

    assert diagnosis.findings == ()
    assert diagnosis.unseen[-2:] == (
        "whether Kueue of the hub answers: no way",
        "whether Kueue of c1 answers: no right",
    )
