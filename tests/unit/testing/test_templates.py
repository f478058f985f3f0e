"""Clusters that are copies of one template: each is its own, and none costs much."""

import asyncio
import time

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap, Namespace
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.embedded_server import EmbeddedServer
from fleetqueue.testing.templates import at_once

pytestmark = pytest.mark.virtual_time


async def test_copies_share_no_objects():
    one, other = ArrangedApi(EmbeddedServer()), ArrangedApi(EmbeddedServer())

    one.add(ConfigMap.manifest("a", "default"))

    assert one.get(ConfigMap, "a", "default") is not None
    assert other.get(ConfigMap, "a", "default") is None


async def test_each_is_a_cluster_of_its_own():
    one, other = (ArrangedApi(EmbeddedServer()).get(Namespace, "kube-system") for _ in range(2))

    assert one.uid != other.uid


async def test_custom_kinds_are_served_and_checked():
    api = ArrangedApi(EmbeddedServer())

    api.add(kueue.AdmissionCheck.manifest("a", spec={"controllerName": "x"}))

    assert api.get(kueue.AdmissionCheck, "a").spec.controller_name == "x"


async def test_a_hundred_clusters_start_in_a_moment():
    EmbeddedServer()
    began = time.perf_counter()

    for _ in range(100):
        EmbeddedServer()

    assert time.perf_counter() - began < 3


def test_a_cluster_can_be_arranged_before_its_loop_runs():
    api = ArrangedApi(EmbeddedServer())

    api.add(ConfigMap.manifest("a", "default"))

    assert [found.name for found in api.list(ConfigMap)] == ["a"]


async def test_what_would_have_to_wait_cannot_be_done_at_once():
    with pytest.raises(RuntimeError, match="had to wait"):
        at_once(asyncio.sleep(1))
