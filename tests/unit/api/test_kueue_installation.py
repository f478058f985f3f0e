"""From which ConfigMap Kueue's manager reads its configuration, whoever installed it."""

from dataclasses import replace

import pytest

from fleetqueue.api.kueue_installation import KueueDeployment, KueueSource, key_in, source_of
from fleetqueue.testing.builders import kueue_deployment

FILE = "controller_manager_config.yaml"


def deployment(*args, mounts=None, volumes=None, name="kueue-controller-manager", command=(), app="kueue"):
    manifest = kueue_deployment(name)
    manifest["metadata"]["labels"]["app.kubernetes.io/name"] = app
    pod = manifest["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container |= {"args": list(args), "command": list(command)}
    if mounts is not None:
        container["volumeMounts"] = mounts
    if volumes is not None:
        pod["volumes"] = volumes
    return KueueDeployment.view(manifest)


def folder(path="/etc/kueue", **volume):
    return {
        "mounts": [{"name": "v", "mountPath": path}],
        "volumes": [{"name": "v", "configMap": {"name": "conf", **volume}}],
    }


@pytest.mark.parametrize(
    ("deployments", "chosen", "source"),
    [
        pytest.param([], "", KueueSource("kueue-manager-config", FILE), id="no Deployment: Kueue's own name"),
        pytest.param([], "mine", KueueSource("mine", FILE), id="no Deployment, but a name was chosen"),
        pytest.param(
            [KueueDeployment.view(kueue_deployment(config_map="r-kueue-manager-config"))],
            "",
            KueueSource("r-kueue-manager-config", FILE, "", "kueue-controller-manager"),
            id="the name that Helm gives",
        ),
        pytest.param(
            [KueueDeployment.view(kueue_deployment(config_map="other"))],
            "mine",
            KueueSource("mine", FILE, "", "kueue-controller-manager"),
            id="a chosen name goes first",
        ),
        pytest.param(
            [deployment("--config=/etc/kueue/conf.yaml", **folder())],
            "",
            KueueSource("conf", "conf.yaml", "", "kueue-controller-manager"),
            id="a whole folder",
        ),
        pytest.param(
            [deployment("--config", "/etc/kueue/conf.yaml", **folder(items=[{"key": "k", "path": "conf.yaml"}]))],
            "",
            KueueSource("conf", "k", "", "kueue-controller-manager"),
            id="an entry under another path, and a flag in two words",
        ),
        pytest.param(
            [deployment(command=("/manager", "-config=/etc/kueue/a", "--feature-gates=X=true,Y=false"), **folder())],
            "",
            KueueSource("conf", "a", "X=true,Y=false", "kueue-controller-manager"),
            id="flags in the command, and gates",
        ),
        pytest.param(
            [deployment("--config=/elsewhere/conf.yaml", **folder())],
            "",
            KueueSource("", FILE, "", "kueue-controller-manager"),
            id="a file that is from no ConfigMap",
        ),
        pytest.param(
            [deployment("--zap-log-level=2")], "", KueueSource("kueue-manager-config", FILE), id="no such flag"
        ),
        pytest.param(
            [
                deployment("--config=/etc/kueue/a", name="a-operator", app="operator", **folder()),
                deployment("--config=/etc/kueue/b", name="b-kueue", **folder()),
            ],
            "",
            KueueSource("conf", "b", "", "b-kueue"),
            id="who is called Kueue goes before others",
        ),
    ],
)
def test_where_the_configuration_is(deployments, chosen, source):
    assert replace(source_of(deployments, chosen), selector={}) == source


@pytest.mark.parametrize(
    ("data", "key"),
    [
        pytest.param({FILE: "", "b": ""}, FILE, id="the key that was asked for"),
        pytest.param({"config.yaml": ""}, "config.yaml", id="the only file"),
        pytest.param({"a": "", "b": ""}, "", id="which of two is not known"),
        pytest.param({}, "", id="nothing"),
    ],
)
def test_under_which_key_it_is(data, key):
    assert key_in(data, FILE) == key
