"""The files with keys and certificates that one control plane starts from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fleetqueue.lab.state import write_private


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


def write_pair(folder: Path, name: str, pair: KeyPair) -> None:
    """Write a certificate and its key beside each other."""
    write_private(folder / f"{name}.crt", pair.certificate)
    write_private(folder / f"{name}.key", pair.key)


def read_pair(folder: Path, name: str) -> KeyPair:
    """Read what `write_pair` wrote."""
    return KeyPair((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())


ADMIN_USER: Final = "kubernetes-admin"


def ensure_pki(cluster: str, folder: Path, *, front_proxy: bool = True) -> None:
    """Make the authority of a cluster and what it signs, unless they are there from an earlier start.

    The front proxy is for API servers that pass requests on to others.
    """
    if (folder / "complete").exists():
        return
    # Slow to import, and needed at the first start only.
    from fleetqueue.lab.certificates import API_ADDRESSES, API_NAMES, Authority, service_account_key

    authority = Authority.new(f"{cluster}-ca")
    write_pair(folder, "ca", authority.pem)
    if front_proxy:
        # An authority of its own: who holds a certificate of it may speak for anybody.
        write_pair(folder, "front-proxy-ca", Authority.new(f"{cluster}-front-proxy-ca").pem)
    write_pair(folder, "apiserver", authority.server("kube-apiserver", dns=API_NAMES, addresses=API_ADDRESSES))
    write_pair(folder, "admin", authority.client(ADMIN_USER, ["system:masters"]))
    private, public = service_account_key()
    write_private(folder / "sa.key", private)
    write_private(folder / "sa.pub", public)
    write_private(folder / "complete", b"")
