"""Settings: the order of their sources, absolute paths, and refusals that say where and what instead."""

import dataclasses
import pickle
from pathlib import Path

import pytest

from lakebed.config import load_settings, setting_infos, unknown_environment
from lakebed.errors import ConfigError
from lakebed.kernels.storage_settings import StorageSettings


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for info in setting_infos():
        if info.environment:
            monkeypatch.delenv(info.environment, raising=False)


def write(folder: Path, text: str) -> None:
    (folder / "lakebed.toml").write_text(text)


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    settings = load_settings(cwd=tmp_path)
    assert settings.workdir_path == tmp_path / ".lakebed"
    assert settings.staging_location == str(tmp_path / ".lakebed" / "staging")
    assert settings.ledger_place == tmp_path / ".lakebed" / "ledger.db"
    assert settings.decimals == "38,18"
    assert (settings.naming, settings.on_bad_value, settings.spark.master) == ("spec", "refuse", None)


def test_flags_win_over_environment_and_that_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'decimals = "20,4"\nnaming = "athena"\nstrict = true\n[spark]\nmaster = "local[1]"\n')
    monkeypatch.setenv("LAKEBED_DECIMALS", "22,6")
    monkeypatch.setenv("LAKEBED_SPARK_MASTER", "local[2]")
    settings = load_settings({"decimals": "18, 2", "naming": None, "master": "local[3]"}, cwd=tmp_path)
    assert (settings.decimals, settings.naming, settings.strict) == ("18,2", "athena", True)
    assert settings.spark.master == "local[3]"
    assert load_settings(cwd=tmp_path).decimals == "22,6"


def test_a_flag_may_be_named_by_its_whole_key(tmp_path: Path) -> None:
    assert load_settings({"spark.memory": "2G"}, cwd=tmp_path).spark.memory == "2g"


def test_a_later_remote_answers_an_earlier_master(tmp_path: Path) -> None:
    write(tmp_path, '[spark]\nmaster = "local[1]"\n')
    settings = load_settings({"remote": "sc://host"}, cwd=tmp_path)
    assert (settings.spark.master, settings.spark.remote) == (None, "sc://host")
    with pytest.raises(ConfigError, match=r"--master and --remote exclude each other"):
        load_settings({"remote": "sc://host", "master": "yarn"}, cwd=tmp_path)


def test_tables_of_the_file_hold_any_properties_as_text(tmp_path: Path) -> None:
    write(
        tmp_path,
        '[catalog.prod]\ntype = "rest"\n"s3.path-style-access" = true\n[spark.conf]\n"spark.executor.cores" = 4\n',
    )
    settings = load_settings(cwd=tmp_path)
    assert settings.catalog == {"prod": {"type": "rest", "s3.path-style-access": "true"}}
    assert settings.spark.conf == {"spark.executor.cores": "4"}


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("\ndecimal = '38,18'\n", "line 2: decimal is not a setting", "Did you mean decimals?"),
        ("[spark]\nmastr = 'yarn'\n", "line 2: spark.mastr is not a setting", "Did you mean spark.master?"),
        ("[sprak]\nmaster = 'yarn'\n", "line 1: sprak is not a setting", "The settings are:"),
        ("master = 'yarn'\n", "line 1: master is not a setting", "Did you mean spark.master?"),
        (
            "target = 'duckdb:a.duckdb'\n",
            "line 1: target is not a setting",
            "Write it below [source.NAME], or give --target on the command line.",
        ),
        ("spark.mastr = 'yarn'\n", "line 1: spark.mastr is not a setting", "Did you mean spark.master?"),
    ],
)
def test_an_unknown_key_is_refused_with_its_line_and_the_nearest(
    tmp_path: Path, text: str, message: str, remedy: str
) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load_settings(cwd=tmp_path)
    assert f"{tmp_path}/lakebed.toml, {message}" in refused.value.message
    assert refused.value.remedy is not None
    assert refused.value.remedy.startswith(remedy)


def test_a_wrong_value_is_refused_with_where_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "parallelism = 0\n")
    with pytest.raises(ConfigError, match=r"lakebed.toml, line 1: parallelism is 0: .*greater than or equal to 1"):
        load_settings(cwd=tmp_path)
    monkeypatch.setenv("LAKEBED_PARALLELISM", "many")
    with pytest.raises(ConfigError, match=r"environment variable LAKEBED_PARALLELISM is 'many'"):
        load_settings(cwd=tmp_path)
    with pytest.raises(ConfigError, match=r"--decimals is '38.18': write precision and scale, as in 38,18"):
        load_settings({"decimals": "38.18", "parallelism": 1}, cwd=tmp_path)


@pytest.mark.parametrize("decimals", ["39,2", "0,0", "4,5", "-1,2"])
def test_a_decimal_type_that_cannot_be_is_refused(tmp_path: Path, decimals: str) -> None:
    with pytest.raises(ConfigError, match="--decimals"):
        load_settings({"decimals": decimals}, cwd=tmp_path)


def test_an_unknown_keyword_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean on_bad_value"):
        load_settings({"on_bad_values": "refuse"}, cwd=tmp_path)


def test_broken_toml_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path, "decimals = \n")
    with pytest.raises(ConfigError, match=r"lakebed.toml is not valid TOML: .*line 1"):
        load_settings(cwd=tmp_path)


def test_storage_settings_are_all_there_and_secrets_are_not_printed(tmp_path: Path) -> None:
    storage = load_settings({"endpoint_url": "http://localhost:1", "secret_access_key": "hush"}, cwd=tmp_path).storage
    assert storage == StorageSettings(endpoint_url="http://localhost:1", secret_access_key="hush")
    keys = {info.key for info in setting_infos() if info.key.startswith("storage.")}
    assert keys == {f"storage.{field.name}" for field in dataclasses.fields(StorageSettings)}
    assert "hush" not in repr(storage)


def test_storage_settings_travel_and_are_a_key(tmp_path: Path) -> None:
    storage = load_settings({"region": "eu-west-1", "anonymous": "true"}, cwd=tmp_path).storage
    assert storage.anonymous is True
    assert pickle.loads(pickle.dumps(storage)) == storage
    assert {storage: 1}[StorageSettings(region="eu-west-1", anonymous=True)] == 1


def test_a_staging_url_stays_and_a_staging_path_becomes_absolute(tmp_path: Path) -> None:
    assert load_settings({"location": "s3://b/s"}, cwd=tmp_path).staging_location == "s3://b/s"
    assert load_settings({"location": "there"}, cwd=tmp_path).staging_location == str(tmp_path / "there")


def test_misspelt_variables_can_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEBED_WORKDIRR", "x")
    assert "LAKEBED_WORKDIRR" in unknown_environment()


def test_every_setting_has_help_and_a_word_of_its_own() -> None:
    infos = setting_infos()
    assert all(len(info.help) > 20 for info in infos)
    assert len({info.keyword for info in infos}) == len(infos)
