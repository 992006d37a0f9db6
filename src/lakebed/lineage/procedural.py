"""Cuts scripts with procedures, blocks and batches into statements.

The words of control flow are taken away, so that what is left of a body are statements as they stand outside of one:
`IF x THEN INSERT ...; END IF` is the INSERT, `FOR r IN (SELECT ...) LOOP` the SELECT. Names that are declared are
remembered in a `Body`: they are variables, not columns or tables.
"""

from collections.abc import Callable, Generator, Iterator

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from lakebed.lineage import routines, tsql_boundaries, variables
from lakebed.lineage.pieces import Body, Language, Piece
from lakebed.lineage.relations import NO_REFS, mark_approximate, union
from lakebed.lineage.tokens_view import TokensView

_BLOCK_WORDS = frozenset({"IF", "LOOP", "CASE", "WHILE", "REPEAT", "FOR"})
_ROUTINES = frozenset({"PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "PACKAGE", "TASK", "MACRO"})
# Statements of a body that move no data.
_WITHOUT_LINEAGE = frozenset(
    {
        "NULL", "RAISE", "EXIT", "CONTINUE", "LEAVE", "ITERATE", "BREAK", "GOTO", "SIGNAL", "RESIGNAL", "FETCH",
        "CLOSE", "PRAGMA", "ASSERT", "GET", "PIPE", "PRINT", "RAISERROR", "THROW", "WAITFOR", "DEALLOCATE", "TYPE",
        "SUBTYPE",
    }
)  # fmt: skip

# The next place to read from, after the pieces found on the way; None where a rule does not apply.
Cut = Generator[Piece, None, int]
Tried = Generator[Piece, None, int | None]


class Cutter:
    """Cuts the tokens of one text, and of the texts inside of it: bodies in quotes, literal SQL."""

    def __init__(self, view: TokensView, offset: int, language: Language, body: Body | None = None) -> None:
        self._view = view
        self._offset = offset
        self._language = language
        self._outer = body
        self._body = body
        self._blocks = 0
        self._declaring = False
        self._packages = 0

    def pieces(self) -> Iterator[Piece]:
        """Every statement in order."""
        place = 0
        while place < len(self._view):
            place = yield from self._cut(place)

    def _cut(self, place: int) -> Cut:
        view = self._view
        word = view.words[place]
        if word == ";":
            return place + 1
        if self._is_batch_end(place):
            self._body, self._blocks, self._declaring = self._outer, 0, False
            return place + 2 if view.word(place + 1).isdigit() else place + 1
        if word == "<<" or (word == "<" and view.word(place + 1) == "<"):
            # a label: <<name>>
            close = view.find(place, (">", ">>"), routines.STATEMENTS)
            return place + 1 if close is None else close + (2 if view.word(close + 1) == ">" else 1)
        rule = _RULES.get(word)
        if rule is not None:
            after = yield from rule(self, place)
            if after is not None:
                return after
        if self._declaring:
            return (yield from self._declaration(place))
        if self._body is not None or self._language.without_semicolons:
            if word in _WITHOUT_LINEAGE:
                return self._end(place)
            if view.word(place + 1) == ":" and view.word(place + 2) in ("LOOP", "WHILE", "REPEAT", "FOR", "BEGIN"):
                return place + 2
            if self._language.dialect == "oracle" and routines.is_call(view, place):
                end = self._end(place)
                name = routines.name_and_end(view, place - 1)[0]
                yield Piece(view.tokens[place:end], view.text, self._offset, self._body, routine="CALL", name=name)
                return end
            assigned = variables.assigned_name(view, place)
            if assigned is not None:
                return (yield from self._assignment(place, assigned))
        return (yield from self._statement(place))

    # -- statements

    def _statement(self, place: int) -> Cut:
        end = self._end(place)
        yield self._piece(place, end)
        return end

    def _end(self, place: int) -> int:
        if self._language.without_semicolons:
            return max(tsql_boundaries.statement_end(self._view, place), place + 1)
        return self._view.end_of_statement(place)

    def _is_batch_end(self, place: int) -> bool:
        word = self._view.words[place]
        if word == "GO":
            return self._language.without_semicolons and tsql_boundaries.is_batch_end(self._view, place)
        return word == "/" and self._view.alone_on_its_line(place)

    def _piece(self, start: int, end: int, *, record: str | None = None) -> Piece:
        view = self._view
        left_out = range(0)
        into: tuple[str, ...] = ()
        if (self._body is not None or self._language.into_variables) and not self._language.without_semicolons:
            left_out, into = variables.into_clause(view, start, end)
        tokens = list(view.tokens[start:end])
        if left_out:
            del tokens[left_out.start - start : left_out.stop - start]
        if self._body is not None:
            tokens = variables.without_colons(tokens, self._body)
        return Piece(tokens, view.text, self._offset, self._body, into, record)

    def _assignment(self, place: int, name: str) -> Cut:
        """`v := (SELECT ...)`: the query gives v its value."""
        end = self._end(place)
        for piece in self._subqueries(place, end):
            yield piece._replace(into=(name,))
        return end

    def _only_subqueries(self, place: int) -> Cut:
        end = self._end(place)
        yield from self._subqueries(place, end)
        return end

    def _subqueries(self, start: int, end: int) -> Iterator[Piece]:
        for first, last in self._view.subqueries(start, end):
            yield self._piece(first, last)

    # -- blocks

    def _begin(self, place: int) -> Tried:
        yield from ()
        after = self._view.word(place + 1)
        if after in ("TRAN", "TRANSACTION", "WORK", ";", "") or self._view.words[place] == "BEGIN TRANSACTION":
            return None
        self._blocks += 1
        self._declaring = False
        if self._body is None:
            self._body = Body()
        if after == "NOT":
            return place + 3
        return place + (2 if after in ("TRY", "CATCH", "ATOMIC", "DISTRIBUTED") else 1)

    def _end_block(self, place: int) -> Tried:
        yield from ()
        view = self._view
        if self._language.without_semicolons:
            self._blocks = max(0, self._blocks - 1)
            return place + (2 if view.word(place + 1) in ("TRY", "CATCH", "CONVERSATION") else 1)
        if view.word(place + 1) not in _BLOCK_WORDS:
            if self._blocks:
                self._blocks -= 1
            else:
                self._packages = max(0, self._packages - 1)
            self._declaring = bool(self._packages) and not self._blocks
            if not self._blocks and not self._packages:
                self._body = self._outer
        # END, END IF, END LOOP name
        after = place + 1
        while view.word(after) not in (";", "") and after - place < 3 and not self._is_batch_end(after):
            after += 1
        return after

    def _skip(self, place: int) -> Tried:
        yield from ()
        if self._body is None and not self._language.without_semicolons:
            return None
        return place + 1

    def _condition(self, place: int) -> Tried:
        """IF x THEN, WHILE x DO, WHEN x THEN: the statements after it count, and the queries in it."""
        view = self._view
        if self._language.without_semicolons:
            after = tsql_boundaries.condition_end(view, place + 1)
            yield from self._subqueries(place, after)
            return after
        if self._body is None and self._language.dialect not in ("bigquery", "snowflake"):
            return None
        if self._body is None:
            self._body = Body()
        found = view.find(place + 1, ("THEN", "DO", "LOOP"))
        end = self._end(place) if found is None else found
        yield from self._subqueries(place, end)
        return end + (0 if found is None else 1)

    def _case(self, place: int) -> Tried:
        """CASE x WHEN ... THEN as a statement: its branches follow."""
        if self._body is None:
            return None
        yield from ()
        return self._view.find(place + 1, ("WHEN",))

    def _for(self, place: int) -> Tried:
        """FOR r IN (SELECT ...) LOOP: the rows of the query are r."""
        view = self._view
        if self._body is None and self._language.dialect not in ("bigquery", "snowflake", "spark", "databricks"):
            return None
        self._body = self._body or Body()
        if view.words[place] == "FORALL":
            found = next((i for i in range(place, len(view)) if view.words[i] in routines.STATEMENTS), None)
            return found
        loop = view.find(place + 1, ("LOOP", "DO"))
        if loop is None:
            return None
        into = view.find(place, ("IN",), ("LOOP", "DO", ";"))
        name = view.tokens[place + 1].text.lower()
        if into is None and view.word(place + 2) == "AS":
            # FOR r AS SELECT ... DO
            into = place + 2
        if into is not None:
            self._body.variables.setdefault(name, ())
            first = into + 1
            while view.word(first) == "(" and view.word(first + 1) in ("(", "SELECT", "WITH"):
                first += 1
            if view.word(first) in ("SELECT", "WITH"):
                last = view.closing.get(first - 1, loop)
                yield self._piece(first, last, record=name)
            elif view.is_name(first) and (cursor := self._body.records.get(view.tokens[first].text.lower())):
                self._body.records[name] = cursor
        return loop + 1

    # -- declarations

    def _declare(self, place: int) -> Tried:
        view = self._view
        if self._language.without_semicolons:
            return (yield from self._tsql_declare(place))
        if view.word(place + 2) == "HANDLER":
            # DECLARE CONTINUE HANDLER FOR condition statement
            end = self._end(place)
            return next((i for i in range(place + 3, end) if view.words[i] in (*routines.STATEMENTS, "BEGIN")), end)
        is_cursor = view.find(place, ("CURSOR",)) is not None
        if self._body is None and is_cursor and self._language.dialect == "postgres":
            cursor = view.find(place, ("FOR",))
            if cursor is not None:
                yield self._piece(cursor + 1, self._end(place))
            return self._end(place)
        if self._body is None:
            self._body = Body()
            if not self._blocks:
                self._outer = self._body if self._language.declares_one_by_one else self._outer
        self._declaring = not self._language.declares_one_by_one
        return (yield from self._declaration(place + 1))

    def _declaration(self, place: int) -> Cut:
        """`v INT := 1;`, `a, b STRING;`, `CURSOR c IS SELECT ...;`, `c CURSOR FOR SELECT ...;`."""
        view = self._view
        end = self._end(place)
        body = self._body if self._body is not None else Body()
        word = view.words[place] if place < len(view) else ""
        if word in _WITHOUT_LINEAGE or word == "OR":
            return end
        at = place + 1 if word in ("CURSOR", "VAR", "VARIABLE") or (word == "OR" and place + 2 < end) else place
        names = []
        while view.is_name(at):
            names.append(view.tokens[at].text.lower())
            if view.word(at + 1) != ",":
                break
            at += 2
        for name in names:
            body.variables.setdefault(name, ())
        cursor = view.find(place, ("CURSOR",))
        if cursor is not None and cursor < end and names:
            query = view.find(place, ("IS", "FOR"))
            if query is not None and query < end:
                while view.word(query + 1) == "(":
                    query += 1
                yield self._piece(query + 1, view.closing.get(query, end), record=names[0])
            return end
        for piece in self._subqueries(place, end):
            yield piece._replace(into=tuple(names[:1]))
        return end

    def _tsql_declare(self, place: int) -> Tried:
        view = self._view
        end = self._end(place)
        if "TABLE" in view.words[place:end]:
            return None
        cursor = view.find(place + 1, ("CURSOR",), (";",))
        query = view.find(cursor, ("FOR",), (";",)) if cursor is not None and cursor < end else None
        if query is not None and query < end:
            yield self._piece(query + 1, end)
        else:
            yield from self._subqueries(place, end)
        return end

    # -- what returns rows, and SQL in text

    def _return(self, place: int) -> Tried:
        view = self._view
        at = place + 1
        if view.word(at) == "QUERY":
            at += 1
        if view.word(at) in ("SELECT", "WITH"):
            end = view.end_of_statement(at) if not self._language.without_semicolons else self._end(at)
            yield self._piece(at, end)
            return end
        if view.word(at) == "EXECUTE":
            return at
        return (yield from self._only_subqueries(place))

    def _open(self, place: int) -> Tried:
        """OPEN c FOR SELECT ..."""
        query = self._view.find(place, ("FOR",))
        end = self._end(place)
        if query is not None and query < end and self._view.word(query + 1) in ("SELECT", "WITH"):
            yield self._piece(query + 1, end)
        return end

    def _fetch(self, place: int) -> Tried:
        """FETCH c INTO v, w: the variables have the values of the cursor's columns."""
        yield from ()
        view, body = self._view, self._body
        if body is None:
            return None
        into = view.find(place, ("INTO", "BULK COLLECT INTO", "BULK"))
        end = self._end(place)
        if into is not None and into < end:
            cursor = body.records.get(view.tokens[into - 1].text.lower())
            _, names = variables.targets(view, into, end)
            if cursor is not None and len(names) == 1 and len(cursor.names) > 1:
                body.records[names[0]] = cursor
            for name, refs in zip(names, cursor.refs if cursor is not None else (), strict=False):
                body.variables[name] = union([body.variables.get(name, NO_REFS), mark_approximate(refs)])
        return end

    def _perform(self, place: int) -> Tried:
        """PL/pgSQL's PERFORM is a SELECT whose rows are thrown away."""
        if self._body is None:
            return None
        end = self._end(place)
        piece = self._piece(place, end)
        first = piece.tokens[0]
        select = Token(TokenType.SELECT, "SELECT", first.line, first.col, first.start, first.end)
        yield piece._replace(tokens=[select, *piece.tokens[1:]])
        return end

    def _execute(self, place: int) -> Tried:
        """EXECUTE IMMEDIATE '...', EXEC ('...'), EXEC sp_executesql N'...': SQL that is known is analysed."""
        view = self._view
        at = place + 1
        if view.word(at) in ("IMMEDIATE", "SP_EXECUTESQL"):
            at += 1
        while view.word(at) == "(":
            at += 1
        if view.word(at) == "@" and view.word(at + 2) == "=":
            at += 3
        if view.word(at) == "N":
            at += 1
        if not view.is_string(at) or view.word(at + 1) in ("||", "+", "&"):
            return None
        yield from self._inside(at)
        return max(self._end(place), at + 1)

    def _unload(self, place: int) -> Tried:
        """UNLOAD ('SELECT ...') TO 's3://...' of Redshift, UNLOAD (SELECT ...) TO '...' of Athena."""
        view = self._view
        end = self._end(place)
        close = view.closing.get(place + 1)
        if close is None or view.word(close + 1) != "TO" or not view.is_string(close + 2):
            return None
        files = view.tokens[close + 2].text
        if view.is_string(place + 2):
            for piece in self._within(place + 2, self._body):
                yield piece._replace(place=files)
        else:
            yield self._piece(place + 2, close)._replace(place=files)
        return end

    def _inside(self, place: int) -> Iterator[Piece]:
        """The statements of a text in quotes."""
        yield from self._within(place, self._body)

    def _within(self, place: int, body: Body | None) -> Iterator[Piece]:
        text, start = self._view.inner_text(place)
        try:
            tokens = self._language.tokenize(text)
        except TokenError as error:
            problem = f"the text cannot be split into tokens: {(str(error).splitlines() or [''])[0]}"
            token = self._view.tokens[place]
            yield Piece([token], self._view.text, self._offset, routine="UNKNOWN", problem=problem)
            return
        yield from Cutter(TokensView(tokens, text), self._offset + start, self._language, body).pieces()

    def _do(self, place: int) -> Tried:
        """PostgreSQL's DO $$ ... $$."""
        at = place + 1
        if self._view.word(at) == "LANGUAGE":
            at += 2
        if not self._view.is_string(at):
            return (yield from self._skip(place))
        yield from self._routine_text(at)
        return self._view.end_of_statement(at)

    def _routine_text(self, place: int) -> Iterator[Piece]:
        yield from self._within(place, self._body or Body())

    # -- routines

    def _create(self, place: int) -> Tried:
        """CREATE [OR REPLACE] PROCEDURE, FUNCTION, TRIGGER, PACKAGE, TASK."""
        words = self._view.words
        for at in range(place + 1, min(place + 9, len(words))):
            if words[at] in _ROUTINES:
                return (yield from self._routine(place, at))
            if words[at] in ("TABLE", "VIEW", "INDEX", "(", ";", "SCHEMA", "DATABASE"):
                return None
        return None

    def _with_function(self, place: int) -> Tried:
        """Trino's functions of one query, whose bodies have semicolons."""
        view = self._view
        if view.word(place + 1) != "FUNCTION":
            return None
        query = routines.end_of_inline_functions(view, place)
        if query is None or view.word(query) not in routines.STATEMENTS:
            return None
        return (yield from self._statement(query))

    def _nested_routine(self, place: int) -> Tried:
        """A procedure in a package or in the declarations of another one."""
        if not self._declaring:
            return None
        return (yield from self._routine(place, place))

    def _routine(self, start: int, kind: int) -> Cut:
        view = self._view
        name, at = routines.name_and_end(view, kind)
        if self._body is None:
            self._body = Body()
        if view.word(at) == "(":
            for parameter in routines.parameters(view, at + 1, view.closing.get(at, at)):
                self._body.variables.setdefault(parameter, NO_REFS)
            at = view.after(at)
        if view.words[kind] == "TRIGGER":
            self._body.trigger_table = routines.trigger_table(view, at)
        what = {"PROC": "PROCEDURE"}.get(view.words[kind], view.words[kind])
        head = Piece([], view.text, self._offset, self._body, routine=f"CREATE_{what}", name=name)
        found = routines.body_start(view, at)
        tokens = view.tokens[start : max(start + 1, found if found is not None else self._end(start))]
        language = routines.language_of(view, start)
        if found is not None and view.is_string(found) and not (language or self._language.quotes_bodies):
            found = None
        if found is None or (language is not None and language not in routines.SQL_LANGUAGES):
            if not self._blocks and not self._packages:
                self._body = self._outer
            why = "has no body that is known" if found is None else f"is written in {language}"
            yield head._replace(tokens=tokens, problem=f"this {what.lower()} {why}, and is not analysed")
            return self._view.end_of_statement(at)
        yield head._replace(tokens=tokens)
        if view.is_string(found):
            yield from self._routine_text(found)
            if not self._blocks and not self._packages:
                self._body = self._outer
            return view.end_of_statement(found)
        if what == "MACRO" and view.words[found] == "AS":
            # an expression
            self._body = self._outer
            return (yield from self._only_subqueries(found))
        if view.words[found] in ("AS", "IS"):
            if what == "PACKAGE":
                self._packages += 1
            self._declaring = not self._language.without_semicolons
            return found + 1
        if view.words[found] not in ("BEGIN", "RETURN", "IF", "DECLARE", "FOR", "WHILE"):
            # one statement is the whole body
            after = yield from self._statement(found)
            self._body = self._outer
            return after
        return found


Rule = Callable[[Cutter, int], Tried]
_RULES: dict[str, Rule] = {
    "BEGIN": Cutter._begin,
    "BEGIN TRANSACTION": Cutter._begin,
    "END": Cutter._end_block,
    **dict.fromkeys(("ELSE", "LOOP", "REPEAT", "THEN", "EXCEPTION", "TRY"), Cutter._skip),
    **dict.fromkeys(("IF", "ELSIF", "ELSEIF", "WHILE", "WHEN", "UNTIL"), Cutter._condition),
    "CASE": Cutter._case,
    **dict.fromkeys(("FOR", "FORALL", "FOREACH"), Cutter._for),
    "DECLARE": Cutter._declare,
    "RETURN": Cutter._return,
    "OPEN": Cutter._open,
    "PERFORM": Cutter._perform,
    "FETCH": Cutter._fetch,
    **dict.fromkeys(("EXECUTE", "EXEC"), Cutter._execute),
    "DO": Cutter._do,
    "UNLOAD": Cutter._unload,
    **dict.fromkeys(("CREATE", "ALTER", "REPLACE"), Cutter._create),
    **dict.fromkeys(("PROCEDURE", "FUNCTION"), Cutter._nested_routine),
    "WITH": Cutter._with_function,
}
