"""Whether jobs get through the queues of the hub."""

from datetime import UTC, datetime

import pytest

from fleetqueue.admin.checkups import queues
from fleetqueue.admin.checkups.survey import FleetSurvey, SeenObjects
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.testing.builders import condition

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def hub(reason):
    """A hub with a ClusterQueue that sends nothing, and is not Active for this reason."""
    inactive = condition(kueue.ACTIVE, "False", reason)
    queue = kueue.ClusterQueue.view(kueue.ClusterQueue.manifest("own", status={"conditions": [inactive]}))
    return FleetSurvey(NOW, SeenObjects({kueue.ClusterQueue: [queue]}))


@pytest.mark.parametrize("reason", ["TopologyNotFound", "MultiKueueAdmissionCheckAppliedPerFlavor"])
def test_a_queue_of_the_hub_that_is_not_active_is_found_whether_it_sends_jobs_or_not(reason):
    (finding,) = queues.states(hub(reason))

    assert (finding.code, finding.name, finding.cluster) == ("QueueInactive", "own", "hub")
    assert finding.wrong.startswith(reason)


@pytest.mark.parametrize("reason", ["AdmissionCheckInactive", "AdmissionCheckNotFound"])
def test_what_is_told_of_a_check_is_not_told_of_its_queue(reason):
    assert list(queues.states(hub(reason))) == []
