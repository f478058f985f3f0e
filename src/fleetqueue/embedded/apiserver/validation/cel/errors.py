"""What can go wrong with an expression: it does not compile, it fails on a value, or it takes too long."""


class CompileError(Exception):
    """An expression that cannot be used; the text shows where, as the real server does."""

    def __init__(self, problems: "list[SourceProblem]", source: str) -> None:
        super().__init__("\n".join(problem.shown(source) for problem in problems))
        self.problems = problems


class InstantiationError(CompileError):
    """An expression that is right but always fails; the real server tells so without a place."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)
        self.problems = []


class SourceProblem:
    """One mistake and its place, counted in characters from the start of the source."""

    def __init__(self, at: int, message: str) -> None:
        self.at = at
        self.message = message

    def shown(self, source: str) -> str:
        before = source[: self.at]
        line = before.count("\n")
        column = self.at - (before.rfind("\n") + 1)
        text = source.split("\n")[line].replace("\t", " ")
        dots = "".join("." if ord(char) < 128 else "\uff0e" for char in text[:column])
        mark = "^" if column >= len(text) or ord(text[column]) < 128 else "\uff3e"
        shown_column = column + 1 if source else 0
        return f"ERROR: <input>:{line + 1}:{shown_column}: {self.message}\n | {text}\n | {dots}{mark}"


class CelError(Exception):
    """The value that an operation has when it has no value; `&&` and `||` may absorb it."""


class CostExceeded(Exception):
    """The expression did more work than one call may do; nothing absorbs this."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


def no_such_overload() -> CelError:
    return CelError("no such overload")
