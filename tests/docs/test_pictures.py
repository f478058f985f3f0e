"""Pictures fetch nothing, and those of terminals show every line to its end, in the width that their names tell."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

COLUMN = 12.2
"""The width of a letter in pictures that Rich draws."""
SVG = "{http://www.w3.org/2000/svg}"
WIDTH = re.compile(r"-(\d+)\.svg$")
PICTURES = sorted((Path(__file__).parents[2] / "docs" / "pictures").glob("*.svg"))
TERMINALS = [path for path in PICTURES if "clip-terminal" in path.read_text()]


def lines(picture):
    """Return where each piece of a line ends, in columns, with its text; the title is none."""
    found = [text for text in picture.iter(f"{SVG}text") if text.get("textLength")]
    return [(float(text.get("x")) + float(text.get("textLength")), text.text) for text in found if text.text.strip()]


def columns(picture):
    """Return the columns of the terminal, beyond which nothing is seen."""
    (clip,) = (one for one in picture.iter(f"{SVG}clipPath") if one.get("id").endswith("clip-terminal"))
    return round(float(clip[0].get("width")) / COLUMN)


@pytest.mark.parametrize("path", TERMINALS, ids=lambda path: path.name)
def test_no_line_of_a_terminal_is_cut(path):
    picture = ElementTree.parse(path).getroot()
    drawn, width = lines(picture), columns(picture)
    named = WIDTH.search(path.name)

    assert named is None or width == int(named[1])
    assert drawn
    assert [text for end, text in drawn if end > width * COLUMN + 0.1] == []
    assert [text for _, text in drawn if text.endswith("…")] == []


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_no_picture_fetches_anything(path):
    assert re.findall(r"url\((?!#)|href=|@font-face", path.read_text()) == []
