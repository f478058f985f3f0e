"""Our metrics beside those of Kueue's sources: names, types, labels and buckets are the same, or it is said why not."""

import re
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client import CollectorRegistry

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.embedded.kueue.metric_kinds import STANDALONE, Place, ToldByGo, text_of, waits
from fleetqueue.embedded.kueue.metrics import GO_BUCKETS, KueueMetrics
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.settings import (
    AdmissionFairSharingSettings,
    FairSharingSettings,
    KueueSettings,
    MetricsSettings,
    SchedulingSettings,
)
from fleetqueue.embedded.kueue.state_metrics import StateMetrics
from fleetqueue.embedded.multikueue.metrics import MultiKueueMetrics
from tests import go_modules

from .scheduling.objects import (
    NAMESPACE,
    NOON,
    admitted,
    cohort,
    condition,
    flavor,
    local_queue,
    queue_manifest,
    workload,
)

SOURCES = "sigs.k8s.io/kueue@v0.19.2/pkg/metrics"
LEFT_OUT = {
    "kueue_local_queue_unadmitted_workloads",
    "kueue_unadmitted_workloads",
}
"""Each is on the page of differences, with the reason."""
PAGES = [Path(__file__).parents[4] / "docs" / language / "reference" / "differences.md" for language in ("en", "zh")]
DEFINITION = re.compile(
    r"prometheus\.New(?P<type>Counter|Gauge|Histogram)Vec\(\s*prometheus\.\w+Opts\{(?P<options>.*?)\n\t\t\},\s*"
    r"(?:append\()?\[\]string\{(?P<labels>[^}]*)\}",
    re.DOTALL,
)
NAME = re.compile(r'Name:\s+"([^"]+)"')
STRING = re.compile(r'"([^"]*)"')


class Described(NamedTuple):
    kind: str
    labels: frozenset[str]
    buckets: tuple[float, ...] = ()


def upstream(source):
    """Read the definitions of metrics from Go; labels that users can add stand behind the list that we read."""
    found = {}
    for match in DEFINITION.finditer(source):
        options, kind = match["options"], match["type"].lower()
        system = "multikueue" if "constants.MultiKueueName" in options else "kueue"
        name = f"{system}_{NAME.search(options)[1]}"
        labels = frozenset(STRING.findall(match["labels"]))
        found[name] = Described(kind, labels, buckets(options) if kind == "histogram" else ())
    return found


def buckets(options):
    if waiting := re.search(r"generateExponentialBuckets\((\d+)\)", options):
        return waits(int(waiting[1]))
    if doubling := re.search(r"prometheus\.ExponentialBuckets\(([\d.]+), 2, (\d+)\)", options):
        return tuple(float(doubling[1]) * 2**power for power in range(int(doubling[2])))
    assert "Buckets" not in options
    return GO_BUCKETS


def ours(registry):
    """Describe what a registry tells, by what it really told."""
    found = {}
    for family in ToldByGo(registry).collect():
        samples = family.samples
        labels = frozenset(label for sample in samples for label in sample.labels) - {"le"}
        limits = sorted({float(sample.labels["le"]) for sample in samples if "le" in sample.labels})
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found[name] = Described(family.type, labels, tuple(limits[:-1]))
    return found


@pytest.fixture
def registry():
    """Everything has happened once, in a queue of which everything is told."""
    registry = CollectorRegistry()
    place = Place("q", f"{NAMESPACE}/q", ("team",))
    happened = KueueMetrics(registry, lambda view, name: place)
    view = workload("w", conditions=[condition("PodsReady", "True"), condition("Admitted", "True")])
    later = NOON + timedelta(seconds=1)
    happened.attempted(has_admitted=True, seconds=1)
    happened.skipped("q", 1)
    happened.preempted("q", "InClusterQueue")
    happened.created("Job", 1)
    happened.quota_reserved(view, "q", later)
    happened.admitted(view, "q", later, waited_for_checks=1)
    happened.pods_ready(view, "q", later)
    happened.gate_removed("kueue.x-k8s.io/admission", admitted("w"), later)
    happened.evicted(view, "q", ("Preempted", ""), later, is_first=True)
    happened.gave_back("q", "Preempted", 1)
    happened.finished(view)
    happened.replaced_slice("q")
    sent = MultiKueueMetrics(registry, STANDALONE)
    sent.dispatched.labels("q", "c1", STANDALONE).inc()
    sent.admitted.labels("q", "c1", STANDALONE).inc()
    settings = KueueSettings(metrics=MetricsSettings(resources=True))
    registry.register(StateMetrics(whole_cache(), lambda: [local_queue()], settings))
    return registry


def whole_cache():
    cache = Cache(
        SchedulingSettings(fair_sharing=FairSharingSettings(), admission_fair_sharing=AdmissionFairSharingSettings())
    )
    cache.set_namespace(NAMESPACE, {})
    cache.set_flavor(flavor())
    cache.set_cohort(cohort("team"))
    active = {"conditions": [condition("Active", "True")]}
    cache.set_cluster_queue(kueue.ClusterQueue.view({**queue_manifest("q", cohort="team"), "status": active}))
    cache.set_local_queue(local_queue())
    cache.set_workload(admitted("runs"))
    return cache


def test_names_types_labels_and_buckets_are_kueues(registry):
    source = (go_modules.folder(SOURCES) / "metrics.go").read_text()

    theirs = upstream(source)

    assert len(theirs) == source.count("Vec(\n\t\tprometheus.") == 60
    assert ours(registry) == {name: described for name, described in theirs.items() if name not in LEFT_OUT}


def test_what_is_left_out_exists_and_stands_on_the_page_of_differences():
    source = (go_modules.folder(SOURCES) / "metrics.go").read_text()

    assert set(upstream(source)) >= LEFT_OUT
    for page in PAGES:
        text = page.read_text()
        assert [name for name in sorted(LEFT_OUT) if f"`{name}`" not in text] == [], page


def test_no_time_of_creation_is_told(registry):
    told = text_of(registry)

    assert "kueue_admission_attempts_total" in told
    assert "kueue_admission_attempt_duration_seconds_bucket" in told
    assert "_created" not in told
