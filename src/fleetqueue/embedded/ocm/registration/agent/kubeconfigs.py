"""The two kubeconfigs of an agent: the one it begins with, and the one that the hub's certificate makes of it.

The second names its certificate and key as files beside it, as they lie in the secret `hub-kubeconfig-secret`.
"""

import base64
from datetime import datetime
from typing import Any, Final

import yaml

from fleetqueue.api.core_v1 import Secret
from fleetqueue.client.certificates import content_of
from fleetqueue.client.kubeconfig import Connection, KubeconfigError, parse
from fleetqueue.embedded.ocm.registration.certificates import named_agent
from fleetqueue.embedded.ocm.registration.names import CERTIFICATE, KEY, KUBECONFIG

CONTEXT: Final = "default-context"
USER: Final = "default-auth"
NAMESPACE: Final = "configuration"
_KEPT: Final = ("server", "certificate-authority", "certificate-authority-data", "proxy-url")


def hub_kubeconfig(bootstrap: str) -> str:
    """Write the kubeconfig for the certificate that the hub will give: the same hub, another user."""
    name, cluster = _cluster(bootstrap)
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {field: cluster[field] for field in _KEPT if cluster.get(field)}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": name, "namespace": NAMESPACE, "user": USER}}],
            "current-context": CONTEXT,
            "users": [{"name": USER, "user": {"client-certificate": CERTIFICATE, "client-key": KEY}}],
        }
    )


def bootstrap_text(secret: Secret | None) -> str:
    """Return the kubeconfig that an agent begins with; empty where it has none."""
    return (secret.text(KUBECONFIG) or "") if secret is not None else ""


def hub_connection(secret: Secret | None) -> Connection | None:
    """Return the way to the hub with its certificate; None where the secret does not hold one."""
    if secret is None or not all(secret.data.get(name) for name in (KUBECONFIG, CERTIFICATE, KEY)):
        return None
    try:
        config = yaml.safe_load(secret.text(KUBECONFIG) or "") or {}
        data = {"client-certificate-data": secret.data[CERTIFICATE], "client-key-data": secret.data[KEY]}
        users = [{"name": entry["name"], "user": data} for entry in config.get("users") or ()]
        return parse({**config, "users": users})
    except (KubeconfigError, yaml.YAMLError, AttributeError, KeyError, TypeError):
        return None


def is_valid(secret: Secret | None, bootstrap: str, *, cluster: str, agent: str, now: datetime) -> bool:
    """Tell whether a secret lets this agent in, on the hub that its bootstrap kubeconfig names."""
    if secret is None or hub_connection(secret) is None:
        return False
    certificate = content_of(base64.b64decode(secret.data[CERTIFICATE]))
    if certificate is None or now > certificate.until or named_agent(certificate.subject) != (cluster, agent):
        return False
    return not bootstrap or _same_hub(bootstrap, secret.text(KUBECONFIG) or "")


def _same_hub(bootstrap: str, kubeconfig: str) -> bool:
    try:
        (name, wanted), (known, live) = _cluster(bootstrap), _cluster(kubeconfig)
    except KubeconfigError:
        return False
    return name == known and all((wanted.get(field) or "") == (live.get(field) or "") for field in _KEPT)


def _cluster(kubeconfig: str) -> tuple[str, dict[str, Any]]:
    """Return the cluster of the current context, and its name."""
    try:
        config = yaml.safe_load(kubeconfig)
        contexts = {entry["name"]: entry["context"] for entry in config["contexts"]}
        clusters = {entry["name"]: entry["cluster"] for entry in config["clusters"]}
        name = contexts[config["current-context"]]["cluster"]
        return name, clusters[name]
    except (yaml.YAMLError, KeyError, TypeError) as error:
        raise KubeconfigError(f"the bootstrap kubeconfig names no cluster: {error}") from error
