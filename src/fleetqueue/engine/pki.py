"""The files with keys and certificates that one control plane starts from."""

from pathlib import Path
from typing import Final

from fleetqueue.engine.certificates import (
    API_ADDRESSES,
    API_NAMES,
    Authority,
    KeyPair,
    service_account_key,
)
from fleetqueue.engine.state import write_private

ADMIN_USER: Final = "kubernetes-admin"


def ensure_pki(cluster: str, folder: Path) -> None:
    """Make the authority of a cluster and what it signs, unless they are there from an earlier start."""
    if (folder / "complete").exists():
        return
    authority = Authority.new(f"{cluster}-ca")
    write_pair(folder, "ca", authority.pem)
    # An authority of its own: who holds a certificate of it may speak for anybody.
    write_pair(folder, "front-proxy-ca", Authority.new(f"{cluster}-front-proxy-ca").pem)
    write_pair(folder, "apiserver", authority.server("kube-apiserver", dns=API_NAMES, addresses=API_ADDRESSES))
    write_pair(folder, "admin", authority.client(ADMIN_USER, ["system:masters"]))
    private, public = service_account_key()
    write_private(folder / "sa.key", private)
    write_private(folder / "sa.pub", public)
    write_private(folder / "complete", b"")


def write_pair(folder: Path, name: str, pair: KeyPair) -> None:
    """Write a certificate and its key beside each other."""
    write_private(folder / f"{name}.crt", pair.certificate)
    write_private(folder / f"{name}.key", pair.key)


def read_pair(folder: Path, name: str) -> KeyPair:
    """Read what `write_pair` wrote."""
    return KeyPair((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())
