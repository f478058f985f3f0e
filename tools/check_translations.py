"""Compare docs/zh with docs/en: a page that only one of them has is an error, a page that fell behind is listed.

Usage: check_translations.py [docs folder]

A Chinese page has fallen behind when its English side has commits that are newer than the Chinese page's last one.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ENGLISH, CHINESE = "en", "zh"


def pages(folder: Path) -> set[str]:
    """Return the pages below a folder, by their paths inside it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}


def missing(docs: Path) -> list[str]:
    """Return the pages that exist in one language only."""
    english, chinese = pages(docs / ENGLISH), pages(docs / CHINESE)
    lost = [docs / CHINESE / page for page in english - chinese] + [docs / ENGLISH / page for page in chinese - english]
    return sorted(path.as_posix() for path in lost)


def stale(docs: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Return, for each Chinese page that fell behind, the changes of its English side since then."""
    behind = {}
    for name in sorted(names):
        translated = git(docs, "log", "-1", "--format=%H", "--", f"{CHINESE}/{name}")
        if not translated:
            continue  # not committed yet, so written with the English page
        news = git(docs, "log", "--format=%h %s", f"{translated[0]}..HEAD", "--", f"{ENGLISH}/{name}")
        if news:
            behind[name] = news
    return behind


def git(folder: Path, *arguments: str) -> list[str]:
    """Ask git; outside a repository there is no history, and so no answer."""
    answer = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return answer.stdout.splitlines() if answer.returncode == 0 else []


def main() -> int:
    docs = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs"
    for path in (lost := missing(docs)):
        print(f"missing: {path}")
    for name, news in stale(docs, pages(docs / ENGLISH) & pages(docs / CHINESE)).items():
        print(f"fell behind: {CHINESE}/{name}")
        for line in news:
            print(f"    {line}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
