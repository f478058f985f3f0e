"""What Kueue's configuration says, and changing only who dispatches."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.api.kueue_v1beta2 import ALL_AT_ONCE, INCREMENTAL
from fleetqueue.controllers.placement_admission.kueue_config import CONFIG_KEY, CONFIG_MAP, read, with_dispatcher
from fleetqueue.controllers.placement_admission.names import DISPATCHER_NAME

SHIPPED = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health:
  healthProbeBindAddress: :8081
metrics:
  bindAddress: :8443
webhook:
  port: 9443
leaderElection:
  leaderElect: true
  resourceName: c1f6bfd2.kueue.x-k8s.io
controller:
  groupKindConcurrency:
    Job.batch: 5
    Workload.kueue.x-k8s.io: 5
clientConnection:
  qps: 50
  burst: 100
integrations:
  frameworks:
  - batch/job
  - jobset.x-k8s.io/jobset
multiKueue:
  gcInterval: 1m
  workerLostTimeout: 15m
  origin: hub-1
"""


def config_map(text):
    data = {CONFIG_KEY: text} if text is not None else {}
    return ConfigMap.view(ConfigMap.manifest(CONFIG_MAP, "kueue-system", data=data))


@pytest.mark.parametrize(
    ("text", "dispatcher", "origin"),
    [
        pytest.param(None, ALL_AT_ONCE, "multikueue", id="no such key"),
        pytest.param("", ALL_AT_ONCE, "multikueue", id="empty"),
        pytest.param("{not yaml", ALL_AT_ONCE, "multikueue", id="not YAML"),
        pytest.param("- a\n- b\n", ALL_AT_ONCE, "multikueue", id="a list"),
        pytest.param("multiKueue:\n", ALL_AT_ONCE, "multikueue", id="an empty section"),
        pytest.param("multiKueue: [1]\n", ALL_AT_ONCE, "multikueue", id="a section of another kind"),
        pytest.param("multiKueue: {dispatcherName: '', origin: ''}", ALL_AT_ONCE, "multikueue", id="empty values"),
        pytest.param(SHIPPED, ALL_AT_ONCE, "hub-1", id="as shipped, with an origin"),
        pytest.param(f"multiKueue: {{dispatcherName: {INCREMENTAL}}}", INCREMENTAL, "multikueue", id="incremental"),
        pytest.param(f"multiKueue: {{dispatcherName: {DISPATCHER_NAME}}}", DISPATCHER_NAME, "multikueue", id="ours"),
    ],
)
def test_who_dispatches_and_the_label_on_copies(text, dispatcher, origin):
    config = read(config_map(text))

    assert (config.dispatcher, config.origin) == (dispatcher, origin)
    assert config.is_ours == (dispatcher == DISPATCHER_NAME)


def test_without_a_config_map_kueues_defaults_hold():
    assert read(None) == read(config_map(""))


def test_only_the_dispatcher_changes():
    changed = with_dispatcher(SHIPPED, DISPATCHER_NAME)

    wanted = yaml.safe_load(SHIPPED)
    wanted["multiKueue"]["dispatcherName"] = DISPATCHER_NAME
    assert yaml.safe_load(changed) == wanted
    assert list(yaml.safe_load(changed)) == list(wanted)


def test_setting_back_gives_what_was_there():
    back = with_dispatcher(with_dispatcher(SHIPPED, DISPATCHER_NAME), None)

    assert yaml.safe_load(back) == yaml.safe_load(SHIPPED)


@pytest.mark.parametrize(
    ("text", "name", "result"),
    [
        pytest.param("", "x", {"multiKueue": {"dispatcherName": "x"}}, id="an empty configuration"),
        pytest.param("multiKueue:\n", "x", {"multiKueue": {"dispatcherName": "x"}}, id="an empty section"),
        pytest.param("multiKueue:\n", None, {}, id="back, from an empty section"),
        pytest.param("a: 1\n", None, {"a": 1}, id="back, where nothing was set"),
        pytest.param("multiKueue: {dispatcherName: y}", "x", {"multiKueue": {"dispatcherName": "x"}}, id="another one"),
        pytest.param("multiKueue: {dispatcherName: y}", None, {}, id="back to the default"),
        pytest.param(
            "multiKueue: {dispatcherName: y, origin: o}", None, {"multiKueue": {"origin": "o"}}, id="the rest stays"
        ),
    ],
)
def test_small_configurations(text, name, result):
    assert (yaml.safe_load(with_dispatcher(text, name)) or {}) == result


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"), max_size=8)
settings = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=10,
)


@given(st.dictionaries(texts, settings, max_size=4), st.dictionaries(texts, settings, max_size=2))
def test_whatever_else_stands_there_is_kept(rest, section):
    rest.pop("multiKueue", None)
    section.pop("dispatcherName", None)
    config = {**rest, "multiKueue": {**section, "dispatcherName": INCREMENTAL}}

    changed = with_dispatcher(yaml.safe_dump(config), DISPATCHER_NAME)

    assert yaml.safe_load(changed) == {**rest, "multiKueue": {**section, "dispatcherName": DISPATCHER_NAME}}
    assert read(config_map(changed)).is_ours
