"""Which files a task takes."""

from lakebed.engines.shared.packs import FEWEST_TASKS, PACK_BYTES, pack_files
from lakebed.model import SourceFile

MB = 1 << 20


def files(*sizes: int, compression: str = "none") -> list[SourceFile]:
    return [SourceFile(f"{n}", f"{n}", "csv", compression, size) for n, size in enumerate(sizes)]  # type: ignore[arg-type]


def test_few_files_have_a_task_each() -> None:
    assert sorted(pack_files(files(1, 2, 3))) == [[0], [1], [2]]
    assert pack_files([]) == []


def test_many_small_files_share_few_tasks() -> None:
    packs = pack_files(files(*([800] * 5000)))
    assert FEWEST_TASKS <= len(packs) <= 20
    assert sorted(one for pack in packs for one in pack) == list(range(5000))


def test_a_task_takes_no_more_than_a_pack() -> None:
    given = files(*([50 * MB] * 100), 900 * MB)
    packs = pack_files(given)
    assert packs[0] == [100]
    assert all(sum(given[one].size_bytes for one in pack) <= PACK_BYTES for pack in packs[1:])
    assert len(packs) == 51


def test_packed_files_weigh_more() -> None:
    assert len(pack_files(files(*([20 * MB] * 100), compression="gzip"))) == 100


def test_the_order_of_the_files_decides_nothing() -> None:
    given = files(*(n % 7 * MB for n in range(100)))
    uris = [{given[one].uri for one in pack} for pack in pack_files(given)]
    turned = given[::-1]
    assert [{turned[one].uri for one in pack} for pack in pack_files(turned)] == uris
