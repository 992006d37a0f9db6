"""dbt in an environment of its own, since it pins what we want newer; projects for it; and a process that runs it.

The environment is built from `requirements/dbt.txt` when it is first asked for, and kept beside `.venv`.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest

from lakebed.engines.duckdb.extensions import load_extension
from tests.support.installed import NO_WAY, ROOT, run_module

FOLDER = ROOT / ".venv-dbt"
PINS = ROOT / "requirements" / "dbt.txt"
PACKAGE = ROOT / "src" / "lakebed" / "dbt" / "package"


def dbt_python() -> Path:
    """The interpreter of the environment; skips the test where it cannot be built without a network."""
    python = FOLDER / "bin" / "python"
    wanted = hashlib.sha256(PINS.read_bytes()).hexdigest()
    ready = FOLDER / "ready"
    # Two processes of one run of the tests ask at the same time.
    with open(Path(sys.prefix) / "dbt.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
            return python
        said = run_module("uv", "venv", "-q", "--no-project", "--clear", "--python", sys.executable, FOLDER)
        assert said is None, said
        said = run_module("uv", "pip", "sync", "-q", "--python", python, "--require-hashes", PINS)
        if said is not None:
            said = run_module("pip", "--python", python, "install", "-q", "--require-hashes", "-r", PINS)
        if said is not None and NO_WAY.search(said):
            pytest.skip("no index can be reached from here, and what is cached is not enough")
        assert said is None, said
        [packages] = FOLDER.glob("lib/python*/site-packages")
        (packages / "lakebed.pth").write_text(f"{ROOT / 'src'}\n", encoding="utf-8")
        ready.write_text(wanted, encoding="utf-8")
        return python


@dataclass(frozen=True)
class Ran:
    """What a command of dbt did: each node's status and message, and all that was said aloud."""

    code: int
    success: bool = False
    nodes: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    said: str = ""
    points: tuple[str, ...] = ()

    def ok(self) -> "Ran":
        assert self.success, self.said
        return self


class DbtProcess:
    """A process of the environment that has dbt imported and forks for every command: a start costs seconds."""

    def __init__(self) -> None:
        variables = {
            **{name: one for name, one in os.environ.items() if not name.startswith(("LAKEBED_", "PYTHON", "DBT_"))},
            "DO_NOT_TRACK": "1",
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(FOLDER / "pycache"),
        }
        self._process = subprocess.Popen(
            [dbt_python(), "-m", "tests.support.dbt_child"],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, project: Path, *arguments: str, stop_at: str | None = None, variables: Mapping[str, str] | None = None
    ) -> Ran:
        """Runs dbt in the project; with `stop_at` the process is killed at this point, as `Ran.points` name them."""
        request = {
            "project": str(project),
            "arguments": arguments,
            "stop_at": stop_at,
            "variables": dict(variables or {}),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Ran(**{**answer, "points": tuple(answer.get("points", ()))})

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass(frozen=True)
class Project:
    """A dbt project in a folder."""

    folder: Path
    process: DbtProcess
    attach: Callable[[duckdb.DuckDBPyConnection], None] | None = None  # what others who open the database do first

    def write(self, files: Mapping[str, str]) -> "Project":
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def dbt(self, *arguments: str, stop_at: str | None = None, run: int | None = None) -> Ran:
        """A command of dbt. `run` is what models read as `env_var('RUN')`: dbt parses only those of them again."""
        variables = {} if run is None else {"RUN": str(run)}
        return self.process.run(self.folder, *arguments, stop_at=stop_at, variables=variables)

    def run(self, run: int | None = None, *arguments: str) -> Ran:
        """`dbt run`."""
        return self.dbt("run", *arguments, run=run)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """What dbt's database answers to somebody who opens it with the extensions of Iceberg."""
        with duckdb.connect(str(self.folder / "dev.duckdb")) as connection:
            for name in ("avro", "httpfs", "iceberg"):
                load_extension(connection, name)
            if self.attach is not None:
                self.attach(connection)
            return connection.execute(sql).fetchall()

    def columns(self, relation: str) -> list[tuple[str, str]]:
        return [(row[0], row[1]) for row in self.query(f"DESCRIBE {relation}")]


def new_project(
    folder: Path,
    process: DbtProcess,
    models: Mapping[str, str],
    *,
    plugin: Mapping[str, Any] | None = None,
    stock: bool = False,
    threads: int = 1,
    extra: Mapping[str, Any] | None = None,
) -> Project:
    """A project with these models, and with Lakebed's package, unless it is a `stock` one."""
    output = {"type": "duckdb", "path": "dev.duckdb", "threads": threads, **(extra or {})}
    if not stock:
        config = {"workdir": ".lakebed", **(plugin or {})}
        output["plugins"] = [{"module": "lakebed.dbt.plugin", "alias": "lakebed", "config": config}]
    project = Project(folder, process).write(
        {
            "dbt_project.yml": json.dumps({"name": "shop", "version": "1.0.0", "profile": "shop"}),
            "profiles.yml": json.dumps({"shop": {"target": "dev", "outputs": {"dev": output}}}),
            **{f"models/{name}": text for name, text in models.items()},
        }
    )
    if not stock:
        # What `dbt deps` makes of `- local: ...`, without starting dbt for it.
        project.write({"packages.yml": json.dumps({"packages": [{"local": str(PACKAGE)}]})})
        (folder / "dbt_packages").mkdir(exist_ok=True)
        link = folder / "dbt_packages" / "lakebed"
        if not link.exists():
            link.symlink_to(PACKAGE)
    return project
