"""Formats of strings, against what a real server of version 1.36.3 lets pass."""

import json
from pathlib import Path

import pytest

from fleetqueue.embedded.apiserver.validation.type_reports import format_check

REAL = json.loads(Path(__file__).with_name("real_formats.json").read_text())
FORMATS = sorted({name for _, refused in REAL for name in refused})


@pytest.mark.parametrize(("text", "refused"), REAL, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_every_format_takes_what_the_real_server_takes(text, refused):
    assert [name for name in FORMATS if not format_check(name)(text)] == refused


@pytest.mark.parametrize("name", ["", "unknown", "int32"])
def test_other_formats_say_nothing_of_strings(name):
    assert format_check(name) is None
