"""Alerts and dashboard ask for metrics that there are, and Prometheus' own judge says when the alerts fire."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = ROOT / "deploy" / "charts" / "fleetqueue" / "files"
CASES = Path(__file__).with_name("alerts.yaml")
METRIC = re.compile(r"\bfleetqueue_\w+")
IN_PRODUCTION = ("runtime", "controllers")
OF_A_HISTOGRAM = ("_bucket", "_count", "_sum")


@pytest.fixture
def rules():
    (group,) = yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    return group["rules"]


@pytest.fixture(scope="module")
def exported():
    """Return the metrics that the code makes, each with its labels."""
    found = {}
    for path in (path for room in IN_PRODUCTION for path in (ROOT / "src" / "fleetqueue" / room).rglob("*.py")):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            if isinstance(call.func, ast.Name) and call.func.id in ("Counter", "Gauge", "Histogram"):
                name, _, *labels = [ast.literal_eval(argument) for argument in call.args]
                endings = OF_A_HISTOGRAM if call.func.id == "Histogram" else ("",)
                found |= {name + ending: set(*labels) for ending in endings}
    return found


def dashboard():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def panels():
    return json.loads((FILES / "dashboard.json").read_text())["panels"]


def labels_asked(expression):
    """Yield the labels by which an expression groups or selects."""
    for listed in re.findall(r"\bby \(([^)]*)\)", expression):
        yield from (name.strip() for name in listed.split(","))
    yield from re.findall(r"[{,]\s*(\w+)\s*[=!]", expression)


def test_expressions_ask_for_metrics_and_labels_that_there_are(rules, exported):
    for expression in [rule["expr"] for rule in rules] + dashboard():
        metrics = METRIC.findall(expression)
        assert metrics, expression
        assert set(metrics) <= exported.keys(), expression
        known = set().union({"le"}, *(exported[name] for name in metrics))
        assert set(labels_asked(expression)) <= known, expression


def test_every_metric_of_the_dashboard_page_is_shown(exported):
    shown = {name.removesuffix("_bucket") for expression in dashboard() for name in METRIC.findall(expression)}
    made = {re.sub(f"({'|'.join(OF_A_HISTOGRAM)})$", "", name) for name in exported}

    assert shown == made


def test_panels_do_not_lie_on_each_other():
    taken = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_about_metrics_names_these_alerts(language, rules):
    page = (ROOT / "docs" / language / "reference" / "metrics.md").read_text()
    documented = re.findall(r"^\| `(Fleetqueue\w+)` \| `([^`]+)`", page, re.MULTILINE)

    assert documented == [(rule["alert"], rule["expr"]) for rule in rules]


def test_every_alert_is_tried_in_both_ways(rules):
    tried = [each for case in yaml.safe_load(CASES.read_text())["tests"] for each in case["alert_rule_test"]]

    for name in (rule["alert"] for rule in rules):
        fires = {bool(each["exp_alerts"]) for each in tried if each["alertname"] == name}
        assert fires == {True, False}, name


def test_alerts_fire_when_they_should_and_are_silent_otherwise(promtool, rules, tmp_path):
    for rule in rules:
        del rule["annotations"]  # texts for people, which promtool would compare too
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"groups": [{"name": "fleetqueue", "rules": rules}]}))
    shutil.copyfile(CASES, tmp_path / "cases.yaml")

    judged = subprocess.run([promtool, "test", "rules", "cases.yaml"], cwd=tmp_path, capture_output=True, text=True)

    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_the_texts_of_alerts_can_be_filled_in(promtool):
    checked = subprocess.run([promtool, "check", "rules", FILES / "alerts.yaml"], capture_output=True, text=True)

    assert checked.returncode == 0, checked.stdout + checked.stderr
