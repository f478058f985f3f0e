"""Say what is wrong with a value, as the real server's OpenAPI validator says it, in the same order.

Slow and exact: it runs only for objects that failed the quick checks. Where one of several schemas must fit, the faults
of the one that came closest are reported; `matches` counts how close, as the real validator does.
"""

from collections.abc import Mapping
from typing import Any

from fleetqueue.embedded.apiserver.kinds.causes import (
    NOWHERE,
    Cause,
    invalid_value,
    not_supported,
    required,
    too_many,
    wrong_type,
)
from fleetqueue.embedded.apiserver.kinds.go_text import quoted
from fleetqueue.embedded.apiserver.validation import number_reports, type_reports
from fleetqueue.embedded.apiserver.validation.correlation import Correlation
from fleetqueue.embedded.apiserver.validation.type_reports import format_of, is_listed, type_mismatch, types_of

Openapi = Mapping[str, Any]


class Report:
    """Faults by their text, since the same text is told once, and how many checks went well."""

    __slots__ = ("faults", "matches")

    def __init__(self) -> None:
        self.faults: dict[str, Cause] = {}
        self.matches = 0

    @property
    def is_valid(self) -> bool:
        return not self.faults

    def add(self, text: str, cause: Cause) -> None:
        self.faults.setdefault(text, cause)

    def add_composite(self, text: str, at: str) -> None:
        self.add(text, invalid_value(at, "", text))

    def merge(self, other: "Report") -> None:
        for text, cause in other.faults.items():
            self.faults.setdefault(text, cause)
        self.matches += other.matches


