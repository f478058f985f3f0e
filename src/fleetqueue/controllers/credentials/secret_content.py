"""One credential as it stands in its secret on the hub: a kubeconfig, and how long it holds.

Beside the kubeconfig the secret carries, in annotations, when the token was issued, when it ends, who gave it, and a
hash of what we wrote. A secret whose content and hash differ was edited by somebody else and counts as none.
"""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fleetqueue.api import core_v1 as core
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.fleetqueue import (
    CLUSTER_LABEL,
    CLUSTER_UID,
    KUBECONFIG_KEY,
    MISSING_KINDS,
    REFUSED,
    REPLACED_BY,
    credentials_secret,
)
from fleetqueue.api.scheme import Manifest

ISSUED: Final = "fleetqueue.dev/issued"
EXPIRES: Final = "fleetqueue.dev/expires"
SOURCE: Final = "fleetqueue.dev/source"
CONTENT_HASH: Final = "fleetqueue.dev/content-hash"
RENEW_AT: Final = 0.8
"""The part of its life after which a token is renewed: of a day, nearly five hours are left for a worker that is cut
off, and Kueue's own rebuild of the connection never meets an expired one."""


@dataclass(frozen=True, slots=True)
class Issued:
    kubeconfig: str = field(repr=False)
    issued: datetime
    expires: datetime
    source: str = ""
    """The name of the source that gave it."""
    cluster_uid: str = ""
    """Which cluster it opens, by the uid of its namespace kube-system; empty where that is not known yet."""
    because: str = field(default="", compare=False)
    """Why the one before would not do any more, if its time had not simply come; told once and not kept."""

    @property
    def fingerprint(self) -> str:
        """A hash of all of it."""
        return digest(f"{self.source} {timestamp(self.issued)} {timestamp(self.expires)} {self.kubeconfig}")

    @property
    def renewal(self) -> datetime:
        """When the token shall be replaced."""
        return self.issued + RENEW_AT * (self.expires - self.issued)


def read(secret: core.Secret | None) -> Issued | None:
    """Return the credential that a secret holds, or None where it is not as we wrote it."""
    if secret is None or set(secret.data) != {KUBECONFIG_KEY}:
        return None
    annotations = secret.metadata.annotations
    try:
        kubeconfig = secret.text(KUBECONFIG_KEY) or ""
        issued, expires = (datetime.fromisoformat(annotations[name]) for name in (ISSUED, EXPIRES))
    except (KeyError, ValueError):
        return None
    credential = Issued(kubeconfig, issued, expires, annotations.get(SOURCE, ""), annotations.get(CLUSTER_UID, ""))
    return credential if annotations.get(CONTENT_HASH) == credential.fingerprint else None


def secret_manifest(
    cluster: str, namespace: str, credential: Issued, live: core.Secret | None, *, missing_kinds: str = ""
) -> Manifest:
    """Build the secret; entries that somebody added to the live one are to go, since Kueue's secret has one."""
    manifest = core.secret(
        credentials_secret(cluster),
        namespace,
        {KUBECONFIG_KEY: credential.kubeconfig},
        labels={CLUSTER_LABEL: cluster},
        annotations={
            ISSUED: timestamp(credential.issued),
            EXPIRES: timestamp(credential.expires),
            SOURCE: credential.source,
            CLUSTER_UID: credential.cluster_uid or None,
            REPLACED_BY: None,
            CONTENT_HASH: credential.fingerprint,
            MISSING_KINDS: missing_kinds or None,
            REFUSED: None,
        },
    )
    added = set(live.data) - {KUBECONFIG_KEY} if live else set()
    return {**manifest, "data": {**manifest["data"], **dict.fromkeys(sorted(added))}}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
