"""Where statements of T-SQL end: it asks for no semicolons, so a statement ends where the next one begins."""

from lakebed.lineage.tokens_view import TokensView

_VERBS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"})
_OBJECTS = frozenset(
    {
        "TABLE",
        "VIEW",
        "PROCEDURE",
        "PROC",
        "FUNCTION",
        "SCHEMA",
        "INDEX",
        "TRIGGER",
        "TYPE",
        "SEQUENCE",
        "DATABASE",
        "COLUMN",
        "CONSTRAINT",
        "ROLE",
        "USER",
        "SYNONYM",
        "STATISTICS",
    }
)
# Reserved words that begin a statement wherever they stand, unless a rule below says that they go on with one.
STARTERS = _VERBS | {
    "ALTER", "BEGIN", "BREAK", "CLOSE", "COMMIT", "CONTINUE", "CREATE", "DEALLOCATE", "DECLARE", "DENY", "DROP", "ELSE",
    "EXEC", "EXECUTE", "FETCH", "GOTO", "GRANT", "IF", "OPEN", "PRINT", "RAISERROR", "RETURN", "REVOKE", "ROLLBACK",
    "SET", "TRUNCATE", "USE", "WAITFOR", "WHILE", "WITH",
}  # fmt: skip
# Words after which a verb goes on with the statement.
_LEADING_ON = frozenset(
    {"UNION", "ALL", "EXCEPT", "INTERSECT", "AS", "FOR", "THEN", "ON", "OF", "AFTER", ",", "GRANT", "DENY", "REVOKE"}
)


def is_batch_end(view: TokensView, place: int) -> bool:
    """`GO`, alone on its line or with a count."""
    if view.words[place] != "GO":
        return False
    if view.alone_on_its_line(place):
        return True
    line = view.tokens[place].line
    return (
        (place == 0 or view.tokens[place - 1].line < line)
        and view.word(place + 1).isdigit()
        and view.alone_on_its_line(place + 1) is False
        and (place + 2 == len(view) or view.tokens[place + 2].line > line)
    )


def statement_end(view: TokensView, start: int) -> int:
    """The place after the last token of the statement that begins at `start`."""
    words = view.words
    first = words[start]
    # the statement proper is still to come: after the CTEs of WITH, after the table of INSERT
    awaits_verb = first == "WITH"
    awaits_rows = first == "INSERT"
    awaits_set = first == "UPDATE"
    cases = 0
    place = start + 1
    while place < len(words):
        word = words[place]
        if word == ";" or is_batch_end(view, place):
            return place
        if word == "CASE":
            cases += 1
        elif word == "END":
            if not cases:
                return place
            cases -= 1
        elif word in ("VALUES", "DEFAULT"):
            awaits_rows = False
        elif not cases and word in STARTERS:
            if awaits_verb and word in _VERBS:
                awaits_verb, awaits_rows, awaits_set = False, word == "INSERT", word == "UPDATE"
            elif awaits_rows and word in ("SELECT", "EXEC", "EXECUTE"):
                awaits_rows = False
            elif awaits_set and word == "SET":
                awaits_set = False
            elif _begins(view, first, place):
                return place
        place = view.after(place)
    return place


def _begins(view: TokensView, first: str, place: int) -> bool:
    """Whether a starter begins a new statement, rather than going on with the one that `first` began."""
    word, before, after = view.words[place], view.word(place - 1), view.word(place + 1)
    if word in _VERBS:
        # SET NOCOUNT ON is a whole statement
        leads_on = before in _LEADING_ON and not (first == "SET" and before == "ON")
        return not leads_on and not (word == "MERGE" and after == "JOIN")
    if word == "SET":
        return before not in ("UPDATE", "DELETE") and not (first == "ALTER" and view.word(place - 2) == "DATABASE")
    if word == "WITH":
        return before not in ("AS", ",") and is_cte(view, place)
    if word in ("DROP", "ALTER"):
        return before not in ("OR", ",") and not (first == "ALTER" and after in ("COLUMN", "CONSTRAINT", "PARTITION"))
    if word == "IF":
        return before not in _OBJECTS
    if word == "FETCH":
        return before not in ("ROW", "ROWS")
    if word in ("EXEC", "EXECUTE"):
        return before not in ("WITH", ",", "FOR", "GRANT", "DENY", "REVOKE")
    return True


def is_cte(view: TokensView, place: int) -> bool:
    """`WITH name AS (` and `WITH name (a, b) AS (`; `WITH (NOLOCK)` is a hint."""
    name = place + 1
    if not view.is_name(name):
        return False
    after = view.after(name + 1) if view.word(name + 1) == "(" else name + 1
    return view.word(after) == "AS" and view.word(after + 1) == "("


def condition_end(view: TokensView, start: int) -> int:
    """Where the condition of IF or WHILE ends: at the word that begins its statement."""
    place, cases = start, 0
    while place < len(view):
        word = view.words[place]
        if word == ";" or is_batch_end(view, place):
            return place
        if word == "CASE":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        elif not cases and word in STARTERS and not (word == "UPDATE" and view.word(place + 1) == "("):
            return place
        place = view.after(place)
    return place
