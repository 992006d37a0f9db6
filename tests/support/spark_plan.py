"""Column lineage read from Spark's own analysed plan: the oracle that our resolver is compared with.

The plan comes as JSON, a list of nodes in preorder. Each operator maps the ids of its output attributes to the source
columns behind them; ids are scoped, because a union reuses those of its first branch.
"""

import json
from dataclasses import dataclass
from typing import Any

Sources = frozenset[str]
Env = dict[int, Sources]
NONE: Sources = frozenset()


@dataclass
class Tree:
    """A node with its children."""

    fields: dict[str, Any]
    children: list["Tree"]

    @property
    def kind(self) -> str:
        return str(self.fields["class"]).rsplit(".", 1)[-1]


def tree(nodes: list[dict[str, Any]]) -> Tree:
    iterator = iter(nodes)

    def build() -> Tree:
        fields = next(iterator)
        return Tree(fields, [build() for _ in range(fields["num-children"])])

    return build()


def plan_lineage(plan_json: str) -> list[tuple[str, Sources]]:
    """The output columns of a plan in order, each with the names of the source columns behind it."""
    reader = _Reader()
    root = tree(json.loads(plan_json))
    output = reader.output(root, {})
    return [(name, sources) for name, _, sources in output]


Column = tuple[str, int, Sources]


class _Reader:
    def __init__(self) -> None:
        self.ctes: dict[int, list[Column]] = {}

    def output(self, node: Tree, outer: Env) -> list[Column]:
        kind = node.kind
        if kind == "WithCTE":
            plan_at = node.fields["plan"]
            for child in node.children:
                if child.kind == "CTERelationDef":
                    self._define(child, outer)
            return self.output(node.children[plan_at], outer)
        if kind == "CTERelationRef":
            defined = self.ctes[node.fields["cteId"]]
            return [
                (name, number, sources)
                for (name, number), (_, _, sources) in zip(
                    self._attributes(node.fields["output"]), defined, strict=True
                )
            ]
        if kind == "UnionLoopRef":
            raise NotImplementedError(kind)
        if kind in ("LogicalRDD", "LocalRelation", "LogicalRelation"):
            return [(name, number, frozenset([name])) for name, number in self._attributes(node.fields["output"])]
        if kind == "OneRowRelation":
            return []
        inputs = [self.output(child, outer) for child in node.children]
        env = dict(outer)
        for columns in inputs:
            env.update({number: sources for _, number, sources in columns})
        if kind in ("Union", "Intersect", "Except"):
            return [
                (name, number, frozenset().union(*(columns[place][2] for columns in inputs)))
                for place, (name, number, _) in enumerate(inputs[0])
            ]
        if kind == "Project":
            return self._named(node.fields["projectList"], env)
        if kind == "Aggregate":
            return self._named(node.fields["aggregateExpressions"], env)
        if kind == "Window":
            return inputs[0] + self._named(node.fields["windowExpressions"], env)
        if kind == "Generate":
            made = self._sources(tree(node.fields["generator"]), env)
            return inputs[0] + [(n, i, made) for n, i in self._attributes(node.fields["generatorOutput"])]
        if kind == "Expand":
            # the JSON leaves the projections out; an attribute with a new id is the grouping column of its name
            by_name = {name: sources for name, _, sources in inputs[0]}
            return [
                (name, number, env[number] if number in env else by_name.get(name, NONE))
                for name, number in self._attributes(node.fields["output"])
            ]
        if kind == "Join":
            join = node.fields["joinType"]["object"] if isinstance(node.fields["joinType"], dict) else ""
            return inputs[0] if "LeftSemi" in join or "LeftAnti" in join else inputs[0] + inputs[1]
        if len(inputs) == 1:
            return inputs[0]
        raise NotImplementedError(kind)

    def _define(self, node: Tree, outer: Env) -> None:
        self.ctes[node.fields["id"]] = self.output(node.children[0], outer)

    def _attributes(self, fields: list[list[dict[str, Any]]]) -> list[tuple[str, int]]:
        return [(attribute[0]["name"], attribute[0]["exprId"]["id"]) for attribute in fields]

    def _named(self, expressions: list[list[dict[str, Any]]], env: Env) -> list[Column]:
        columns = []
        for nodes in expressions:
            expression = tree(nodes)
            number = expression.fields["exprId"]["id"]
            columns.append((expression.fields["name"], number, self._sources(expression, env)))
        return columns

    def _sources(self, expression: Tree, env: Env) -> Sources:
        kind = expression.kind
        if kind in ("AttributeReference", "OuterReference") and "exprId" in expression.fields:
            return env.get(expression.fields["exprId"]["id"], NONE)
        found = NONE
        if kind == "Exists":
            return NONE
        if "plan" in expression.fields and isinstance(expression.fields["plan"], list):
            for _, _, sources in self.output(tree(expression.fields["plan"]), env):
                found |= sources
            if kind == "ScalarSubquery":
                # its other children are the outer attributes of the correlation: they choose the row
                return found
        for child in expression.children:
            found |= self._sources(child, env)
        return found
