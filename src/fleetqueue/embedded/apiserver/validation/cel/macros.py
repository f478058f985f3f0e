"""Calls that are more than calls: has() and the loops, which bind names for their arguments."""

from fleetqueue.embedded.apiserver.validation.cel.errors import CompileError, SourceProblem
from fleetqueue.embedded.apiserver.validation.cel.nodes import Loop, Name, OptionalMap, Select, SyntaxNode

_NO_NAME = "argument is not an identifier"


def expanded(at: int, name: str, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode | None:
    """Return what a macro stands for; None if the call is no macro."""
    if target is None:
        return _has(at, args[0]) if name == "has" and len(args) == 1 else None
    match name, len(args):
        case "all" | "exists" | "exists_one", 2:
            return Loop(at, name, target, _names(args[:1]), args[1], None)
        case "all" | "exists" | "exists_one" | "existsOne", 3:
            return Loop(at, "exists_one" if name == "existsOne" else name, target, _names(args[:2]), args[2], None)
        case "map", 2:
            return Loop(at, "map", target, _names(args[:1], _NO_NAME), None, args[1])
        case "map", 3:
            return Loop(at, "map", target, _names(args[:1], _NO_NAME), args[1], args[2])
        case "filter", 2:
            return Loop(at, "filter", target, _names(args[:1], _NO_NAME), args[1], None)
        case "sortBy", 2:
            return Loop(at, "sortBy", target, _names(args[:1]), None, args[1])
        case "transformList" | "transformMap" | "transformMapEntry", 3:
            return Loop(at, name, target, _names(args[:2]), None, args[2])
        case "transformList" | "transformMap" | "transformMapEntry", 4:
            return Loop(at, name, target, _names(args[:2]), args[2], args[3])
        case "optMap" | "optFlatMap", 2:
            return OptionalMap(at, target, _names(args[:1])[0], args[1], name == "optFlatMap")
    return None


def _has(at: int, argument: SyntaxNode) -> SyntaxNode:
    if not isinstance(argument, Select) or argument.is_test:
        raise CompileError([SourceProblem(argument.at, "invalid argument to has() macro")], "")
    return Select(at, argument.operand, argument.field, is_test=True)


def _names(args: list[SyntaxNode], problem: str = "argument must be a simple name") -> list[str]:
    names = []
    for arg in args:
        if not isinstance(arg, Name):
            raise CompileError([SourceProblem(arg.at, problem)], "")
        names.append(arg.name)
    if len(set(names)) < len(names):
        raise CompileError([SourceProblem(args[-1].at, f"duplicate variable name: {names[0]}")], "")
    return names
