"""StatefulSets keep their pods by name, one after the other, with claims of their own."""

import pytest

from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.controller_revisions import ControllerRevision
from fleetqueue.embedded.kubernetes.garbage_collection import GarbageCollectionController
from fleetqueue.embedded.kubernetes.stateful_set_claims import PersistentVolumeClaim
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet
from fleetqueue.embedded.kubernetes.stateful_sets import StatefulSetController
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

CLAIM = {
    "metadata": {"name": "data", "labels": {"tier": "disk"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
DELETE = {"whenDeleted": "Delete", "whenScaled": "Delete"}


def template(image="nginx:1", **spec):
    return {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "main", "image": image}], **spec}}


class Db:
    """The one StatefulSet of a test."""

    def __init__(self, env):
        self.env = env

    async def make(self, **spec):
        whole = {"serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "template": template(), **spec}
        made = await self.env.add(StatefulSet, "db", spec=whole)
        await settle()
        return made

    async def change(self, **spec):
        await self.env.change(StatefulSet, "db", spec=spec)
        await settle()

    async def run(self, *ordinals):
        for ordinal in ordinals:
            await self.env.run_pod(f"db-{ordinal}")
            await settle()

    async def run_all(self):
        """Let every pod get ready, as long as new ones come; return in which order they did."""
        order = []
        for _ in range(40):
            waiting = [name for name, phase in (await self.phases()).items() if phase == "Pending"]
            if not waiting:
                return order
            order += waiting
            for name in waiting:
                await self.env.run_pod(name)
            await settle()
        raise AssertionError("it does not end")

    async def phases(self):
        return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in await self.env.pods()}

    async def pods(self):
        return list(await self.phases())

    async def images(self):
        return [pod["spec"]["containers"][0]["image"] for pod in await self.env.pods()]

    async def status(self):
        return (await self.env.get(StatefulSet, "db"))["status"]

    async def revisions(self):
        found = await self.env.list(ControllerRevision)
        return {one["revision"]: one["metadata"]["name"] for one in sorted(found, key=lambda one: one["revision"])}

    async def owners(self, claim):
        found = (await self.env.get(PersistentVolumeClaim, claim))["metadata"].get("ownerReferences") or ()
        return [(one["kind"], one["name"]) for one in found]


@pytest.fixture
def db(env):
    return Db(env)


@pytest.fixture
def running(env):
    return lambda: env.running(StatefulSetController, GarbageCollectionController)


async def test_pods_come_one_after_the_other(env, db, running):
    async with running():
        await db.make(replicas=3)
        assert await db.pods() == ["db-0"]
        await db.run(0)
        assert await db.pods() == ["db-0", "db-1"]
        await db.run(1, 2)

        (revision,) = (await db.revisions()).values()
        assert await db.status() == {
            "observedGeneration": 1,
            "replicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "currentRevision": revision,
            "updateRevision": revision,
            "collisionCount": 0,
        }
        assert sorted(await env.events("SuccessfulCreate")) == [
            f"Create Pod db-{ordinal} in StatefulSet db successful" for ordinal in range(3)
        ]


async def test_a_pod_knows_who_it_is(env, db, running):
    async with running():
        await db.make(ordinals={"start": 5})

        (pod,) = await env.pods()
        (revision,) = (await db.revisions()).values()
        assert pod["metadata"]["name"] == "db-5"
        assert pod["metadata"]["generateName"] == "db-"
        assert pod["metadata"]["labels"] == {
            "app": "db",
            "statefulset.kubernetes.io/pod-name": "db-5",
            "apps.kubernetes.io/pod-index": "5",
            "controller-revision-hash": revision,
        }
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-5", "db")
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "StatefulSet"


async def test_in_parallel_all_come_at_once(env, db, running):
    async with running():
        await db.make(replicas=3, podManagementPolicy="Parallel")
        assert await db.pods() == ["db-0", "db-1", "db-2"]
        await db.change(replicas=1)

        assert await db.pods() == ["db-0"]


async def test_it_shrinks_from_the_highest_one_at_a_time(env, db, running):
    async with running():
        await db.make(replicas=4)
        await db.run_all()
        for name in await db.pods():
            await env.change(Pod, name, metadata={"finalizers": ["example.com/slow"]})
        await db.change(replicas=2)
        leaving = [pod["metadata"]["name"] for pod in await env.pods() if "deletionTimestamp" in pod["metadata"]]
        assert leaving == ["db-3"]
        for name in ("db-3", "db-2"):
            await env.change(Pod, name, metadata={"finalizers": None})
            await settle()

        assert await db.pods() == ["db-0", "db-1"]
        assert (await db.status())["replicas"] == 2
        for name in ("db-0", "db-1"):
            await env.change(Pod, name, metadata={"finalizers": None})


async def test_other_ordinals_replace_those_that_are(db, running):
    async with running():
        await db.make(replicas=2)
        await db.run_all()
        await db.change(ordinals={"start": 3})
        await db.run_all()

        assert await db.pods() == ["db-3", "db-4"]


