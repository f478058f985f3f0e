"""Find out how the cluster behind a MultiKueueCluster is reached: by a Secret, a file, or a ClusterProfile.

A ClusterProfile lists ways to reach its cluster: the first whose program we have gives the credential.

Reads:   Secret, ClusterProfile, files
Mirrors: cluster-inventory-api pkg/access
"""

import asyncio
import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.inventory_v1alpha1 import EXEC_EXTENSION, GROUP, ClusterProfile
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.kubeconfig import Connection, ExecPlugin
from fleetqueue.embedded.multikueue import kubeconfig_rules
from fleetqueue.embedded.multikueue.names import KUBECONFIG_KEY
from fleetqueue.embedded.multikueue.settings import MultiKueueSettings
from fleetqueue.runtime.cluster import Cluster


class NoAccess(Exception):
    """The profile gives no way to its cluster; the text says why."""


def access(profile: ClusterProfile, providers: Sequence[Manifest]) -> Connection:
    """Return how a profile's cluster is reached; raises NoAccess."""
    if not providers:
        raise NoAccess("no access provider configured")
    offered = {provider.get("name"): provider.get("cluster") or {} for provider in profile.status.access_providers}
    chosen = next((provider for provider in providers if provider.get("name") in offered), None)
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
    extensions = {entry.get("name"): entry.get("extension") for entry in cluster.get("extensions") or ()}
    return ExecPlugin(
        command=program["command"],
        args=tuple(program.get("args") or ()),
        env={entry["name"]: entry.get("value") or "" for entry in program.get("env") or ()},
        api_version=program.get("apiVersion") or "",
        provide_cluster_info=bool(program.get("provideClusterInfo")),
        interactive_mode="Never",
        cluster_config=extensions.get(EXEC_EXTENSION),
    )


def _authority(cluster: Mapping[str, Any]) -> bytes | None:
    text = cluster.get("certificate-authority-data")
    try:
        return base64.b64decode(text) if text else None
    except ValueError as error:
        raise NoAccess(f"certificate-authority-data is not base64: {error}") from None


class BadSource(Exception):
    """The cluster cannot be reached as its MultiKueueCluster says."""

    def __init__(self, reason: str, why: str) -> None:
        super().__init__(why)
        self.reason = reason


class ClusterSources:
    def __init__(self, hub: Cluster, settings: MultiKueueSettings) -> None:
        self.hub = hub
        self.settings = settings

    async def connection(self, cluster: kueue.MultiKueueCluster) -> Connection:
        """Return how a cluster is reached; raises BadSource."""
        source = cluster.spec.cluster_source
        if source.cluster_profile_ref is not None:
            return self._by_profile(source.cluster_profile_ref.name)
        if source.kube_config is None:
            raise BadSource("BadKubeConfig", "kubeconfig reference is nil")
        text = await self._kubeconfig(source.kube_config)
        try:
            return kubeconfig_rules.checked(text)
        except kubeconfig_rules.Insecure as error:
            raise BadSource("InsecureKubeConfig", str(error)) from None

    def _by_profile(self, name: str) -> Connection:
        if not self.settings.serves_profiles:
            reason = "MultiKueueClusterProfileFeatureDisabled"
            raise BadSource(reason, "MultiKueueClusterProfile feature gate is disabled")
        profile = self.hub.get(ClusterProfile, name, self.settings.namespace)
        if profile is None:
            raise BadSource("BadClusterProfile", f'ClusterProfile.{GROUP} "{name}" not found')
        try:
            connection = access(profile, self.settings.access_providers)
        except NoAccess as error:
            raise BadSource("BadClusterProfile", str(error)) from None
        if not kubeconfig_rules.is_host(connection.server):
            raise BadSource("BadRestConfig", "untrusted server endpoint")
        return connection

    async def _kubeconfig(self, source: kueue.KubeConfigSource) -> str:
        if source.location_type == "Path":
            return await asyncio.to_thread(_file, source.location, self.settings.kubeconfig_folder)
        secret = self.hub.get(Secret, source.location, self.settings.namespace)
        if secret is None:
            raise BadSource("BadKubeConfig", f'Secret "{source.location}" not found')
        text = secret.text(KUBECONFIG_KEY)
        if text is None:
            why = f'key "{KUBECONFIG_KEY}" not found in secret "{source.location}"'
            raise BadSource("BadKubeConfig", why)
        return text


def _file(location: str, folder: Path | None) -> str:
    path = Path(location) if folder is None else _inside(location, folder)
    try:
        return path.read_text()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadSource("BadKubeConfig", f"open {path}: {why}") from None


def _inside(location: str, folder: Path) -> Path:
    """Return where a file really is, if that is in the folder."""
    outside = "kubeconfig path is not under the allowed prefix"
    if not location:
        raise BadSource("BadKubeConfig", "kubeconfig path must not be empty")
    cleaned = Path(os.path.normpath(location))
    if ".." in cleaned.parts:
        raise BadSource("BadKubeConfig", f'{outside}: path contains ".."')
    if not cleaned.is_absolute():
        raise BadSource("BadKubeConfig", f"{outside}: path must be absolute")
    try:
        allowed = folder.resolve(strict=True)
    except OSError:
        raise BadSource("BadKubeConfig", f'{outside}: "{cleaned}" is not under "{folder}"') from None
    try:
        real = cleaned.resolve(strict=True)
    except OSError as error:
        why = f"cannot resolve kubeconfig path symlinks: lstat {error.filename}: {(error.strerror or '').lower()}"
        raise BadSource("BadKubeConfig", why) from None
    if not real.is_relative_to(allowed):
        raise BadSource("BadKubeConfig", f'{outside}: "{real}" is not under "{allowed}"')
    return real
