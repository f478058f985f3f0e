"""Run the tests that tell what fleetqueue can do on other versions of Kueue and Kubernetes, and write down the results.

`make versions` runs all combinations, which takes hours from a cold Go cache; `make versions ONLY=0.16.6` one of them,
and `make versions ONLY="0.16.6 kinds"` one subject on it.
Each is built as an engine of its own from Go modules. Its results replace those of its last run in the record; the
tables of docs/*/reference/versions.md are made from the record, and so hold nothing that no run has shown.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[1]))

from fleetqueue import clock
from fleetqueue.real import build, parts
from fleetqueue.real.layout import CHOICE, EngineVersions, Layout, planned
from fleetqueue.real.toolchain import find_go
from tests.real.engine_versions import LEFT_OUT

ROOT: Final = Path(__file__).parents[1]
RECORD: Final = ROOT / "tools" / "versions.json"
TESTED: Final = (".", ":!docs", f":!{RECORD.relative_to(ROOT)}")
COMBINATIONS: Final = (
    EngineVersions(kueue="0.16.6"),
    EngineVersions(kueue="0.18.4"),
    EngineVersions(),
    # The oldest that Kubernetes itself still maintained when the pinned one came.
    EngineVersions(kubernetes="1.34.3"),
)
SUBJECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "stories": ("tests/system/stories/test_stories.py", "-m", "real"),
    # Of the kills, those after a write has arrived: to die before the next is lost leaves the same behind.
    "windows": (
        "tests/real/product/test_dispatching.py",
        "tests/real/product/test_draining.py",
        "tests/real/product/test_lost_workers.py",
        "tests/real/product/test_pause_and_kill.py",
        "-k",
        "not (kill and lost)",
    ),
    "kinds": ("tests/real/product/test_job_kinds.py",),
}


@dataclass
class Result:
    """What a run showed of one subject, and when."""

    date: str
    commit: str
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    """Names of tests."""
    left_out: list[str] = field(default_factory=list)
    """What does not apply to these versions, and why."""


@dataclass
class Run:
    """What was run on one combination: the last result of each subject."""

    kueue: str
    kubernetes: str
    results: dict[str, Result]


def name_of(versions: EngineVersions) -> str:
    """What a combination is called: by what is not pinned in it."""
    return versions.kueue if versions.kubernetes == parts.KUBERNETES_VERSION else versions.kubernetes


def chosen(names: Sequence[str]) -> tuple[list[EngineVersions], list[str]]:
    """Return combinations and subjects, all of those that none is named of; ends where something is neither."""
    known = {name_of(versions): versions for versions in COMBINATIONS}
    if unknown := [name for name in names if name not in {*known, *SUBJECTS}]:
        sys.exit(f"there is no {', '.join(unknown)}; there are {', '.join([*known, *SUBJECTS])}")
    combinations = [versions for name, versions in known.items() if name in names]
    return combinations or [*COMBINATIONS], [subject for subject in SUBJECTS if subject in names] or [*SUBJECTS]


async def engine_of(versions: EngineVersions) -> Layout:
    """Build what is missing of the engine with these versions."""
    if versions == EngineVersions():
        return await build.build(print)
    source = None
    if versions.kueue != parts.KUEUE_VERSION:
        go = await find_go(planned().root.parent, print)
        source = await build.module_folder(f"{parts.KUEUE.module}@v{versions.kueue}", go)
    kubernetes = None if versions.kubernetes == parts.KUBERNETES_VERSION else versions.kubernetes
    return await build.build_with(print, kueue_source=source, kubernetes=kubernetes)


def run(versions: EngineVersions, subjects: Sequence[str]) -> None:
    """Build an engine, run subjects on it, and write down each as soon as it has ended."""
    engine = asyncio.run(engine_of(versions))
    if engine.versions() != versions:
        sys.exit(f"{engine.root} has {engine.versions()}, wanted {versions}")
    for subject in subjects:
        write_record(versions, subject, tested(subject, engine))
        write_pages()


def tested(subject: str, engine: Layout) -> Result:
    """Run the tests of one subject on an engine; ends where that gives no results."""
    print(f"{subject} on {engine.root.name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fleetqueue-versions-") as folder:
        report = Path(folder) / "report.xml"
        # The other format has no room for what tests record.
        options = ["-q", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        command = [sys.executable, "-m", "pytest", *options, *SUBJECTS[subject]]
        date, name = f"{clock.now():%Y-%m-%d}", commit()
        ended = subprocess.run(command, cwd=ROOT, env={**os.environ, CHOICE: str(engine.root)}, check=False)
        if ended.returncode not in (0, 1) or not report.is_file():
            sys.exit(f"pytest ended with exit code {ended.returncode}: {subject} has no result")
        return read(report.read_text(), Result(date, name))


def read(report: str, result: Result) -> Result:
    """Count what pytest reports; a test that fails and then cannot clean up is one."""
    for case in ElementTree.fromstring(report).iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed.append(case.attrib["name"])
        elif skipped is not None:
            result.left_out.append(f"{case.attrib['name']}: {skipped.attrib['message']}")
        else:
            result.passed += 1
        result.left_out += [one.attrib["value"] for one in case.iter("property") if one.attrib["name"] == LEFT_OUT]
    result.failed = sorted(set(result.failed))
    return result


def commit() -> str:
    """Name what was tested: the last commit that changed more than pages or the record, and whether more is changed."""
    name = git("log", "-1", "--format=%h", "--abbrev=8", "--", *TESTED)
    return f"{name}-dirty" if git("status", "--porcelain", "--untracked-files=no", "--", *TESTED) else name


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def read_record() -> list[Run]:
    runs = json.loads(RECORD.read_text()) if RECORD.is_file() else []
    return [Run(**{**one, "results": {name: Result(**each) for name, each in one["results"].items()}}) for one in runs]


def write_record(versions: EngineVersions, subject: str, result: Result) -> None:
    """Put a result in the place of the last one of this subject on the same versions."""
    runs = {EngineVersions(each.kubernetes, each.kueue): each for each in read_record()}
    runs.setdefault(versions, Run(versions.kueue, versions.kubernetes, {})).results[subject] = result
    kept = [asdict(runs[each]) for each in COMBINATIONS if each in runs]
    RECORD.write_text(json.dumps(kept, indent=2) + "\n")


# The pages

TEXTS: Final = {
    "en": {
        "head": ("Kueue", "Kubernetes", "stories", "windows", "kinds", "run"),
        "passed": "{} passed",
        "failed": "{} failed",
        "left out": "Left out, or failed:",
    },
    "zh": {
        "head": ("Kueue", "Kubernetes", "故事", "窗口", "种类", "运行"),
        "passed": "{} 个通过",
        "failed": "{} 个失败",
        "left out": "没有运行的，或失败的（保留英文原文）：",
    },
}
PLACE: Final = re.compile(r"(<!-- made by `make versions` -->\n).*?(<!-- end -->)", re.DOTALL)


def table(runs: Sequence[Run], language: str) -> str:
    """Return the table of all runs, and the notes that its cells refer to."""
    texts, notes = TEXTS[language], list[str]()
    lines = [row(texts["head"]), row(["---"] * len(texts["head"]))]
    for each in runs:
        cells = [cell(each.results.get(subject), notes, texts) for subject in SUBJECTS]
        times = dict.fromkeys(f"{result.date}, `{result.commit}`" for result in each.results.values())
        lines.append(row([each.kueue, each.kubernetes, *cells, "; ".join(times)]))
    if notes:
        lines += ["", texts["left out"], "", *(f"{number}. {note}" for number, note in enumerate(notes, 1))]
    return "\n".join(lines) + "\n"


def cell(result: Result | None, notes: list[str], texts: Mapping[str, str]) -> str:
    """Say what came of a subject, with the numbers of its notes; equal notes are one."""
    if result is None:
        return "-"
    said = [texts["passed"].format(result.passed)]
    if result.failed:
        said.append(f"**{texts['failed'].format(len(result.failed))}**")
    wanted = [*(f"`{name}`" for name in result.failed), *result.left_out]
    notes += [note for note in dict.fromkeys(wanted) if note not in notes]
    numbers = [f"({notes.index(note) + 1})" for note in wanted]
    return " ".join([", ".join(said), *numbers])


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def render(page: str, language: str, runs: Sequence[Run]) -> str:
    """Return a page with its table as the record has it."""
    return PLACE.sub(lambda found: f"{found[1]}\n{table(runs, language)}\n{found[2]}" if runs else found[0], page)


def write_pages() -> None:
    for language in TEXTS:
        path = ROOT / "docs" / language / "reference" / "versions.md"
        path.write_text(render(path.read_text(), language, read_record()))


def main(names: list[str]) -> None:
    combinations, subjects = chosen(names)
    for versions in combinations:
        run(versions, subjects)


if __name__ == "__main__":
    main(sys.argv[1:])
