"""Pods that are one of our parts: their program runs while they do, and what it does shows in their status."""

import asyncio

import pytest

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap, Node, Pod, Secret, ServiceAccount
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.client import Client
from fleetqueue.embedded.nodes.mounted_files import MountedFiles
from fleetqueue.embedded.nodes.programs import Programs, image_endings
from fleetqueue.fleets.pods.transports import AccountDoor
from fleetqueue.testing.virtual_time import advance, settle

pytestmark = pytest.mark.virtual_time

IMAGE = "registry.example.com:5000/team/part:v1"
PROBE = {"readinessProbe": {"httpGet": {"path": "/readyz", "port": 8080}, "periodSeconds": 5}}


class Part:
    """A program that does what the test says, and remembers its places."""

    def __init__(self):
        self.places = []
        self.starts = []
        self.stopped = 0
        self.failure = None
        self.lasts = None
        self.missing = ""
        self.last_words = None

    async def __call__(self, context):
        self.places.append(context)
        self.starts.append((context.env, context.args))
        context.why_not_ready = lambda: self.missing
        try:
            if self.failure is not None:
                raise self.failure
            await asyncio.sleep(self.lasts) if self.lasts else await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped += 1
            if self.last_words is not None:
                await self.last_words(context)
            raise


@pytest.fixture
def part():
    return Part()


@pytest.fixture
async def kubelet(env, part):
    """A kubelet that knows the part's image."""
    await env.client.create(ServiceAccount.resource, ServiceAccount.manifest("default", "default"))
    programs = Programs({"part": part}, reach=lambda account: Client(AccountDoor(env.server, account)))
    return lambda: env.kubelet(programs=programs)


async def run_pod(env, name="pod", *, container=None, **spec):
    given = {"serviceAccountName": "default", **spec}
    await env.pod(name, node="node", container={"image": IMAGE, **(container or {})}, **given)


async def container(env, name="pod"):
    return (await env.get(Pod, name))["status"]["containerStatuses"][0]


@pytest.mark.parametrize(
    ("image", "endings"),
    [
        ("part", ["part"]),
        ("part:v1", ["part"]),
        ("team/part:v1", ["team/part", "part"]),
        (
            "registry.example.com:5000/team/part:v1@sha256:abc",
            ["registry.example.com:5000/team/part", "team/part", "part"],
        ),
    ],
)
def test_an_image_is_known_by_the_last_parts_of_its_name(image, endings):
    assert image_endings(image) == endings


async def test_a_program_runs_with_its_pod_and_stops_with_it(env, kubelet, part):
    async with env.running(kubelet()):
        await run_pod(env)
        assert await env.phase() == "Running"
        assert (await env.condition("Ready"))["status"] == "True"
        assert (len(part.places), part.stopped) == (1, 0)
        await env.delete(Pod, "pod")

        assert part.stopped == 1
        assert await env.get(Pod, "pod") is None


async def test_other_images_are_played(env, kubelet, part):
    async with env.running(kubelet()):
        await env.pod(node="node")

        assert await env.phase() == "Running"
        assert part.places == []


async def test_a_container_beside_a_program_just_stays(env, kubelet, part):
    beside = {"name": "beside", "image": "busybox"}
    async with env.running(kubelet()):
        await run_pod(env, containers=[{"name": "main", "image": IMAGE}, beside])
        await advance(3600)

        statuses = (await env.get(Pod, "pod"))["status"]["containerStatuses"]
        assert [status["ready"] for status in statuses] == [True, True]
        assert len(part.places) == 1


async def test_a_program_is_told_what_its_pod_says(env, kubelet, part):
    await env.client.create(ConfigMap.resource, ConfigMap.manifest("settings", "default", data={"a.yaml": "a: 1"}))
    secret = Secret.manifest("credentials", "default", data={"token": "c2VjcmV0"})
    await env.client.create(Secret.resource, secret)
    variables = [
        {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "credentials", "key": "token"}}},
        {"name": "BOTH", "value": "$(NAME)/$(TOKEN)/$(OTHER)"},
    ]
    mounts = [{"name": "settings", "mountPath": "/etc/part"}, {"name": "credentials", "mountPath": "/run/part"}]
    volumes = [
        {"name": "settings", "configMap": {"name": "settings"}},
        {"name": "credentials", "secret": {"secretName": "credentials"}},
    ]
    spec = {"command": ["/part"], "args": ["serve", "--name=$(NAME)"], "env": variables, "volumeMounts": mounts}

    async with env.running(kubelet()):
        await run_pod(env, container=spec, volumes=volumes)

        (context,) = part.places
        assert (context.command, context.args) == (["/part"], ["serve", "--name=pod"])
        assert context.env == {"NAME": "pod", "TOKEN": "secret", "BOTH": "pod/secret/$(OTHER)"}
        assert (context.text("/etc/part/a.yaml"), context.text("/run/part/token")) == ("a: 1", "secret")
        assert (context.namespace, context.pod, context.container) == ("default", "pod", "main")
        with pytest.raises(FileNotFoundError, match="/etc/other is not mounted"):
            context.text("/etc/other")


