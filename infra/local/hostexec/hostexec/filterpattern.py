"""Filter patterns for JSON with && and ||, of which LocalEmu takes the first
comparison alone (Amazon CloudWatch Logs user guide, "Filter pattern syntax")."""

import json
import re

from localemu.services.logs import provider

TOKENS = re.compile(r'\s*(\(|\)|&&|\|\||!=|=|\$\.[\w.]+|"[^"]*"|-?[\d.]+|true|false|null)')


def apply() -> None:
    simple = provider.get_pattern_matcher

    def matcher(pattern: str):
        if not pattern.strip().startswith("{"):
            return simple(pattern)
        expression = parsed(pattern.strip()[1:-1])
        return lambda _, event: holds(expression, event.get("message", ""))

    provider.get_pattern_matcher = matcher


def holds(expression, message: str) -> bool:
    try:
        return expression(json.loads(message))
    except ValueError:
        return False


def parsed(text: str):
    """Gives the function of a record that an expression stands for."""
    tokens = TOKENS.findall(text)
    if "".join(tokens) != re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text):
        raise ValueError(f"this filter pattern is not understood: {text}")

    def either():
        terms = [both()]
        while tokens and tokens[0] == "||":
            tokens.pop(0)
            terms.append(both())
        return lambda record: any(t(record) for t in terms)

    def both():
        terms = [one()]
        while tokens and tokens[0] == "&&":
            tokens.pop(0)
            terms.append(one())
        return lambda record: all(t(record) for t in terms)

    def one():
        first = tokens.pop(0)
        if first == "(":
            inner = either()
            tokens.pop(0)
            return inner
        path, equal, value = first[2:].split("."), tokens.pop(0) == "=", json.loads(tokens.pop(0))
        return lambda record: (found(record, path) == value) == equal

    return either()


def found(record, path: list[str]):
    for name in path:
        record = record.get(name) if isinstance(record, dict) else None
    return record