class Reporter:
    """Walks a value and its schema; `base` is what paths start from, such as `status`."""

    def __init__(self, base: str = "") -> None:
        self.base = base
        self.nowhere = base or NOWHERE

    def field(self, path: str) -> str:
        """Return the full path of a field, for a path that starts at the base."""
        name = path.removeprefix(".")
        return f"{self.base}.{name}" if self.base and name else self.base or name or NOWHERE

    def ratcheted(self, value: Any, openapi: Openapi, path: str, before: Correlation | None) -> Report:
        """Report on a part of an object; nothing if the update left it as it was."""
        report = self.report(value, openapi, path, before)
        if report.faults and before is not None and before.is_equal:
            report.faults = {}
        return report

    def report(self, value: Any, openapi: Openapi, path: str, before: Correlation | None = None) -> Report:
        report = Report()
        if value is None:
            self.on_type(report, value, openapi, path)
            self.on_enum(report, value, openapi, path)
            return report
        if types_of(openapi) or format_of(openapi):
            self.on_type(report, value, openapi, path)
            report.matches += 1
        self.combinations(report, value, openapi, path)
        report.matches += 1
        if isinstance(value, str):
            self.on_string(report, value, openapi, path)
        elif isinstance(value, list):
            self.on_list(report, value, openapi, path, before)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self.on_number(report, value, openapi, path)
        self.on_enum(report, value, openapi, path)
        report.matches += 1
        if isinstance(value, dict):
            self.on_object(report, value, openapi, path, before)
            report.matches += 1
        report.matches += 1
        return report

    def on_type(self, report: Report, value: Any, openapi: Openapi, path: str) -> None:
        mismatch = type_mismatch(value, openapi)
        if mismatch is None:
            report.matches += 1
            return
        wanted, actual = mismatch
        text = f"{path} in body must be of type {wanted}: {quoted(actual)}"
        report.add(text, wrong_type(self.field(path), actual, text))

    def on_string(self, report: Report, value: str, openapi: Openapi, path: str) -> None:
        fault = type_reports.string_fault(value, openapi, path, self.field(path))
        if fault:
            report.add(*fault)
        report.matches += 1
        known = type_reports.format_check(format_of(openapi))
        if known is None:
            return
        if not known(value):
            text = f"{path} in body must be of type {openapi['format']}: {quoted(value)}"
            report.add(text, wrong_type(self.field(path), value, text))
        report.matches += 1

    def on_number(self, report: Report, value: float, openapi: Openapi, path: str) -> None:
        for text, cause in number_reports.faults_of(value, openapi, path, self.field(path), self.nowhere):
            report.add(text, cause)
        report.matches += 2

    def on_enum(self, report: Report, value: Any, openapi: Openapi, path: str) -> None:
        allowed = openapi.get("enum")
        if allowed and not is_listed(value, allowed):
            text = f"{path} in body should be one of {allowed}"
            report.add(text, not_supported(self.field(path), value, allowed))

    def on_list(
        self, report: Report, value: list[Any], openapi: Openapi, path: str, before: Correlation | None
    ) -> None:
        items = openapi.get("items")
        if isinstance(items, dict):
            for position, item in enumerate(value):
                previous = before.index(position) if before is not None else None
                report.merge(self.ratcheted(item, items, f"{path}[{position}]", previous))
        field, size = self.field(path), len(value)
        least, most = openapi.get("minItems"), openapi.get("maxItems")
        if least is not None and size < least:
            text = f"{path} in body should have at least {least} items"
            report.add(text, invalid_value(field, size, text))
        if most is not None and size > most:
            report.add(f"{path} in body should have at most {most} items", too_many(field, size, most))
        if openapi.get("uniqueItems") and any(item in value[:position] for position, item in enumerate(value)):
            text = f"{path} in body shouldn't contain duplicates"
            report.add(text, invalid_value(field, "", text))
        report.matches += 2

    def on_object(
        self, report: Report, value: dict[str, Any], openapi: Openapi, path: str, before: Correlation | None
    ) -> None:
        field, size = self.field(path), len(value)
        least, most = openapi.get("minProperties"), openapi.get("maxProperties")
        if least is not None and size < least:
            text = f"{path} in body should have at least {least} properties"
            report.add(text, invalid_value(field, size, text))
        if most is not None and size > most:
            report.add(f"{path} in body should have at most {most} properties", too_many(field, size, most))
        properties = openapi.get("properties") or {}
        self.additional(report, value, openapi, path, before)
        for name, child in properties.items():
            if name in value:
                at = f"{path}.{name}" if path else name
                report.merge(self.ratcheted(value[name], child, at, self.was(before, name, path)))
        for name in openapi.get("required") or ():
            if name not in value:
                at = f"{path}.{name}"
                report.add(f"{at} in body is required", required(self.field(at)))

    def additional(
        self, report: Report, value: dict[str, Any], openapi: Openapi, path: str, before: Correlation | None
    ) -> None:
        additional = openapi.get("additionalProperties")
        properties = openapi.get("properties") or {}
        for name, item in value.items() if additional is not None else ():
            if name in properties:
                continue
            if additional is False:
                text = f"{path}.{name} in body is a forbidden property"
                report.add(text, invalid_value(self.field(path), name, text))
            elif isinstance(additional, dict):
                report.merge(self.ratcheted(item, additional, f"{path}.{name}", self.was(before, name, path)))

    def was(self, before: Correlation | None, name: str, path: str) -> Correlation | None:
        if before is None or (not path and name in ("kind", "apiVersion")):
            return None  # both objects were converted to the version of the request
        return before.key(name)

    def combinations(self, report: Report, value: Any, openapi: Openapi, path: str) -> None:
        """Check anyOf and its like; as in the real server, what was there before does not count inside them."""
        inner = Report()
        if openapi.get("anyOf"):
            self.any_of(inner, value, openapi["anyOf"], path)
        if openapi.get("oneOf"):
            self.one_of(inner, value, openapi["oneOf"], path)
        if openapi.get("allOf"):
            self.all_of(inner, value, openapi["allOf"], path)
        if openapi.get("not") is not None and self.report(value, openapi["not"], path).is_valid:
            inner.add_composite(f'"{path}" must not validate the schema (not)', self.nowhere)
        inner.matches += 1
        report.merge(inner)

    def any_of(self, report: Report, value: Any, choices: list[Openapi], path: str) -> None:
        best: Report | None = None
        for choice in choices:
            choice_report = self.report(value, choice, path)
            if choice_report.is_valid:
                report.merge(choice_report)
                return
            if best is None or choice_report.matches > best.matches:
                best = choice_report
        report.add_composite(f'"{path}" must validate at least one schema (anyOf)', self.nowhere)
        if best is not None:
            report.merge(best)

    def one_of(self, report: Report, value: Any, choices: list[Openapi], path: str) -> None:
        reports = [self.report(value, choice, path) for choice in choices]
        valid = [choice_report for choice_report in reports if choice_report.is_valid]
        if len(valid) == 1:
            report.merge(valid[0])
            return
        outcome = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        report.add_composite(f'"{path}" must validate one and only one schema (oneOf). {outcome}', self.nowhere)
        if not valid:
            report.merge(max(reports, key=lambda choice_report: choice_report.matches))

    def all_of(self, report: Report, value: Any, choices: list[Openapi], path: str) -> None:
        valid = 0
        for choice in choices:
            choice_report = self.report(value, choice, path)
            valid += choice_report.is_valid
            report.merge(choice_report)
        if valid != len(choices):
            suffix = "" if valid else ". None validated"
            report.add_composite(f'"{path}" must validate all the schemas (allOf){suffix}', self.nowhere)
