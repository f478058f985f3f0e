"""Where a built engine lies on disk, and whether it is there."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import parts

CHOICE: Final = "FLEETQUEUE_ENGINE"
"""The environment variable that names the folder of another engine than the pinned one."""


@dataclass(frozen=True, slots=True)
class EngineVersions:
    """Of what an engine may have in another version than the pinned one."""

    kubernetes: str = parts.KUBERNETES_VERSION
    kueue: str = parts.KUEUE_VERSION


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

    @property
    def job_crds(self) -> Path:
        """The CRDs of the job kinds that Kueue knows besides Kubernetes' own, as one JSON List."""
        return self.root / "manifests" / f"job-crds-{parts.job_crds_key()}.json"

    @property
    def manifests(self) -> tuple[Path, ...]:
        """All that clusters need besides programs."""
        return (self.kueue_manifests, self.ocm_crds, self.job_crds)

    @property
    def versions_file(self) -> Path:
        """What an engine that is not the pinned one says of its versions."""
        return self.root / "versions.json"

    def versions(self) -> EngineVersions:
        """The versions that this engine runs: the pinned ones, unless it says otherwise."""
        return (
            EngineVersions(**orjson.loads(self.versions_file.read_bytes()))
            if self.versions_file.is_file()
            else EngineVersions()
        )

    def missing(self) -> list[str]:
        """Names of what is not built yet."""
        names = [binary.name for binary in parts.binaries() if not self.binary(binary.name).is_file()]
        return names + [path.name for path in self.manifests if not path.is_file()]


def cache_dir(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds engines: FLEETQUEUE_CACHE, or the user's cache folder."""
    if chosen := environ.get("FLEETQUEUE_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "fleetqueue" / "engine"


def planned(environ: Mapping[str, str] = os.environ) -> Layout:
    """Where the engine of the pinned versions is, or will be."""
    return Layout(cache_dir(environ) / parts.key())


def planned_with(
    kueue_source: Path | None = None,
    kubernetes: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Layout:
    """Where the engine is, or will be, that has another Kueue or Kubernetes than the pinned one; its name says so."""
    name = parts.key()
    if kubernetes is not None:
        name += f"-with-k8s-{kubernetes}"
    if kueue_source is not None:
        digest = hashlib.sha256(str(kueue_source).encode()).hexdigest()[:8]
        name += f"-kueue-from-{source_name(kueue_source)}-{digest}"
    return Layout(cache_dir(environ) / name)


def source_name(source: Path) -> str:
    """What a Kueue that was built from sources is called: as their folder, in letters that file names may have."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", source.name).strip("-") or "source"


def chosen(environ: Mapping[str, str] = os.environ) -> Layout:
    """The engine to use: the one that FLEETQUEUE_ENGINE names, else that of the pinned versions."""
    if folder := environ.get(CHOICE):
        return Layout(Path(folder).expanduser().absolute())
    return planned(environ)


def find(environ: Mapping[str, str] = os.environ) -> Layout | None:
    """The built engine, or None if any part of it is missing."""
    layout = chosen(environ)
    return None if layout.missing() else layout


def require(environ: Mapping[str, str] = os.environ) -> Layout:
    """The built engine; an error that says how to build it otherwise."""
    layout = chosen(environ)
    if missing := layout.missing():
        remedy = "run `fleetqueue engine build` first"
        if CHOICE in environ:
            remedy = f"{CHOICE} names it: `fleetqueue engine build --kueue-source DIR` says what to set it to"
        raise EngineError(f"the real engine in {layout.root} lacks {', '.join(missing)}; {remedy}")
    return layout
