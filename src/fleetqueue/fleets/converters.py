"""How the versions of Kueue's and OCM's kinds become each other, in every embedded cluster."""

from typing import Final

from fleetqueue.embedded.apiserver.registry.conversion import Converters
from fleetqueue.embedded.kueue import versions as kueue
from fleetqueue.manifests import ocm_versions as ocm

CONVERTERS: Final[Converters] = {**kueue.CONVERTERS, **ocm.CONVERTERS}
