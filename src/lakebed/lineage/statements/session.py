"""Statements that change where names are looked up, move data in and out, or carry no lineage at all."""

import re

from sqlglot import exp

from lakebed.lineage.context import Context
from lakebed.lineage.contract import StatementLineage, TableUse
from lakebed.lineage.identifiers import table_parts
from lakebed.lineage.named_tables import without_data_words
from lakebed.lineage.statements import moves
from lakebed.lineage.statements.result import (
    WriteTarget,
    defined_column,
    statement_lineage,
    target_use,
    written_columns,
)
from lakebed.lineage.tables import CatalogColumn, NamePart

# Statements that read and write no columns.
_WITHOUT_LINEAGE = (
    exp.Describe,
    exp.Show,
    exp.Set,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
    exp.Comment,
    exp.Grant,
    exp.Analyze,
    exp.Refresh,
    exp.Pragma,
    exp.Attach,
    exp.Detach,
    exp.Kill,
    exp.EndStatement,
    exp.Summarize,
    exp.Semicolon,
)
# fmt: off
_COMMANDS_WITHOUT_LINEAGE = frozenset({
    "SHOW", "EXPLAIN", "SET", "GRANT", "REVOKE", "OPTIMIZE", "VACUUM", "ANALYZE", "REFRESH", "MSCK",
    "USE", "RESET", "BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "PRAGMA", "INSTALL",
    "LOAD", "CHECKPOINT", "COMMENT", "DESCRIBE", "DESC", "LIST", "PUT", "GET", "REMOVE", "ADD", "CLEAR",
    "FLUSH", "LOCK", "UNLOCK", "CHECK", "DECLARE", "FETCH", "CLOSE", "OPEN", "DEALLOCATE",
    "DISCARD", "LISTEN", "NOTIFY", "REINDEX", "CLUSTER", "GO", "PRINT", "RETURN", "KILL", "SYSTEM",
    "FORMAT",
})
# fmt: on
# What ALTER TABLE does to partitions, constraints and storage.
_HARMLESS_ACTIONS = (
    "DROP PARTITION",
    "ADD PARTITION",
    "TRUNCATE PARTITION",
    "SPLIT PARTITION",
    "MERGE PARTITIONS",
    "RENAME PARTITION",
    "ADD CONSTRAINT",
    "DROP CONSTRAINT",
    "ENABLE",
    "DISABLE",
    "OWNER TO",
    "CLUSTER BY",
    "SET TBLPROPERTIES",
    "RECOVER PARTITIONS",
    "ROW LEVEL SECURITY",
    "REBUILD",
    "COMPILE",
    "SHRINK",
)
_CALLED = re.compile(r"\s*(?:[\w\"`\[\]]+\.)*[\"`\[]?(\w+)")
_TABLE = re.compile(r"^\s*table\s+", re.IGNORECASE)


