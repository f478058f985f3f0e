"""Where a built engine lies on disk, and whether it is there."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetqueue.engine import parts
from fleetqueue.engine.errors import EngineError


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder of one engine; its name carries the pinned versions."""

    root: Path

    def binary(self, name: str) -> Path:
        """The path of one program, whether or not it is built."""
        if name not in {binary.name for binary in parts.binaries()}:
            raise EngineError(f'the engine has no program "{name}"; engine/parts.py lists those it has')
        return self.root / "bin" / name

    @property
    def kueue_manifests(self) -> Path:
        """What `kubectl kustomize` makes of Kueue's default configuration, as one JSON List."""
        return self.root / "manifests" / "kueue.json"

    @property
    def ocm_crds(self) -> Path:
        """The CRDs of Open Cluster Management and of the cluster inventory, as one JSON List."""
        return self.root / "manifests" / "ocm-crds.json"

    def missing(self) -> list[str]:
        """Names of what is not built yet."""
        names = [binary.name for binary in parts.binaries() if not self.binary(binary.name).is_file()]
        return names + [path.name for path in (self.kueue_manifests, self.ocm_crds) if not path.is_file()]


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds engines: FLEETQUEUE_CACHE, or the user's cache folder."""
    if chosen := environ.get("FLEETQUEUE_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "fleetqueue" / "engine"


def planned(environ: Mapping[str, str] = os.environ) -> Layout:
    """Where the engine of the pinned versions is, or will be."""
    return Layout(cache_dir(environ) / parts.key())


def find(environ: Mapping[str, str] = os.environ) -> Layout | None:
    """The built engine, or None if any part of it is missing."""
    layout = planned(environ)
    return None if layout.missing() else layout


def require(environ: Mapping[str, str] = os.environ) -> Layout:
    """The built engine; an error that says how to build it otherwise."""
    layout = planned(environ)
    if missing := layout.missing():
        raise EngineError(
            f"the real engine in {layout.root} lacks {', '.join(missing)}; run `fleetqueue engine build` first"
        )
    return layout
