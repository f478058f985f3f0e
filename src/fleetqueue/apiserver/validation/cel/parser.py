"""Read an expression: from tokens to nodes, with macros in place."""

from collections.abc import Callable

from fleetqueue.apiserver.validation.cel import types
from fleetqueue.apiserver.validation.cel.errors import CompileError, Problem
from fleetqueue.apiserver.validation.cel.lexer import Token, tokens
from fleetqueue.apiserver.validation.cel.macros import expanded
from fleetqueue.apiserver.validation.cel.nodes import Call, ListLiteral, Literal, MapLiteral, Name, Node, Select

MAX_DEPTH = 60
"""How deep parentheses, lists and calls may be nested. The real server allows 250; Python's own stack would not."""

_RESERVED = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()
)
_RELATIONS = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_EXPECTING_A_VALUE = (
    " expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', "
    "NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_MIN_INT, _MAX_INT, _MAX_UINT = -(2**63), 2**63 - 1, 2**64 - 1


def parse(source: str) -> Node:
    """Return the tree of an expression; raises CompileError."""
    return _Parser(source).whole()


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.position = 0
        self.depth = 0

    @property
    def here(self) -> Token:
        return self.tokens[self.position]

    def fail(self, at: int, message: str) -> CompileError:
        return CompileError([Problem(at, message)], self.source)

    def unexpected(self, expecting: str = "") -> CompileError:
        text = self.here.text if self.here.kind != "end" else "<EOF>"
        return self.fail(self.here.at, f"Syntax error: mismatched input '{text}'{expecting}")

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

    def expect(self, kind: str) -> Token:
        if not self.is_next(kind):
            raise self.unexpected()
        return self.take()

    def whole(self) -> Node:
        node = self.expression()
        self.expect("end")
        return node

    def expression(self) -> Node:
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

    def either(self) -> Node:
        return self.chain("||", self.both)

    def both(self) -> Node:
        return self.chain("&&", self.relation)

    def chain(self, operator: str, part: Callable[[], Node]) -> Node:
        """Read parts with one logical operator between them; a long chain becomes a tree of little depth."""
        parts, places = [part()], []
        while self.is_next(operator):
            places.append(self.take().at)
            parts.append(part())
        return _balanced(f"_{operator}_", parts, places)

    def relation(self) -> Node:
        node = self.sum()
        while self.is_next(*_RELATIONS):
            token = self.take()
            name = "@in" if token.text == "in" else f"_{token.text}_"
            node = Call(token.at, name, None, [node, self.sum()])
        return node

    def sum(self) -> Node:
        node = self.product()
        while self.is_next("+", "-"):
            token = self.take()
            node = Call(token.at, f"_{token.text}_", None, [node, self.product()])
        return node

    def product(self) -> Node:
        node = self.unary()
        while self.is_next("*", "/", "%"):
            token = self.take()
            node = Call(token.at, f"_{token.text}_", None, [node, self.unary()])
        return node

    def unary(self) -> Node:
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

    def member(self) -> Node:
        return self.members_of(self.primary())

    def members_of(self, node: Node) -> Node:
        """Read what follows a value: fields, calls and indices."""
        while True:
            if self.is_next("."):
                node = self.after_dot(node, self.take().at)
            elif self.is_next("["):
                at = self.take().at
                function = "_[?_]" if self.taken("?") else "_[_]"
                index = self.expression()
                self.expect("]")
                node = Call(at, function, None, [node, index])
            else:
                return node

    def after_dot(self, operand: Node, at: int) -> Node:
        is_optional = self.taken("?")
        if not self.is_next("name") or self.here.text in ("in", "true", "false", "null"):
            raise self.unexpected()
        name = self.take().text
        if is_optional or not self.is_next("("):
            return Select(at, operand, name, is_optional=is_optional)
        at = self.take().at
        return self.call(at, name, operand, self.arguments(")"))

    def call(self, at: int, name: str, target: Node | None, args: list[Node]) -> Node:
        try:
            return expanded(at, name, target, args) or Call(at, name, target, args)
        except CompileError as error:
            raise CompileError(error.problems, self.source) from None

    def arguments(self, end: str) -> list[Node]:
        args: list[Node] = []
        while not self.taken(end):
            args.append(self.expression())
            if not self.taken(","):
                self.expect(end)
                break
        return args

    def primary(self) -> Node:
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
        raise self.unexpected(_EXPECTING_A_VALUE)

    def name(self, token: Token, text: str) -> Node:
        if text in ("true", "false"):
            return Literal(token.at, text == "true", types.BOOL)
        if text == "null":
            return Literal(token.at, None, types.NULL)
        if text == "in":
            self.position -= 1
            raise self.unexpected()
        if text in _RESERVED:
            raise self.fail(token.at, f"reserved identifier: {text}")
        if self.is_next("("):
            at = self.take().at
            return self.call(at, text.removeprefix("."), None, self.arguments(")"))
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

    def list_literal(self, at: int) -> Node:
        items: list[Node] = []
        optional: set[int] = set()
        while not self.taken("]"):
            if self.taken("?"):
                optional.add(len(items))
            items.append(self.expression())
            if not self.taken(","):
                self.expect("]")
                break
        return ListLiteral(at, items, optional)

    def map_literal(self, at: int) -> Node:
        entries: list[tuple[Node, Node, bool]] = []
        while not self.taken("}"):
            is_optional = self.taken("?")
            key = self.expression()
            self.expect(":")
            entries.append((key, self.expression(), is_optional))
            if not self.taken(","):
                self.expect("}")
                break
        return MapLiteral(at, entries)


def _balanced(function: str, parts: list[Node], places: list[int]) -> Node:
    if not places:
        return parts[0]
    middle = len(places) // 2
    left = _balanced(function, parts[: middle + 1], places[:middle])
    right = _balanced(function, parts[middle + 1 :], places[middle + 1 :])
    return Call(places[middle], function, None, [left, right])
