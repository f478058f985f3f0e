"""The table of the page about kinds of jobs, as the tests ask it."""

from tests.job_kinds import JobKind

from .questions import KINDS, QUESTIONS, expected, on_real_kueue, row_name

EMBEDDED, KUEUE, NOT_ASKED = "E", "K", "-"


def cell(kind: JobKind, question: str) -> str:
    """Return where a question is asked of a kind."""
    marks = [EMBEDDED] * (question in expected(kind)) + [KUEUE] * (question in on_real_kueue(kind))
    return " ".join(marks) or NOT_ASKED


def rows() -> dict[str, list[str]]:
    return {row_name(kind): [cell(kind, question) for question in QUESTIONS] for kind in KINDS}