async def test_a_pod_that_ends_or_goes_comes_back(env, db, running):
    async with running():
        await db.make(replicas=2)
        await db.run_all()
        uids = {pod["metadata"]["uid"] for pod in await env.pods()}
        await env.end_pod("db-0", "Failed")
        await settle()
        await db.run_all()
        await env.delete(Pod, "db-1")
        await settle()
        await db.run_all()

        assert await db.pods() == ["db-0", "db-1"]
        assert uids.isdisjoint({pod["metadata"]["uid"] for pod in await env.pods()})
        assert await env.events("SuccessfulDelete") == ["Delete Pod db-0 in StatefulSet db successful"]


async def test_pods_with_gates_simply_wait(env, db, running):
    async with running():
        await db.make(replicas=2, template=template(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}]))
        await advance(600)

        assert await db.pods() == ["db-0"]
        assert (await db.status())["replicas"] == 1


async def test_the_next_waits_until_one_was_ready_for_a_while(db, running):
    async with running():
        await db.make(replicas=2, minReadySeconds=30)
        await db.run(0)
        assert await db.pods() == ["db-0"]
        assert ((await db.status())["readyReplicas"], (await db.status())["availableReplicas"]) == (1, 0)
        await advance(31)

        assert await db.pods() == ["db-0", "db-1"]
        assert (await db.status())["availableReplicas"] == 1


async def test_an_update_goes_from_the_highest_down(db, running):
    async with running():
        await db.make(replicas=3)
        await db.run_all()
        await db.change(template=template("nginx:2"))
        assert await db.images() == ["nginx:1", "nginx:1", "nginx:2"]
        status = await db.status()
        old, new = (await db.revisions()).values()
        assert (status["currentRevision"], status["updateRevision"]) == (old, new)
        assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)

        assert await db.run_all() == ["db-2", "db-1", "db-0"]
        assert await db.images() == ["nginx:2"] * 3
        status = await db.status()
        assert (status["currentRevision"], status["currentReplicas"]) == (new, 3)


async def test_a_partition_keeps_the_pods_below_it(env, db, running):
    async with running():
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        await db.make(replicas=3, updateStrategy=strategy)
        await db.run_all()
        await db.change(template=template("nginx:2"))
        await db.run_all()
        assert await db.images() == ["nginx:1", "nginx:1", "nginx:2"]
        await env.delete(Pod, "db-0")
        await settle()
        await db.run_all()

        assert await db.images() == ["nginx:1", "nginx:1", "nginx:2"]
        status = await db.status()
        assert status["currentRevision"] != status["updateRevision"]


async def test_on_delete_a_pod_changes_when_somebody_deletes_it(env, db, running):
    async with running():
        await db.make(replicas=2, updateStrategy={"type": "OnDelete"})
        await db.run_all()
        await db.change(template=template("nginx:2"))
        assert await db.images() == ["nginx:1", "nginx:1"]
        await env.delete(Pod, "db-0")
        await settle()
        await db.run_all()

        assert await db.images() == ["nginx:2", "nginx:1"]


async def test_a_template_that_comes_back_gets_its_revision_back(db, running):
    async with running():
        await db.make()
        await db.run_all()
        first = (await db.revisions())[1]
        await db.change(template=template("nginx:2"))
        await db.run_all()
        await db.change(template=template())
        await db.run_all()

        assert (await db.revisions())[3] == first
        assert len(await db.revisions()) == 2
        assert (await db.status())["currentRevision"] == first


async def test_a_revision_that_somebody_deletes_comes_back(env, db, running):
    async with running():
        await db.make()
        revisions = await db.revisions()
        await env.delete(ControllerRevision, revisions[1])
        await settle()

        assert await db.revisions() == revisions


async def test_old_revisions_are_kept_up_to_a_limit(db, running):
    async with running():
        await db.make(revisionHistoryLimit=1)
        for number in (2, 3, 4):
            await db.run_all()
            await db.change(template=template(f"nginx:{number}"))
        await db.run_all()

        assert list(await db.revisions()) == [3, 4]


async def test_a_revision_whose_name_is_taken_gets_another(env, db, running):
    async with running():
        await db.make()
        (name,) = (await db.revisions()).values()
        await env.delete(StatefulSet, "db")
        await settle()
        await env.add(ControllerRevision, name, data={"somebody": "else"}, revision=7)
        await db.make()

        assert (await db.status())["collisionCount"] == 1
        assert (await db.status())["updateRevision"] != name


