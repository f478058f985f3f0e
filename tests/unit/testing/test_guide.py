"""What the guide shows works as it stands there, in both languages."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def code(language):
    return "\n\n".join(BLOCK.findall((DOCS / language / "guides" / "testing.md").read_text()))


def test_both_languages_show_the_same_code():
    assert code("en") == code("zh")


names: dict[str, object] = {"__name__": "guide"}
exec(compile(code("en"), "docs/en/guides/testing.md", "exec"), names)

test_a_job_takes_its_time = names["test_a_job_takes_its_time"]
test_it_marks_once_and_is_quiet = names["test_it_marks_once_and_is_quiet"]
test_killed_at_any_write_its_successor_ends_the_work = names["test_killed_at_any_write_its_successor_ends_the_work"]


def test_every_test_of_the_guide_is_run_here():
    shown = re.findall(r"async def (test_\w+)\(", code("en"))

    assert shown == [name for name in shown if callable(globals().get(name))]
