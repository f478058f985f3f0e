"""Find kinds that are known by their names only, by what a cluster serves."""

from collections.abc import Iterable

from fleetqueue.api.external_kinds import kind_of, parsed
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client


async def served_kinds(client: Client, names: Iterable[str]) -> dict[str, type[Object]]:
    """Return kinds by their names, `Kind.version.group`; those that the cluster does not serve are left out."""
    kinds = {}
    for name in names:
        wanted = parsed(name)
        plural = await client.plural_of(wanted.api_version, wanted.kind) if wanted is not None else ""
        if wanted is not None and plural:
            kinds[name] = kind_of(Resource(wanted.group, wanted.version, wanted.kind, plural))
    return kinds
