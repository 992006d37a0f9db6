"""SQLMesh models: a `MODEL (name ..., kind ...);` before the query says what the query makes."""

import re
from typing import Literal, NamedTuple

_MODEL = re.compile(r"\A(?:\s|--[^\n]*\n|/\*.*?\*/)*(MODEL|AUDIT)\s*\(", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"\bname\s+([\w.\"`-]+)", re.IGNORECASE)
_KIND = re.compile(r"\bkind\s+(\w+)", re.IGNORECASE)
# Quoted text and comments, whose parentheses do not count.
_PIECES = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|[()]", re.DOTALL)


class SqlmeshModel(NamedTuple):
    """The name that a model's head gives, and the text with the head blanked out: its positions stay."""

    name: tuple[str, ...] | None
    kind: Literal["view", "table"]
    sql: str


def read_model(text: str) -> SqlmeshModel | None:
    """The model of a file; None where it is no model of SQLMesh's."""
    head = _MODEL.match(text)
    if head is None:
        return None
    depth, end = 0, len(text)
    for piece in _PIECES.finditer(text, head.end() - 1):
        if piece.group() in "()":
            depth += 1 if piece.group() == "(" else -1
            if depth == 0:
                end = piece.end()
                break
    inside = text[head.end() : end]
    name, kind = _NAME.search(inside), _KIND.search(inside)
    # an audit's query asks about a model, and makes none
    is_model = head.group(1).upper() == "MODEL"
    blank = re.sub(r"[^\n]", " ", text[:end])
    return SqlmeshModel(
        tuple(part.strip('"`') for part in name.group(1).split(".")) if name is not None and is_model else None,
        "table" if kind is not None and kind.group(1).upper() not in ("VIEW", "EMBEDDED") else "view",
        blank + text[end:],
    )
