"""The program `fleetqueue`, also as `python -m fleetqueue`.

It is apart from the commands, which take a tenth of a second to import: Ctrl-C must be quiet then as well.
"""

# The interpreter has this already; while the module around it is imported, Ctrl-C would not be quiet yet.
import _signal as signal  # type: ignore[import-not-found]
import os

INTERRUPTED = 128 + signal.SIGINT
"""The exit code that shells know for Ctrl-C."""


def main() -> None:
    is_usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell may let it be ignored
    if is_usual:
        signal.signal(signal.SIGINT, leave)
    from fleetqueue.cli.main import main as run

    if is_usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def leave(number: int, frame: object) -> None:
    """End at once: an exception in the middle of an import would be shown, or even lost."""
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
