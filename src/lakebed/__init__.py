"""Loads data whose columns keep changing into a lake that never loses one.

The public names are resolved on first use, so that `import lakebed` costs nothing and workers that only have pyarrow
can import the kernels that are shipped to them.
"""

from importlib import import_module

__version__ = "0.1.0"

# public name -> the module that holds it
_PUBLIC = {
    "RunReport": "lakebed.pipeline.reports",
    "analyze": "lakebed.lineage",
    "evolve": "lakebed.table.evolve",
    "read": "lakebed.table.read",
    "plan": "lakebed.pipeline.plan",
    "run": "lakebed.pipeline.run",
    "MergeResult": "lakebed.merge_core.result",
    "merge": "lakebed.table.merge",
    "LakebedError": "lakebed.errors",
    "DatasetMergeError": "lakebed.errors",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> object:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'lakebed' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
