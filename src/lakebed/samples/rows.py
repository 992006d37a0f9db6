"""Renders lines as CSV, fast: what a kind of line repeats is rendered once, and a row fills in what varies.

A row of 250 columns is one `str.format` with about fifteen arguments, so a million of them take seconds, not minutes.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

from lakebed.model import Totals
from lakebed.samples.charges import EDP, EDP_STEP, MEASURES, SCALE, UNIT, Charge, Measure, decimal_text
from lakebed.samples.closing import Closing, closing_amounts
from lakebed.samples.columns import TAG, athena_name

# What a row fills in besides its measures, in the order of the arguments.
ID, INTERVAL, START, END, RESOURCE, TAGS, PARENT = (
    "identity/LineItemId",
    "identity/TimeInterval",
    "lineItem/UsageStartDate",
    "lineItem/UsageEndDate",
    "lineItem/ResourceId",
    "tags",
    "splitLineItem/ParentResourceId",
)
_ROW_KEYS = (ID, INTERVAL, START, END, RESOURCE, TAGS, PARENT)
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
    left_out: frozenset[str] = frozenset()  # what the map does not gather


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
    closings: tuple[Closing, ...] = ()

    @property
    def lines(self) -> tuple[Charge, ...]:
        """Every kind of line, those that close the month last."""
        return (*self.charges, *(closing.charge for closing in self.closings))


@dataclass
class SampleTally:
    """Rows and exact sums while they are made: per kind of line, in integers."""

    rows: list[int]
    amounts: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, sheet: Sheet) -> "SampleTally":
        return cls([0] * len(sheet.lines), [[0] * len(MEASURES) for _ in sheet.lines])

    def sums(self, indexes: Iterable[int]) -> dict[Measure, int]:
        """What was counted of these kinds of line together."""
        chosen = [self.amounts[index] for index in indexes]
        return {measure: sum(one[position] for one in chosen) for position, measure in enumerate(MEASURES)}

    def totals(self, sheet: Sheet) -> Totals:
        """The sums of every decimal column, whole and by currency."""
        sums: dict[str, Decimal] = {}
        by_currency: dict[str, dict[str, Decimal]] = {}
        for cell in sheet.cells:
            if not cell.is_decimal:
                continue
            sums[cell.header] = Decimal(0)
            for charge, rows, amounts in zip(sheet.lines, self.rows, self.amounts, strict=True):
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


def write_rows(
    sheet: Sheet, rng: Random, count: int, tally: SampleTally, write: Callable[[bytes], object], *, last: bool = True
) -> None:
    """Hands `count` lines to `write`, in chunks, and adds them to the tally; the `last` file closes the month."""
    lines = _Lines(sheet, rng, tally)
    left = count - (len(sheet.closings) if last else 0)
    while left > 0:
        made: list[str] = []
        while len(made) < min(_CHUNK, left):
            made += lines.draw(room=left - len(made))
        write("".join(made).encode())
        left -= len(made)
    if last:
        write("".join(map(lines.close, range(len(sheet.closings)))).encode())


class _Lines:
    """Draws lines: one, or those that hang together."""

    def __init__(self, sheet: Sheet, rng: Random, tally: SampleTally) -> None:
        self._sheet, self._rng, self._tally = sheet, rng, tally
        # What is charged is drawn apart from identities and tags: a restated month has the same usage and other ids.
        self._labels = Random(f"{rng.getrandbits(64)}/{sheet.growth}")
        self._formats = [_format(sheet, charge) for charge in sheet.lines]
        self._shown = [[MEASURES.index(measure) for measure in charge.measures] for charge in sheet.lines]
        self._resources = [_resources(charge, rng) for charge in sheet.charges]
        self._choice = [index for index, charge in enumerate(sheet.charges) for _ in range(charge.weight)]
        self._tags = tag_texts(sheet, self._labels)
        self._hours = _hours(sheet)
        growth = sheet.growth
        self._volume_scale, self._request_scale, self._hour_scale = 60e8 * growth, 4000 * growth, 4 * growth

    def draw(self, *, room: int) -> list[str]:
        """One line, and those that go with it; where there is no room for them, one that stands alone."""
        random = self._rng.random
        index = self._choice[int(random() * len(self._choice))]
        charge = self._sheet.charges[index]
        if (charge.role == "covered" and room < 2) or (charge.role == "parent" and room < 3):
            index, charge = 0, self._sheet.charges[0]
        r = random()
        kind = charge.amount
        if kind == "hours":
            usage = UNIT * (1 + int(r * r * self._hour_scale))
        elif kind == "volume":
            usage = int(r * r * r * self._volume_scale) * 1_000
        elif kind == "requests":
            usage = UNIT * (1 + int(r * r * r * self._request_scale))
        else:
            usage = UNIT
        listed = (usage if kind != "once" else int(r * 25 * UNIT)) * charge.price // UNIT
        cost = listed * charge.sign
        discount = -(cost * EDP // 100 // EDP_STEP * EDP_STEP) if charge.discounted else 0
        effective = recurring = 0
        if charge.role in ("covered", "reserved"):
            effective = cost * 6 // 10
            recurring = effective * 2 // 5
        names = self._resources[index]
        resource = names[int(r * 997) % len(names)]
        when = self._hours[int(random() * len(self._hours))]
        amounts = (
            usage, usage * charge.factor, cost, listed, effective, cost + discount, discount, recurring,
            effective - recurring,
        )  # fmt: skip
        lines = [self._line(index, when, resource, amounts)]
        if charge.role == "covered":
            lines.append(self._line(index + 1, when, "", (usage, 0, -cost, 0, 0, -cost)))
        elif charge.role == "parent":
            lines += self._tasks(index + 1, when, resource, usage, cost)
        return lines

    def _tasks(self, index: int, when: tuple[str, str, str], parent: str, usage: int, cost: int) -> Iterator[str]:
        """Two tasks on an instance, which share its cost, used and unused, to the last digit."""
        used = cost * 7 // 10
        shares = ((used // 3, (cost - used) // 2), (used - used // 3, cost - used - (cost - used) // 2))
        for split, unused in shares:
            names = self._resources[index]
            task = names[int(self._rng.random() * len(names))]
            zeros = (0,) * (MEASURES.index("split") - 1)
            yield self._line(index, when, task, (usage, *zeros, split, unused), parent=parent)

    def close(self, number: int) -> str:
        """One of the lines that close the month."""
        closing = self._sheet.closings[number]
        amounts = closing_amounts(closing, self._tally.sums(closing.of))
        whole = self._hours[0][1], self._hours[-1][2]
        every = [amounts.get(measure, UNIT if measure == "usage" else 0) for measure in MEASURES]
        return self._line(len(self._sheet.charges) + number, (f"{whole[0]}/{whole[1]}", *whole), "", every, tags=False)

    def _line(
        self,
        index: int,
        when: tuple[str, str, str],
        resource: str,
        amounts: Sequence[int],
        *,
        parent: str = "",
        tags: bool = True,
    ) -> str:
        """A line of this kind, which is counted. Of the amounts, those matter that such a line shows."""
        bits = self._labels.getrandbits
        identity, chosen = f"{bits(208):052x}", bits(16) % _TAG_SETS
        self._tally.rows[index] += 1
        counted, texts = self._tally.amounts[index], []
        for position in self._shown[index]:
            amount = amounts[position]
            counted[position] += amount
            texts.append(decimal_text(amount))
        tag_text = self._tags[chosen if tags else _TAG_SETS]
        return self._formats[index](identity, *when, resource, tag_text, parent, *texts)


def quoted(text: str) -> str:
    """A CSV field."""
    if any(mark in text for mark in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text


def tag_texts(sheet: Sheet, rng: Random) -> list[str]:
    """Ready-made tags of a line: as one field of JSON where a column holds the map, else as the fields of all tags.

    The last is that of a line without any. CUR 2.0 has one key for tags that differ in case or punctuation alone: it
    has the value of the first of them by name that has one.
    """
    as_map = any(cell.key == TAGS and cell.header != TAG for cell in sheet.cells)
    texts = []
    for number in range(_TAG_SETS + 1):
        drawn = {name: _tag_value(name, rng) for name in sheet.tags if number < _TAG_SETS and rng.random() < 0.4}
        if as_map:
            values: dict[str, str] = {}
            for name in sorted(drawn):
                values.setdefault(athena_name(name), drawn[name])
            texts.append(quoted(json.dumps(values, ensure_ascii=False)))
        else:
            texts.append(",".join(quoted(drawn.get(name, "")) for name in sheet.tags))
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
    places = {measure: f"{{{len(_ROW_KEYS) + number}}}" for number, measure in enumerate(charge.measures)}
    fields = []
    for cell in sheet.cells:
        if cell.key in _ROW_KEYS:
            fields.append(f"{{{_ROW_KEYS.index(cell.key)}}}")
        elif measure := charge.measured.get(cell.key):
            fields.append(places[measure])
        elif cell.key.startswith("map:"):
            fields.append(_map_field(charge, cell.key.removeprefix("map:"), cell.left_out, places))
        else:
            fields.append(_literal(charge.values.get(cell.key, sheet.constants.get(cell.key, ""))))
    return (",".join(fields) + "\n").format


def _map_field(charge: Charge, category: str, left_out: Collection[str], places: Mapping[Measure, str]) -> str:
    """The columns of a category as one field of JSON, but for those that are columns of their own."""
    prefix = f"{category}/"
    texts = {key: text for key, text in charge.values.items() if text}
    marks = {key: f"@{measure}@" for key, measure in charge.measured.items()}
    chosen = {
        athena_name(key.removeprefix(prefix)): text
        for key, text in {**texts, **marks}.items()
        if key.startswith(prefix) and key not in left_out
    }
    field_ = _literal(json.dumps(chosen, ensure_ascii=False))
    for measure, place in places.items():
        # A number, not a text.
        field_ = field_.replace(f'""@{measure}@""', place)
    return field_


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
