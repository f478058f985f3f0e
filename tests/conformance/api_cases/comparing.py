"""Compare what one server answered with what another one did, and say where they differ."""

from collections.abc import Iterator
from typing import Any

from tests.conformance.api_cases.cases import Case

Answers = list[dict[str, Any]]
# How a message that tells several mistakes opens, and what stands between them: Go walks its maps in any order.
MISTAKES = (("strict decoding error: ", ", "), (": errors:\n", "\n"))


def differences(case: Case, ours: Answers, real: Answers) -> list[str]:
    """Name every place where answers differ, beside those where the case says so."""
    found = [] if len(ours) == len(real) else [f"{len(ours)} answers, {len(real)} are recorded"]
    for number, (mine, theirs) in enumerate(zip(ours, real, strict=False), 1):
        for path, text in _answers(in_order(mine), in_order(theirs), (str(number),)):
            if not any(is_at(path, place.split(".")) for one in case.differs for place in one.at):
                found.append(f"{'.'.join(path)}: {text}")
    return found


def in_order(answer: dict[str, Any]) -> dict[str, Any]:
    """Put what is told in no certain order into one: warnings, mistakes of a body, causes (each once)."""
    if "warnings" in answer:
        answer = {**answer, "warnings": sorted(answer["warnings"])}
    body = answer["body"]
    for opening, separator in MISTAKES:
        if isinstance(body, dict) and opening in str(body.get("message")):
            head, _, mistakes = body["message"].partition(opening)
            body = {**body, "message": head + opening + separator.join(sorted(mistakes.split(separator)))}
            answer = {**answer, "body": body}
    causes = _causes(body) if isinstance(body, dict) else []
    if not causes:
        return answer
    unique = sorted({tuple(sorted(cause.items())) for cause in causes})
    details = {**body["details"], "causes": [dict(cause) for cause in unique]}
    return {**answer, "body": {**body, "details": details, "message": _head(body["message"], details["causes"])}}


def _head(message: str, causes: list[dict[str, str]]) -> str:
    """Return the message up to its causes, if it tells them all."""
    head, told, rest = message.partition(" is invalid: ")
    is_all = all(f"{cause.get('field', '')}: {cause['message']}" in rest for cause in causes if "message" in cause)
    return head + told if told and is_all else message


def _answers(
    ours: dict[str, Any], real: dict[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    if ours["status"] == real["status"]:
        yield from differing(ours, real, path)
    else:
        yield (*path, "status"), f"ours {_told(ours)}, real {_told(real)}"


def _told(answer: dict[str, Any]) -> str:
    body = answer["body"]
    if not isinstance(body, dict):
        return f"{answer['status']} {body!r}"
    causes = [f"{cause.get('field')}: {cause.get('message')}" for cause in _causes(body)]
    told = [body.get("reason") or body.get("kind"), body.get("message"), *causes]
    return f"{answer['status']} {' | '.join(filter(None, told))}"


def _causes(body: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (body.get("details") or {}).get("causes", []) if body.get("kind") == "Status" else []
    return found


def differing(ours: Any, real: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Name every place where two values differ, and how."""
    if isinstance(ours, dict) and isinstance(real, dict):
        for key in sorted({*ours, *real}):
            missing = object()
            mine, theirs = ours.get(key, missing), real.get(key, missing)
            if mine is missing or theirs is missing:
                text = f"only real: {theirs!r}" if mine is missing else f"only ours: {mine!r}"
                yield (*path, key), text
            else:
                yield from differing(mine, theirs, (*path, key))
    elif isinstance(ours, list) and isinstance(real, list) and len(ours) == len(real):
        for index, (mine, theirs) in enumerate(zip(ours, real, strict=True)):
            yield from differing(mine, theirs, (*path, str(index)))
    elif ours != real or type(ours) is not type(real):
        yield path, f"ours {ours!r}, real {real!r}"


def is_at(path: tuple[str, ...], place: list[str]) -> bool:
    """Tell whether a path is at a place, or below it."""
    return len(path) >= len(place) and all(wanted in ("*", part) for part, wanted in zip(path, place, strict=False))
