"""What kubectl says when something goes wrong."""

from collections.abc import Sequence

from fleetqueue.api import errors


class KubectlProblem(Exception):
    """A command cannot do what was asked; the text is what kubectl prints about it."""


def told(error: errors.ApiError | errors.Unreachable | KubectlProblem, doing: str = "") -> str:
    """Say an error as kubectl does; `doing` is what it had in hand: `error when creating "job.yaml": `."""
    if isinstance(error, KubectlProblem):
        return str(error)
    if isinstance(error, errors.Unreachable):
        return f"Unable to connect to the server: {error}"
    if error.reason == "Invalid":
        return _invalid(error)
    if error.reason == "Unauthorized":
        return f"error: You must be logged in to the server ({error.message})"
    return f"Error from server{f' ({error.reason})' if error.reason else ''}: {doing}{error.message}"


def several(problems: Sequence[str]) -> str:
    """Say what went wrong in several places; the rest was done."""
    return "\n".join(problems)


def _invalid(error: errors.ApiError) -> str:
    kind, name = error.details.get("kind", ""), error.details.get("name", "")
    begin = f'The {kind} "{name}" is invalid' if kind or name else "The request is invalid"
    causes = [f"{cause.get('field')}: {cause.get('message')}" for cause in error.details.get("causes") or ()]
    distinct = list(dict.fromkeys(causes))
    if not distinct:
        return begin if kind or name else f"{begin}: {error.message}"
    if len(distinct) == 1:
        return f"{begin}: {distinct[0]}"
    return "\n".join([f"{begin}: ", *(f"* {cause}" for cause in distinct)])
