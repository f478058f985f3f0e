"""The pods of a SparkApplication."""

import pytest

from fleetqueue.rules.spark_pods import pods_of, spark_template


def app(driver=None, executor=None, **spec):
    return {"metadata": {"name": "s"}, "spec": {"driver": driver or {}, "executor": executor or {}, **spec}}


@pytest.mark.parametrize(
    ("role", "section", "pods"),
    [("driver", {"instances": 4}, 1), ("executor", {"instances": 4}, 4), ("executor", {}, 0)],
)
def test_how_many_pods_a_role_has(role, section, pods):
    assert pods_of(app(**{role: section}), role) == pods


def test_a_role_that_says_nothing_has_a_container():
    assert spark_template(app(), "driver") == {"spec": {"containers": [{"name": "spark-kubernetes-driver"}]}}
    assert spark_template(app(), "executor") == {"spec": {"containers": [{"name": "spark-kubernetes-executor"}]}}


def test_its_container_asks_for_what_the_role_says():
    section = {
        "cores": 7,
        "coreRequest": "500m",
        "coreLimit": "1",
        "memory": "512m",
        "memoryLimit": "2gb",
        "gpu": {"name": "nvidia.com/gpu", "quantity": 2},
    }

    (container,) = spark_template(app(executor=section), "executor")["spec"]["containers"]

    assert container["resources"] == {
        "requests": {"cpu": "500m", "memory": "512Mi"},
        "limits": {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "2"},
    }


@pytest.mark.parametrize(
    ("written", "memory"), [("1g", "1Gi"), ("1tb", "1Ti"), ("100k", "100Ki"), ("1Gi", "1Gi"), ("1024", "1024")]
)
def test_memory_is_written_as_java_writes_it(written, memory):
    (container,) = spark_template(app(driver={"memory": written}), "driver")["spec"]["containers"]

    assert container["resources"]["requests"]["memory"] == memory


def test_its_pods_are_where_and_as_the_role_says():
    section = {
        "labels": {"a": "1"},
        "annotations": {"b": "2"},
        "template": {"metadata": {"labels": {"a": "0", "c": "3"}}, "spec": {"containers": [{"name": "ignored"}]}},
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "k"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "high",
        "sidecars": [{"name": "side", "image": "i"}],
        "initContainers": [{"name": "init", "image": "i"}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "spark-local-dir-1", "mountPath": "/l"}],
    }
    volumes = [{"name": name, "emptyDir": {}} for name in ("v", "spark-local-dir-1", "other")]

    made = spark_template(app(driver=section, volumes=volumes, nodeSelector={"for": "all"}), "driver")

    assert made["metadata"] == {"labels": {"a": "1", "c": "3"}, "annotations": {"b": "2"}}
    assert [container["name"] for container in made["spec"]["containers"]] == ["spark-kubernetes-driver", "side"]
    assert made["spec"]["containers"][0]["volumeMounts"] == [{"name": "v", "mountPath": "/v"}]
    assert made["spec"]["volumes"] == [volumes[0]]
    assert made["spec"]["initContainers"] == [{"name": "init", "image": "i"}]
    assert made["spec"]["nodeSelector"] == {"zone": "a"}
    assert (made["spec"]["priorityClassName"], made["spec"]["tolerations"]) == ("high", [{"key": "k"}])
