"""What is kept of core objects, and what is never shown."""

from fleetqueue.api.core_v1 import Node, Pod, Secret, secret

CONTAINER = {
    "name": "main",
    "image": "x",
    "resources": {"requests": {"cpu": "1"}},
    "env": [{"name": "A", "value": "1"}],
}


def test_of_a_pod_only_what_is_read_is_kept():
    spec = {
        "nodeName": "n1",
        "overhead": {"cpu": "10m"},
        "containers": [CONTAINER],
        "initContainers": [{**CONTAINER, "restartPolicy": "Always"}],
        "volumes": [{"name": "big"}],
    }
    raw = Pod.manifest("p", "ns", spec=spec, status={"phase": "Running", "podIP": "10.0.0.1"})

    trimmed = Pod.trim(raw)

    kept = {"resources": {"requests": {"cpu": "1"}}}
    assert trimmed["spec"] == {
        "nodeName": "n1",
        "overhead": {"cpu": "10m"},
        "containers": [kept],
        "initContainers": [{**kept, "restartPolicy": "Always"}],
    }
    assert trimmed["status"] == {"phase": "Running"}
    assert raw["spec"] is spec


def test_a_trimmed_pod_reads_as_the_whole_one():
    raw = Pod.manifest("p", "ns", spec={"nodeName": "n1", "containers": [CONTAINER], "initContainers": None})

    assert Pod.view(Pod.trim(raw)) == Pod.view(raw)


def test_a_pod_without_anything_can_be_trimmed():
    assert Pod.view(Pod.trim(Pod.manifest("p", "ns", spec=None))).spec.containers == ()


def test_of_a_node_only_what_is_read_is_kept():
    status = {
        "allocatable": {"cpu": "8"},
        "images": [{"names": ["x"]}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    raw = Node.manifest(
        "n", spec={"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDR": "10.0.0.0/24"}, status=status
    )

    trimmed = Node.trim(raw)

    assert trimmed["spec"] == {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    assert trimmed["status"].keys() == {"allocatable", "conditions"}
    assert Node.view(trimmed) == Node.view(raw)


def test_a_secret_shows_its_name_only():
    shown = repr(Secret.view(secret("s", "ns", {"token": "s3cret"})))

    assert shown == 'Secret "ns/s"'
