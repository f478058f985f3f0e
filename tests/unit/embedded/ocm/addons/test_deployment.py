"""Whether an add-on is available, by its works."""

from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.embedded.ocm.addons.deployment import available

from .objects import NAME


def test_an_add_on_without_works_is_unknown():
    assert available(NAME, [], []).reason == "WorkNotFound"


def test_an_add_on_whose_work_is_not_available_says_why():
    said = {"type": "Available", "status": "False", "message": "1 of 2 resources are not available"}
    work = ManifestWork.view({"metadata": {"name": "w"}, "status": {"conditions": [said]}})

    found = available(NAME, [work], [])

    assert (found.status, found.reason) == ("False", "WorkNotApplied")
    assert found.message == "1 of 2 resources are not available"
