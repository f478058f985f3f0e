"""Build programs that developers need beside the engine, once, into the user's cache.

Usage: build_tools.py helm kueuectl promtool
"""

import asyncio
import sys

from fleetqueue.real import tools


def main(names: list[str]) -> None:
    unknown = set(names) - tools.TOOLS.keys()
    if unknown or not names:
        sys.exit(f"name one or more of: {', '.join(tools.TOOLS)}")
    for name in names:
        print(asyncio.run(tools.build(tools.TOOLS[name], print)))


if __name__ == "__main__":
    main(sys.argv[1:])
