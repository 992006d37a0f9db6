"""What an expression can see: the relations of one SELECT, its aliases and windows, and the queries around it."""

from typing import NamedTuple

from sqlglot import exp

from lakebed.lineage.context import Env, Reads
from lakebed.lineage.relations import Refs, Relation


class OutputColumn(NamedTuple):
    """One column of a select list."""

    name: str
    key: str
    refs: Refs


class NamedRelation:
    """A relation under the name by which a scope knows it."""

    __slots__ = ("after_comma", "alias", "merged", "merged_as_left", "merged_in_place", "parts", "relation")

    def __init__(self, alias: str, relation: Relation, parts: tuple[str, ...] = ()) -> None:
        self.alias = alias
        self.relation = relation
        # the folded parts of the table's own name, where it has no alias: `db.t.c` finds it
        self.parts = parts
        # keys of USING or NATURAL by which it was joined, and whether a star shows them at the left table's place,
        # or first, in its order
        self.merged: tuple[str, ...] = ()
        self.merged_in_place = False
        self.merged_as_left = False
        # `FROM a, b JOIN c`: the comma binds less than the join, which knows nothing of a
        self.after_comma = False


class Cte:
    """A common table expression: resolved where it is written, with what stands before it."""

    __slots__ = ("env", "node", "reads", "relation")

    def __init__(self, node: exp.Expr, env: Env, relation: Relation | None = None) -> None:
        self.node = node
        self.env = env
        self.relation = relation
        # what its query reads: a reader of the CTE reads that, too
        self.reads: Reads | None = None


class Scope:
    """The names that an expression can see."""

    __slots__ = ("aliases", "env", "merged", "names", "parent", "relations", "sources", "windows")

    def __init__(self, parent: "Scope | None", env: Env) -> None:
        self.parent = parent
        self.env = env
        self.sources: list[NamedRelation] = []
        self.relations: list[Relation] = []
        self.names: dict[str, Relation] = {}
        # columns merged by USING or NATURAL: key -> sources
        self.merged: dict[str, Refs] = {}
        # aliases of the select list that are visible now
        self.aliases: dict[str, Refs] | None = None
        self.windows: dict[str, exp.Expr] = {}

    def add(self, source: NamedRelation) -> None:
        self.sources.append(source)
        self.relations.append(source.relation)
        self.names.setdefault(source.alias, source.relation)

    def remove_last(self) -> None:
        """Removes the last source: only the condition of a semi join sees its right side."""
        source = self.sources.pop()
        self.relations.pop()
        if self.names.get(source.alias) is source.relation:
            del self.names[source.alias]

    def extend(self, other: "Scope") -> None:
        """Takes over the sources of a parenthesised join."""
        for source in other.sources:
            self.add(source)
        self.merged.update(other.merged)


def relation_columns(relation: Relation) -> list[OutputColumn]:
    """The columns of one relation."""
    return [OutputColumn(*column) for column in zip(relation.names, relation.keys, relation.refs, strict=True)]


def scope_columns(scope: Scope) -> list[OutputColumn]:
    """The columns of all relations; columns that USING or NATURAL merged come once."""
    if not scope.merged:
        return [item for relation in scope.relations for item in relation_columns(relation)]
    items: list[OutputColumn] = []
    done: list[OutputColumn] = []
    for source in scope.sources:
        if source.after_comma:
            done, items = [*done, *items], []
        right = relation_columns(source.relation)
        if source.merged:
            keys = set(source.merged)
            names = {item.key: item.name for item in right} | {item.key: item.name for item in items}
            order = dict.fromkeys([item.key for item in items if item.key in keys]) if source.merged_as_left else {}
            merged = dict.fromkeys([*order, *source.merged])
            joined = {key: OutputColumn(names.get(key, key), key, scope.merged[key]) for key in merged}
            right = [item for item in right if item.key not in keys]
            if source.merged_in_place:
                items = [joined.pop(item.key, item) if item.key in joined else item for item in items]
            else:
                items = [*joined.values(), *(item for item in items if item.key not in keys)]
        items += right
    return [*done, *items]
