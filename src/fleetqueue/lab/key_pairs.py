"""A certificate and its key, as they lie beside each other on disk."""

from dataclasses import dataclass
from pathlib import Path

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
