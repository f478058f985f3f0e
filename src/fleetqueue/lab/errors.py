"""The errors of the real engine: what could not be done, and what to do next."""


class EngineError(Exception):
    """Something of the real engine failed; the text names the object and the next step."""


class NoFleet(EngineError):
    """A fleet was asked that does not run."""


class NoProcess(EngineError):
    """A fleet was asked for a process, or a cluster, that it does not have."""
