"""Settings, metrics, reasons and differences in the docs are those of the code, all of them and no others."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

from fleetqueue.admin.causes import CODES
from fleetqueue.cli.exit_codes import MEANINGS
from fleetqueue.controllers.processes.settings import HubSettings, WorkerSettings
from fleetqueue.controllers.processes.settings_file import known_keys
from fleetqueue.embedded.kueue.configuration_support import UNSERVED, WITHOUT_MEANING
from fleetqueue.embedded.kueue.feature_gates import GATES, SERVED
from fleetqueue.fleets.inert_kinds import INERT
from fleetqueue.real import parts

from .tables import rows

PACKAGE = Path(__file__).parents[2] / "src" / "fleetqueue"
OUR_ROOMS = tuple(f"controllers/{room}" for room in ("credentials", "placement_admission", "usage_scores"))
"""The other rooms say what the systems say that they mirror."""
IN_PRODUCTION = ("runtime", "controllers")
LANGUAGES = ("en", "zh")
METRIC_KINDS = {"Counter": "counter", "Gauge": "gauge", "Histogram": "histogram"}

pytestmark = pytest.mark.parametrize("language", LANGUAGES)


def plain(cell: str) -> str:
    return cell.strip("`")


def settings(kind: type[Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting of a tree with its default."""
    defaults = kind()
    for name in known_keys(kind, is_section=bool(prefix)):
        value = getattr(defaults, name)
        if is_dataclass(value):
            yield from settings(type(value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def shown(value: Any) -> str:
    """Write a default as the page does."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(value)}]"
    if isinstance(value, (set, frozenset)):
        return f"[{', '.join(sorted(value))}]"
    return str(value)


def test_every_setting_is_documented_with_its_default(language, pages):
    page = pages[f"docs/{language}/reference/settings.md"]
    documented = [(plain(row[0]), plain(row[1])) for row in rows(page) if row[0].startswith("`")]

    wanted = [(name, shown(value)) for kind in (HubSettings, WorkerSettings) for name, value in settings(kind)]
    empty = {"en": "(empty)", "zh": "（空）"}[language]
    assert sorted(documented) == sorted((name, value or empty) for name, value in wanted)


def test_every_metric_is_documented(language, pages):
    page = pages[f"docs/{language}/reference/metrics.md"]
    documented = {
        (plain(row[0]), row[1], row[2])
        for row in rows(page)
        if plain(row[0]).startswith("fleetqueue_") and row[1] in METRIC_KINDS.values()
    }

    assert documented == set(metrics())


def metrics() -> Iterator[tuple[str, str, str]]:
    """Yield (name, kind, labels) of every metric that the code makes."""
    for call in (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id in METRIC_KINDS:
            texts = [ast.literal_eval(argument) for argument in call.args]
            yield texts[0], METRIC_KINDS[call.func.id], ", ".join(texts[2] if len(texts) > 2 else ())


def trees() -> Iterator[ast.Module]:
    return (ast.parse(path.read_text()) for path in files(*IN_PRODUCTION))


def files(*rooms: str) -> Iterator[Path]:
    for room in rooms:
        yield from sorted((PACKAGE / room).rglob("*.py"))


def test_every_reason_is_documented(language, pages):
    page = pages[f"docs/{language}/reference/conditions-and-events.md"]
    documented = {plain(row[column]) for row in rows(page) for column in reason_columns(row)}

    assert documented == set(reasons())


def reason_columns(row: list[str]) -> list[int]:
    """Say in which cell a reason stands: first in the table of Events, third in those of conditions."""
    if len(row) == 4 and row[1] in ("Normal", "Warning"):
        return [0]
    return [2] if len(row) == 5 and row[1] in ("True", "False") else []


def reasons() -> Iterator[str]:
    """Yield what the code gives as a reason: in `messages.py` files, and in calls that record an Event."""
    for path in files(*OUR_ROOMS):
        tree = ast.parse(path.read_text())
        if path.name == "messages.py":
            yield from reasons_of_messages(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("normal", "warning") and len(call.args) == 3:
                if isinstance(call.args[1], ast.Constant):
                    yield call.args[1].value


def reasons_of_messages(tree: ast.Module) -> Iterator[str]:
    constants = {
        node.target.id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            first = node.value.elts[0]
            yield first.value if isinstance(first, ast.Constant) else constants[first.id]


def test_every_simplification_is_documented(language, pages):
    page = pages[f"docs/{language}/reference/differences.md"]
    documented = sorted(plain(row[0]) for row in rows(page) if plain(row[0]).endswith(".py"))

    found = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        for _ in re.findall(r"\bSimplified:", path.read_text())
    ]
    assert documented == sorted(found)


def test_every_kind_that_is_only_stored_is_documented(language, pages):
    page = pages[f"docs/{language}/reference/differences.md"]
    title = {"en": "## Kinds that embedded clusters store and do not act on", "zh": "## 内嵌集群只存储、不执行的类型"}
    _, *documented = rows(page.partition(title[language])[2].partition("\n## ")[0])

    assert [plain(row[0]) for row in documented] == [inert.kind for inert in INERT.values()]
    if language == "en":
        assert [row[1] for row in documented] == [inert.what for inert in INERT.values()]


def test_what_the_configuration_of_the_embedded_kueue_cannot_say_is_documented(language, pages):
    page = pages[f"docs/{language}/reference/differences.md"]
    gates = [name for name, gate in GATES.items() if gate.why_free in (SERVED, "") and not gate.is_locked]

    named = [*WITHOUT_MEANING, *(one.path for one in UNSERVED), *gates]
    assert [name for name in named if f"`{name}`" not in page] == []


def test_versions_are_those_of_the_engine(language, pages):
    for page in ("reference/versions.md", "design/engine.md"):
        text = pages[f"docs/{language}/{page}"]
        for version in (parts.KUBERNETES_VERSION, parts.KUEUE_VERSION, parts.OCM_VERSION):
            assert version in text, page


def test_every_dependency_has_a_reason(language, pages, root):
    project = tomllib.loads((root / "pyproject.toml").read_text())
    page = pages[f"docs/{language}/design/dependencies.md"]
    named = {name.strip() for row in rows(page)[1:] for name in row[0].split(",")}

    needed = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    assert {re.split(r"[<>=~;\[ ]", requirement)[0] for requirement in needed} <= named


def test_every_cause_is_documented(language, pages):
    page = pages[f"docs/{language}/reference/causes.md"]
    documented = {plain(row[0]): row[1] for row in rows(page) if row[0].startswith("`")}

    assert list(documented) == list(CODES)
    assert language != "en" or documented == CODES


def test_troubleshooting_leads_to_causes_that_there_are(language, pages):
    page = pages[f"docs/{language}/guides/troubleshooting.md"]
    named = [code for row in rows(page) for code in re.findall(r"`(\w+)`", row[0])]

    assert named
    assert set(named) <= set(CODES)


def test_every_exit_code_is_documented(language, pages):
    documented = {row[0] for row in rows(pages[f"docs/{language}/reference/cli.md"]) if row[0].isdecimal()}

    assert documented == {f"{code:d}" for code in MEANINGS}
