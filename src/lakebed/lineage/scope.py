"""What an expression can see: the relations of one SELECT, its aliases and windows, and the queries around it."""

from sqlglot import exp

from lakebed.lineage.context import Env, Reads
from lakebed.lineage.relations import Refs, Relation


class NamedRelation:
    """A relation under the name by which a scope knows it."""

    __slots__ = ("after_comma", "alias", "merged", "merged_in_place", "parts", "relation")

    def __init__(self, alias: str, relation: Relation, parts: tuple[str, ...] = ()) -> None:
        self.alias = alias
        self.relation = relation
        # the folded parts of the table's own name, where it has no alias: `db.t.c` finds it
        self.parts = parts
        # keys of USING or NATURAL by which it was joined, and whether a star shows them at the left table's place
        self.merged: tuple[str, ...] = ()
        self.merged_in_place = False
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
