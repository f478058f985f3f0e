"""What a kubeconfig must not contain, because whoever may write it must not reach more than one cluster by it.

Mirrors: Kueue pkg/controller/admissionchecks/multikueue (validateKubeconfig)
"""

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from fleetqueue.client.kubeconfig import Connection, KubeconfigError, parse

_DNS_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST_NAME: Final = 253
NO_CONTEXT: Final = (
    "invalid configuration: [context was not found for specified context: {}, cluster has no server defined]"
)
EMPTY: Final = (
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable"
)


class Insecure(Exception):
    """A kubeconfig that is not used; the text says why."""


def checked(text: str) -> Connection:
    """Read a kubeconfig that breaks no rule; raises Insecure for the first that it breaks."""
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Insecure(f"failed to parse kubeconfig(apiconfig): {error}") from None
    if config is not None and not isinstance(config, Mapping):
        raise Insecure("failed to parse kubeconfig(apiconfig): no kubeconfig")
    for problem in problems(config or {}):
        raise Insecure(problem)
    try:
        return parse(text)
    except KubeconfigError as error:
        raise Insecure(str(error)) from None


def problems(config: Mapping[str, Any]) -> Iterable[str]:
    """Say what is wrong with a kubeconfig, in the order in which Kueue looks."""
    if any(user.get("tokenFile") for _, user in _entries(config, "user")):
        yield "tokenFile is not allowed"
    for name, cluster in _entries(config, "cluster"):
        if cluster.get("insecure-skip-tls-verify"):
            yield f"insecure TLS verification is not allowed for cluster {name}"
        if cluster.get("certificate-authority"):
            yield (
                f"certificate-authority file paths are not allowed, use certificate-authority-data for cluster {name}"
            )
        if not cluster.get("server"):
            yield f"server URL is required for cluster {name}"
    context = dict(_entries(config, "context")).get(config.get("current-context") or "")
    if context is None:
        wanted = config.get("current-context")
        yield NO_CONTEXT.format(wanted) if wanted else EMPTY
        return
    target = dict(_entries(config, "cluster")).get(context.get("cluster") or "")
    if target is None:
        yield f'cluster "{context.get("cluster") or ""}" does not exist'
        return
    user = dict(_entries(config, "user")).get(context.get("user") or "", {})
    yield from unsafe_use(str(target["server"]), user)


def unsafe_use(server: str, user: Mapping[str, Any]) -> Iterable[str]:
    if not is_host(server):
        yield "untrusted server endpoint"
    if user.get("username") or user.get("password"):
        yield "basic auth is not allowed"
    if user.get("exec"):
        yield "exec plugins are not allowed"
    if user.get("auth-provider"):
        yield "auth providers are not allowed"


def is_host(server: str) -> bool:
    """Tell whether an address names a host that can be meant."""
    try:
        parts = urlsplit(server.lower())
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= LONGEST_NAME and _DNS_NAME.fullmatch(host) is not None
    return True


def _entries(config: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    return [(entry.get("name") or "", entry.get(kind) or {}) for entry in config.get(f"{kind}s") or ()]
