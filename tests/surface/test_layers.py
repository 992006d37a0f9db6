"""Imports point one way, as the design draws them."""

import ast
import sys
from graphlib import TopologicalSorter

import pytest
from tests.surface.source_tree import Import, Module, modules

# Imports point from a later line to an earlier one. Every package and every module directly below `lakebed` is named.
LAYERS = (
    ("errors",),
    ("retry", "extras", "checkpoints", "subject"),
    ("model",),
    ("kernels",),
    ("storage",),
    ("config",),
    ("schema",),
    ("merge_core",),
    ("source", "engines", "targets", "state"),
    ("workspace", "samples"),
    ("table",),
    ("pipeline",),
    ("finops", "changes", "datasets", "dbt", "health"),
    ("cli", "testing"),
    ("__main__",),
)
# It stands beside the layers: it knows the schema, and only `changes`, the command line and the checks on top know it.
BESIDE = "lineage"
KNOW_LINEAGE = frozenset({"changes", "cli", "testing"})

# The protocols that neighbours in one layer may know of each other.
PROTOCOLS = ("targets.base", "engines.protocols")
# Merging rewrites a target's files under that target's lock, so the merge engines know targets, and never the reverse.
NEIGHBOURS = {("engines", "targets")}
# Below these, each folder is an implementation, which knows its own package's shared rooms and none of its siblings.
IMPLEMENTATIONS = {
    "engines": frozenset({"arrow", "duckdb", "spark"}),
    "targets": frozenset({"parquet", "duckdb", "iceberg"}),
}

# They hand a table to, or take a schema from, a session that the caller brings.
SPARK_OUTSIDE_ITS_ENGINE = frozenset({"lineage.imports", "table.read"})
# Connect has tags in place of job groups and descriptions.
KNOWS_CLASSIC = {"sparkContext": frozenset({"engines.spark.job_names"})}
WORKERS_MAY_IMPORT = frozenset({"pyarrow", "isal"})


def package(name: str) -> str:
    return name.split(".")[0]


def layer(name: str) -> int:
    return next(number for number, names in enumerate(LAYERS) if package(name) in names)


def implementation(name: str) -> str | None:
    """`engines.duckdb` for what lies in the folder of one engine or target."""
    head, *rest = name.split(".")
    return f"{head}.{rest[0]}" if rest and rest[0] in IMPLEMENTATIONS.get(head, ()) else None


def own(imported: Import) -> str | None:
    """The module below lakebed that is imported, or None for another package's."""
    return imported.module.removeprefix("lakebed.") if imported.module.startswith("lakebed.") else None


def allowed(module: Module, target: str) -> bool:
    if target == "__version__":
        return True
    here, there = package(module.name), package(target)
    if here == there:
        mine, other = implementation(module.name), implementation(target)
        return other in (None, mine)
    if here == BESIDE:
        return module.name == "lineage.imports" or there in ("schema", "errors")
    if there == BESIDE:
        return here in KNOW_LINEAGE
    if layer(here) != layer(there):
        return layer(there) < layer(here)
    return target.startswith(PROTOCOLS) or (here, there) in NEIGHBOURS


def test_every_package_has_its_layer() -> None:
    known = {name for names in LAYERS for name in names} | {BESIDE}
    assert {package(module.name) for module in modules() if module.name} == known


def test_packages_do_not_import_each_other_in_circles() -> None:
    arrows: dict[str, set[str]] = {}
    for module in modules():
        for imported in module.imports:
            target = own(imported)
            if module.name and target and not imported.typing_only and package(target) != package(module.name):
                arrows.setdefault(package(module.name), set()).add(package(target))
    # Protocols are known from both sides; without them no way leads back to where it began.
    order = list(
        TopologicalSorter({name: targets - {"__version__"} for name, targets in arrows.items()}).static_order()
    )
    assert order.index("errors") < order.index("schema") < order.index("targets") < order.index("cli")


def test_imports_point_one_way() -> None:
    wrong = [
        f"{module.place(imported.line)} imports {imported.module}"
        for module in modules()
        if module.name
        for imported in module.imports
        if (target := own(imported)) is not None and not imported.typing_only and not allowed(module, target)
    ]
    assert wrong == []


def test_kernels_import_only_what_workers_have() -> None:
    wrong = []
    for module in modules():
        if package(module.name) != "kernels":
            continue
        for imported in module.imports:
            target = own(imported)
            fits = (
                package(target) in ("kernels", "errors", "model")
                if target is not None
                else imported.module.split(".")[0] in sys.stdlib_module_names | WORKERS_MAY_IMPORT
            )
            if not fits:
                wrong.append(f"{module.place(imported.line)} imports {imported.module}")
    assert wrong == []


def test_spark_is_imported_only_by_its_engine() -> None:
    wrong = [
        module.place(imported.line)
        for module in modules()
        if not module.name.startswith("engines.spark") and module.name not in SPARK_OUTSIDE_ITS_ENGINE
        for imported in module.imports
        if imported.module.split(".")[0] == "pyspark" and not imported.typing_only
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["_jvm", "_jsc", "_sc", "sparkContext", "rdd"])
def test_only_what_spark_connect_has_is_used(name: str) -> None:
    wrong = [
        module.place(node.lineno)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == name and module.name not in KNOWS_CLASSIC.get(name, ())
    ]
    assert wrong == []


def test_sessions_are_made_in_one_place() -> None:
    wrong = [
        module.place(node.lineno)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "getOrCreate" and module.name != "engines.spark.session"
    ]
    assert wrong == []


def test_the_layers_see_a_wrong_arrow() -> None:
    """The test above can fail: these are the arrows that it exists to forbid."""
    by_name = {module.name: module for module in modules()}
    schema = next(module for name, module in by_name.items() if name.startswith("schema."))
    assert not allowed(schema, "engines.spark.session")
    assert not allowed(by_name["errors"], "model")
    assert not allowed(by_name["state.ledger"], "targets.parquet.target")
    assert allowed(by_name["state.ledger"], "targets.base")
    assert not allowed(by_name["state.ledger"], "pipeline.run")
    assert not allowed(by_name["targets.iceberg.target"], "targets.parquet.journal")
    assert not allowed(by_name["table.read"], "pipeline.run")
    assert not allowed(by_name["config"], "cli")
