"""The FinOps Foundation's own validator, in an environment of its own: it wants Python 3.12 and an older numpy."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.finops.test_focus import focus_of

import lakebed

pytestmark = [pytest.mark.full, pytest.mark.processes]

VERSION = "focus-validator==2.2.1"
# Unpinned, pyarrow wants a numpy that the validator excludes.
ARROW = "pyarrow<23"
# Rules that the validator's model of FOCUS 1.2 has otherwise than their own text says. All others must pass.
FAULTS_OF_THE_MODEL = {
    "CommitmentDiscountStatus-C-004-C": "its text says where the id is not NULL, its condition where it is NULL",
    "CapacityReservationStatus-C-004-C": "its condition is not heeded: no row has a CapacityReservationId",
    "InvoiceId-C-004-C": "it has no condition: NULL is demanded of every row, and its sibling demands the opposite",
    "EffectiveCost-C-005-C": "its text says purchases for future charges, its condition all: a support fee is none",
}


def python312() -> str | None:
    places = (Path.home() / ".pyenv" / "versions").glob("3.12.*/bin/python3.12")
    return shutil.which("python3.12") or next(map(str, places), None)


@pytest.fixture(scope="module")
def validator() -> Path:
    """The validator's packages: installed once, beside those of the tests."""
    home = Path(sys.prefix) / "focus-validator"
    packages = home / "lib" / "python3.12" / "site-packages"
    if not (packages / "focus_validator").is_dir():
        python = python312()
        if python is None:
            pytest.skip("there is no Python 3.12, which focus-validator 2 needs")
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        ran = subprocess.run(
            [home / "bin" / "pip", "install", "-q", VERSION, ARROW], capture_output=True, text=True, check=False
        )
        if ran.returncode != 0:
            shutil.rmtree(home)
            pytest.skip(f"focus-validator cannot be installed here: {ran.stderr.strip().splitlines()[-1]}")
    return packages


@pytest.mark.parametrize("kind", ["cur", "cur2"])
def test_every_rule_passes_but_those_that_are_wrong(kind: lakebed.SampleKind, validator: Path, tmp_path: Path) -> None:
    rows: pa.Table = focus_of(kind)
    ours = [name for name in rows.column_names if name.startswith("lakebed_")]
    pq.write_table(rows.drop_columns(ours), tmp_path / "focus.parquet")
    ran = subprocess.run(
        [
            validator.parents[2] / "bin" / "focus-validator",
            *("--data-file", tmp_path / "focus.parquet", "--validate-version", "1.2.0.1", "--block-download"),
            *("--applicability-criteria", "ALL", "--show-violations"),
        ],
        # It opens its list of currencies relative to the working directory.
        cwd=validator,
        capture_output=True,
        text=True,
        check=False,
    )
    counted = re.search(r"Total: (\d+) \| Pass: (\d+) \| Fail: (\d+)", ran.stdout)
    assert counted is not None, ran.stdout + ran.stderr
    assert int(counted[2]) > 350
    failed = dict(re.findall(r"^\S+ (\S+): FAIL  \(violations=\d+, msg=(.*)$", ran.stdout, re.MULTILINE))
    # A rule that is made of others fails with them.
    leaves = {rule for rule, message in failed.items() if "failed child rules" not in message}
    assert leaves == set(FAULTS_OF_THE_MODEL)
