"""A hub that follows what the tests of its reads and writes use."""

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import ConfigMap
from fleetqueue.runtime.cluster import Cluster


@pytest.fixture
async def followed(hub, follow) -> Cluster:
    for kind in (kueue.MultiKueueConfig, kueue.AdmissionCheck, ConfigMap):
        hub.informer(kind)
    await follow()
    return hub
