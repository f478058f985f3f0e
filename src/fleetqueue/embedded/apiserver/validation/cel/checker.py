"""Give every part of an expression its type, choose overloads, and refuse what cannot work."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fleetqueue.embedded.apiserver.validation.cel import types
from fleetqueue.embedded.apiserver.validation.cel.errors import CompileError, SourceProblem
from fleetqueue.embedded.apiserver.validation.cel.functions import Overload
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
)
from fleetqueue.embedded.apiserver.validation.cel.types import (
    BOOL,
    DYN,
    ERROR,
    Type,
    is_optional,
    optional_of,
    unwrapped,
)
from fleetqueue.embedded.apiserver.validation.cel.unification import Bindings

Functions = Mapping[str, tuple[Overload, ...]]
TYPE_NAMES: Mapping[str, Type] = {
    "int": types.INT, "uint": types.UINT, "double": types.DOUBLE, "bool": types.BOOL, "string": types.STRING,
    "bytes": types.BYTES, "list": types.list_of(DYN), "map": types.map_of(DYN, DYN), "null_type": types.NULL,
    "type": types.TYPE, "google.protobuf.Timestamp": types.TIMESTAMP, "google.protobuf.Duration": types.DURATION,
    "optional_type": optional_of(DYN),
}  # fmt: skip


_SORTABLE = frozenset({"int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes", "null"})


class Checked:
    """What the checker found out besides the types: which overloads each call may use, and which names are read."""

    def __init__(self) -> None:
        self.overloads: dict[int, list[Overload]] = {}
        self.names: set[str] = set()


class Checker:
    def __init__(self, functions: Functions, variables: Mapping[str, Type], source: str) -> None:
        self.functions = functions
        self.scopes: list[Mapping[str, Type]] = [variables]
        self.source = source
        self.bindings = Bindings()
        self.problems: list[SourceProblem] = []
        self.checked = Checked()

    def run(self, root: SyntaxNode) -> Checked:
        """Check a whole expression; raises CompileError with all that is wrong."""
        self.visit(root)
        if self.problems:
            raise CompileError(sorted(self.problems, key=lambda problem: problem.at), self.source)
        self._settle(root)
        return self.checked

    def _settle(self, node: SyntaxNode) -> None:
        node.type = self.bindings.resolved(node.type, to_dyn=True)
        for child in children(node):
            self._settle(child)

    def report(self, at: int, message: str) -> Type:
        self.problems.append(SourceProblem(at, message))
        return ERROR

    def visit(self, node: SyntaxNode) -> Type:
        match node:
            case Literal():
                node.type = node.literal_type
            case Name():
                node.type = self.name(node)
            case Select():
                node.type = self.select(node)
            case Call():
                node.type = self.call(node)
            case ListLiteral():
                node.type = self.list_literal(node)
            case MapLiteral():
                node.type = self.map_literal(node)
            case Loop():
                node.type = self.loop(node)
            case OptionalMap():
                node.type = self.optional_map(node)
        return node.type

    def lookup(self, name: str) -> Type | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return types.type_of(TYPE_NAMES[name]) if name in TYPE_NAMES else None

    @contextmanager
    def scope(self, names: Mapping[str, Type]) -> Iterator[None]:
        self.scopes.append(names)
        yield
        self.scopes.pop()

    def name(self, node: Name) -> Type:
        declared_type = self.lookup(node.name)
        if declared_type is None:
            return self.report(node.at, f"undeclared reference to '{node.name}' (in container '')")
        self.checked.names.add(node.name)
        return declared_type

    def select(self, node: Select) -> Type:
        qualified = _qualified_name(node)
        if qualified in TYPE_NAMES and not node.is_test:
            return types.type_of(TYPE_NAMES[qualified])
        operand = self.bindings.resolved(self.visit(node.operand))
        field_type = self.field(node, unwrapped(operand))
        if node.is_test:
            return BOOL
        return optional_of(field_type) if node.is_optional or is_optional(operand) else field_type

    def field(self, node: Select, operand: Type) -> Type:
        if operand.kind == "map":
            return operand.params[1]
        if operand.kind == "object":
            if node.field in operand.fields:
                return operand.fields[node.field].type
            return self.report(node.at, f"undefined field '{node.field}'")
        if operand.kind == "param":
            self.bindings.fits((DYN,), (operand,))
        elif not operand.is_dyn:
            self.report(node.at, f"type '{operand}' does not support field selection")
        return DYN

    def call(self, node: Call) -> Type:
        for arg in node.args:
            self.visit(arg)
        if node.target is not None:
            self.name_namespaced(node)
        if node.function in ("_&&_", "_||_"):
            return self.logical(node)
        args = [arg.type for arg in node.args]
        if node.target is not None:
            args.insert(0, self.visit(node.target))
        overloads = self.functions.get(node.function)
        if overloads is None:
            return self.report(node.at, f"undeclared reference to '{node.function}' (in container '')")
        result = self.resolve(node, overloads, tuple(args))
        is_union = node.function == "_+_" and args[0].list_type
        return types.list_of(result.params[0], args[0].list_type, args[0].list_keys) if is_union else result

    def name_namespaced(self, node: Call) -> None:
        """Turn `sets.contains(...)` into a call of the function of that name, if there is one."""
        assert node.target is not None
        prefix = _qualified_name(node.target)
        if prefix and f"{prefix}.{node.function}" in self.functions:
            node.function = f"{prefix}.{node.function}"
            node.target = None

    def logical(self, node: Call) -> Type:
        for arg in node.args:
            if not self.bindings.fits((arg.type,), (BOOL,)):
                self.report(arg.at, f"expected type 'bool' but found '{self.bindings.resolved(arg.type, to_dyn=True)}'")
        return BOOL

    def resolve(self, node: Call, overloads: tuple[Overload, ...], args: tuple[Type, ...]) -> Type:
        result: Type | None = None
        chosen: list[Overload] = []
        for overload in overloads:
            if overload.is_member != (node.target is not None):
                continue
            wanted = self.bindings.instantiated((overload.result, *overload.params))
            if not self.bindings.fits(args, wanted[1:]):
                continue
            chosen.append(overload)
            returned = self.bindings.resolved(wanted[0])
            if result is None:
                result = returned
            elif not result.is_dyn and not types.same(result, returned):
                result = DYN
        self.checked.overloads[id(node)] = chosen
        if result is not None:
            return result
        shown = [str(self.bindings.resolved(arg, to_dyn=True)) for arg in args]
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if node.target is not None else f"({', '.join(shown)})"
        return self.report(node.at, f"found no matching overload for '{node.function}' applied to '{applied}'")

    def joined(self, before: Type | None, part_type: Type) -> Type:
        """Return the type of a list's or map's parts so far; that they are alike is checked when all is known."""
        if before is None:
            return part_type
        if self.bindings.fits((before,), (part_type,)):
            return before if types.is_less_specific(before, part_type) else part_type
        return DYN

    def list_literal(self, node: ListLiteral) -> Type:
        item: Type | None = None
        for position, part in enumerate(node.items):
            part_type = self.visit(part)
            if position in node.optional:
                part_type = self.unwrapped_optional(part, part_type)
            item = self.joined(item, part_type)
        return types.list_of(item or self.bindings.fresh())

    def map_literal(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        for key_node, value_node, optional in node.entries:
            key = self.joined(key, self.visit(key_node))
            value_type = self.visit(value_node)
            value = self.joined(value, self.unwrapped_optional(value_node, value_type) if optional else value_type)
        return types.map_of(key or self.bindings.fresh(), value or self.bindings.fresh())

    def unwrapped_optional(self, node: SyntaxNode, part_type: Type) -> Type:
        if not is_optional(part_type) and not part_type.is_dyn:
            self.report(node.at, f"expected type '{optional_of(part_type)}' but found '{part_type}'")
        return unwrapped(part_type)

    def loop(self, node: Loop) -> Type:
        ranged = self.bindings.resolved(self.visit(node.range))
        with self.scope(dict(zip(node.names, self.loop_variables(node, ranged), strict=True))):
            if node.condition is not None:
                self.expect_bool(node.condition)
            result = self.visit(node.result) if node.result is not None else DYN
        match node.macro:
            case "map" | "transformList":
                return types.list_of(result)
            case "filter":
                return types.list_of(ranged.params[0] if ranged.kind in ("list", "map") else DYN)
            case "sortBy":
                return self.sorted_by(node, ranged, result)
            case "transformMap":
                return types.map_of(ranged.params[0] if ranged.kind == "map" else types.INT, result)
            case "transformMapEntry":
                return result
        return BOOL

    def sorted_by(self, node: Loop, ranged: Type, key: Type) -> Type:
        if self.bindings.resolved(key).kind == "param":
            self.bindings.fits((types.INT,), (key,))  # of what nothing is known, the first sort that has an order
        known = self.bindings.resolved(key)
        if known.kind not in _SORTABLE and not known.is_dyn:
            applied = f"{ranged}.({types.list_of(known)})"
            return self.report(
                node.at, f"found no matching overload for '@sortByAssociatedKeys' applied to '{applied}'"
            )
        return ranged

    def expect_bool(self, node: SyntaxNode) -> None:
        node_type = self.visit(node)
        if not self.bindings.fits((node_type,), (BOOL,)):
            shown = self.bindings.resolved(node_type, to_dyn=True)
            self.report(node.at, f"expected type 'bool' but found '{shown}'")

    def loop_variables(self, node: Loop, ranged: Type) -> list[Type]:
        two = len(node.names) == 2
        if ranged.kind == "list":
            return [types.INT, ranged.params[0]] if two else [ranged.params[0]]
        if ranged.kind == "map":
            return list(ranged.params) if two else [ranged.params[0]]
        if not ranged.is_dyn and ranged.kind != "param":
            message = "cannot be range of a comprehension (must be list, map, or dynamic)"
            self.report(node.range.at, f"expression of type '{ranged}' {message}")
        return [DYN] * len(node.names)

    def optional_map(self, node: OptionalMap) -> Type:
        target = self.bindings.resolved(self.visit(node.target))
        if not is_optional(target) and not target.is_dyn:
            self.report(node.at, f"found no matching overload for 'hasValue' applied to '{target}.()'")
        with self.scope({node.name: unwrapped(target)}):
            result = self.visit(node.result)
        return result if node.is_flat else optional_of(result)


def _qualified_name(node: SyntaxNode) -> str:
    """Spell a chain of names, such as `a.b`; empty if it is more than that."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not node.is_test and not node.is_optional:
        prefix = _qualified_name(node.operand)
        return f"{prefix}.{node.field}" if prefix else ""
    return ""
