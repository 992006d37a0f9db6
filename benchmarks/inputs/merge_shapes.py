"""The shapes that merges are measured in: how wide, how long, in how many files, in which order, by which strategy."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROWS = 5_000_000


def plain(first: int, last: int) -> str:
    """Twelve columns, numbered rows."""
    return f"""SELECT i AS id, i % 1000 AS account, 'service-' || (i % 50) AS service, md5(i::VARCHAR) AS resource,
        DATE '2026-01-01' + (i % 365)::INT AS day, TIMESTAMP '2026-01-01' + to_seconds(i) AS at,
        (hash(i) % 1000000) / 100.0 AS price, ((hash(i) % 100000000)::DECIMAL(18,0) / 10000)::DECIMAL(18,6) AS cost,
        (i % 7)::INT AS kind, 'region-' || (i % 12) AS region, i % 2 = 0 AS flag, hash(i * 7) % 1000000 AS usage
        FROM range({first}, {last}) t(i)"""


def wide(first: int, last: int) -> str:
    """Three hundred columns: a key, a text that changes, and numbers and texts of few values."""
    numbers = ", ".join(f"((i * {n}) % 10007)::DECIMAL(18,6) AS amount{n}" for n in range(1, 150))
    texts = ", ".join(f"'value-' || ((i + {n}) % 40) AS text{n}" for n in range(1, 150))
    return f"SELECT i AS id, 'service-' || (i % 50) AS service, {numbers}, {texts} FROM range({first}, {last}) t(i)"


def text_keys(first: int, last: int) -> str:
    """The twelve columns, told apart by three texts of which none is enough."""
    return f"""SELECT 'account-' || (id % 100) AS payer, 'arn:aws:ec2:eu-west-1:' || (id // 100 % 1000) AS arn,
        md5((id // 100000)::VARCHAR) AS line, * FROM ({plain(first, last)})"""


def long(first: int, last: int) -> str:
    """Four columns."""
    return f"""SELECT i AS id, 'service-' || (i % 50) AS service,
        ((hash(i) % 100000000)::DECIMAL(18,0) / 10000)::DECIMAL(18,6) AS cost, hash(i * 7) % 1000000 AS usage
        FROM range({first}, {last}) t(i)"""


@dataclass(frozen=True)
class Shape:
    """A table and a source: of every 10,000 rows `changed` are updated, and `new` are added, as many without it."""

    what: str
    columns: Callable[[int, int], str] = plain
    rows: int = ROWS
    files: int = 20
    changed: int = 100
    new: int | None = None
    first_file_only: bool = False
    shuffled: bool = True
    twice: bool = False
    keys: tuple[str, ...] = ("id",)
    strategy: str = "upsert"
    from_frame: bool = False  # on Spark the source is a DataFrame
    stream: bool = False  # the source is not in memory: a stream of batches, or a file where somebody wants one
    created: bool = False  # there is no table yet

    @property
    def new_rows(self) -> int:
        return self.rows * (self.changed if self.new is None else self.new) // 10_000

    @property
    def updates(self) -> str:
        """The rows of the table that the source changes."""
        share = self.rows * self.changed // 10_000
        if self.first_file_only:
            return self.columns(0, share)
        return f"SELECT * FROM ({self.columns(0, self.rows)}) WHERE id * 7919 % 10000 < {self.changed}"

    def make(self, folder: Path) -> None:
        """Writes the table's files into `table` and the source beside it."""
        import duckdb

        table = folder / "table"
        table.mkdir(parents=True)
        connection = duckdb.connect()
        each = self.rows // self.files
        for number in range(0 if self.created else self.files):
            query = self.columns(number * each, (number + 1) * each)
            connection.execute(f"COPY ({query}) TO '{table}/part-{number:04d}.parquet' (FORMAT parquet)")
        changed = f"SELECT * REPLACE ('changed' AS service) FROM ({self.updates})"
        source = f"{changed} UNION ALL {self.columns(self.rows, self.rows + self.new_rows)}"
        if self.twice:
            source = f"SELECT rows.* FROM ({source}) AS rows, range(2)"
        order = " ORDER BY hash(id * 31 + 17)" if self.shuffled else ""
        connection.execute(f"COPY (SELECT * FROM ({source}){order}) TO '{folder}/source.parquet' (FORMAT parquet)")


SHAPES: dict[str, Shape] = {
    "A": Shape("updates in one file, in order", first_file_only=True, shuffled=False),
    "B": Shape("updates in all files, in order", shuffled=False),
    "A shuffled": Shape("updates in one file, in random order", first_file_only=True),
    "B shuffled": Shape("updates in all files, in random order"),
    "many": Shape("800,000 updates and as many inserts, in order", changed=1600, shuffled=False),
    "many shuffled": Shape("800,000 updates and as many inserts, in random order", changed=1600),
    "deduplicate": Shape("every row of the source twice", twice=True, strategy="deduplicate"),
    "deduplicate many": Shape("1,600,000 rows, each of them twice", changed=1600, twice=True, strategy="deduplicate"),
    "small files": Shape("2,000 files, all affected", files=2000),
    "wide": Shape("200,000 rows of 300 columns", columns=wide, rows=200_000),
    "text keys": Shape("a key of three texts", columns=text_keys, keys=("payer", "arn", "line")),
    "full_merge": Shape(
        "a stream of 99 of 100 rows, in order",
        changed=9900,
        new=100,
        shuffled=False,
        strategy="full_merge",
        stream=True,
    ),
    "full_merge shuffled": Shape(
        "a stream of 99 of 100 rows, in random order", changed=9900, new=100, strategy="full_merge", stream=True
    ),
    "delete_insert": Shape("keys occur twice", twice=True, strategy="delete_insert"),
    "long": Shape("20,000,000 rows of 4 columns", columns=long, rows=20_000_000),
    "stream": Shape(
        "20,000,000 rows of 4 columns as a stream, into a new table",
        columns=long,
        rows=20_000_000,
        changed=10_000,
        new=0,
        stream=True,
        created=True,
    ),
    "stream over": Shape(
        "a stream of 18,000,000 updates and 2,000,000 inserts into 20,000,000 rows of 4 columns",
        columns=long,
        rows=20_000_000,
        changed=9_000,
        new=1_000,
        stream=True,
    ),
    "few on Spark": Shape("ten updates and ten inserts", rows=50_000, files=20, changed=2, from_frame=True),
    "large on Spark": Shape(
        "2,500,000 updates and as many inserts, shuffled to the files",
        columns=long,
        rows=50_000_000,
        files=100,
        changed=500,
        from_frame=True,
    ),
}