async def test_each_pod_has_claims_of_its_own(env, db, running):
    async with running():
        await db.make(replicas=2, volumeClaimTemplates=[CLAIM])
        await db.run_all()

        assert await env.names(PersistentVolumeClaim) == ["data-db-0", "data-db-1"]
        claim = await env.get(PersistentVolumeClaim, "data-db-0")
        assert claim["metadata"]["labels"] == {"tier": "disk", "app": "db"}
        assert claim["spec"]["resources"] == {"requests": {"storage": "1Gi"}}
        (pod, _) = await env.pods()
        assert pod["spec"]["volumes"][0] == {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
        assert "Create Claim data-db-0 Pod db-0 in StatefulSet db success" in await env.events("SuccessfulCreate")


async def test_claims_stay_when_pods_go(env, db, running):
    async with running():
        await db.make(replicas=2, volumeClaimTemplates=[CLAIM])
        await db.run_all()
        await db.change(replicas=1)
        await env.delete(StatefulSet, "db")
        await settle()

        assert await db.pods() == []
        assert await env.names(PersistentVolumeClaim) == ["data-db-0", "data-db-1"]


async def test_claims_go_where_the_policy_says_so(env, db, running):
    async with running():
        await db.make(replicas=2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=DELETE)
        await db.run_all()
        assert await db.owners("data-db-1") == [("StatefulSet", "db")]
        await db.change(replicas=1)
        assert await env.names(PersistentVolumeClaim) == ["data-db-0"]
        await env.delete(StatefulSet, "db")
        await settle()

        assert await env.names(PersistentVolumeClaim) == []


async def test_a_change_of_the_policy_reaches_the_claims_that_are(env, db, running):
    async with running():
        await db.make(volumeClaimTemplates=[CLAIM])
        await db.run_all()
        assert await db.owners("data-db-0") == []
        await db.change(persistentVolumeClaimRetentionPolicy=DELETE)
        assert await db.owners("data-db-0") == [("StatefulSet", "db")]
        await db.change(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"})

        assert await db.owners("data-db-0") == []
        assert len(await env.events("SuccessfulUpdate")) == 1


async def test_a_claim_that_is_going_is_waited_for(env, db, running):
    async with running():
        await env.add(PersistentVolumeClaim, "data-db-0", spec=CLAIM["spec"], finalizers=["example.com/in-use"])
        await env.delete(PersistentVolumeClaim, "data-db-0")
        await db.make(volumeClaimTemplates=[CLAIM])
        assert await db.pods() == []
        assert (await env.events("FailedCreate"))[0] == (
            "Create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted"
        )
        await env.change(PersistentVolumeClaim, "data-db-0", metadata={"finalizers": None})
        await settle()

        assert await db.pods() == ["db-0"]
        assert (await env.get(PersistentVolumeClaim, "data-db-0"))["metadata"].get("deletionTimestamp") is None


async def test_with_the_set_all_go(env, db, running):
    async with running():
        await db.make(replicas=2)
        await db.run_all()
        await env.delete(StatefulSet, "db")
        await settle()

        assert await db.pods() == []
        assert await db.revisions() == {}


async def test_pods_that_are_refused_are_said_and_tried_again(env, db, running):
    async with running():
        env.refuse("POST /api/v1/namespaces/default/pods")
        await db.make(replicas=1)
        assert (await env.events("FailedCreate"))[0] == (
            "Create Pod db-0 in StatefulSet db failed error: exceeded quota"
        )
        assert (await db.status())["observedGeneration"] == 1
        env.refuse("")
        await advance(5)

        assert await db.pods() == ["db-0"]


async def test_a_claim_that_is_refused_keeps_its_pod_back(env, db, running):
    async with running():
        env.refuse("POST /api/v1/namespaces/default/persistentvolumeclaims")
        await db.make(volumeClaimTemplates=[CLAIM])
        assert await db.pods() == []
        assert "Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: exceeded quota" in (
            await env.events("FailedCreate")
        )
        env.refuse("")
        await advance(5)

        assert await db.pods() == ["db-0"]


async def test_a_status_that_could_not_be_written_is_written_later(env, db, running):
    async with running():
        env.fail_once("PATCH /apis/apps/v1/namespaces/default/statefulsets/db/status")
        await db.make()
        await advance(5)

        assert (await db.status())["replicas"] == 1
        assert await db.pods() == ["db-0"]


async def test_a_label_of_identity_that_somebody_took_is_given_back(env, db, running):
    async with running():
        await db.make()
        await db.run(0)
        await env.change(Pod, "db-0", metadata={"labels": {"statefulset.kubernetes.io/pod-name": None}})
        await settle()

        labels = (await env.get(Pod, "db-0"))["metadata"]["labels"]
        assert labels["statefulset.kubernetes.io/pod-name"] == "db-0"
        assert await env.events("SuccessfulUpdate") == ["Update Pod db-0 in StatefulSet db successful"]


async def test_a_second_look_writes_nothing(env, db):
    async with env.running(StatefulSetController) as (controller,):
        await db.make(replicas=2, volumeClaimTemplates=[CLAIM], persistentVolumeClaimRetentionPolicy=DELETE)
        await db.run_all()
        env.writes.clear()
        controller.wake("default/db")
        await settle()

        assert env.writes == []


async def test_without_sets_it_has_nothing_to_do(env):
    async with env.running(StatefulSetController) as (controller,):
        await env.add(PersistentVolumeClaim, "alone", spec=CLAIM["spec"])
        await env.add(Pod, "alone", spec=template()["spec"])
        await advance(3600)

        assert controller.queue.is_idle
        assert env.writes == []
