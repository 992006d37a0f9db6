"""Renders lines as CSV, fast: what a kind of line repeats is rendered once, and a row fills in what varies.

A row of 250 columns is one `str.format` with about fifteen arguments, so a million of them take seconds, not minutes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

from lakebed.model import Totals
from lakebed.samples.charges import MEASURES, SCALE, UNIT, Charge, decimal_text
from lakebed.samples.columns import TAG, athena_name

# What a row fills in besides its measures, in the order of the arguments.
ID, INTERVAL, START, END, RESOURCE, TAGS = (
    "identity/LineItemId",
    "identity/TimeInterval",
    "lineItem/UsageStartDate",
    "lineItem/UsageEndDate",
    "lineItem/ResourceId",
    "tags",
)
_ROW_KEYS = (ID, INTERVAL, START, END, RESOURCE, TAGS)
_CHUNK = 2_000
_TAG_SETS = 96


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of the output: its header, and the key under which a line holds its value.

    A key that begins with `map:` gathers all values of a category as JSON, as CUR 2.0 has them.
    """

    header: str
    key: str
    is_decimal: bool = False


@dataclass(frozen=True)
class Sheet:
    """What the files of one delivery have in common."""

    cells: tuple[Cell, ...]
    tags: tuple[str, ...]
    charges: tuple[Charge, ...]
    constants: Mapping[str, str]
    month: datetime
    next_month: datetime
    growth: float


@dataclass
class SampleTally:
    """Rows and exact sums while they are made: per kind of line, in integers."""

    rows: list[int]
    amounts: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, sheet: Sheet) -> "SampleTally":
        return cls([0] * len(sheet.charges), [[0] * len(MEASURES) for _ in sheet.charges])

    def totals(self, sheet: Sheet) -> Totals:
        """The sums of every decimal column, whole and by currency."""
        sums: dict[str, Decimal] = {}
        by_currency: dict[str, dict[str, Decimal]] = {}
        for cell in sheet.cells:
            if not cell.is_decimal:
                continue
            sums[cell.header] = Decimal(0)
            for charge, rows, amounts in zip(sheet.charges, self.rows, self.amounts, strict=True):
                if not rows:
                    continue
                if measure := charge.measured.get(cell.key):
                    amount = Decimal(amounts[MEASURES.index(measure)]).scaleb(-SCALE)
                else:
                    amount = Decimal(charge.values.get(cell.key) or 0) * rows
                sums[cell.header] += amount
                of_currency = by_currency.setdefault(charge.currency, {})
                of_currency[cell.header] = of_currency.get(cell.header, Decimal(0)) + amount
        return Totals(sum(self.rows), sums, by_currency)


def headers(sheet: Sheet) -> tuple[str, ...]:
    """The names of the columns: a tag is a column of its own where the report has one for each."""
    names: list[str] = []
    for cell in sheet.cells:
        names += [f"{TAG}/{name}" for name in sheet.tags] if cell.header == TAG else [cell.header]
    return tuple(names)


def header(sheet: Sheet) -> str:
    """The header line."""
    return ",".join(quoted(name) for name in headers(sheet)) + "\n"


def write_rows(sheet: Sheet, rng: Random, count: int, tally: SampleTally, write: Callable[[bytes], object]) -> None:
    """Hands `count` lines to `write`, in chunks, and adds them to the tally."""
    formats = [_format(sheet, charge) for charge in sheet.charges]
    resources = [_resources(charge, rng) for charge in sheet.charges]
    choice = [index for index, charge in enumerate(sheet.charges) for _ in range(charge.weight)]
    tags = tag_texts(sheet, rng)
    hours = _hours(sheet)
    charges, growth, choices, hour_count = sheet.charges, sheet.growth, len(choice), len(hours)
    random, bits = rng.random, rng.getrandbits
    volume_scale, request_scale, hour_scale = 60e8 * growth, 4000 * growth, 4 * growth
    for start in range(0, count, _CHUNK):
        lines = []
        for _ in range(min(_CHUNK, count - start)):
            index = choice[int(random() * choices)]
            charge = charges[index]
            r = random()
            kind = charge.amount
            if kind == "hours":
                usage = UNIT * (1 + int(r * r * hour_scale))
            elif kind == "volume":
                usage = int(r * r * r * volume_scale) * 1_000
            elif kind == "requests":
                usage = UNIT * (1 + int(r * r * r * request_scale))
            else:
                usage = UNIT
            listed = usage * charge.price // UNIT if kind != "once" else int(r * 25 * UNIT)
            cost = listed * charge.sign
            effective = cost * 6 // 10
            normalized = usage * charge.factor
            names = resources[index]
            interval, begin, end = hours[int(random() * hour_count)]
            lines.append(
                formats[index](
                    f"{bits(208):052x}",
                    interval,
                    begin,
                    end,
                    names[int(r * 997) % len(names)],
                    tags[bits(16) % _TAG_SETS],
                    decimal_text(usage),
                    decimal_text(normalized),
                    decimal_text(cost),
                    decimal_text(listed),
                    decimal_text(effective),
                )
            )
            tally.rows[index] += 1
            amounts = tally.amounts[index]
            amounts[0] += usage
            amounts[1] += normalized
            amounts[2] += cost
            amounts[3] += listed
            amounts[4] += effective
        write("".join(lines).encode())


