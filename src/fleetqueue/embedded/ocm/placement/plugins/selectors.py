"""Which clusters a selector means: by their labels, by their claims, and by expressions.

The API takes selectors that cannot work. Those are told of in the words of the Kubernetes libraries that OCM 1.2 is
built with, which are not those of the newest API servers.

Mirrors: OCM pkg/placement/helpers/clusters.go, apimachinery pkg/labels/selector.go
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import orjson

from fleetqueue.api.cluster_v1 import ManagedCluster, RequiredClusterSelector
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.selectors import LabelSelector, Requirement
from fleetqueue.embedded.ocm.placement.plugins.interface import Facts
from fleetqueue.rules.placement_eligibility import matches

Expression = Callable[[Manifest], bool]
"""Tells whether a whole ManagedCluster is meant; what goes wrong with one means that it is not."""
ScoresOf = Callable[[str, str], Sequence[dict[str, Any]] | None]
"""From (cluster, AddOnPlacementScore) to its scores; None where there is none."""
CompileExpression = Callable[[str, ScoresOf], Expression]
"""Compiles a CEL expression over `managedCluster`; raises ValueError with what is wrong with it."""
Selector = Callable[[ManagedCluster], bool]

QUANTITIES: Final = ("capacity", "allocatable")
"""What Go gives as text, though a number may have been written."""
LONGEST: Final = 63
LONGEST_PREFIX: Final = 253
_ENDS: Final = "and must start and end with an alphanumeric character"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_NAME})?"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_NAME_RULE: Final = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_VALUE_RULE: Final = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_DOMAIN_RULE: Final = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}"
    f" (e.g. 'example.com', regex used for validation is '{_DOMAIN}')"
)


def cluster_selector(wanted: RequiredClusterSelector, facts: Facts, compile_expression: CompileExpression) -> Selector:
    """Return the test that a selector stands for; raises ValueError."""
    by_names = label_and_claim_selector(wanted.label_selector, wanted.claim_selector)
    expressions = [compile_expression(source, _scores_of(facts)) for source in wanted.cel_expressions]
    if not expressions:
        return by_names

    def is_meant(cluster: ManagedCluster) -> bool:
        if not by_names(cluster):
            return False
        whole = as_go_sees_it(facts.raw_cluster(cluster.name))
        return all(expression(whole) for expression in expressions)

    return is_meant


def label_and_claim_selector(labels: LabelSelector, claims: LabelSelector) -> Selector:
    """Return the test for both; raises ValueError."""
    for selector in (labels, claims):
        check(selector)
    return partial(matches, labels, claims)


def check(selector: LabelSelector) -> None:
    """Demand a selector that can work; raises ValueError with the first term that cannot."""
    for key, value in sorted(selector.match_labels.items()):
        _demand(_problems(key, [value]))
    for term in selector.match_expressions:
        _demand(_term_problems(term))


def as_go_sees_it(raw: Manifest) -> Manifest:
    """Return a cluster as expressions see it: without its kind, and with the fields that Go never leaves out."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    amounts = {field: {k: str(v) for k, v in status[field].items()} for field in QUANTITIES if status.get(field)}
    return {
        "metadata": {"creationTimestamp": None, **raw["metadata"]},
        "spec": {"hubAcceptsClient": False, **spec},
        "status": {"conditions": None, "version": {}, **status, **amounts},
    }


def _scores_of(facts: Facts) -> ScoresOf:
    def scores_of(cluster: str, resource: str) -> Sequence[dict[str, Any]] | None:
        score = facts.score(cluster, resource)
        return None if score is None else [{"name": s.name, "value": s.value} for s in score.status.scores]

    return scores_of


def _demand(problems: list[str]) -> None:
    if problems:
        raise ValueError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _term_problems(term: Requirement) -> list[str]:
    match term.operator:
        case "In" | "NotIn":
            wrong = "" if term.values else "for 'in', 'notin' operators, values set can't be empty"
        case "Exists" | "DoesNotExist":
            wrong = "values set must be empty for exists and does not exist" if term.values else ""
        case _:
            return [f'"{term.operator}" is not a valid label selector operator']
    return _problems(term.key, term.values, wrong)


def _problems(key: str, values: Sequence[str], wrong: str = "") -> list[str]:
    problems = []
    if rules := list(_broken_by_key(key)):
        problems.append(f'key: Invalid value: "{key}": {"; ".join(rules)}')
    if wrong:
        shown = orjson.dumps(values).decode() if values else "null"
        problems.append(f"values: Invalid value: {shown}: {wrong}")
    for index, value in enumerate(values):
        if rules := list(_broken_by_value(value)):
            problems.append(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(rules)}')
    return list(dict.fromkeys(problems))


def _broken_by_key(key: str) -> Iterator[str]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        yield f"a qualified name {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        yield from (f"prefix part {rule}" for rule in _broken(prefix, _DOMAIN, _DOMAIN_RULE, LONGEST_PREFIX))
    if not name:
        yield "name part must be non-empty"
    yield from (f"name part {rule}" for rule in _broken(name, _NAME, _NAME_RULE, LONGEST))


def _broken_by_value(value: str) -> Iterator[str]:
    yield from _broken(value, _VALUE, _VALUE_RULE, LONGEST)


def _broken(text: str, pattern: str, rule: str, longest: int) -> Iterator[str]:
    if len(text.encode()) > longest:
        yield f"must be no more than {longest} characters"
    if not re.fullmatch(pattern, text):
        yield rule