def use(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """USE names the schema, or catalog and schema, of the names that follow."""
    table = node.args.get("this")
    kind = node.args.get("kind")
    kind = (kind.name if isinstance(kind, exp.Expr) else str(kind or "")).upper()
    if isinstance(table, exp.Table):
        parts = [part.text for part in table_parts(table)]
        if kind == "CATALOG":
            ctx.catalog.default_catalog = parts[0] if parts else None
            # a catalog begins at its own schema of that name
            ctx.catalog.default_schema = "default" if ctx.dialect.name == "databricks" else None
        elif not kind.startswith(("ROLE", "WAREHOUSE", "SECONDARY")):
            if len(parts) > 1:
                ctx.catalog.default_catalog, ctx.catalog.default_schema = parts[-2], parts[-1]
            elif parts:
                ctx.catalog.default_schema = parts[0]
    return [statement_lineage(ctx, "USE", None, [])]


def set_variable(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    return [statement_lineage(ctx, "SET", None, [])]


def command(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """Text that sqlglot does not parse further."""
    word = str(node.args.get("this") or "").upper().split(" ")[0]
    text = node.args.get("expression")
    body = text.name if isinstance(text, exp.Expr) else str(text or "")
    if word == "SET" and (path := re.match(r"\s*search_path\s*(?:=|to)\s*(.+)", body, re.IGNORECASE)):
        names = [name.strip().strip("\"'") for name in path.group(1).split(",")]
        fold = ctx.catalog.rules.table_key
        ctx.catalog.search_path = tuple((fold(name, False),) for name in names if name)
        return [statement_lineage(ctx, "SET", None, [])]
    if word == "RENAME":
        pairs = [re.split(r"\s+to\s+", pair.strip(), flags=re.IGNORECASE) for pair in _TABLE.sub("", body).split(",")]
        return moves.renamed_tables([(pair[0], pair[1]) for pair in pairs if len(pair) == 2], ctx)
    moved = moves.moved_as_text(word, body, ctx)
    if moved is not None:
        return moved
    if word == "CALL" and (name := _CALLED.match(body)) and name.group(1).lower() in ctx.catalog.routines:
        # its statements were analysed where it is defined
        return [statement_lineage(ctx, "CALL", None, [])]
    if word in ("CREATE", "ALTER", "DROP"):
        about = body.upper().split()
        if without_data_words([word, *about[:7]]) is not None or _changes_no_columns(about):
            return [statement_lineage(ctx, word, None, [])]
    if word in _COMMANDS_WITHOUT_LINEAGE:
        return [statement_lineage(ctx, word, None, [])]
    return report_unsupported(ctx, word or "COMMAND")


def _changes_no_columns(words: list[str]) -> bool:
    """ALTER TABLE t DROP PARTITION ..., ENABLE ..., OWNER TO ...: no column comes or changes its name."""
    if len(words) < 4 or words[0] not in ("TABLE", "VIEW", "MATERIALIZED"):
        return False
    text = " ".join(words)
    return any(f" {action} " in f"{text} " for action in _HARMLESS_ACTIONS)


def _parts(text: str) -> list[NamePart]:
    return [NamePart(part.strip('`"[] '), False) for part in text.strip().split(".")]


def execute(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """A call of a procedure; T-SQL's sp_rename changes names, which are tracked."""
    arguments = [item.name for item in node.args.get("expressions") or [] if isinstance(item, exp.Literal)]
    procedure = node.args.get("this")
    if isinstance(procedure, exp.Table) and procedure.name.lower() == "sp_rename" and len(arguments) >= 2:
        old = _parts(arguments[0])
        if (len(arguments) > 2 and arguments[2].upper() == "COLUMN") or (ctx.find_table(old) is None and len(old) > 1):
            table = ctx.find_table(old[:-1])
            name = table.name if table is not None else ctx.catalog.name_of(old[:-1])
            _rename_column(old, arguments[1], ctx)
            return [moves.renamed_columns(name, [(old[-1].text, arguments[1])], ctx)]
        return moves.renamed_table(old, _parts(arguments[1]), ctx)
    if isinstance(procedure, exp.Table) and procedure.name.lower() in ctx.catalog.routines:
        # its statements were analysed where it is defined
        return [statement_lineage(ctx, "EXECUTE", None, [])]
    return report_unsupported(ctx, "EXECUTE")


def declare(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """T-SQL's DECLARE @t TABLE (...) is a temporary table; other variables hold no rows."""
    for item in node.args.get("expressions") or []:
        kind = item.args.get("kind")
        if not isinstance(kind, exp.Schema):
            continue
        columns = [defined_column(column, ctx) for column in kind.expressions if isinstance(column, exp.ColumnDef)]
        for variable in item.args.get("this") or []:
            parts = [NamePart(f"@{variable.name}")]
            ctx.catalog.declare(parts, columns, kind="table", statement_index=ctx.index, temporary=True)
    return [statement_lineage(ctx, "DECLARE", None, [])]


def _rename_column(old: list[NamePart], new: str, ctx: Context) -> None:
    table = ctx.find_table(old[:-1])
    if table is None:
        return
    key = ctx.column_key(old[-1].text, False)
    columns = [
        CatalogColumn(new, ctx.column_key(new, False), column.data_type, column.origin) if column.key == key else column
        for column in table.columns
    ]
    ctx.catalog.alter(old[:-1], columns)


def copy(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """COPY between a table or a query and files."""
    this = node.args.get("this")
    files = [file.name for file in node.args.get("files") or [] if file.name]
    place = files[0] if files else None
    if node.args.get("kind") and isinstance(this, exp.Table | exp.Schema):
        target = WriteTarget(this.args["this"] if isinstance(this, exp.Schema) else this, ctx)
        query = next((file for file in node.args.get("files") or [] if isinstance(file, exp.Query)), None)
        if query is not None:
            # COPY INTO t FROM (SELECT ... FROM @stage)
            relation = ctx.resolve_query(query, {}, None, ctx)
            names = target.relation.names if len(target.relation.names) == len(relation.names) else relation.names
            written = written_columns(relation, names)
            return [statement_lineage(ctx, "COPY", target.name, written, outputs=names, target_use=target_use(target))]
        if place is not None:
            ctx.used[place] = TableUse(place, "file", "unknown")
            ctx.unexpanded.add(place)
        return [statement_lineage(ctx, "COPY", target.name, [], target_use=target_use(target))]
    if isinstance(this, exp.Query):
        relation = ctx.resolve_query(this, {}, None, ctx)
    elif isinstance(this, exp.Table):
        relation = ctx.read_table(table_parts(this), this)
    else:
        return report_unsupported(ctx, "COPY")
    written = written_columns(relation)
    use_ = TableUse(place, "file", "unknown") if place is not None else None
    return [statement_lineage(ctx, "COPY", place, written, outputs=relation.names, target_use=use_)]


def export(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """BigQuery's EXPORT DATA OPTIONS (uri = ...) AS SELECT."""
    relation = ctx.resolve_query(node.args["this"], {}, None, ctx)
    options = node.args.get("options")
    place = None
    for option in options.args.get("expressions") or [] if options is not None else []:
        if option.name.lower() == "uri" and isinstance(option.args.get("value"), exp.Literal):
            place = option.args["value"].name
    use_ = TableUse(place, "file", "unknown") if place is not None else None
    return [statement_lineage(ctx, "EXPORT", place, written_columns(relation), outputs=relation.names, target_use=use_)]


def uncache(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """UNCACHE frees memory; the view stays."""
    return [statement_lineage(ctx, "UNCACHE_TABLE", None, [])]


def block(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    return report_unsupported(ctx, "BLOCK")


def analyze_other(node: exp.Expr, ctx: Context) -> list[StatementLineage]:
    """Statements without a rule: those known to have no lineage, and issues for the others."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(node).__name__).upper()
    if isinstance(node, exp.TruncateTable):
        for table in node.args.get("expressions") or []:
            if isinstance(table, exp.Table):
                target = WriteTarget(table, ctx)
                return [statement_lineage(ctx, "TRUNCATE", target.name, [], target_use=target_use(target))]
        return [statement_lineage(ctx, "TRUNCATE", None, [])]
    if isinstance(node, exp.LoadData) and isinstance(node.args.get("this"), exp.Table):
        target = WriteTarget(node.args["this"], ctx)
        return [statement_lineage(ctx, "LOAD_DATA", target.name, [], target_use=target_use(target))]
    if isinstance(node, exp.Condition | exp.Alias | exp.Tuple):
        ctx.issue(
            "PARSE_ERROR",
            "error",
            "this is an expression, not a statement",
            "Check how the statement begins, and that the dialect is the right one.",
        )
        return [statement_lineage(ctx, "UNKNOWN", None, [])]
    if isinstance(node, _WITHOUT_LINEAGE):
        return [statement_lineage(ctx, name, None, [])]
    return report_unsupported(ctx, name)


def report_unsupported(ctx: Context, what: str) -> list[StatementLineage]:
    """Reports a statement whose lineage is not analysed."""
    ctx.issue(
        "UNSUPPORTED_SYNTAX",
        "warning",
        f"this {what} is not analysed",
        "Its lineage is missing; if it defines a table, add that to the imported schema.",
        None,
    )
    return [statement_lineage(ctx, what.replace(" ", "_"), None, [])]
