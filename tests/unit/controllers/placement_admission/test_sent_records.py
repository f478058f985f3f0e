"""What is noted of a Workload that is sent to further clusters."""

import pytest

from fleetqueue.controllers.placement_admission.sent_records import with_members


@pytest.mark.parametrize(
    ("before", "past", "new", "has_copies", "noted"),
    [
        pytest.param(None, [], {"a": "uid"}, False, {"a": "uid"}, id="sent for the first time"),
        pytest.param(None, [], {"a": ""}, False, {"a": ""}, id="nobody promised anything"),
        pytest.param(None, ["b"], {"a": "uid"}, False, {"a": "uid", "b": ""}, id="it was elsewhere before"),
        pytest.param({"b": "uid-b"}, [], {"a": "uid"}, False, {"a": "uid", "b": "uid-b"}, id="further cluster"),
        pytest.param({"a": "uid"}, [], {"a": "uid"}, False, {"a": "uid"}, id="the same again"),
        pytest.param({"a": "uid"}, [], {"a": ""}, False, {"a": ""}, id="its agent is silent now"),
        pytest.param({"a": ""}, [], {"a": "uid"}, False, {"a": ""}, id="an old copy without a promise may arrive"),
        pytest.param({"a": "uid"}, [], {"a": "other"}, False, {"a": ""}, id="another Lease by now"),
        pytest.param({"a": "uid"}, [], {"a": ""}, True, {"a": "uid"}, id="the copy there carries its promise"),
        pytest.param({"a": ""}, [], {"a": "uid"}, True, {"a": ""}, id="the copy there carries none"),
        pytest.param(None, ["a"], {"a": "uid"}, True, {"a": ""}, id="nobody knows what the copy there carries"),
    ],
)
def test_with_members(before, past, new, has_copies, noted):
    assert with_members(before, past, new, has_copies=has_copies) == noted
