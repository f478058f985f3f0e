"""Cut the text of an expression into tokens."""

import re
from typing import NamedTuple

from fleetqueue.apiserver.validation.cel.errors import CompileError, Problem


class Token(NamedTuple):
    kind: str
    """name, int, uint, float, string, bytes, end, or the operator itself."""
    text: str
    at: int


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
_COOKED_END = {"'": re.compile(r"(?:\\.|[^'\\\r\n])*"), '"': re.compile(r'(?:\\.|[^"\\\r\n])*')}
_LONG_RAW_END = {"'''": re.compile(r"(?s:.*?)(?=''')"), '"""': re.compile(r'(?s:.*?)(?=""")')}
_LONG_COOKED_END = {
    "'''": re.compile(r"(?s:(?:\\.|[^\\])*?)(?=''')"),
    '"""': re.compile(r'(?s:(?:\\.|[^\\])*?)(?=""")'),
}


def tokens(source: str) -> list[Token]:
    """Return the tokens of a source, the last one of kind `end`; raises CompileError."""
    found: list[Token] = []
    at = 0
    while at < len(source):
        token, at = _next(source, at)
        if token is not None:
            found.append(token)
    found.append(Token("end", "", len(source)))
    return found


def _next(source: str, at: int) -> tuple[Token | None, int]:
    opening = _OPENING.match(source, at)
    if opening:
        return _quoted(source, at, opening)
    match = _TOKEN.match(source, at)
    if match is None:
        raise CompileError([Problem(at, f"Syntax error: token recognition error at: '{source[at]}'")], source)
    kind = match.lastgroup or ""
    if kind == "space":
        return None, match.end()
    text = match.group()
    return Token(text if kind == "operator" else kind, text, at), match.end()


def _quoted(source: str, at: int, opening: "re.Match[str]") -> tuple[Token, int]:
    prefix, quote = opening["prefix"].lower(), opening["quote"]
    is_raw = "r" in prefix
    if len(quote) == 3:
        ending = (_LONG_RAW_END if is_raw else _LONG_COOKED_END)[quote]
    else:
        ending = (_RAW_END if is_raw else _COOKED_END)[quote]
    body = ending.match(source, opening.end())
    if body is None or not source.startswith(quote, body.end()):
        raise CompileError([Problem(at, f"Syntax error: token recognition error at: '{source[at:]}'")], source)
    kind = "bytes" if "b" in prefix else "string"
    text = body.group()
    return Token(kind, text if is_raw else _unescaped(text, kind, source, at), at), body.end() + len(quote)


_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
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
    raise CompileError([Problem(at, "unable to unescape string")], source)


def _as_bytes(text: str) -> str:
    return text.encode().decode("latin-1")
