"""`lakebed discover` and `lakebed status` say the same of a delivery."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakebed.cli import build
from lakebed.samples import SampleSpec, make_sample


def command(*words: object) -> dict[str, object]:
    arguments = [*map(str, words), "--json"]
    result = CliRunner().invoke(build(arguments), arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def ids(found: dict[str, object], name: str) -> list[str]:
    listed = found[name]
    assert isinstance(listed, list)
    return [one["delivery"] for one in listed]


def test_what_discover_calls_superseded_is_superseded_in_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_sample(tmp_path / "bills", months=2, rows=10, columns=63, spec=SampleSpec(files=1, restate=True))
    found = command("discover", "bills")
    known = command("status")["deliveries"]
    assert isinstance(known, list)
    states = {one["delivery"]: one["state"] for one in known}
    assert ids(found, "superseded")
    assert states == {
        **dict.fromkeys(ids(found, "deliveries"), "discovered"),
        **dict.fromkeys(ids(found, "superseded"), "superseded"),
    }
