"""How a ClusterProfile says that its cluster is reached: the first of our programs that it knows gives the credential.

Mirrors: cluster-inventory-api pkg/access
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from fleetqueue.api.inventory_v1alpha1 import EXEC_EXTENSION, ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.kubeconfig import Connection, ExecPlugin


class NoAccess(Exception):
    """The profile gives no way to its cluster; the text says why."""


def access(profile: ClusterProfile, providers: Sequence[Manifest]) -> Connection:
    """Return how a profile's cluster is reached; raises NoAccess."""
    if not providers:
        raise NoAccess("no access provider configured")
    offered = {each.get("name"): each.get("cluster") or {} for each in profile.status.access_providers}
    chosen = next((each for each in providers if each.get("name") in offered), None)
    if chosen is None:
        raise NoAccess(f'no matching cluster accessor found for cluster profile "{profile.name}"')
    program = chosen.get("execConfig")
    if not program:
        raise NoAccess(f'no exec config found for provider "{chosen["name"]}"')
    cluster = offered[chosen["name"]]
    return Connection(
        server=str(cluster.get("server") or "").rstrip("/"),
        ca=_authority(cluster),
        exec=_plugin(program, cluster),
        proxy_url=str(cluster.get("proxy-url") or ""),
        name=profile.name,
    )


def _plugin(program: Manifest, cluster: Mapping[str, Any]) -> ExecPlugin:
    extensions = {each.get("name"): each.get("extension") for each in cluster.get("extensions") or ()}
    return ExecPlugin(
        command=program["command"],
        args=tuple(program.get("args") or ()),
        env={each["name"]: each.get("value") or "" for each in program.get("env") or ()},
        api_version=program.get("apiVersion") or "client.authentication.k8s.io/v1",
        provide_cluster_info=bool(program.get("provideClusterInfo")),
        interactive_mode="Never",
        cluster_config=extensions.get(EXEC_EXTENSION, program.get("config")),
    )


def _authority(cluster: Mapping[str, Any]) -> bytes | None:
    text = cluster.get("certificate-authority-data")
    try:
        return base64.b64decode(text) if text else None
    except ValueError as error:
        raise NoAccess(f"certificate-authority-data is not base64: {error}") from None
