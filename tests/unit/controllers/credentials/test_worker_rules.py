"""What a credential may do, by the kinds of jobs in use."""

import pytest

from fleetqueue.api.kueue_configuration import BETA_GATES, ORCHESTRATED_PREEMPTION
from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS, rules_for, widened


def granted(rules):
    return {
        (verb, f"{resource}.{rule.group}" if rule.group else resource)
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
    }


def test_batch_jobs_need_exactly_these_rights():
    assert granted(rules_for(["batch/job"])) == {
        *((verb, "jobs.batch") for verb in ("create", "delete", "get", "list", "patch", "watch")),
        *((verb, "workloads.kueue.x-k8s.io") for verb in ("create", "delete", "get", "list", "update", "watch")),
        ("patch", "workloads/status.kueue.x-k8s.io"),
        ("list", "clusterqueues.kueue.x-k8s.io"),
        ("watch", "clusterqueues.kueue.x-k8s.io"),
        ("list", "localqueues.kueue.x-k8s.io"),
        ("watch", "localqueues.kueue.x-k8s.io"),
        ("get", "namespaces"),
    }


@pytest.mark.parametrize("kind", sorted(JOB_KINDS))
def test_every_kind_can_be_watched_sent_read_listed_and_removed(kind):
    resource = f"{JOB_KINDS[kind].resource}.{JOB_KINDS[kind].group}".rstrip(".")

    rights = granted(rules_for([kind]))

    assert {verb for verb, what in rights if what == resource} >= {"create", "delete", "get", "list", "watch"}


@pytest.mark.parametrize(
    ("kind", "gates", "patched"),
    [
        pytest.param("batch/job", BETA_GATES, True, id="elastic jobs are patched"),
        pytest.param("batch/job", frozenset(), False, id="unless the gate is off"),
        pytest.param("ray.io/raycluster", BETA_GATES, True, id="elastic ray clusters as well"),
        pytest.param("ray.io/rayservice", BETA_GATES, True, id="a ray service is kept in step"),
        pytest.param("ray.io/rayjob", BETA_GATES, False, id="a ray job is sent once"),
        pytest.param("jobset.x-k8s.io/jobset", BETA_GATES, False, id="a job set is sent once"),
    ],
)
def test_only_kinds_that_kueue_changes_later_may_be_patched(kind, gates, patched):
    resource = f"{JOB_KINDS[kind].resource}.{JOB_KINDS[kind].group}"

    assert (("patch", resource) in granted(rules_for([kind], gates))) is patched


def test_status_of_workloads_is_updated_only_with_orchestrated_preemption():
    update = ("update", "workloads/status.kueue.x-k8s.io")

    assert update not in granted(rules_for(["batch/job"]))
    assert update in granted(rules_for(["batch/job"], {ORCHESTRATED_PREEMPTION}))


def test_kinds_in_use_give_no_rights_on_others():
    assert not any("pods" in what or "jobsets" in what for _, what in granted(rules_for(["batch/job"])))


def test_order_and_doubles_of_the_setting_make_no_difference():
    assert rules_for(["pod", "batch/job", "pod"]) == rules_for(["batch/job", "pod"])


def test_kinds_that_multikueue_never_sends_need_nothing():
    assert rules_for(["batch/job", "deployment"]) == rules_for(["batch/job"])


def test_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown job kind batch/jop; known are batch/job, "):
        rules_for(["batch/jop"])


def test_manifest_is_what_a_role_holds():
    rule = rules_for(["statefulset"])[-1]

    assert rule.manifest() == {
        "apiGroups": ["apps"],
        "resources": ["statefulsets"],
        "verbs": ["create", "delete", "get", "list", "watch"],
    }


def test_rights_that_a_role_has_are_kept_but_not_those_for_single_objects():
    live = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "update"]},
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": ["other"], "verbs": ["get"]},
    ]

    added = granted(widened(rules_for(["batch/job"]), live)) - granted(rules_for(["batch/job"]))

    assert added == {("update", "jobs.batch")}
