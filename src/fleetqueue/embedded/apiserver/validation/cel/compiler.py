"""Turn a checked expression into Python functions, each for one node and made of those below it.

A function takes the frame: a list with the work that is left at 0 and the variables after it. Loops write their
variables into slots of their own, so that nothing is copied. Work is counted by whole bodies, not by steps: as many
units as the body has nodes, which is close to what the real server counts.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from fleetqueue.embedded.apiserver.validation.cel import calls, literals, loops, members, re2
from fleetqueue.embedded.apiserver.validation.cel.checker import Checked, Checker
from fleetqueue.embedded.apiserver.validation.cel.equality import comparison, union_of
from fleetqueue.embedded.apiserver.validation.cel.errors import (
    CelError,
    CompileError,
    CostExceeded,
    InstantiationError,
    SourceProblem,
    no_such_overload,
)
from fleetqueue.embedded.apiserver.validation.cel.functions import Dialect, Overload
from fleetqueue.embedded.apiserver.validation.cel.nodes import (
    Call,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    Name,
    OptionalMap,
    Select,
    SyntaxNode,
    children,
    count,
)
from fleetqueue.embedded.apiserver.validation.cel.parser import parse
from fleetqueue.embedded.apiserver.validation.cel.types import BOOL, UINT, Type, is_optional
from fleetqueue.embedded.apiserver.validation.cel.values import (
    NONE,
    Optional,
    Uint,
    equal,
    holds_objects,
    kind_of,
    untyped,
)

_CONVERSIONS: Final = frozenset({"int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration", "dyn"})
_SEARCHES: Final = frozenset({"find", "findAll"})
_UNKNOWN: Final = object()

Frame = list[Any]
Run = Callable[[Frame], Any]

COST_LIMIT = 1_000_000
"""Work that one evaluation may do, the number of the real server; about a quarter of a second."""


class CompiledExpression:
    """A compiled expression."""

    def __init__(self, run: Run, result: Type, slots: int, names: set[str], steps: int) -> None:
        self.run = run
        self.result = result
        self.slots = slots
        self.names = names
        """The variables that the expression reads."""
        self.steps = steps

    def evaluate(self, *variables: Any, limit: int = COST_LIMIT) -> tuple[Any, int]:
        """Return the value and the work done; raises CelError or CostExceeded."""
        start = limit - self.steps
        frame: Frame = [start, *variables]
        frame.extend([None] * (self.slots - len(variables)))
        try:
            value = self.run(frame)
        except (AttributeError, TypeError, ValueError, LookupError, RecursionError):
            raise no_such_overload() from None  # a value that is not what its schema says, stored before that did
        if frame[0] < 0:
            raise CostExceeded
        return value, limit - frame[0]


def compile_expression(source: str, variables: Mapping[str, Type], dialect: Dialect) -> CompiledExpression:
    """Parse, check and compile; the variables are given to `evaluate` in this order."""
    try:
        return _compiled(source, variables, dialect)
    except RecursionError:
        raise CompileError([SourceProblem(0, "expression is nested too deeply")], source) from None


def _compiled(source: str, variables: Mapping[str, Type], dialect: Dialect) -> CompiledExpression:
    root = parse(source)
    checked = Checker(dialect.functions, variables, source).run(root)
    literal_problems = literals.problems(root, mixes_literals=dialect.mixes_literals)
    problems = sorted(literal_problems, key=lambda problem: problem.at)
    if problems:
        raise CompileError(problems, source)
    compiler = Compiler(checked, list(variables))
    run = compiler.visit(root)
    try_out(root, checked.overloads)
    return CompiledExpression(run, root.type, compiler.slots, checked.names, count(root))


class Compiler:
    def __init__(self, checked: Checked, variables: list[str]) -> None:
        self.checked = checked
        self.names = {name: slot for slot, name in enumerate(variables, 1)}
        self.slots = len(variables)

    def visit(self, node: SyntaxNode) -> Run:
        match node:
            case Literal():
                return calls.constant(Uint(node.value) if node.literal_type is UINT else node.value)
            case Name():
                return self.name(node)
            case Select():
                return self.select(node)
            case Call():
                return self.call(node)
            case ListLiteral():
                return self.list_literal(node)
            case MapLiteral():
                return self.map_literal(node)
            case Loop():
                return self.loop(node)
            case OptionalMap():
                return self.optional_map(node)
        raise TypeError(node)

    def as_dyn(self, node: SyntaxNode) -> Run:
        """Compile a node for use without its static type."""
        run, described = self.visit(node), node.type
        if not holds_objects(described):
            return run
        return lambda frame: untyped(described, run(frame))

    def bind(self, names: list[str]) -> tuple[list[int], dict[str, int]]:
        """Give names slots of their own; returns the slots and the names to restore."""
        before = dict(self.names)
        slots = [self.slots + 1 + position for position in range(len(names))]
        self.slots += len(names)
        self.names.update(zip(names, slots, strict=True))
        return slots, before

    def name(self, node: Name) -> Run:
        if node.name not in self.names:
            return calls.constant(node.type.params[0])
        slot = self.names[node.name]
        return lambda frame: frame[slot]

    def select(self, node: Select) -> Run:
        if node.type.kind == "type":
            return calls.constant(node.type.params[0])
        if isinstance(node.operand, Name) and node.operand.name in self.names and node.operand.type.kind == "object":
            return members.of_variable(node, self.names[node.operand.name])
        return members.of_value(node, self.visit(node.operand))

    def call(self, node: Call) -> Run:
        match node.function:
            case "_&&_":
                return calls.both(self.truth(node.args[0]), self.truth(node.args[1]))
            case "_||_":
                return calls.either(self.truth(node.args[0]), self.truth(node.args[1]))
            case "_?_:_":
                return self.choice(node)
            case "_==_":
                return self.equality(node.args[0], node.args[1])
            case "_!=_":
                same = self.equality(node.args[0], node.args[1])
                return lambda frame: not same(frame)
            case "@in" if not any(arg.type.is_dyn for arg in node.args):
                return self.membership(node.args[0], node.args[1])
            case "_[_]" if node.args[0].type.kind in ("list", "map"):
                return members.item(self.visit(node.args[0]), self.visit(node.args[1]), node.args[0].type.kind)
            case "_[_]" | "_[?_]" if is_optional(node.args[0].type):
                return calls.optional_item(self.visit(node.args[0]), self.visit(node.args[1]))
            case "or" | "orValue" if node.target is not None and is_optional(node.target.type):
                return self.or_else(node, node.target)
            case "_+_" if node.args[0].type.list_type:
                return self.union(node.args[0], node.args[1])
            case "type":
                return self.type_of(node.args[0])
        return self.function(node)

    def union(self, left: SyntaxNode, right: SyntaxNode) -> Run:
        one, other, added = self.visit(left), self.visit(right), union_of(left.type)
        return lambda frame: added(one(frame), other(frame))

    def or_else(self, node: Call, target: SyntaxNode) -> Run:
        visit = self.as_dyn if node.type.is_dyn else self.visit
        return calls.or_else(visit(target), visit(node.args[0]), unwraps=node.function == "orValue")

    def truth(self, node: SyntaxNode) -> Run:
        run = self.visit(node)
        if node.type is BOOL:
            return run

        def checked(frame: Frame) -> Any:
            value = run(frame)
            if value is True or value is False:
                return value
            raise no_such_overload()

        return checked

    def choice(self, node: Call) -> Run:
        condition = self.truth(node.args[0])
        is_mixed = node.type.is_dyn
        yes, no = map(self.as_dyn if is_mixed else self.visit, node.args[1:])
        return lambda frame: yes(frame) if condition(frame) else no(frame)

    def equality(self, left: SyntaxNode, right: SyntaxNode) -> Run:
        if left.type.is_dyn or right.type.is_dyn or "null" in (left.type.kind, right.type.kind):
            one, other = self.as_dyn(left), self.as_dyn(right)
            return lambda frame: equal(one(frame), other(frame))
        one, other = self.visit(left), self.visit(right)
        if left.type.kind in ("list", "map", "object"):
            compare = comparison(left.type)
            return lambda frame: compare(one(frame), other(frame))
        if left.type.kind in ("opaque", "type"):
            return lambda frame: equal(one(frame), other(frame))
        return lambda frame: one(frame) == other(frame)

    def membership(self, left: SyntaxNode, right: SyntaxNode) -> Run:
        value, holder = self.visit(left), self.visit(right)
        if (
            isinstance(right, ListLiteral)
            and not right.optional
            and all(isinstance(item, Literal) for item in right.items)
        ):
            known = frozenset(item.value for item in right.items if isinstance(item, Literal))
            return lambda frame: value(frame) in known
        if right.type.kind == "map" or left.type.kind not in ("list", "map", "object"):
            return lambda frame: value(frame) in holder(frame)
        compare = comparison(right.type.params[0])

        def search(frame: Frame) -> bool:
            wanted = value(frame)
            return any(compare(item, wanted) for item in holder(frame))

        return search

    def type_of(self, node: SyntaxNode) -> Run:
        if not node.type.is_dyn:
            return calls.constant(node.type)
        run = self.visit(node)
        return lambda frame: literals.runtime_type(kind_of(run(frame)))

    def function(self, node: Call) -> Run:
        overloads = self.checked.overloads[id(node)]
        parts = [*([node.target] if node.target is not None else []), *node.args]
        if len(overloads) == 1 and not any(part.type.is_dyn for part in parts):
            wanted = overloads[0].params
            runs = [
                self.as_dyn(part) if to.is_dyn else self.visit(part) for part, to in zip(parts, wanted, strict=True)
            ]
            return calls.direct(overloads[0], runs)
        return calls.dispatched(node.function, overloads, [self.as_dyn(part) for part in parts])

    def list_literal(self, node: ListLiteral) -> Run:
        is_mixed = node.type.params[0].is_dyn
        runs = [self.as_dyn(item) if is_mixed else self.visit(item) for item in node.items]
        optional = node.optional
        if not optional:
            return lambda frame: [run(frame) for run in runs]

        def build(frame: Frame) -> list[Any]:
            made = []
            for position, run in enumerate(runs):
                value = run(frame)
                if position not in optional:
                    made.append(value)
                elif value.is_present:
                    made.append(value.content)
            return made

        return build

    def map_literal(self, node: MapLiteral) -> Run:
        convert = self.as_dyn if node.type.params[1].is_dyn else self.visit
        entries = [(self.visit(key), convert(value), optional) for key, value, optional in node.entries]

        def build(frame: Frame) -> dict[Any, Any]:
            made: dict[Any, Any] = {}
            for key_run, value_run, optional in entries:
                key, value = key_run(frame), value_run(frame)
                if not optional:
                    made[key] = value
                elif value.is_present:
                    made[key] = value.content
            return made

        return build

    def loop(self, node: Loop) -> Run:
        source = self.visit(node.range)
        slots, before = self.bind(node.names)
        condition = self.truth(node.condition) if node.condition is not None else None
        result = self.visit(node.result) if node.result is not None else None
        self.names = before
        steps = 1 + sum(count(part) for part in (node.condition, node.result) if part is not None)
        items = loops.visits(source, node.range.type, slots, steps)
        return loops.compiled(node.macro, items, slots, condition, result)

    def optional_map(self, node: OptionalMap) -> Run:
        target = self.visit(node.target)
        (slot,), before = self.bind([node.name])
        result = self.visit(node.result)
        self.names = before
        is_flat = node.is_flat

        def run(frame: Frame) -> Any:
            optional = target(frame)
            if not isinstance(optional, Optional):
                raise no_such_overload()
            if not optional.is_present:
                return NONE
            frame[slot] = optional.content
            return result(frame) if is_flat else Optional(result(frame))

        return run


def try_out(node: SyntaxNode, overloads: Mapping[int, Sequence[Overload]]) -> None:
    """Raise InstantiationError if a constant conversion or pattern fails: it would fail every time."""
    try:
        _value(node, overloads)
    except (CelError, re2.BadPattern) as error:
        raise InstantiationError(str(error)) from None


def _value(node: SyntaxNode, overloads: Mapping[int, Sequence[Overload]]) -> Any:
    """Return the value of a constant, or of a conversion of one; all that is below other nodes is tried out, too."""
    if isinstance(node, Literal):
        return Uint(node.value) if node.literal_type is UINT else node.value
    values = [_value(child, overloads) for child in children(node)]
    if not isinstance(node, Call) or not node.args:
        return _UNKNOWN
    if node.function in _SEARCHES and isinstance(node.args[0], Literal) and isinstance(node.args[0].value, str):
        re2.compiled(node.args[0].value)
    if node.function in _CONVERSIONS and node.target is None and values[0] is not _UNKNOWN:
        return _converted(node.function, values[0], overloads.get(id(node), ()))
    return _UNKNOWN


def _converted(name: str, value: Any, overloads: Sequence[Overload]) -> Any:
    for overload in overloads:
        if literals.accepts(overload.params[0], value):
            return overload.run(value)
    kind = kind_of(value)
    raise CelError(f"no such overload: {name}({'null_type' if kind == 'null' else kind})")
