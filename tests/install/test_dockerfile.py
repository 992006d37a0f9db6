"""The image: built where Docker is there, and linted wherever the tests run."""

import json
import re
import subprocess
from pathlib import Path
from shutil import which

import pytest
from tests.surface.source_tree import ROOT

from lakebed.engines.spark.java import FITTING

DOCKERFILE = ROOT / "Dockerfile"


def instructions() -> list[tuple[str, str]]:
    """Each instruction and what follows it, continued lines joined, without comments."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def of(word: str) -> list[str]:
    return [rest for instruction, rest in instructions() if instruction == word]


def sent() -> set[str]:
    """What `.dockerignore` lets through, by its own words."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines, "nothing is sent but what is named"
    return {line.removeprefix("!") for line in lines if line.startswith("!")}


def test_what_is_copied_is_there_and_is_sent() -> None:
    copied = [source for rest in of("COPY") if not rest.startswith("--from") for source in rest.split()[:-1]]
    assert copied
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert sorted(sent()) == sorted(copied), ".dockerignore and the Dockerfile name the same"


def test_what_the_wheel_is_built_from_is_copied() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    files = re.findall(r'^(?:readme|license-files) = \[?"([^"]+)"', project, re.MULTILINE)
    assert {*files, "pyproject.toml", "src"} <= sent()


def test_it_runs_as_nobody_in_particular() -> None:
    users = of("USER")
    assert users
    assert users[-1] not in ("root", "0")
    assert any(f"useradd --create-home --uid 10001 {users[-1]}" in rest for rest in of("RUN"))


def test_its_java_is_one_that_spark_runs_on() -> None:
    [version] = re.findall(r"openjdk-(\d+)-jre-headless", " ".join(of("RUN")))
    assert int(version) in FITTING


def test_no_host_is_named_and_the_last_stage_keeps_no_compiler() -> None:
    images = [*of("ARG"), *of("FROM")]
    assert [image for image in images if "/" in image or "@" in image] == []
    assert len(of("FROM")) == 2
    assert of("COPY")[-1].startswith("--from=build /opt/lakebed")


def test_it_starts_the_command() -> None:
    assert [json.loads(rest) for rest in (*of("ENTRYPOINT"), *of("CMD"))] == [["lakebed"], ["--help"]]


def test_hadolint_has_nothing_to_say() -> None:
    if which("hadolint") is None:
        pytest.skip("hadolint is not installed")
    ran = subprocess.run(["hadolint", DOCKERFILE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.full
def test_it_is_built_and_loads(tmp_path: Path) -> None:
    if which("docker") is None or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode != 0:
        pytest.skip("there is no Docker here")
    built = subprocess.run(
        ["docker", "build", "-q", "-t", "lakebed-test", ROOT], capture_output=True, text=True, check=False
    )
    if built.returncode != 0 and re.search(r"failed to resolve|no such host|i/o timeout|TLS handshake", built.stderr):
        pytest.skip("Docker reaches no registry from here")
    assert built.returncode == 0, built.stderr
    tmp_path.chmod(0o777)
    ran = subprocess.run(
        ["docker", "run", "--rm", "-v", f"{tmp_path}:/data", "lakebed-test", "demo", "--rows", "100"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
