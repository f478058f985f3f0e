"""Build the real engine from pinned Go modules into the user's cache folder, once.

A program appears under its name only when it is complete, by a rename, and a lock keeps two builds apart. So a build
may be killed at any time: the next one goes on where it stopped, and `find` never sees half an engine.
"""

import asyncio
import fcntl
import os
import re
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import orjson
import yaml

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import manifests, parts
from fleetqueue.real.layout import EngineVersions, Layout, planned, planned_with, source_name
from fleetqueue.real.toolchain import Go, find_go

Report = Callable[[str], None]

# Another build may be at work from a cold cache; on a slow machine that takes most of an hour.
LOCK_LIMIT_SECONDS: Final = 3600.0
VERSION: Final = re.compile(r"\d+\.\d+\.\d+")
STAGING_LINE: Final = re.compile(r"^\s*(k8s\.io/[a-z0-9-]+) => ", re.MULTILINE)


async def build(report: Report) -> Layout:
    """Build what is missing of the engine and say what happens; does nothing when everything is there."""
    layout = planned()
    layout.root.mkdir(parents=True, exist_ok=True)
    async with only_one_build(layout, report):
        missing = layout.missing()
        if not missing:
            return layout
        report(plan(layout, missing))
        go = await find_go(layout.root.parent, report)
        for project in parts.PROJECTS:
            await build_project(project, layout, go, report)
        await build_manifests(layout, go, report)
    report(f"the real engine is ready in {layout.root}")
    return layout


async def build_with(report: Report, *, kueue_source: Path | None = None, kubernetes: str | None = None) -> Layout:
    """Build an engine with another Kueue, another Kubernetes or both; all else is that of the pinned engine.

    The folder with Kueue's sources may be a checkout or one of the module cache, and is only read. Kueue is built each
    time, since nobody knows whether the sources changed; from a warm Go cache that is quick.
    """
    if kueue_source is not None and not is_kueue(kueue_source):
        raise EngineError(f"{kueue_source} holds no sources of Kueue: it has no go.mod, or no folder cmd/kueue")
    if kubernetes is not None and not VERSION.fullmatch(kubernetes):
        raise EngineError(f'"{kubernetes}" is no version of Kubernetes; name a whole one, such as 1.34.3')
    pinned = await build(report)
    layout = planned_with(kueue_source, kubernetes)
    layout.root.mkdir(parents=True, exist_ok=True)
    kueue = (kueue_source and chart_version(kueue_source)) or parts.KUEUE_VERSION
    versions = EngineVersions(kubernetes or parts.KUBERNETES_VERSION, kueue)
    async with only_one_build(layout, report):
        layout.versions_file.write_bytes(orjson.dumps(asdict(versions)))
        go = await find_go(pinned.root.parent, report)
        if kubernetes is not None:
            await build_project(parts.kubernetes(kubernetes), layout, go, report)
        link_others(layout, pinned, own(layout, kueue=kueue_source is not None, kubernetes=kubernetes is not None))
        if kueue_source is not None:
            await build_kueue(kueue_source, layout, go, report)
    report(
        f"the real engine with Kubernetes {versions.kubernetes} and Kueue {versions.kueue} is ready in {layout.root}"
    )
    return layout


def is_kueue(folder: Path) -> bool:
    """Whether a folder holds the sources of Kueue."""
    return (folder / "cmd" / "kueue").is_dir() and (folder / "go.mod").is_file()


def chart_version(source: Path) -> str:
    """The version that Kueue's sources give to its chart; empty where they have none."""
    chart = source / "charts" / "kueue" / "Chart.yaml"
    return str(yaml.safe_load(chart.read_text())["version"]) if chart.is_file() else ""


async def build_kueue(source: Path, layout: Layout, go: Go, report: Report) -> None:
    """Build Kueue from a folder, and collect what clusters need of it."""
    (kueue,) = parts.KUEUE.binaries
    folder = layout.root / "work" / parts.KUEUE.name
    write_module(parts.KUEUE, source, folder, is_source=True)
    version = source_name(source)
    flags = (f"-X {parts.KUEUE.module}/pkg/version.GitVersion={version}",)
    project = replace(parts.KUEUE, version=version, version_flags=flags)
    await build_binary(project, kueue, folder, layout, go, report)
    await render_kueue(layout, source, report)
    await collect_job_crds(layout, source, go, report)


def own(layout: Layout, *, kueue: bool, kubernetes: bool) -> set[Path]:
    """What an engine has of its own if its Kueue, its Kubernetes or both are not the pinned ones."""
    projects = [*([parts.KUEUE] if kueue else []), *([parts.KUBERNETES] if kubernetes else [])]
    programs = {layout.binary(binary.name) for project in projects for binary in project.binaries}
    return programs | ({layout.kueue_manifests, layout.job_crds} if kueue else set())


def link_others(layout: Layout, pinned: Layout, own: set[Path]) -> None:
    """Let all that an engine has not of its own be that of the pinned one."""
    for path in [*(layout.binary(binary.name) for binary in parts.binaries()), *layout.manifests]:
        if path not in own:
            path.parent.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            path.symlink_to(pinned.root / path.relative_to(layout.root))


def plan(layout: Layout, missing: list[str]) -> str:
    """Say what will be built, where, and about how long it takes."""
    seconds = sum(binary.seconds for binary in parts.binaries() if binary.name in missing)
    minutes = max(1, round(seconds / 60))
    return (
        f"building {', '.join(missing)} into {layout.root}; about {minutes} minutes on two cores from a cold Go cache, "
        "much less from a warm one"
    )


