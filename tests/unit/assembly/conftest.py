"""A hub in memory that serves Kueue and Open Cluster Management, as far as discovery goes."""

from collections import defaultdict

import pytest

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.meta import Object
from fleetqueue.assembly.capabilities import NEEDED
from fleetqueue.testing.memory_api import MemoryApi


def discovery(*kinds: type[Object]) -> dict[str, dict[str, object]]:
    """The answers with which an API server lists kinds."""
    listed = defaultdict(list)
    for kind in kinds:
        listed[f"GET /apis/{kind.resource.api_version}"].append({"name": kind.resource.plural})
    return {path: {"resources": resources} for path, resources in listed.items()}


def crd(limit: int | None) -> dict[str, object]:
    """The CRD of MultiKueueConfig, as far as the limit of its clusters goes."""
    clusters = {"type": "array"} if limit is None else {"type": "array", "maxItems": limit}
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": {"clusters": clusters}}}}}
    versions = [{"name": "v1beta1"}, {"name": kueue.VERSION, "schema": schema}]
    return CustomResourceDefinition.manifest(str(kueue.MultiKueueConfig.resource), spec={"versions": versions})


@pytest.fixture
async def installed(api: MemoryApi) -> MemoryApi:
    """The hub with everything on it that our controller needs."""
    api.answers.update(discovery(*(kind for kinds in NEEDED.values() for kind in kinds)))
    api.add(crd(20))
    return api
