"""The exec plugin that reads a cluster's credential from a secret on the hub, as a function.

Whoever uses a ClusterProfile (Kueue does) runs the plugin that its configuration names for the profile's access
provider. `fleetqueue secret-reader` is such a plugin; where everything is one process, this function is asked instead.
What the profile's extension says decides what is read:

    {name: s, key: k, namespace: n, context: c}    a kubeconfig in one entry of a secret; the last two may be left out
    {clusterName: c1}                              entry `token` of secret c1 or, with a managed service account, c1-app

Reads:   one Secret
Mirrors: cluster-inventory-api plugins/{kubeconfig-secretreader,secretreader}; managed-serviceaccount
         cmd/clusterprofile-credentials-plugin
"""

import base64
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import yaml

from fleetqueue.api import errors
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.managed_service_account_v1beta1 import TOKEN_KEY
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
CONFIG: Final = "ExecCredential.Spec.Cluster.Config"

ReadSecret = Callable[[str, str], Awaitable[Secret]]
"""From a namespace and a name to a secret; raises an error of `api.errors` where it cannot be had."""


class PluginError(Exception):
    """There is no credential; the text says why."""


async def exec_credential(
    info: Manifest, read: ReadSecret, *, namespace: str, managed_service_account: str = ""
) -> Manifest:
    """Return the ExecCredential that a plugin prints, for the one that it was handed.

    Args:
        info: what `KUBERNETES_EXEC_INFO` holds.
        namespace: where secrets are read, unless the profile names another.
        managed_service_account: whose tokens are read where the profile only names its cluster.
    """
    config = cluster_config(info)
    if config.get("clusterName"):
        status = await _token(config["clusterName"], read, namespace, managed_service_account)
    else:
        status = await _from_kubeconfig(config, read, namespace)
    return {
        "apiVersion": info["apiVersion"],
        "kind": "ExecCredential",
        "spec": {"interactive": False},
        "status": status,
    }


def secrets_of(hub: Client) -> ReadSecret:
    async def read(namespace: str, name: str) -> Secret:
        return Secret.view(await hub.get(Secret.resource, name, namespace))

    return read


def cluster_config(info: Manifest) -> Manifest:
    """Return what the profile's extension tells the plugin."""
    if info.get("kind") != "ExecCredential" or info.get("apiVersion") not in VERSIONS:
        raise PluginError(f"unexpected ExecCredential type (expect v1), got {info.get('apiVersion')}")
    cluster = (info.get("spec") or {}).get("cluster") or {}
    if not str(cluster.get("server") or "").strip():
        raise PluginError("spec.cluster.server is missing in KUBERNETES_EXEC_INFO")
    config = cluster.get("config")
    if not config:
        raise PluginError(f"missing {CONFIG}")
    if not isinstance(config, dict):
        raise PluginError(f"invalid {CONFIG}: it is no map")
    return config


async def _token(cluster: str, read: ReadSecret, namespace: str, account: str) -> Manifest:
    name = f"{cluster}-{account}" if account else cluster
    return {"token": await _entry(read, namespace, name, TOKEN_KEY)}


async def _from_kubeconfig(config: Manifest, read: ReadSecret, namespace: str) -> Manifest:
    for field in ("name", "key"):
        if not config.get(field):
            raise PluginError(f"missing {field} in {CONFIG}")
    place = config.get("namespace") or namespace
    text = await _entry(read, place, config["name"], config["key"])
    try:
        kubeconfig = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PluginError(f"failed to parse kubeconfig from secret {place}/{config['name']}: {error}") from error
    if not isinstance(kubeconfig, dict):
        raise PluginError(f"failed to parse kubeconfig from secret {place}/{config['name']}: it is no map")
    return user_status(kubeconfig, config.get("context") or "")


async def _entry(read: ReadSecret, namespace: str, name: str, key: str) -> str:
    try:
        secret = await read(namespace, name)
    except (errors.ApiError, errors.Unreachable) as error:
        raise PluginError(f"failed to get secret {namespace}/{name}: {error}") from error
    if not (value := secret.text(key)):
        raise PluginError(f'secret {namespace}/{name} missing "{key}" key')
    return value


def user_status(kubeconfig: Mapping[str, Any], context: str) -> Manifest:
    """Return the credential of a context's user; it may name no files, which would be read where the plugin runs."""
    if kubeconfig.get("extensions"):
        raise PluginError("kubeconfig extensions are not supported")
    wanted = context or kubeconfig.get("current-context") or ""
    if not wanted:
        raise PluginError("no context specified and no current-context in kubeconfig")
    chosen = _named(kubeconfig, "context", wanted)
    name = chosen.get("user") or ""
    user = _named(kubeconfig, "user", name)
    status = {"token": str(user["token"])} if user.get("token") else {}
    status |= _certificate(user, name)
    if not status:
        raise PluginError(
            f'no authentication method found in user "{name}" '
            "(neither token nor client-certificate-data/client-key-data)"
        )
    return status


def _certificate(user: Mapping[str, Any], name: str) -> dict[str, str]:
    has = {part: bool(user.get(f"{part}-data") or user.get(part)) for part in ("client-certificate", "client-key")}
    if not any(has.values()):
        return {}
    for part, other in (("client-certificate", "client-key"), ("client-key", "client-certificate")):
        if not has[part]:
            raise PluginError(f'{other}-data found but no {part}-data in user "{name}"')
    for part in has:
        if not user.get(f"{part}-data"):
            raise PluginError(f"{part} file path is not supported; use {part}-data")
    certificate, key = (base64.b64decode(user[f"{part}-data"]).decode() for part in has)
    return {"clientCertificateData": certificate, "clientKeyData": key}


def _named(kubeconfig: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for entry in kubeconfig.get(f"{kind}s") or ():
        if entry.get("name") == name:
            return entry.get(kind) or {}
    raise PluginError(f'{kind} "{name}" not found in kubeconfig')
