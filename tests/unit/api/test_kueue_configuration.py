"""What Kueue's configuration says, and changing only who dispatches."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleetqueue.api.fleetqueue import DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import (
    ADAPTERS_FOR_CUSTOM_JOBS,
    BETA_GATES,
    ELASTIC_JOBS,
    ORCHESTRATED_PREEMPTION,
    REMOTE_SPEC_SYNC,
    Configuration,
    read,
    with_dispatcher,
)
from fleetqueue.api.kueue_v1beta2 import ALL_AT_ONCE, INCREMENTAL

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


@pytest.mark.parametrize(
    ("text", "dispatcher", "origin"),
    [
        pytest.param("", ALL_AT_ONCE, "multikueue", id="empty"),
        pytest.param("{not yaml", ALL_AT_ONCE, "multikueue", id="not YAML"),
        pytest.param("a: 2026-99-99", ALL_AT_ONCE, "multikueue", id="a date that is none"),
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
    configuration = read(text)

    assert (configuration.dispatcher_name, configuration.origin) == (dispatcher, origin)


@pytest.mark.parametrize(
    ("text", "frameworks"),
    [
        pytest.param("", ("batch/job",), id="nothing said"),
        pytest.param("integrations: {frameworks: []}", ("batch/job",), id="an empty list is as none"),
        pytest.param("integrations: {frameworks: batch/job}", ("batch/job",), id="no list"),
        pytest.param("integrations: {frameworks: [pod, 7, null, pod]}", ("pod",), id="odd entries are left out"),
        pytest.param(SHIPPED, ("batch/job", "jobset.x-k8s.io/jobset"), id="a list"),
    ],
)
def test_which_frameworks_are_on(text, frameworks):
    assert read(text).frameworks == frameworks


EXTERNAL = """\
integrations: {externalFrameworks: [Bar.v1.example.com]}
multiKueue: {externalFrameworks: [{name: Foo.v1.example.com}, {}, odd]}
"""


@pytest.mark.parametrize(
    ("text", "external"),
    [
        pytest.param(EXTERNAL, ("Foo.v1.example.com",), id="MultiKueue's own list is sent, that of others is not"),
        pytest.param(EXTERNAL + f"featureGates: {{{ADAPTERS_FOR_CUSTOM_JOBS}: false}}", (), id="unless it is off"),
    ],
)
def test_which_further_kinds_are_sent(text, external):
    assert read(text).external_frameworks == external


@pytest.mark.parametrize(
    ("text", "argument", "gates"),
    [
        pytest.param("", "", BETA_GATES, id="as Kueue has them"),
        pytest.param(f"featureGates: {{{ELASTIC_JOBS}: false}}", "", BETA_GATES - {ELASTIC_JOBS}, id="one is off"),
        pytest.param(
            f"featureGates: {{{ORCHESTRATED_PREEMPTION}: true}}",
            "",
            BETA_GATES | {ORCHESTRATED_PREEMPTION},
            id="one more",
        ),
        pytest.param("featureGates: {Other: true}", "", BETA_GATES, id="one that does not matter here"),
        pytest.param("featureGates: {AllBeta: false}", "", frozenset(), id="all that are beta are off"),
        pytest.param(
            f"featureGates: {{AllBeta: false, {ELASTIC_JOBS}: true}}", "", {ELASTIC_JOBS}, id="one goes before many"
        ),
        pytest.param("featureGates: {AllAlpha: true}", "", BETA_GATES | {ORCHESTRATED_PREEMPTION}, id="all alpha"),
        pytest.param(
            f"featureGates: {{{ELASTIC_JOBS}: false}}",
            f"{REMOTE_SPEC_SYNC}=false,Other=true",
            BETA_GATES - {REMOTE_SPEC_SYNC},
            id="the argument replaces the file",
        ),
        pytest.param("", "odd", BETA_GATES, id="an argument that is none"),
        pytest.param("featureGates: [odd]", "", BETA_GATES, id="gates of another shape"),
    ],
)
def test_which_gates_are_on(text, argument, gates):
    assert read(text, argument).gates == gates


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("", 900.0, id="nothing said"),
        pytest.param("multiKueue: {workerLostTimeout: 1h30m}", 5400.0, id="as Go writes it"),
        pytest.param("multiKueue: {workerLostTimeout: soon}", 900.0, id="no duration"),
    ],
)
def test_how_long_a_worker_may_be_lost(text, seconds):
    assert read(text).worker_lost_timeout == seconds


def test_only_the_dispatcher_changes():
    changed = with_dispatcher(SHIPPED, DISPATCHER_NAME)

    wanted = yaml.safe_load(SHIPPED)
    wanted["multiKueue"]["dispatcherName"] = DISPATCHER_NAME
    assert yaml.safe_load(changed) == wanted
    assert list(yaml.safe_load(changed)) == list(wanted)


def test_setting_back_gives_what_was_there():
    back = with_dispatcher(with_dispatcher(SHIPPED, DISPATCHER_NAME), None)

    assert yaml.safe_load(back) == yaml.safe_load(SHIPPED)


COMMENTED = """\
# ours since 2024
integrations:
  frameworks: # the usual
  - batch/job
multiKueue: # sends jobs
    # how often
    gcInterval: 1m
#pprofBindAddress: :8083
"""


@pytest.mark.parametrize(
    ("text", "name", "changed"),
    [
        pytest.param(
            COMMENTED,
            "x",
            COMMENTED.replace("jobs\n", "jobs\n    dispatcherName: x\n"),
            id="a line is added, and all else stays",
        ),
        pytest.param(
            COMMENTED.replace("1m\n", "1m\n    dispatcherName: y # why\n"),
            "x",
            COMMENTED.replace("jobs\n", "jobs\n    dispatcherName: x\n"),
            id="a line is replaced",
        ),
        pytest.param(COMMENTED.replace("1m\n", "1m\n    dispatcherName: y\n"), None, COMMENTED, id="a line goes"),
        pytest.param("a: 1 # one\n", "x", "a: 1 # one\nmultiKueue:\n  dispatcherName: x\n", id="a new section"),
        pytest.param("a: 1 # one\nmultiKueue:\n  dispatcherName: x\n", None, "a: 1 # one\n", id="a section goes"),
        pytest.param(
            "multiKueue: {origin: o}\nb: 2\n",
            "x",
            "multiKueue:\n  origin: o\n  dispatcherName: x\nb: 2\n",
            id="another form is written anew",
        ),
    ],
)
def test_what_people_wrote_around_it_stays(text, name, changed):
    assert with_dispatcher(text, name) == changed


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
    assert read(changed).dispatcher_name == DISPATCHER_NAME


@given(settings)
def test_whatever_stands_there_can_be_read(config):
    assert isinstance(read(yaml.safe_dump(config)), Configuration)


@given(st.text())
def test_any_text_can_be_read(text):
    assert isinstance(read(text, text), Configuration)
