"""Agents whose certificates are renewed go on when the old ones have ended: a year on the virtual clock.

The weeks in which nothing happens are leapt over: the clock is set forward, as on a machine that slept.
"""

import base64
from datetime import timedelta

import orjson
import pytest

from fleetqueue import clock
from fleetqueue.api.core_v1 import ConfigMap, Secret
from fleetqueue.api.managed_service_account_v1beta1 import ManagedServiceAccount
from fleetqueue.api.work_v1 import ManifestWork
from fleetqueue.client.certificates import content_of
from fleetqueue.embedded.ocm.registration.accepting import accept
from fleetqueue.fleets.embedded import EmbeddedFleet
from fleetqueue.fleets.embedded_environment import WORKER_KINDS, bootstrap_kubeconfig
from fleetqueue.fleets.systems import add_ons, ocm
from fleetqueue.fleets.systems.parts import create_all, install, install_kinds
from fleetqueue.testing.virtual_time import VirtualClock, advance

pytestmark = pytest.mark.virtual_time

CLUSTER = "cluster1"
HOUR = 3600
AGENTS = (
    (ocm.AGENT_NAMESPACE, "hub-kubeconfig-secret"),
    (ocm.ADD_ON_NAMESPACE, "managed-serviceaccount-hub-kubeconfig"),
)


class Year:
    """A hub and a worker with their agents, and a clock that can be set forward."""

    def __init__(self, fleet, wall):
        self.fleet, self.wall = fleet, wall
        self.hub, self.worker = fleet.hub.client(), fleet.workers[0].client()

    async def join(self):
        await install_kinds(self.hub, "ocm-hub", "managed-serviceaccount", "cluster-inventory")
        await install_kinds(self.worker, *WORKER_KINDS)
        await create_all(self.hub, ocm.bootstrap_rights())
        await install(self.hub, *ocm.HUB_PARTS, add_ons.ACCOUNTS_MANAGER)
        await create_all(self.hub, add_ons.accounts_add_on())
        worker = self.fleet.workers[0]
        kubeconfig = await bootstrap_kubeconfig(self.fleet.hub)
        await create_all(self.worker, calm(ocm.klusterlet(CLUSTER, worker.url, kubeconfig)))
        await advance(30)
        await accept(self.hub, CLUSTER)
        await advance(120)

    async def leap(self, days):
        """Let days pass in which nothing happens, and then an hour, in which all tokens are changed."""
        self.wall.start += timedelta(days=days)
        await advance(HOUR)

    async def ends(self):
        """When the certificates of the agents end."""
        secrets = [await self.worker.get(Secret.resource, name, namespace) for namespace, name in AGENTS]
        return [content_of(base64.b64decode(secret["data"]["tls.crt"])).until for secret in secrets]

    async def does_its_work(self, name):
        """Tell whether what is asked of the agents now is done."""
        manifest = ConfigMap.manifest(name, "default")
        spec = {"workload": {"manifests": [manifest]}}
        await self.hub.create(ManifestWork.resource, ManifestWork.manifest(name, CLUSTER, spec=spec))
        account = {"rotation": {"enabled": True}}
        await self.hub.create(
            ManagedServiceAccount.resource, ManagedServiceAccount.manifest(name, CLUSTER, spec=account)
        )
        await advance(60)
        applied = (await self.worker.list(ConfigMap.resource, "default")).items
        reported = await self.hub.get(ManagedServiceAccount.resource, name, CLUSTER)
        return [
            any(each["metadata"]["name"] == name for each in applied),
            "tokenSecretRef" in reported.get("status", {}),
        ]


def calm(manifests):
    """Let the work agent look at its objects every minute, which is often enough in a year."""
    text = orjson.dumps(list(manifests)).decode()
    return orjson.loads(text.replace("--status-sync-interval=1s", "--status-sync-interval=1m"))


@pytest.fixture
async def year():
    with clock.use(VirtualClock()) as wall:
        async with EmbeddedFleet.open(1) as fleet:
            year = Year(fleet, wall)
            await year.join()
            yield year


async def test_agents_outlive_their_first_certificates_by_following_the_mounted_ones(year):
    first = await year.ends()
    await year.leap(days=300)
    renewed = await year.ends()
    await year.leap(days=70)

    assert clock.now() > max(first)
    assert min(renewed) > clock.now()
    assert await year.does_its_work("late") == [True, True]
