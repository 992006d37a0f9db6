"""Every example of docs/ingest.md runs."""

import re
import shlex
from pathlib import Path

import pytest
from tests.support import ROOT
from tests.support.arrow_runs import use_arrow

from lakebed.cli import build

PAGE = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
SHELL = re.findall(r"^lakebed ingest .*$", PAGE, re.MULTILINE)
PYTHON = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_arrow(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "exports/a.csv": "Order ID,amount\n007,1.50\n",
        "exports/b.csv": "Order ID;amount;note\n008;2;x\n",
        "customers/a.csv": "customer_id,name\n1,Ann\n",
        "sensors/a.csv": "sensor,reading\n01,0.1\n",
        "events/day=2026-11-01/a.json": '{"id": 1}\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("line", SHELL)
def test_commands(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word.replace(".json.gz", ".json") for word in shlex.split(line)]
    assert words[0] == "lakebed"
    with pytest.raises(SystemExit) as ended:
        build(words[1:])(prog_name="lakebed", args=words[1:])
    assert ended.value.code == 0, capsys.readouterr().err


def test_python() -> None:
    names: dict[str, object] = {}
    exec(compile(PYTHON, "docs/ingest.md", "exec"), names)
    report = names["report"]
    assert (report.loaded, report.types["amount"]) == (2, "decimal(38,18)")  # type: ignore[attr-defined]
