"""Sources by name: one configuration for many payers, each with its own place, filters and storage."""

import dataclasses
from pathlib import Path

import pytest
from tests.support.arrow_runs import use_arrow

import lakebed
from lakebed.config import SourceSection, load_settings
from lakebed.errors import ConfigError
from lakebed.kernels.storage_settings import StorageSettings
from lakebed.pipeline import sources
from lakebed.samples import SampleSpec, make_sample

SPEC = SampleSpec(months=2, rows=6, columns=63, files=1, restate=False)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    use_arrow(monkeypatch)
    for name in ("one", "two"):
        make_sample(tmp_path / name, spec=dataclasses.replace(SPEC, report=name))
    return tmp_path


def configure(folder: Path, text: str) -> None:
    (folder / "lakebed.toml").write_text(text)


TWO = '[source.acme]\nurl = "one"\ntarget = "duckdb:costs"\nperiod = "2026-10"\n[source.beta]\nurl = "two"\n'


def test_all_are_run_and_one_that_fails_keeps_no_other_from_it(place: Path) -> None:
    configure(place, TWO + '[source.gone]\nurl = "absent"\ntarget = "duckdb:costs"\n')
    done = lakebed.run_sources()
    assert list(done.reports) == ["acme"]
    assert [one.period for one in done.reports["acme"].deliveries] == ["2026-10"]
    assert set(done.errors) == {"beta", "gone"}
    assert "[source.beta] has no target" in str(done.errors["beta"])
    assert "absent" in str(done.errors["gone"])
    assert done.failed == ("beta", "gone")
    told = done.to_dict()["sources"]
    assert isinstance(told, dict)
    assert told["acme"]["rows"] == 6
    assert told["gone"]["error"]["message"].endswith("absent")


def test_what_is_given_counts_for_each_over_its_section(place: Path) -> None:
    configure(place, TWO)
    done = lakebed.run_sources(target=place / "lake", period="2026-09", report="two", names=["beta"])
    assert done.failed == ()
    assert [(one.report, one.period, one.table) for one in done.reports["beta"].deliveries] == [
        ("two", "2026-09", f"parquet:{place / 'lake'}")
    ]


def test_each_has_its_own_storage(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(
        place, TWO + 'region = "eu-1"\nrequester_pays = true\nsecret_access_key = "s"\n[storage]\nregion = "us"\n'
    )
    seen: list[dict[str, object]] = []
    monkeypatch.setattr(sources, "run", lambda source, target, **rest: seen.append(rest))
    lakebed.run_sources(target="duckdb:costs", strict=True)
    acme, beta = seen
    assert "region" not in acme
    assert (beta["region"], beta["requester_pays"], beta["secret_access_key"]) == ("eu-1", True, "s")
    assert acme["strict"] is beta["strict"] is True


def test_a_section_has_every_key_of_storage() -> None:
    assert {one.name for one in dataclasses.fields(StorageSettings)} < set(SourceSection.model_fields)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no source to run"),
        ('[source.acme]\ntarget = "duckdb:x"\n', r"\[source|source.*acme.url"),
        ('[source.acme]\nurl = "one"\nregin = "x"\n', r"acme.regin\) is not a setting\n.*region"),
    ],
)
def test_what_is_wrong_with_a_configuration(place: Path, text: str, says: str) -> None:
    configure(place, text)
    with pytest.raises(ConfigError, match=says):
        lakebed.run_sources()


def test_no_secret_of_a_source_is_repeated(place: Path) -> None:
    configure(place, '[source.acme]\nurl = "one"\nsecret_access_key = ["hush"]\n')
    with pytest.raises(ConfigError) as wrong:
        load_settings()
    assert "hush" not in str(wrong.value)
    configure(place, '[source.acme]\nurl = "one"\nsecret_access_key = "hush"\n')
    assert "hush" not in repr(load_settings())


def test_an_unknown_name_is_answered_with_those_there_are(place: Path) -> None:
    configure(place, TWO)
    with pytest.raises(ConfigError, match=r"no source acne\n.*acme, beta"):
        lakebed.run_sources(["acne"])
