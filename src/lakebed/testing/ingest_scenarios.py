"""What an ingest does, call by call: files in, rows and types out. Every target and engine is held to each of them."""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Files = Mapping[str, str | bytes | None]  # None: the file is removed
Rows = Sequence[Sequence[object]]


@dataclass(frozen=True)
class Call:
    """Files that are there now, what the ingest is asked, and what it says: rows loaded and removed, files skipped."""

    files: Files
    loaded: int = 0
    removed: int = 0
    skipped: int = 0
    refused: str | None = None
    said: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    rejected: int = 0


@dataclass(frozen=True)
class IngestScenario:
    """Calls one after the other, and what the table has then in these columns, as text, in any order."""

    name: str
    calls: tuple[Call, ...]
    columns: tuple[str, ...]
    rows: Rows
    types: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def _of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _call(files: Files, loaded: int = 0, **more: Any) -> Call:
    return Call(files, loaded, **more)


SCENARIOS: tuple[IngestScenario, ...] = (
    IngestScenario(
        "files with other columns are one table",
        (_call({"a.csv": "id,v\n1,x\n", "b.csv": "w,id\n2026-01-02,2\n"}, 2),),
        _of("id v w"),
        [("1", "x", None), ("2", None, "2026-01-02")],
        {"id": "int32", "v": "text", "w": "date"},
    ),
    IngestScenario(
        "a second ingest loads nothing",
        (_call({"a.csv": "id\n1\n"}, 1), _call({}, 0, skipped=1)),
        _of("id"),
        [("1",)],
    ),
    IngestScenario(
        "an equal file is skipped wherever it lies",
        (
            _call({"a.csv": "id\n1\n", "b.csv": "id\n1\n"}, 1, skipped=1),
            _call({"deep/er/c.csv": "id\n1\n", "a.csv": None}, 0, skipped=2),
        ),
        _of("id"),
        [("1",)],
    ),
    IngestScenario(
        "new content replaces the rows of its path",
        (
            _call({"a.csv": "id,v\n1,old\n2,old\n", "b.csv": "id,v\n3,stays\n"}, 3),
            _call({"a.csv": "id,v\n2,new\n"}, 1, removed=2, skipped=1),
        ),
        _of("id v"),
        [("2", "new"), ("3", "stays")],
    ),
    IngestScenario(
        "content that another path has too stays when one of them changes",
        (
            _call({"a.csv": "id\n1\n", "b.csv": "id\n1\n"}, 1, skipped=1),
            _call({"a.csv": "id\n2\n"}, 1, skipped=1),
        ),
        _of("id"),
        [("1",), ("2",)],
    ),
    IngestScenario(
        "a path that takes over another's content gives up its own",
        (
            _call({"a.csv": "id\n1\n", "b.csv": "id\n2\n"}, 2),
            _call({"a.csv": "id\n2\n"}, 0, removed=1, skipped=2),
        ),
        _of("id"),
        [("2",)],
    ),
    IngestScenario(
        "a file that has gone keeps its rows",
        (_call({"a.csv": "id\n1\n", "b.csv": "id\n2\n"}, 2), _call({"a.csv": None, "c.csv": "id\n3\n"}, 1, skipped=1)),
        _of("id"),
        [("1",), ("2",), ("3",)],
    ),
    IngestScenario(
        "folders are columns, with types",
        (
            _call(
                {
                    "day=2026-11-01/shop=7/a.csv": "id\n1\n",
                    "day=2026-11-02/shop=__HIVE_DEFAULT_PARTITION__/a.csv": "id\n1\n",
                },
                2,
            ),
        ),
        _of("id day shop"),
        [("1", "2026-11-01", "7"), ("1", "2026-11-02", None)],
        {"day": "date", "shop": "int32"},
    ),
    IngestScenario(
        "dialects and encodings are found out",
        (
            _call(
                {
                    "bom.csv": b"\xef\xbb\xbfid,name\n1,\xc3\xa4\n",
                    "semicolons.csv": 'id;name\n2;"a;b"\n',
                    "tabs.tsv": "id\tname\n3\tx\n",
                    "bars.csv": "id|name\n4|it's\n",
                    "utf16.csv": "id,name\n5,\u00e9\n".encode("utf-16"),
                    "latin.csv": "id,name\n6,\u00fc\n".encode("latin-1"),
                    "apostrophes.csv": "'id','name'\n'7','a,b'\n",
                    "packed.csv.gz": gzip.compress(b"id,name\n8,gz\n", mtime=0),
                    "crlf.csv": "id,name\r\n9,x\r\n",
                    "excel.csv": "sep=;\r\nid;name\r\n10;y\r\n",
                },
                10,
                said="semicolons",
            ),
        ),
        _of("id name"),
        [
            *(("1", "ä"), ("2", "a;b"), ("3", "x"), ("4", "it's"), ("5", "é")),
            *(("6", "ü"), ("7", "a,b"), ("8", "gz"), ("9", "x"), ("10", "y")),
        ],
        {"id": "int32"},
    ),
    IngestScenario(
        "a dialect that the user says is taken",
        (_call({"a.csv": "id:name\n1:'x\n"}, 1, options={"delimiter": ":", "quote": ""}),),
        _of("id name"),
        [("1", "'x")],
    ),
    IngestScenario(
        "JSON lines, lists and documents have nested columns that grow",
        (
            _call({"a.jsonl": '{"id": 1, "who": {"name": "x"}, "tags": ["a", "b"]}\n{"id": 2}\n'}, 2),
            _call(
                {"b.json": '[\n {"id": 3, "who": {"age": 7, "name": "y"}},\n {"id": 4, "tags": []}\n]'}, 2, skipped=1
            ),
            _call({"c.json": '{\n  "id": 5,\n  "who": null\n}\n'}, 1, skipped=2),
        ),
        _of("id who tags"),
        [
            ("1", {"name": "x", "age": None}, ["a", "b"]),
            ("2", None, None),
            ("3", {"name": "y", "age": "7"}, None),
            ("4", None, []),
            ("5", None, None),
        ],
    ),
    IngestScenario(
        "nothing is rounded and no code becomes a number",
        (
            _call(
                {
                    "a.csv": "zip,phone,big,money,sci\n00501,+4930,123456789012345678901234567890,19.99,1.5e-3\n"
                    "10001,030,7,0.000000000000000001,2E+2\n",
                    "b.json": '{"zip": "1", "money": 12345678901234567890.5}\n',
                },
                3,
            ),
        ),
        _of("zip phone big money sci"),
        [
            ("00501", "+4930", "123456789012345678901234567890", "19.990000000000000000", "0.001500000000000000"),
            ("10001", "030", "7", "0.000000000000000001", "200.000000000000000000"),
            ("1", None, None, "12345678901234567890.500000000000000000", None),
        ],
        {"zip": "text", "phone": "text", "big": "decimal(38,0)", "money": "decimal(38,18)"},
    ),
    IngestScenario(
        "integers widen when later files need it",
        (_call({"a.csv": "id,n\n1,5\n"}, 1), _call({"b.csv": "id,n\n2,5000000000\n"}, 1, skipped=1)),
        _of("id n"),
        [("1", "5"), ("2", "5000000000")],
        {"n": "int64"},
    ),
    IngestScenario(
        "what is text stays text, numbers too",
        (_call({"a.csv": "id,v\n1,x\n"}, 1), _call({"b.csv": "id,v\n2,1.50\n"}, 1, skipped=1)),
        _of("id v"),
        [("1", "x"), ("2", "1.50")],
    ),
    IngestScenario(
        "a value that the table cannot hold is refused with file, line and column",
        (
            _call({"a.csv": "id,v\n1,5\n"}, 1),
            _call({"b.csv": "id,v\n2,6\n3,many\n"}, refused=r"b\.csv, line 3, column v: 'many' is not"),
        ),
        _of("id v"),
        [("1", "5")],
    ),
    IngestScenario(
        "or set aside",
        (
            _call({"a.csv": "id,v\n1,5\n"}, 1),
            _call(
                {"b.csv": "id,v\n2,6\n3,many\n", "c.csv": "id,v\n4,7,8\n5,9\n"},
                2,
                skipped=1,
                options={"on_bad_value": "quarantine"},
                rejected=2,
            ),
        ),
        _of("id v"),
        [("1", "5"), ("2", "6"), ("5", "9")],
    ),
    IngestScenario(
        "or kept in a column of its own",
        (
            _call({"a.csv": "id,v\n1,5\n"}, 1),
            _call({"b.csv": "id,v\n2,many\n"}, 1, skipped=1, options={"on_conflict": "variant"}),
        ),
        _of("id v v__text"),
        [("1", "5", None), ("2", None, "many")],
    ),
    IngestScenario(
        "a row of another length is refused with its line",
        (_call({"a.csv": "id,v\n1,x\n2\n"}, refused=r"a\.csv, line 3: expected a row of 2 fields"),),
        (),
        [],
    ),
    IngestScenario(
        "a line that is no JSON is refused with its number",
        (_call({"a.jsonl": '{"id": 1}\n{"id": \n'}, refused=r"a\.jsonl, line 2.*JSON object"),),
        (),
        [],
    ),
    IngestScenario(
        "a list that is cut short is refused",
        (_call({"a.json": '[{"id": 1}, {"id": '}, refused=r"a\.json, line 1: not JSON"),),
        (),
        [],
    ),
    IngestScenario(
        "gzip that is cut short is refused",
        (_call({"a.csv.gz": gzip.compress(b"id\n1\n" * 99, mtime=0)[:-9]}, refused=r"a\.csv\.gz: the gzip data is"),),
        (),
        [],
    ),
    IngestScenario(
        "empty files are said aloud, headers alone are not",
        (
            _call({"a.csv": "id\n1\n", "empty.csv": "", "header.csv": "id,later\n"}, 1, said=r"empty\.csv.*nothing"),
            _call({"empty.csv": "id\n2\n"}, 1, skipped=2),
        ),
        _of("id"),
        [("1",), ("2",)],
    ),
    IngestScenario(
        "a path that is left with its header gives up its rows",
        (_call({"a.csv": "id\n1\n", "b.csv": "id\n2\n"}, 2), _call({"b.csv": "id\n"}, 0, removed=1, skipped=1)),
        _of("id"),
        [("1",)],
    ),
    IngestScenario(
        "a column that holds nothing waits for its type",
        (_call({"a.csv": "id,n\n1,\n"}, 1), _call({"b.csv": "id,n\n2,2.5\n"}, 1, skipped=1)),
        _of("id n"),
        [("1", None), ("2", "2.500000000000000000")],
        {"n": "decimal(38,18)"},
    ),
    IngestScenario(
        "equal headers and names that differ in case are columns of their own in one file, and one column in several",
        (_call({"a.csv": "ID,v,v\n1,x,y\n"}, 1), _call({"b.csv": "id,v\n2,z\n"}, 1, skipped=1)),
        _of("id v v_1"),
        [("1", "x", "y"), ("2", "z", None)],
    ),
    IngestScenario(
        "types that the user says are taken",
        (_call({"a.csv": "id,code,x\n1,7,0.1\n"}, 1, options={"types": {"code": "string", "x": "double"}}),),
        _of("id code x"),
        [("1", "7", "0.1")],
        {"code": "text", "x": "float64"},
    ),
    IngestScenario(
        "without inference all is text",
        (_call({"a.csv": "id,code\n01,7\n"}, 1, options={"infer": False}),),
        _of("id code"),
        [("01", "7")],
    ),
    IngestScenario(
        "with keys rows are merged, and none is removed",
        (
            _call({"a.csv": "id,v,w\n1,a,keep\n2,b,keep\n"}, 2, options={"keys": "id"}),
            _call({"b.csv": "id,v\n2,new\n3,c\n"}, 2, skipped=1, options={"keys": "id"}),
            _call({"a.csv": "id,v,w\n1,again,keep\n"}, 1, skipped=1, options={"keys": "id"}),
        ),
        _of("id v w"),
        [("1", "again", "keep"), ("2", "new", "keep"), ("3", "c", None)],
    ),
    IngestScenario(
        "the last of several rows of a key wins by the columns that are named",
        (
            _call(
                {"day=2026-11-01/a.csv": "id,v\n1,old\n", "day=2026-11-02/a.csv": "id,v\n1,new\n"},
                2,
                options={"keys": ["id"], "strategy": "deduplicate", "dedup_order_by": "day"},
            ),
        ),
        _of("id v"),
        [("1", "new")],
    ),
    IngestScenario(
        "rows of one key in several files are refused without such columns",
        (
            _call(
                {"a.csv": "id,v\n1,old\n", "b.csv": "id,v\n1,new\n"}, refused="duplicate|repeat", options={"keys": "id"}
            ),
        ),
        (),
        [],
    ),
)