SETTINGS = {
    "args": ["--level=$(LEVEL)"],
    "env": [{"name": "LEVEL", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "level"}}}],
    "envFrom": [{"secretRef": {"name": "credentials"}}],
}


async def arrange_settings(env):
    await env.client.create(ConfigMap.resource, ConfigMap.manifest("settings", "default", data={"level": "1"}))
    await env.client.create(Secret.resource, Secret.manifest("credentials", "default", data={"TOKEN": "b25l"}))


async def test_a_program_that_is_started_again_has_the_environment_of_now(env, kubelet, part):
    await arrange_settings(env)
    part.lasts = 60
    async with env.running(kubelet()):
        await run_pod(env, container=SETTINGS)
        await env.change(ConfigMap, "settings", data={"level": "2"})
        await env.change(Secret, "credentials", data={"TOKEN": "dHdv"})
        await advance(59)
        unchanged = dict(part.places[0].env)
        await advance(2)

        assert unchanged == part.starts[0][0] == {"LEVEL": "1", "TOKEN": "one"}
        assert part.starts[1] == ({"LEVEL": "2", "TOKEN": "two"}, ["--level=2"])


async def test_a_program_that_cannot_be_started_again_says_what_is_missing_and_waits_for_it(env, kubelet, part):
    await arrange_settings(env)
    part.lasts = 60
    async with env.running(kubelet()):
        await run_pod(env, container=SETTINGS)
        await env.delete(ConfigMap, "settings")
        await advance(65)
        waiting = await container(env)
        await env.client.create(ConfigMap.resource, ConfigMap.manifest("settings", "default", data={"level": "3"}))
        await advance(10)

        missing = {"reason": "CreateContainerConfigError", "message": 'configmap "settings" not found'}
        assert (waiting["state"], waiting["ready"], waiting["restartCount"]) == ({"waiting": missing}, False, 0)
        assert await env.events("Failed") == ['Error: configmap "settings" not found']
        assert (part.places[-1].env["LEVEL"], (await container(env))["restartCount"]) == ("3", 1)


async def test_a_program_may_do_what_its_account_may(env, kubelet, part):
    await env.client.create(ServiceAccount.resource, ServiceAccount.manifest("part", "default"))
    async with env.running(kubelet()):
        await run_pod(env, serviceAccountName="part")
        client = part.places[0].client
        with pytest.raises(errors.Forbidden, match="system:serviceaccount:default:part"):
            await client.list(Node.resource)
        rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
        await env.client.create(ClusterRole.resource, ClusterRole.manifest("looks", rules=[rule]))
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "looks"}
        subject = {"kind": "ServiceAccount", "name": "part", "namespace": "default"}
        binding = ClusterRoleBinding.manifest("looks", roleRef=role, subjects=[subject])
        await env.client.create(ClusterRoleBinding.resource, binding)

        assert (await client.list(Node.resource)).items == []


async def test_its_token_is_changed_before_it_ends_and_dies_with_the_pod(env, kubelet, part):
    async with env.running(kubelet()):
        await run_pod(env)
        context = part.places[0]
        first = context.account.token
        await advance(5 * 3600)
        await context.client.read("/version")
        assert context.account.token != first
        await env.delete(Pod, "pod")

        with pytest.raises(errors.Unauthorized):
            await context.client.read("/version")


async def test_a_program_can_still_ask_while_it_stops(env, kubelet, part):
    asked = []

    async def say_goodbye(context):
        asked.append(await context.client.read("/version"))

    part.last_words = say_goodbye
    async with env.running(kubelet()):
        await run_pod(env)
        await env.delete(Pod, "pod")

    assert len(asked) == 1


