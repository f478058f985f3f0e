"""How pods that have ended are noted in the status of their Job."""

from fleetqueue.embedded.kubernetes import job_status


def test_a_note_becomes_a_number_when_the_finalizer_is_gone():
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a", "b"], "failed": ["c"]}}

    after = job_status.settled(status, {"b"})

    assert after == {"succeeded": 2, "failed": 1, "uncountedTerminatedPods": {"succeeded": ["b"]}}
