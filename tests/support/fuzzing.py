"""Run as a program by test_fuzz.py: `fuzzing.py ENTRANCE FOLDER LIBFUZZER_ARGUMENTS...`, guided by coverage."""

import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["lakebed"]):
    from tests.support.hostile_inputs import enter, entrances


def fuzz(name: str, folder: Path, arguments: list[str]) -> None:
    """Fuzzes one entrance, from its seeds on."""
    entrance = next(one for one in entrances() if one.name == name)
    corpus, work = folder / "corpus", folder / "work"
    corpus.mkdir()
    work.mkdir()
    for number, seed in enumerate(entrance.seeds):
        (corpus / str(number)).write_bytes(seed)
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], lambda data: enter(entrance, data, work))
    atheris.Fuzz()


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
