"""The roles for people that the embedded clusters have are those of Kueue's own manifests."""

import pytest

from fleetqueue.fleets.systems.kueue_roles import roles
from fleetqueue.real import manifests

pytestmark = pytest.mark.real

OF_THE_MANAGER = {"kueue-manager-role", "kueue-metrics-auth-role", "kueue-metrics-reader"}


def by_name(found):
    return {role["metadata"]["name"]: described(role) for role in found if role["kind"] == "ClusterRole"}


def described(role):
    rules = [{field: sorted(values) for field, values in line.items()} for line in role.get("rules") or []]
    return role["metadata"]["labels"], role.get("aggregationRule"), rules


def test_they_are_all_there_and_no_others(layout):
    real = by_name(manifests.read(layout.kueue_manifests))

    assert by_name(roles()) == {name: role for name, role in real.items() if name not in OF_THE_MANAGER}
