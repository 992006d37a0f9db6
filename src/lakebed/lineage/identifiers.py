"""Names as sqlglot's trees hold them."""

from sqlglot import exp

from lakebed.lineage.tables import NamePart


def table_parts(table: exp.Expr) -> list[NamePart]:
    """The dotted name of a table as written; T-SQL's temporary tables keep their sign."""
    parts: list[NamePart] = []
    args = table.args
    for node in (args.get("catalog"), args.get("db"), args.get("this")):
        if node is not None:
            _add_parts(node, parts)
    return parts


def _add_parts(node: object, parts: list[NamePart]) -> None:
    if isinstance(node, exp.Identifier):
        args = node.args
        sign = "##" if args.get("global_") else "#" if args.get("temporary") else ""
        if text := args["this"]:
            parts.append(NamePart(sign + text, args.get("quoted") is True))
    elif isinstance(node, exp.Dot):
        _add_parts(node.args["this"], parts)
        _add_parts(node.args["expression"], parts)
    elif isinstance(node, exp.Parameter):
        # T-SQL's table variables
        parts.append(NamePart(f"@{node.name}", False))
    elif isinstance(node, exp.Expr) and node.name:
        parts.append(NamePart(node.name, True))


def name_parts(node: exp.Expr) -> list[NamePart]:
    """A table's name where an expression stands: as a dotted name, or as text."""
    if isinstance(node, exp.Column):
        return [NamePart(part.name, part.args.get("quoted") is True) for part in node.parts]
    if isinstance(node, exp.Literal) and node.is_string:
        return [NamePart(part, True) for part in node.name.split(".")]
    return []


def quoted_names(node: exp.Expr) -> exp.Expr | None:
    """SQLite's `'t'.'c'` as the column t.c; None where other than string literals stand around the dots."""
    if not isinstance(node, exp.Dot):
        return None
    names = [node.args["expression"]]
    base = node.args["this"]
    while isinstance(base, exp.Dot):
        names.append(base.args["expression"])
        base = base.args["this"]
    names.append(base)
    if len(names) > 4 or not all(isinstance(name, exp.Literal) and name.is_string for name in names):
        return None
    parts = ("this", "table", "db", "catalog")
    return exp.Column(**{part: exp.to_identifier(n.name, quoted=True) for part, n in zip(parts, names, strict=False)})


def identifier_of(node: exp.Expr) -> exp.Expr:
    """The last name of a column, which sqlglot wraps in different nodes depending on where it stands."""
    while isinstance(node, exp.Column | exp.ColumnDef | exp.Alias | exp.Paren):
        node = node.args["this"]
    return node
