"""The one error of the real engine: what could not be done, and what to do next."""


class EngineError(Exception):
    """Something of the real engine failed; the text names the object and the next step."""
