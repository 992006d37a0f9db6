"""What a command imports before it works: counted in modules, since seconds are the machine's."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tests.surface.source_tree import modules

from lakebed.cli import COMMANDS
from lakebed.cli.lineage import FORMATS
from lakebed.lineage.export import ALL_FORMATS

# What takes a tenth of a second or more to import, and is needed by those only who read, write or parse something.
ENGINES = frozenset({"pyarrow", "pandas", "numpy", "duckdb", "sqlalchemy", "sqlglot", "pyspark", "pyiceberg", "jinja2"})

RUN = """
import sys
from lakebed.cli import main
sys.argv = ["lakebed", *sys.argv[1:]]
try:
    main()
finally:
    sys.stderr.write("\\n" + " ".join(sys.modules))
"""


def imported(*arguments: str, cwd: Path) -> set[str]:
    """The packages, the standard library's aside, that a command has imported when it ends well."""
    # Without `site`, whose .pth files may import anything; the packages are found all the same.
    ran = subprocess.run(
        [sys.executable, "-S", "-c", RUN, *arguments],
        cwd=cwd,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    names = {name.split(".")[0] for name in ran.stderr.splitlines()[-1].split()}
    return names - sys.stdlib_module_names - {"__main__", "lakebed"}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_need_the_standard_library_only(option: str, tmp_path: Path) -> None:
    assert imported(option, cwd=tmp_path) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_waits_for_no_engine(name: str, tmp_path: Path) -> None:
    assert imported(name, "--help", cwd=tmp_path) & ENGINES == set()


def test_the_status_of_an_empty_work_directory_waits_for_no_engine(tmp_path: Path) -> None:
    assert imported("status", cwd=tmp_path) & ENGINES == set()
    assert imported("status", "--json", cwd=tmp_path) & ENGINES == set()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name: str) -> None:
    command = getattr(import_module(f"lakebed.cli.{name}"), name)
    assert COMMANDS[name] == " ".join((inspect.getdoc(command) or "").split("\n\n")[0].split())


def test_the_formats_of_the_help_are_those_of_the_exports() -> None:
    assert FORMATS == ALL_FORMATS


def test_optional_packages_are_never_imported_with_a_module_that_can_do_without() -> None:
    """Only the rooms of Spark and of Iceberg import their packages at the top; a plain install has neither."""
    rooms = {"pyspark": "engines.spark", "pandas": "engines.spark", "pyiceberg": "targets.iceberg", "psycopg": "-"}
    wrong = [
        module.place(node.lineno)
        for module in modules()
        for node in module.tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
        for package, room in rooms.items()
        if name.split(".")[0] == package and not module.name.startswith(room)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Usage: lakebed"),
        (["--help", "run"], 0, "Usage: lakebed"),
        (["rnu"], 2, "there is no command 'rnu'. Did you mean run?"),
        (["--verison"], 2, "there is no option '--verison'. Did you mean --version?"),
        (["--version", "run"], 0, "lakebed 0."),
        (["run", "--no-such"], 2, "No such option"),
        (["run"], 2, "there is no source to run"),
        (["plan"], 2, "Missing argument"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "from lakebed.cli import main; main()", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == code
    assert said in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
