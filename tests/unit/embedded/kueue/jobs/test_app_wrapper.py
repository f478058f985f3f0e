"""What Kueue reads from AppWrappers, and what it writes into them."""

import pytest

from fleetqueue.embedded.kueue.jobs.app_wrapper import AppWrapperIntegration
from fleetqueue.embedded.kueue.jobs.pod_set_info import CannotStart, PodSetInfo

WRAPPERS = AppWrapperIntegration()


def pods(image="i:1", **spec):
    container = {"name": "c", "image": image, "env": [{"name": "A"}], "resources": {"requests": {"cpu": "1"}}}
    return {"metadata": {"labels": {"l": "v"}, "name": "n"}, "spec": {"containers": [container], **spec}}


def job(template=None, **spec):
    return {"template": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template or pods(), **spec}}}


def wrapper(*components, suspend=True, **status):
    return {"metadata": {"name": "w"}, "spec": {"suspend": suspend, "components": [*components]}, "status": status}


SERVICE = {"template": {"apiVersion": "v1", "kind": "Service", "spec": {}}}


def test_its_pod_sets_are_numbered_over_all_components():
    made = WRAPPERS.pod_sets(wrapper(job(parallelism=2), SERVICE, job()))

    assert [(one["name"], one["count"]) for one in made] == [("w-0", 2), ("w-1", 1)]
    assert made[0]["topologyRequest"] == {"podIndexLabel": "batch.kubernetes.io/job-completion-index"}


def test_of_a_template_that_no_server_has_completed_counts_what_a_server_makes_of_it():
    (made,) = WRAPPERS.pod_sets(wrapper(job(pods(nodeSelector={"a": "b"}, restartPolicy="Never", volumes=[]))))

    assert made["template"]["metadata"] == {"labels": {"l": "v"}}
    assert made["template"]["spec"] == {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "preemptionPolicy": "PreemptLowerPriority",
        "nodeSelector": {"a": "b"},
        "containers": [
            {
                "name": "c",
                "image": "i:1",
                "resources": {"requests": {"cpu": "1"}},
                "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("example.com:5000/busybox", "Always"),
        ("example.com:5000/busybox:1", "IfNotPresent"),
        ("busybox@sha256:00", "IfNotPresent"),
    ],
)
def test_when_an_image_is_pulled(image, policy):
    (made,) = WRAPPERS.pod_sets(wrapper(job(pods(image))))

    assert made["template"]["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_a_path_that_leads_nowhere_is_no_pod_set():
    declared = [{"path": "template.spec.template"}, {"path": "template.spec.other"}, {"path": "template.kind"}]

    assert len(WRAPPERS.pod_sets(wrapper({**job(), "podSets": declared}))) == 1


def test_a_started_one_says_what_its_pods_are_given_and_a_stopped_one_does_not():
    infos = [PodSetInfo(name, 1, labels={"l": name}, node_selector={"zone": name}) for name in ("a", "b")]
    before = wrapper(job(), SERVICE, job())

    started = WRAPPERS.started(before, infos)
    stopped = WRAPPERS.next_stop(started, []).wanted

    assert [component["podSetInfos"] for component in started["spec"]["components"]] == [
        [{"labels": {"l": "a"}, "nodeSelector": {"zone": "a"}}],
        [],
        [{"labels": {"l": "b"}, "nodeSelector": {"zone": "b"}}],
    ]
    assert not WRAPPERS.is_suspended(started)
    assert stopped == before
    assert WRAPPERS.next_stop(stopped, []) is None


def test_one_that_was_given_something_for_other_pods_does_not_start():
    with pytest.raises(CannotStart, match="invalid podset infos: expecting 1 podsets, got 2"):
        WRAPPERS.started(wrapper(job()), [PodSetInfo("x", 1)] * 2)


@pytest.mark.parametrize(
    ("kind", "is_active", "is_ready"),
    [("QuotaReserved", True, False), ("PodsReady", False, True), ("Other", False, False)],
)
def test_how_it_goes(kind, is_active, is_ready):
    raw = wrapper(conditions=[{"type": kind, "status": "True"}])

    assert (WRAPPERS.is_active(raw), WRAPPERS.pods_ready(raw)) == (is_active, is_ready)
