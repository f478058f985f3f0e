"""What Kueue reads from SparkApplications, and what it writes into them."""

import pytest

from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo, of_pod_sets
from fleetqueue.embedded.kueue.jobs.spark_application import SparkApplicationIntegration
from fleetqueue.embedded.kueue.webhooks.job_rules import spark_application_faults

APPS = SparkApplicationIntegration()


def app(state="", executors=None, **spec):
    sections = {"driver": {"labels": {"a": "b"}}, "executor": {"instances": 2}}
    status = {"applicationState": {"state": state}, "executorState": executors or {}}
    return {"metadata": {"name": "s"}, "spec": {"suspend": True, **sections, **spec}, "status": status}


def given(**more):
    return [
        PodSetInfo(role, 1, labels={"l": role}, node_selector={"zone": role}, **more) for role in ("driver", "executor")
    ]


def test_its_pod_sets_are_the_driver_and_the_executors():
    made = APPS.pod_sets(app())

    assert [(one["name"], one["count"]) for one in made] == [("driver", 1), ("executor", 2)]


def template(container):
    return {"spec": {"containers": [{"name": container}]}}


def test_a_started_one_says_what_its_pods_are_given_and_a_stopped_one_keeps_only_its_templates():
    before = app()
    infos = of_pod_sets({"spec": {"podSets": APPS.pod_sets(before)}})

    started = APPS.started(before, given(tolerations=[{"key": "k"}]))
    stopped = APPS.next_stop(started, infos).wanted

    assert started["spec"]["driver"] == {
        "labels": {"a": "b", "l": "driver"},
        "nodeSelector": {"zone": "driver"},
        "tolerations": [{"key": "k"}],
        "template": template("spark-kubernetes-driver"),
    }
    assert started["spec"]["executor"]["nodeSelector"] == {"zone": "executor"}
    assert not APPS.is_suspended(started)
    assert stopped["spec"].pop("driver") == before["spec"].pop("driver") | {
        "template": template("spark-kubernetes-driver")
    }
    assert stopped["spec"].pop("executor") == before["spec"].pop("executor") | {
        "template": template("spark-kubernetes-executor")
    }
    assert stopped == before


def test_a_selector_for_both_roles_becomes_that_of_each():
    started = APPS.started(app(nodeSelector={"for": "all"}), given())

    assert "nodeSelector" not in started["spec"]
    assert started["spec"]["driver"]["nodeSelector"] == {"for": "all", "zone": "driver"}
    assert started["spec"]["executor"]["nodeSelector"] == {"for": "all", "zone": "executor"}


def test_one_that_was_given_something_for_other_pods_does_not_start():
    with pytest.raises(CannotStart, match="expecting 2 podset, got 1"):
        APPS.started(app(), given()[:1])


def test_it_is_never_given_to_multikueue():
    assert APPS.given_to_multikueue(app()) == app()


@pytest.mark.parametrize(
    ("raw", "is_active", "is_ready"),
    [
        pytest.param(app("SUBMITTED"), False, False, id="submitted"),
        pytest.param(app("RUNNING", {"e1": "RUNNING", "e2": "PENDING"}), True, False, id="an executor waits"),
        pytest.param(app("RUNNING", {"e1": "RUNNING", "e2": "COMPLETED"}), True, True, id="all run"),
        pytest.param(app("COMPLETED", {"e1": "COMPLETED", "e2": "COMPLETED"}), False, False, id="completed"),
    ],
)
def test_how_it_goes(raw, is_active, is_ready):
    assert (APPS.is_active(raw), APPS.pods_ready(raw)) == (is_active, is_ready)


@pytest.mark.parametrize(
    ("labels", "spec", "without_queue", "paths"),
    [
        pytest.param({"kueue.x-k8s.io/queue-name": "q"}, {"mode": "cluster"}, False, [], id="good"),
        pytest.param({"kueue.x-k8s.io/queue-name": "q"}, {"mode": "client"}, False, ["spec.mode"], id="another mode"),
        pytest.param({}, {"mode": "client"}, False, [], id="none of Kueue's"),
        pytest.param({}, {"mode": "client"}, True, ["spec.mode"], id="Kueue's without a queue"),
        pytest.param(
            {"kueue.x-k8s.io/queue-name": "q"},
            {"mode": "cluster", "dynamicAllocation": {"enabled": True}},
            False,
            ["spec.dynamicAllocation.enabled"],
            id="Spark adds executors",
        ),
    ],
)
def test_what_kueue_refuses(labels, spec, without_queue, paths):
    faults = spark_application_faults({"metadata": {"labels": labels}, "spec": spec}, without_queue=without_queue)

    assert [fault.partition(":")[0] for fault in faults] == paths
