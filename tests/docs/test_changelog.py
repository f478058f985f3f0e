"""The changelog is of this version, and its fragments are such as towncrier reads."""

import re
import subprocess
import sys

from fleetqueue import __version__


def test_pages_name_the_image_of_this_version(pages):
    named = {tag for text in pages.values() for tag in re.findall(r"/fleetqueue:(\d[\w.]*\w)", text)}

    assert named <= {__version__, "1.0"}  # 1.0 is the example of an image in the help of a command


def test_a_release_has_an_entry_on_top(pages):
    latest = re.findall(r"^## (\S+) \(\d{4}-\d{2}-\d{2}\)$", pages["CHANGELOG.md"], re.MULTILINE)[0]

    assert latest == __version__ or ".dev" in __version__


def test_every_fragment_is_compiled(root):
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "next"]
    fragments = [path.read_text().strip() for path in (root / "changelog.d").glob("*.md")]

    compiled = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout

    assert all(" ".join(text.split()) in " ".join(compiled.split()) for text in fragments)
