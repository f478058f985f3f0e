"""Read an expression: from tokens to nodes, with macros in place."""

from collections.abc import Callable

from fleetqueue.embedded.apiserver.validation.cel import types
from fleetqueue.embedded.apiserver.validation.cel.errors import CompileError, SourceProblem
from fleetqueue.embedded.apiserver.validation.cel.lexer import Token, tokens
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
)

_NO_NAME = "argument is not an identifier"

MAX_DEPTH = 60
"""How deep parentheses, lists and calls may be nested. The real server allows 250; Python's own stack would not."""

_RESERVED = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()
)
_RELATIONS = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_SIGNS = ("[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", "true", "false", "null")
_VALUES = frozenset({"[", "{", "(", ".", "-", "!", "true", "false", "null"})
_VALUE_KINDS = frozenset({"int", "uint", "float", "string", "bytes", "name", "[", "{", "(", ".", "-", "!"})
_AFTER_A_VALUE = frozenset({"end", ")", "]", "}", ",", ":", "?", ".", "[", "+", "-", "*", "/", "%", "&&", "||"})
_MIN_INT, _MAX_INT, _MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


def parse(source: str) -> SyntaxNode:
    """Return the tree of an expression; raises CompileError with all that is wrong with its form."""
    parser = _Parser(source)
    try:
        node = parser.whole()
    except CompileError as error:
        raise CompileError(_in_order([*parser.problems, *error.problems]), source) from None
    if parser.problems:
        raise CompileError(_in_order(parser.problems), source)
    return node


def _in_order(problems: list[SourceProblem]) -> list[SourceProblem]:
    return sorted(problems, key=lambda problem: problem.at)


def _expecting(*beside: str) -> str:
    """Name what can begin a value, and some signs beside that, in the order of the real parser."""
    signs = [f"'{sign}'" for sign in _SIGNS if sign in _VALUES or sign in beside]
    return "{" + ", ".join([*signs, "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"]) + "}"