async def test_a_pod_is_ready_when_its_program_says_so(env, kubelet, part):
    part.missing = "caches are not filled yet"
    async with env.running(kubelet()):
        await run_pod(env, container=PROBE)
        before = await env.condition("Ready")
        part.missing = ""
        await advance(5)
        ready = (await env.condition("Ready"))["status"]
        part.missing = "the hub is away"
        await advance(11)
        still = (await env.condition("Ready"))["status"]
        await advance(5)

        assert (before["status"], before["reason"]) == ("False", "ContainersNotReady")
        assert before["message"] == "containers with unready status: [main]"
        assert (ready, still, (await env.condition("Ready"))["status"]) == ("True", "True", "False")
        assert await env.events("Unhealthy") == [
            "Readiness probe failed: caches are not filled yet",
            "Readiness probe failed: the hub is away",
        ]


async def test_a_program_that_raises_is_started_again_later_and_later(env, kubelet, part):
    part.failure = ExceptionGroup("several", [RuntimeError("the lease was lost")])
    async with env.running(kubelet()):
        await run_pod(env)
        first = await container(env)
        await advance(10)
        second = await container(env)
        await advance(20)

        assert first["restartCount"] == 1
        assert first["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        uid = (await env.get(Pod, "pod"))["metadata"]["uid"]
        name = f"pod_default({uid})"
        assert first["state"]["waiting"]["message"] == f"back-off 10s restarting failed container=main pod={name}"
        end = first["lastState"]["terminated"]
        assert (end["exitCode"], end["reason"]) == (1, "Error")
        assert end["message"] == "RuntimeError: the lease was lost"
        assert second["state"]["waiting"]["message"].startswith("back-off 20s ")
        assert (second["restartCount"], len(part.places)) == (2, 4)
        assert await env.events("BackOff") == [f"Back-off restarting failed container main in pod {name}"]
        assert await env.phase() == "Running"
        assert (await env.condition("Ready"))["status"] == "False"


async def test_a_program_that_recovers_is_ready_again(env, kubelet, part):
    part.failure = RuntimeError("no")
    async with env.running(kubelet()):
        await run_pod(env)
        part.failure = None
        await advance(10)

        found = await container(env)
        assert (found["ready"], found["restartCount"], "running" in found["state"]) == (True, 2, True)
        assert found["lastState"]["terminated"]["message"] == "RuntimeError: no"


class Torn(BaseException):
    """What is no Exception, as what a test's own timeout raises into whatever runs just then."""


@pytest.mark.parametrize("failure", [Torn("in two"), asyncio.CancelledError("a request of its own was")])
async def test_a_program_that_is_torn_down_has_failed_too(env, kubelet, part, failure):
    part.failure = failure
    beside = {"name": "beside", "image": "busybox"}
    async with env.running(kubelet()):
        await run_pod(env, containers=[{"name": "main", "image": IMAGE}, beside])
        failed = await container(env)
        part.failure = None
        await advance(10)

        assert failed["lastState"]["terminated"]["message"] == f"{type(failure).__name__}: {failure}"
        found = await container(env)
        assert (found["ready"], found["restartCount"], "running" in found["state"]) == (True, 2, True)


async def test_what_is_lost_beside_the_programs_is_noticed_and_all_is_started_anew(env, kubelet, part, monkeypatch):
    async def tear(files, places):
        await asyncio.sleep(60)
        monkeypatch.undo()
        raise Torn

    monkeypatch.setattr(MountedFiles, "keep", tear)
    async with env.running(kubelet()):
        await run_pod(env)
        await advance(61)

        assert (part.stopped, len(part.places)) == (1, 2)
        found = await container(env)
        assert (found["ready"], found["restartCount"]) == (True, 1)


async def test_a_program_that_fails_while_it_stops_is_not_started_again(env, kubelet, part):
    async def fail(context):
        raise RuntimeError("the lease was not given back")

    part.last_words = fail
    async with env.running(kubelet()):
        await run_pod(env)
        await env.delete(Pod, "pod")
        await advance(60)

        assert (part.stopped, len(part.places), await env.get(Pod, "pod")) == (1, 1, None)


async def test_a_probe_that_breaks_has_failed_and_is_asked_again(env, kubelet, part):
    def broken():
        raise KeyError("manager")

    part.missing = "caches are not filled yet"
    async with env.running(kubelet()):
        await run_pod(env, container=PROBE)
        part.places[0].why_not_ready = broken
        await advance(5)
        unready = (await env.condition("Ready"))["status"]
        part.places[0].why_not_ready = lambda: ""
        await advance(5)

        assert (unready, (await env.condition("Ready"))["status"]) == ("False", "True")
        assert (await env.events("Unhealthy"))[-1] == "Readiness probe failed: KeyError: 'manager'"


@pytest.mark.parametrize(
    ("policy", "failure", "phase"),
    [("Never", None, "Succeeded"), ("Never", RuntimeError("no"), "Failed"), ("OnFailure", None, "Succeeded")],
)
async def test_a_program_that_is_not_to_be_started_again_ends_its_pod(env, kubelet, part, policy, failure, phase):
    part.failure, part.lasts = failure, 60
    async with env.running(kubelet()):
        await run_pod(env, restartPolicy=policy)
        await advance(61)

        assert await env.phase() == phase
        assert (await container(env))["state"]["terminated"]["exitCode"] == int(phase == "Failed")
        env.writes.clear()
        await advance(3600)
        assert (len(part.places), env.writes) == (1, [])


async def test_what_is_to_be_mounted_is_waited_for(env, kubelet, part):
    volumes = [{"name": "v", "secret": {"secretName": "later"}}]
    async with env.running(kubelet()):
        await run_pod(env, container={"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, volumes=volumes)
        await advance(5)
        waiting = (await container(env))["state"]["waiting"]["reason"]
        await env.client.create(Secret.resource, Secret.manifest("later", "default", data={"a": "YQ=="}))
        await advance(10)

        assert (waiting, await env.phase(), part.places[0].text("/v/a")) == ("ContainerCreating", "Running", "a")
        assert await env.events("FailedMount") == [
            'MountVolume.SetUp failed for volume "v" : secret "later" not found',
        ]


async def test_a_missing_account_is_waited_for(env, kubelet, part):
    async with env.running(kubelet()):
        await run_pod(env, serviceAccountName="later")
        await env.client.create(ServiceAccount.resource, ServiceAccount.manifest("later", "default"))
        await advance(5)

        assert await env.phase() == "Running"
        assert (await env.events("FailedMount")) == ['failed to fetch token: serviceaccounts "later" not found']


async def test_a_machine_that_is_off_runs_no_program_and_says_nothing(env, kubelet, part):
    await env.node("node")
    async with env.running(kubelet()):
        await run_pod(env)
        env.writes.clear()
        await env.change(Node, "node", metadata={"annotations": {"fleetqueue.dev/silent": "true"}})
        await advance(3600)
        assert (part.stopped, env.writes) == (1, [])
        await env.change(Node, "node", metadata={"annotations": {"fleetqueue.dev/silent": None}})

        assert (len(part.places), (await container(env))["restartCount"]) == (2, 1)


async def test_a_new_kubelet_starts_what_ran_before(env, kubelet, part):
    async with env.running(kubelet()):
        await run_pod(env)
    assert part.stopped == 1
    env.__init__(env.door.server)

    async with env.running(kubelet()):
        assert len(part.places) == 2
        assert (await container(env))["restartCount"] == 1


async def test_another_pod_of_the_same_name_is_another_start(env, kubelet, part):
    async with env.running(kubelet()):
        await run_pod(env)
        await env.client.delete(Pod.resource, "pod", "default", grace=0)
        await run_pod(env)

        assert (part.stopped, len(part.places), (await container(env))["restartCount"]) == (1, 2, 0)


async def test_a_status_that_could_not_be_written_is_written_later(env, kubelet, part):
    async with env.running(kubelet()):
        env.fail_once("/pods/pod/status")
        await run_pod(env)
        await advance(1)

        assert (await env.phase(), len(part.places)) == ("Running", 1)


async def test_a_second_look_writes_nothing(env, kubelet, part):
    found = kubelet()
    async with env.running(found):
        await run_pod(env)
        env.writes.clear()
        found.wake("default/pod")
        await settle()

        assert env.writes == []


async def test_its_log_lines_name_the_pod(env, kubelet, part, caplog):
    from fleetqueue.runtime.logs import Log

    part.failure = None

    async def say(context):
        Log("part").warning("here I am")

    part.last_words = say
    async with env.running(kubelet()):
        await run_pod(env)
        await env.delete(Pod, "pod")

    (record,) = [record for record in caplog.records if record.getMessage() == "here I am"]
    assert record.fields == {"pod": "default/pod"}
