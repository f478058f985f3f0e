"""What Kueue reads from any job."""

import pytest

from fleetqueue.embedded.kueue.jobs.job_fields import TooDeep, managed_ancestor

from .objects import job


def test_the_uppermost_managed_job_counts_and_too_many_are_too_many():
    def owned(name, by, queue=""):
        made = job(queue=queue)
        reference = {"kind": "Job", "apiVersion": "batch/v1", "name": by, "uid": f"uid-{by}", "controller": True}
        made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
        made["metadata"]["ownerReferences"] = [reference] if by else []
        return made

    family = {name: owned(name, by, queue) for name, by, queue in (("a", "b", ""), ("b", "c", "q"), ("c", "", "q"))}
    endless = owned("x", "x")

    assert managed_ancestor(family["a"], lambda o, _: family.get(o["name"]), without_queue=False) is family["c"]
    assert managed_ancestor(family["c"], lambda o, _: None, without_queue=True) is None
    with pytest.raises(TooDeep):
        managed_ancestor(endless, lambda o, _: endless, without_queue=True)