@asynccontextmanager
async def only_one_build(layout: Layout, report: Report) -> AsyncGenerator[None, None]:
    """Hold the build lock; wait for another build that has it."""
    with (layout.root / "build.lock").open("w") as lock:
        waited = 0.0
        while not take(lock.fileno()):
            if not waited:
                report(f"another build works in {layout.root}: waiting for it")
            if waited > LOCK_LIMIT_SECONDS:
                raise EngineError(f"another build has held {lock.name} for an hour; stop it and try again")
            await asyncio.sleep(0.5)
            waited += 0.5
        yield


def take(descriptor: int) -> bool:
    """Take an exclusive lock if it is free; it ends with the file or with our process."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def build_project(project: parts.Project, layout: Layout, go: Go, report: Report) -> None:
    """Build the programs of one upstream module that are not there yet."""
    missing = [binary for binary in project.binaries if not layout.binary(binary.name).is_file()]
    if not missing:
        return
    folder = layout.root / "work" / project.name
    await prepare_module(project, folder, go, report)
    for binary in missing:
        await build_binary(project, binary, folder, layout, go, report)


async def prepare_module(project: parts.Project, folder: Path, go: Go, report: Report) -> None:
    """Write a small Go module that requires the upstream one and trusts the checksums that it ships."""
    report(f"downloading {project.query}")
    write_module(project, await module_folder(project.query, go), folder)


def write_module(project: parts.Project, upstream: Path, folder: Path, *, is_source: bool = False) -> None:
    """Write the files of the small module; where upstream's folder is the source, it is built instead of the module."""
    folder.mkdir(parents=True, exist_ok=True)
    text = module_file(project, (upstream / "go.mod").read_text())
    (folder / "go.mod").write_text(f"{text}\nreplace {project.module} => {upstream}\n" if is_source else text)
    # The checksum database lacks a few of the dependencies; upstream's own go.sum has them.
    sums = upstream / "go.sum"
    (folder / "go.sum").write_text(sums.read_text() if sums.is_file() else "")


def module_file(project: parts.Project, upstream: str) -> str:
    """The go.mod that builds one project; Kubernetes' staging folders become their published modules."""
    lines = [
        f"module fleetqueue-engine-{project.name}",
        "",
        "go 1.26.0",
        "",
        f"require {project.module} {project.version}",
    ]
    if project.staging:
        names = sorted(set(STAGING_LINE.findall(upstream)))
        lines += ["", "replace (", *(f"\t{name} => {name} {project.staging}" for name in names), ")"]
    return "\n".join(lines) + "\n"


async def build_binary(
    project: parts.Project, binary: parts.Binary, folder: Path, layout: Layout, go: Go, report: Report
) -> None:
    """Build one program beside its place, then rename it into its place."""
    target = layout.binary(binary.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{binary.name}.partial")
    report(f"building {binary.name} {project.version}")
    began = time.monotonic()
    flags = " ".join(("-s", "-w", *project.version_flags))
    arguments = ("build", "-trimpath", "-ldflags", flags, "-o", str(partial), binary.package)
    await go.run(*arguments, folder=folder, what=f"building {binary.name} {project.version}")
    os.replace(partial, target)
    report(f"built {binary.name} in {time.monotonic() - began:.0f} s")


async def module_folder(query: str, go: Go) -> Path:
    """Where the module cache holds one module, downloaded if need be."""
    answer = await go.run("mod", "download", "-json", query, folder=Path("/"), what=f"downloading {query}")
    return Path(orjson.loads(answer)["Dir"])


async def build_manifests(layout: Layout, go: Go, report: Report) -> None:
    """Render what clusters need at run time from the module folders; it lives in the cache only."""
    layout.kueue_manifests.parent.mkdir(parents=True, exist_ok=True)
    kueue = await module_folder(parts.KUEUE.query, go)
    if not layout.kueue_manifests.is_file():
        await render_kueue(layout, kueue, report)
    if not layout.ocm_crds.is_file():
        report("collecting the CRDs of Open Cluster Management")
        crd_lists = [manifests.crds(await module_folder(source.query, go), source.files) for source in parts.OCM_CRDS]
        manifests.write(layout.ocm_crds, [crd for crds in crd_lists for crd in crds])
    if not layout.job_crds.is_file():
        await collect_job_crds(layout, kueue, go, report)


async def render_kueue(layout: Layout, source: Path, report: Report) -> None:
    """Render Kueue's own manifests from its sources."""
    report("rendering the manifests of Kueue")
    manifests.write(layout.kueue_manifests, await manifests.kustomize(layout.binary("kubectl"), source))


async def collect_job_crds(layout: Layout, kueue: Path, go: Go, report: Report) -> None:
    """Collect the CRDs of all job kinds, each in the version that this Kueue was made with."""
    report("collecting the CRDs of the job kinds")
    required = (kueue / "go.mod").read_text()
    crds = []
    for source in parts.JOB_CRDS:
        folder = await module_folder(f"{source.module}@{required_version(required, source.module)}", go)
        crds += [manifests.light(crd) for crd in manifests.crds(folder, source.files)]
    manifests.write(layout.job_crds, crds)


def required_version(text: str, module: str) -> str:
    """The version of a module that a go.mod requires."""
    match = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", text, re.MULTILINE)
    if not match:
        raise EngineError(f"Kueue's go.mod requires no {module}; engine/parts.py names the wrong module")
    return match[1]
