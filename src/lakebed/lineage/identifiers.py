"""Names as sqlglot's trees hold them."""

from sqlglot import exp

from lakebed.lineage.tables import NamePart


def table_parts(table: exp.Expr) -> list[NamePart]:
    """The dotted name of a table as written; T-SQL's temporary tables keep their sign."""
    parts: list[NamePart] = []
    for name in ("catalog", "db", "this"):
        _add_parts(table.args.get(name), parts)
    return parts


def _add_parts(node: object, parts: list[NamePart]) -> None:
    if isinstance(node, exp.Dot):
        _add_parts(node.args["this"], parts)
        _add_parts(node.args["expression"], parts)
    elif isinstance(node, exp.Identifier):
        sign = "##" if node.args.get("global_") else "#" if node.args.get("temporary") else ""
        if text := node.args["this"]:
            parts.append(NamePart(sign + text, node.args.get("quoted") is True))
    elif isinstance(node, exp.Expr) and node.name:
        parts.append(NamePart(node.name, True))


def identifier_of(node: exp.Expr) -> exp.Expr:
    """The last name of a column, which sqlglot wraps in different nodes depending on where it stands."""
    while isinstance(node, exp.Column | exp.ColumnDef | exp.Alias | exp.Paren):
        node = node.args["this"]
    return node