def quoted(text: str) -> str:
    """A CSV field."""
    if any(mark in text for mark in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def tag_texts(sheet: Sheet, rng: Random) -> list[str]:
    """Ready-made tags of a line: as one field of JSON where a column holds the map, else as the fields of all tags."""
    as_map = any(cell.key == TAGS and cell.header != TAG for cell in sheet.cells)
    texts = []
    for _ in range(_TAG_SETS):
        values = {name: _tag_value(name, rng) for name in sheet.tags if rng.random() < 0.4}
        if as_map:
            texts.append(quoted(json.dumps(values, ensure_ascii=False)))
        else:
            texts.append(",".join(quoted(values.get(name, "")) for name in sheet.tags))
    return texts


_TAG_VALUES: Mapping[str, Sequence[str]] = {
    "user:Environment": ("production", "staging", "development"),
    "user:environment": ("PROD", "DEV", "prod"),
    "user:cost-center": ("00042", "00043", "01000"),
    "user:cost_center": ("cc-42", "cc-43"),
    "user:Name": ("web", "api, public", 'the "big" one', "line one\nline two"),
    "user:Équipe": ("données", "équipe à côté"),
}


def _tag_value(name: str, rng: Random) -> str:
    values = _TAG_VALUES.get(name) or ("007", "alpha", "beta", "gamma-delta", "arn:aws:iam::000123456789:user/anna")
    return values[rng.randrange(len(values))]


def _format(sheet: Sheet, charge: Charge) -> Callable[..., str]:
    """A line of this kind with what varies left open."""
    fields = []
    for cell in sheet.cells:
        if cell.key in _ROW_KEYS:
            fields.append(f"{{{_ROW_KEYS.index(cell.key)}}}")
        elif measure := charge.measured.get(cell.key):
            fields.append(f"{{{len(_ROW_KEYS) + MEASURES.index(measure)}}}")
        elif cell.key.startswith("map:"):
            fields.append(_literal(_map_text(charge, cell.key.removeprefix("map:"))))
        else:
            fields.append(_literal(charge.values.get(cell.key, sheet.constants.get(cell.key, ""))))
    return (",".join(fields) + "\n").format


def _map_text(charge: Charge, category: str) -> str:
    prefix = f"{category}/"
    chosen = {
        athena_name(key.removeprefix(prefix)): text
        for key, text in charge.values.items()
        if key.startswith(prefix) and text
    }
    return json.dumps(chosen, ensure_ascii=False)


def _literal(text: str) -> str:
    return quoted(text).replace("{", "{{").replace("}", "}}")


def _resources(charge: Charge, rng: Random) -> list[str]:
    if not charge.resource:
        return [""]
    return [f"{charge.resource}{rng.getrandbits(64):016x}" for _ in range(40)]


def _hours(sheet: Sheet) -> list[tuple[str, str, str]]:
    """Interval, start and end of every hour of the month."""
    count = int((sheet.next_month - sheet.month).total_seconds() // 3600)
    marks = [sheet.month + timedelta(hours=hour) for hour in range(count + 1)]
    texts = [mark.strftime("%Y-%m-%dT%H:%M:%SZ") for mark in marks]
    return [(f"{start}/{end}", start, end) for start, end in pairwise(texts)]