class _Parser:
    """Reads the tokens from left to right.

    Errors are those of the real parser: an extra token is skipped, a missing one is assumed, and
    reading goes on; at anything else it ends.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[SourceProblem] = []
        self.tokens = tokens(source, self.problems)
        self.position = 0
        self.depth = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.position]

    @property
    def following(self) -> Token:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)]

    def fail(self, at: int, message: str) -> CompileError:
        return CompileError([SourceProblem(at, message)], self.source)

    def note(self, message: str) -> None:
        self.problems.append(SourceProblem(self.here.at, f"Syntax error: {message}"))

    def mismatched(self, expecting: str) -> CompileError:
        return self.fail(self.here.at, f"Syntax error: mismatched input '{self.here.shown}' expecting {expecting}")

    def drop_extraneous(self, expecting: str) -> None:
        """Leave out a token after which all would be well."""
        self.note(f"extraneous input '{self.here.shown}' expecting {expecting}")
        self.position += 1

    def is_next(self, *kinds: str) -> bool:
        token = self.here
        return token.kind in kinds or (token.kind == "name" and token.text == "in" and "in" in kinds)

    def take(self) -> Token:
        token = self.here
        self.position += 1
        return token

    def taken(self, kind: str) -> bool:
        """Take the next token if it is of this kind."""
        if not self.is_next(kind):
            return False
        self.position += 1
        return True

    def expect(self, kind: str, *or_else: str) -> None:
        """Take a token of this kind; where others could stand as well, none is thought there."""
        if self.taken(kind):
            return
        wanted = "<EOF>" if kind == "end" else f"'{kind}'"
        expecting = "{" + ", ".join([wanted, *(f"'{other}'" for other in or_else)]) + "}" if or_else else wanted
        if self.here.kind != "end" and self.following.kind in (kind, *or_else):
            self.drop_extraneous(expecting)
            self.taken(kind)
        elif not or_else and kind != "end" and self.here.kind in (_VALUE_KINDS if kind == ":" else _AFTER_A_VALUE):
            self.note(f"missing '{kind}' at '{self.here.shown}'")
        else:
            raise self.mismatched(expecting)

    def expect_value(self, *beside: str) -> None:
        """Look whether a value, or one of some signs, begins here."""
        if self.is_value(self.here) or self.here.kind in beside:
            return
        expecting = _expecting(*beside)
        if self.here.kind == "end" or not (self.is_value(self.following) or self.following.kind in beside):
            raise self.mismatched(expecting)
        self.drop_extraneous(expecting)

    def is_value(self, token: Token) -> bool:
        return token.kind in _VALUE_KINDS and token.text != "in"

    def whole(self) -> SyntaxNode:
        node = self.expression()
        self.expect("end")
        return node

    def expression(self) -> SyntaxNode:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(self.here.at, f"expression recursion limit exceeded: {MAX_DEPTH}")
        node = self.either()
        if self.is_next("?"):
            at = self.take().at
            yes = self.either()
            self.expect(":")
            node = Call(at, "_?_:_", None, [node, yes, self.expression()])
        self.depth -= 1
        return node

    def either(self) -> SyntaxNode:
        return self.chain("||", self.both)

    def both(self) -> SyntaxNode:
        return self.chain("&&", self.relation)

    def chain(self, operator: str, part: Callable[[], SyntaxNode]) -> SyntaxNode:
        """Read parts with one logical operator between them; a long chain becomes a tree of little depth."""
        parts, places = [part()], []
        while self.is_next(operator):
            places.append(self.take().at)
            parts.append(part())
        return _balanced(f"_{operator}_", parts, places)

    def relation(self) -> SyntaxNode:
        node = self.sum()
        while self.is_next(*_RELATIONS):
            token = self.take()
            name = "@in" if token.text == "in" else f"_{token.text}_"
            node = Call(token.at, name, None, [node, self.sum()])
        return node

    def sum(self) -> SyntaxNode:
        node = self.product()
        while self.is_next("+", "-"):
            token = self.take()
            node = Call(token.at, f"_{token.text}_", None, [node, self.product()])
        return node

    def product(self) -> SyntaxNode:
        node = self.unary()
        while self.is_next("*", "/", "%"):
            token = self.take()
            node = Call(token.at, f"_{token.text}_", None, [node, self.unary()])
        return node

    def unary(self) -> SyntaxNode:
        self.expect_value()
        if not self.is_next("!", "-"):
            return self.member()
        token = self.take()
        repeats = 1
        while self.taken(token.kind):
            repeats += 1
        if token.kind == "-" and repeats == 1 and self.is_next("int", "float"):
            return self.members_of(self.number(self.take(), token.at, negative=True))
        operand = self.member()
        return operand if repeats % 2 == 0 else Call(token.at, f"{token.text}_", None, [operand])

    def member(self) -> SyntaxNode:
        return self.members_of(self.primary())

    def members_of(self, node: SyntaxNode) -> SyntaxNode:
        """Read what follows a value: fields, calls and indices."""
        while True:
            if self.is_next("."):
                node = self.after_dot(node, self.take().at)
            elif self.is_next("["):
                at = self.take().at
                self.expect_value("?")
                function = "_[?_]" if self.taken("?") else "_[_]"
                index = self.expression()
                self.expect("]")
                node = Call(at, function, None, [node, index])
            else:
                return node

    def after_dot(self, operand: SyntaxNode, at: int) -> SyntaxNode:
        is_optional = self.taken("?")
        if not self.is_next("name") or self.here.text in ("in", "true", "false", "null"):
            shown = "." + (self.here.shown if self.here.kind != "end" else "")
            raise self.fail(self.here.at, f"Syntax error: no viable alternative at input '{shown}'")
        name = self.take().text
        if is_optional or not self.is_next("("):
            return Select(at, operand, name, is_optional=is_optional)
        at = self.take().at
        return self.call(at, name, operand, self.arguments())

    def call(self, at: int, name: str, target: SyntaxNode | None, args: list[SyntaxNode]) -> SyntaxNode:
        try:
            return expanded(at, name, target, args) or Call(at, name, target, args)
        except CompileError as error:
            raise CompileError(error.problems, self.source) from None

    def arguments(self) -> list[SyntaxNode]:
        args: list[SyntaxNode] = []
        self.expect_value(")")
        if self.taken(")"):
            return args
        while True:
            args.append(self.expression())
            if not self.taken(","):
                self.expect(")")
                return args

    def primary(self) -> SyntaxNode:
        token = self.take()
        match token.kind:
            case "int" | "uint" | "float":
                return self.number(token, token.at)
            case "string":
                return Literal(token.at, token.text, types.STRING)
            case "bytes":
                return Literal(token.at, token.text.encode("latin-1"), types.BYTES)
            case "(":
                node = self.expression()
                self.expect(")")
                return node
            case "[":
                return self.list_literal(token.at)
            case "{":
                return self.map_literal(token.at)
            case "." if self.is_next("name"):
                return self.name(self.take(), "." + self.tokens[self.position - 1].text)
            case "name":
                return self.name(token, token.text)
        self.position -= 1
        raise self.mismatched(_expecting())

    def name(self, token: Token, text: str) -> SyntaxNode:
        if text in ("true", "false"):
            return Literal(token.at, text == "true", types.BOOL)
        if text == "null":
            return Literal(token.at, None, types.NULL)
        if text in _RESERVED:
            raise self.fail(token.at, f"reserved identifier: {text}")
        if self.is_next("("):
            at = self.take().at
            return self.call(at, text.removeprefix("."), None, self.arguments())
        return Name(token.at, text.removeprefix("."))

    def number(self, token: Token, at: int, *, negative: bool = False) -> Literal:
        text = ("-" if negative else "") + token.text
        if token.kind == "float":
            return Literal(at, float(text), types.DOUBLE)
        base = 16 if "0x" in text else 10
        if token.kind == "uint":
            value = int(text[:-1], base)
            if value > _MAX_UINT:
                raise self.fail(at, "invalid uint literal")
            return Literal(at, value, types.UINT)
        value = int(text, base)
        if not _MIN_INT <= value <= _MAX_INT:
            raise self.fail(at, "invalid int literal")
        return Literal(at, value, types.INT)

    def list_literal(self, at: int) -> SyntaxNode:
        items: list[SyntaxNode] = []
        optional: set[int] = set()
        self.expect_value("]", ",", "?")
        while not self.closed("]", bool(items)):
            if self.taken("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self.taken(","):
                self.expect("]", ",")
                break
        return ListLiteral(at, items, optional)

    def map_literal(self, at: int) -> SyntaxNode:
        entries: list[tuple[SyntaxNode, SyntaxNode, bool]] = []
        self.expect_value("}", ",", "?")
        while not self.closed("}", bool(entries)):
            is_optional = self.taken("?")
            key = self.expression()
            self.expect(":")
            entries.append((key, self.expression(), is_optional))
            if not self.taken(","):
                self.expect("}", ",")
                break
        return MapLiteral(at, entries)

    def closed(self, end: str, has_parts: bool) -> bool:
        """Tell whether a list or map ends here; before that a comma may stand, also alone."""
        if not has_parts and self.is_next(",") and self.following.kind == end:
            self.position += 1
        return self.taken(end)


def _balanced(function: str, parts: list[SyntaxNode], places: list[int]) -> SyntaxNode:
    if not places:
        return parts[0]
    middle = len(places) // 2
    left = _balanced(function, parts[: middle + 1], places[:middle])
    right = _balanced(function, parts[middle + 1 :], places[middle + 1 :])
    return Call(places[middle], function, None, [left, right])


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
