"""Who tells a story: the contract between the stories and a terminal, a test, or nobody."""

from typing import Protocol

from fleetqueue.demo.expectations import Outcome


class Narrator(Protocol):
    def title(self, text: str) -> None:
        """Begin a story or a part of one."""
        ...

    def say(self, text: str) -> None:
        """Tell what is done next, and why."""
        ...

    async def command(self, text: str) -> None:
        """Show a command before it runs; may wait until the reader is ready."""
        ...

    def output(self, text: str) -> None:
        """Show what a command printed."""
        ...

    def reason(self, text: str) -> None:
        """Show why something happened, in the words of an Event."""
        ...

    def waiting(self, text: str) -> None:
        """Say what is waited for now; the next outcome ends it."""
        ...

    def outcome(self, outcome: Outcome) -> None:
        """Show whether an expectation held."""
        ...


class Silent:
    """Tells nothing: for tests, which read the record."""

    def title(self, text: str) -> None: ...
    def say(self, text: str) -> None: ...
    async def command(self, text: str) -> None: ...
    def output(self, text: str) -> None: ...
    def reason(self, text: str) -> None: ...
    def waiting(self, text: str) -> None: ...
    def outcome(self, outcome: Outcome) -> None: ...
