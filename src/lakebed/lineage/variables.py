"""Variables of procedures: where statements give them values, and how they are written."""

from sqlglot.tokenizer_core import Token

from lakebed.lineage.pieces import Body
from lakebed.lineage.routines import STATEMENTS
from lakebed.lineage.tokens_view import TokensView


def into_clause(view: TokensView, start: int, end: int) -> tuple[range, tuple[str, ...]]:
    """SELECT a, b INTO v, w FROM t, and RETURNING a INTO v: the places of the clause, and the variables."""
    first = view.words[start] if start < end else ""
    if first not in ("SELECT", "WITH", "UPDATE", "DELETE", "INSERT"):
        return range(0), ()
    found = start + 1 if first in ("SELECT", "WITH") else view.find(start, ("RETURNING", "RETURN"))
    place = None if found is None else view.find(found, ("INTO", "BULK COLLECT INTO", "BULK"))
    if place is None or place >= end or view.word(place - 1) in ("INSERT", "MERGE"):
        return range(0), ()
    after, names = targets(view, place, end)
    return (range(place, after), names) if names else (range(0), ())


def targets(view: TokensView, place: int, end: int) -> tuple[int, tuple[str, ...]]:
    """The variables after INTO, and the place after them."""
    at = place
    while view.word(at) in ("BULK", "COLLECT", "INTO", "BULK COLLECT INTO", "STRICT"):
        at += 1
    if view.word(at) in ("OUTFILE", "DUMPFILE"):
        return place, ()
    names: list[str] = []
    while at < end:
        while view.word(at) in (":", "@", "@@"):
            at += 1
        if not view.is_name(at):
            break
        names.append(view.tokens[at].text.lower())
        at += 1
        while view.word(at) in (".", "(", "["):
            at = view.after(at) if view.word(at) != "." else at + 2
        if view.word(at) != ",":
            break
        at += 1
    return min(at, end), tuple(names)


def assigned_name(view: TokensView, place: int) -> str | None:
    """The variable of `v := x`, `SET v = x`, `LET v := x`."""
    while view.word(place) in ("@", "LET", "SET", ":"):
        place += 1
    if not view.is_name(place) or view.word(place) in STATEMENTS:
        return None
    at = place + 1
    while view.word(at) in (".", "[", "("):
        at = view.after(at) if view.word(at) != "." else at + 2
    if view.is_name(at) and view.word(at + 1) in (":=", "DEFAULT"):
        # Snowflake's LET v INT := 1
        at += 1
    if view.word(at) in (":=", "=", "DEFAULT") or (view.word(at) == ":" and view.word(at + 1) == "="):
        return view.tokens[place].text.lower()
    return None


def without_colons(tokens: list[Token], body: Body) -> list[Token]:
    """`:v` and Oracle's `:NEW.a` as v and NEW.a; the colon of a JSON path stands right behind its column."""
    found: list[Token] = []
    for place, token in enumerate(tokens):
        if token.text == ":" and place + 1 < len(tokens):
            name = tokens[place + 1].text.lower()
            is_path = bool(found) and found[-1].end + 1 == token.start and found[-1].text[-1:].isalnum()
            is_row = body.trigger_table is not None and name in ("new", "old")
            if not is_path and (is_row or name in body.variables):
                continue
        found.append(token)
    return found
