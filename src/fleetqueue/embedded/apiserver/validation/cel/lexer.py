"""Cut the text of an expression into tokens."""

import re
from typing import NamedTuple

from fleetqueue.embedded.apiserver.validation.cel.errors import CompileError, SourceProblem


class Token(NamedTuple):
    kind: str
    """name, int, uint, float, string, bytes, end, or the operator itself."""
    text: str
    at: int
    shown: str
    """The text as it stands in the source."""


_TOKEN = re.compile(
    r"""
    (?P<space>[\t \r\n\f]+|//[^\n]*)
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|[0-9]+)
  | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
  | (?P<operator>==|!=|<=|>=|&&|\|\||[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE,
)
_OPENING = re.compile(r"(?P<prefix>[bB][rR]|[rR]?[bB]?)(?P<quote>'''|\"\"\"|'|\")")
_RAW_END = {"'": re.compile(r"[^'\r\n]*"), '"': re.compile(r'[^"\r\n]*')}
_ESCAPED = r"""\\(?:[abfnrtv'"`?\\]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_COOKED_END = {
    "'": re.compile(rf"(?:{_ESCAPED}|[^'\\\r\n])*"),
    '"': re.compile(rf'(?:{_ESCAPED}|[^"\\\r\n])*'),
}
_LONG_RAW_END = {"'''": re.compile(r"(?s:.*?)(?=''')"), '"""': re.compile(r'(?s:.*?)(?=""")')}
_LONG_COOKED_END = {
    "'''": re.compile(rf"(?:{_ESCAPED}|[^\\])*?(?=''')"),
    '"""': re.compile(rf'(?:{_ESCAPED}|[^\\])*?(?=""")'),
}
_LONG_FAULT = {quote: re.compile(rf"(?:{_ESCAPED}|[^\\])*") for quote in _LONG_COOKED_END}


def tokens(source: str, problems: list[SourceProblem]) -> list[Token]:
    """Return the tokens of a source, the last one of kind `end`; what is no token is noted and left out."""
    token_list: list[Token] = []
    at = 0
    while at < len(source):
        token, end = _next(source, at)
        if end == at:
            end = _end_of_fault(source, at)
            problems.append(SourceProblem(at, f"Syntax error: token recognition error at: '{source[at:end]}'"))
        elif token is not None:
            token_list.append(token)
        at = end
    token_list.append(Token("end", "", len(source), "<EOF>"))
    return token_list


def _next(source: str, at: int) -> tuple[Token | None, int]:
    """Return the next token, or none for a space, and where it ends; at the same place if there is no token."""
    opening = _OPENING.match(source, at)
    if opening and (literal := _quoted(source, at, opening)) is not None:
        return literal, at + len(literal.shown)
    match = _TOKEN.match(source, at)
    if match is None:
        return None, at
    kind, text = match.lastgroup or "", match.group()
    if kind == "space":
        return None, match.end()
    return Token(text if kind == "operator" else kind, text, at, text), match.end()


def _end_of_fault(source: str, at: int) -> int:
    """Return how far the real lexer goes before it sees that there is no token, that character included."""
    if source[at] in "'\"":
        quote = source[at : at + 3] if source[at : at + 3] in ("'''", '"""') else source[at]
        body = (_LONG_FAULT if len(quote) == 3 else _COOKED_END)[quote].match(source, at + len(quote))
        end = body.end() if body else at + 1
        return min(end + 2 if source[end : end + 1] == "\\" else end + 1, len(source))
    return min(at + (2 if source[at] in "=&|" else 1), len(source))


def _quoted(source: str, at: int, opening: "re.Match[str]") -> Token | None:
    prefix, quote = opening["prefix"].lower(), opening["quote"]
    is_raw = "r" in prefix
    if len(quote) == 3:
        ending = (_LONG_RAW_END if is_raw else _LONG_COOKED_END)[quote]
    else:
        ending = (_RAW_END if is_raw else _COOKED_END)[quote]
    body = ending.match(source, opening.end())
    if body is None or not source.startswith(quote, body.end()):
        return None
    kind = "bytes" if "b" in prefix else "string"
    text, shown = body.group(), source[at : body.end() + len(quote)]
    return Token(kind, text if is_raw else _unescaped(text, kind, source, at), at, shown)


_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip


def _unescaped(text: str, kind: str, source: str, at: int) -> str:
    """Resolve escapes; in bytes, `\\x` and octal escapes mean single bytes, held here as characters below 256."""
    if "\\" not in text:
        return _as_bytes(text) if kind == "bytes" else text
    parts: list[str] = []
    last = 0
    for match in _ESCAPE.finditer(text):
        between = text[last : match.start()]
        parts.append(_as_bytes(between) if kind == "bytes" else between)
        parts.append(_escaped_char(match, kind, source, at))
        last = match.end()
    parts.append(_as_bytes(text[last:]) if kind == "bytes" else text[last:])
    return "".join(parts)


def _escaped_char(match: "re.Match[str]", kind: str, source: str, at: int) -> str:
    hexadecimal = match[1] or (match[2] or match[3] if kind == "string" else "")
    if hexadecimal:
        code = int(hexadecimal, 16)
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    elif match[4]:
        return chr(int(match[4], 8))
    elif match[5] in _SIMPLE:
        return _SIMPLE[match[5]]
    raise CompileError([SourceProblem(at, "unable to unescape string")], source)


def _as_bytes(text: str) -> str:
    return text.encode().decode("latin-1")
