"""Takes secrets out of what is handed on: known values, and what looks like a secret by its name or shape.

Too much is taken rather than too little: a lost line can be asked for, a key that was sent cannot be taken back.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MARK = "[redacted]"
SHORTEST = 4  # characters of a value that is searched for: a shorter one would be found in every other word

_TAIL = (
    r"(?:secret|passw(?:or)?d|passphrase|token|credentials?"
    r"|(?:access|private|api|account|shared|encryption|signing)[-_.]?key"
    r"|signature|authorization|cookie|(?<![A-Za-z])(?:pass|pwd|sig))"
    r"(?:[-_.]?(?:access|key|id|value|hash|s))*\d*"
)
#: What such a name ends with, so that `TokenException: …` and `secretName: …` stay.
_NAMED = re.compile(rf"{_TAIL}$", re.IGNORECASE)
#: `key = value` of a properties file or of YAML, whose value may have blanks.
_LINE = re.compile(r"^([ \t]*(?:-[ \t]+)?\\*[\"']?([\w.\-/]+)\\*[\"']?[ \t]*[=:][ \t]*).+", re.MULTILINE)
_FLAG = re.compile(r"--?[\w.\-]+$")
_BASE64 = r"[A-Za-z0-9+/=\s\\]*"

_RULES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), MARK),
    # a log that was cut holds a part of one
    (re.compile(rf"-----BEGIN [A-Z ]*PRIVATE KEY-----{_BASE64}"), MARK),
    (re.compile(r"(?:^[A-Za-z0-9+/=]{1,80}[\r\n]+)*-----END [A-Z ]*PRIVATE KEY-----", re.MULTILINE), MARK),
    (re.compile(r"(?<=://)[^\s/?#\"'<>]*@"), f"{MARK}@"),
    (
        re.compile(
            r"\b((?:proxy-)?authorization|(?:set-)?cookie|x-amz-security-token)\b(\\*[\"']?[ \t]*[:=][ \t]*)[^\r\n]+",
            re.IGNORECASE,
        ),
        rf"\1\2{MARK}",
    ),
    (re.compile(r"\b(bearer|basic)[ \t]+[A-Za-z0-9._~+/=\-]{8,}", re.IGNORECASE), rf"\1 {MARK}"),
    (re.compile(rf"<([\w:.\-]{{0,80}}{_TAIL})>[^<]*<", re.IGNORECASE), rf"<\1>{MARK}<"),
    (
        re.compile(
            rf"({_TAIL}(?!\w)\\*[\"']?[ \t]*[:=][ \t]*)"
            r"(?:\\+([\"']).*?\\+\2|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|\S+)",
            re.IGNORECASE,
        ),
        rf"\1{MARK}",
    ),
    (re.compile(rf"((?:^|\s)--?[\w.\-]{{0,80}}{_TAIL}[ \t]+)[^\s-]\S*", re.IGNORECASE), rf"\1{MARK}"),
]


def looks_secret(name: str) -> bool:
    """Whether what is kept under this name is a secret: `s3a.secretKey`, `ansible_become_pass`, `X-Amz-Signature`."""
    return bool(_NAMED.search(name))


def values(variables: Mapping[str, Any]) -> Iterator[str]:
    """Every text and number kept under a name that looks secret, however deep."""
    for name, value in variables.items():
        if looks_secret(name):
            yield from _leaves(value)
        else:
            for one in value if isinstance(value, list | tuple) else [value]:
                if isinstance(one, Mapping):
                    yield from values(one)


class Redactor:
    """Takes out the `known` values, in whatever form they are written, and what looks secret."""

    def __init__(self, known: Iterable[str]) -> None:
        forms = {form for value in known if len(value) >= SHORTEST for form in _forms(value)}
        longest = sorted(forms, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest))) if longest else None

    def document(self, text: str) -> str:
        """A text, by its structure where it is JSON."""
        try:
            data = json.loads(text)
        except ValueError:
            return self.text(text)
        return json.dumps(self.data(data), indent=1, ensure_ascii=False) + "\n"

    def data(self, value: Any) -> Any:
        """A value of JSON with the same shape."""
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, str):
            return self.text(value)
        return MARK if self._is_known(value) else value

    def text(self, text: str) -> str:
        """A text, line by line and by what secrets look like in one."""
        text = self._values(text)
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        return _LINE.sub(lambda line: f"{line[1]}{MARK}" if looks_secret(line[2]) else line[0], text)

    def _mapping(self, value: Mapping[str, Any]) -> dict[str, Any]:
        # {name: AWS_SECRET_ACCESS_KEY, value: …}, as Kubernetes writes an environment
        named = any(isinstance(value.get(key), str) and looks_secret(value[key]) for key in ("name", "key"))
        return {
            self._values(key): _hidden(one) if looks_secret(key) or (named and key == "value") else self.data(one)
            for key, one in value.items()
        }

    def _list(self, value: list[Any]) -> list[Any]:
        # [--password, …], as a command is kept
        return [
            MARK if before and isinstance(one, str) and not one.startswith("-") else self.data(one)
            for before, one in zip([False, *map(_is_flag, value)], value, strict=False)
        ]

    def _values(self, text: str) -> str:
        return self._known.sub(MARK, text) if self._known else text

    def _is_known(self, value: Any) -> bool:
        return self._known is not None and bool(self._known.fullmatch(str(value)))


def _hidden(value: Any) -> Any:
    """A value kept under a secret's name, with its shape; truth values tell nothing."""
    if isinstance(value, Mapping):
        return {key: _hidden(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_hidden(one) for one in value]
    return value if value is None or isinstance(value, bool) else MARK


def _is_flag(value: Any) -> bool:
    return isinstance(value, str) and bool(_FLAG.match(value)) and looks_secret(value)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _leaves(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _forms(value: str) -> set[str]:
    """A value as it is, in a URL, as base64, in JSON and in a properties file."""
    encoded = base64.b64encode(value.encode()).decode()
    quoted = {urllib.parse.quote(value, safe=""), urllib.parse.quote(value), urllib.parse.quote_plus(value)}
    return {value, *quoted, encoded, json.dumps(value)[1:-1], value.replace("\\", "\\\\")}
