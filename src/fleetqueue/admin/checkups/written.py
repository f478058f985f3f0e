"""A diagnosis as text: a table for people, and one document for programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fleetqueue.admin.checkups.examination import Diagnosis
from fleetqueue.admin.checkups.findings import Finding, Severity

Options = Mapping[str, Sequence[str]]
Paint = Mapping[str, str]
NO_PAINT: Final[Paint] = {}
COLOURS: Final[Paint] = {Severity.ERROR: "\x1b[31m", Severity.WARNING: "\x1b[33m", "bold": "\x1b[1m", "end": "\x1b[0m"}


def document(diagnosis: Diagnosis, options: Options) -> dict[str, Any]:
    """Build what `-o json` prints."""
    return {
        "healthy": not diagnosis.findings,
        "errors": sum(finding.severity is Severity.ERROR for finding in diagnosis.findings),
        "warnings": sum(finding.severity is Severity.WARNING for finding in diagnosis.findings),
        "clusters": list(diagnosis.clusters),
        "findings": [_entry(finding, options) for finding in diagnosis.findings],
        "notLookedAt": list(diagnosis.unseen),
    }


def _entry(finding: Finding, options: Options) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "cluster": finding.cluster,
        "object": {"kind": finding.kind, "namespace": finding.namespace, "name": finding.name},
        "wrong": finding.wrong,
        "consequence": finding.ailment.consequence,
        "steps": [
            {"command": step.line(options) if step.words else "", "text": step.sentence} for step in finding.steps
        ],
    }


def as_text(diagnosis: Diagnosis, output: str, options: Options, paint: Paint = NO_PAINT) -> str:
    """Write a diagnosis as `table`, `json` or `yaml`."""
    if output == "json":
        return json.dumps(document(diagnosis, options), indent=2)
    if output == "yaml":
        import yaml

        return str(yaml.safe_dump(document(diagnosis, options), sort_keys=False)).rstrip("\n")
    parts = [_block(finding, options, paint) for finding in diagnosis.findings]
    parts += ["\n".join(f"not looked at: {line}" for line in diagnosis.unseen)] if diagnosis.unseen else []
    return "\n\n".join([*parts, _summary(diagnosis)])


def _block(finding: Finding, options: Options, paint: Paint) -> str:
    colour, bold, end = (paint.get(name, "") for name in (finding.severity, "bold", "end"))
    head = f"{colour}{finding.severity.upper():7}{end}  {bold}{finding.code}{end}  {finding.cluster}: {finding.where}"
    lines = [head, f"  wrong:  {finding.wrong}", f"  so:     {finding.ailment.consequence}"]
    for number, step in enumerate(finding.steps):
        lines.append(f"  {'do:' if not number else 'then:':6}  {step.line(options)}")
    return "\n".join(lines)


def _summary(diagnosis: Diagnosis) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in diagnosis.findings)
    warnings = len(diagnosis.findings) - errors
    looked_at = f"looked at {', '.join(diagnosis.clusters)}"
    if not diagnosis.findings:
        return f"nothing wrong was found; {looked_at}"
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}; {looked_at}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
