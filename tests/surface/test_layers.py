"""Imports point one way, as the design draws them."""

import ast
import sys

import pytest
from tests.surface.source_tree import Import, Module, modules

# errors <- config, model, storage <- schema <- merge_core <- source, engines, targets, state <- pipeline <- cli, web.
# What is not named here belongs to the pipeline's layer.
LAYERS = (
    ("errors",),
    ("storage", "model", "kernels"),
    ("config",),
    ("schema",),
    ("merge_core",),
    ("source", "engines", "targets", "state", "sample", "reports"),
)
PIPELINE = len(LAYERS)
TOP = PIPELINE + 1
IN_TOP = frozenset({"cli", "web", "testing"})

# The protocols that neighbours in one layer may know of each other.
PROTOCOLS = ("targets.base", "engines.base")
# Merging rewrites a target's files under that target's lock, so the merge engines know targets, and never the reverse.
NEIGHBOURS = {("engines", "targets")}

# They hand a table to, or take a schema from, a session that the caller brings.
SPARK_OUTSIDE_ITS_ENGINE = frozenset({"lineage.imports", "reading"})
WORKERS_MAY_IMPORT = frozenset({"pyarrow", "isal"})


def package(name: str) -> str:
    return name.split(".")[0]


def layer(name: str) -> int:
    head = package(name)
    if head in IN_TOP:
        return TOP
    return next((number for number, names in enumerate(LAYERS) if head in names), PIPELINE)


def own(imported: Import) -> str | None:
    """The module below lakebed that is imported, or None for another package's."""
    return imported.module.removeprefix("lakebed.") if imported.module.startswith("lakebed.") else None


def allowed(module: Module, target: str) -> bool:
    if package(module.name) == package(target) or target == "__version__":
        return True
    if package(module.name) == "lineage":
        return module.name == "lineage.imports" or package(target) in ("schema", "errors")
    if package(target) == "lineage":
        return layer(module.name) >= PIPELINE
    here, there = layer(module.name), layer(target)
    if here != there:
        return there < here
    if here == PIPELINE:
        return True
    return target.startswith(PROTOCOLS) or (package(module.name), package(target)) in NEIGHBOURS


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
                package(target) in ("kernels", "errors")
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
        if isinstance(node, ast.Attribute) and node.attr == name
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
    assert not allowed(by_name["state.ledger"], "targets.parquet")
    assert allowed(by_name["state.ledger"], "targets.base")
    assert not allowed(by_name["state.ledger"], "pipeline")
    assert not allowed(by_name["config"], "cli")
