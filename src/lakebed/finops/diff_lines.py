"""The lines of a difference as people read them, and the same as Markdown: the largest parts, the rest in one line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from lakebed.finops.diff import Diff, DiffPart
from lakebed.kernels.values import EXACT

NONE = "(none)"


@dataclass(frozen=True)
class DiffLine:
    """One line: what it is about, and what it has more or less."""

    kind: str
    values: tuple[str, ...]
    currency: str
    rows: int
    before: tuple[Decimal, ...]
    after: tuple[Decimal, ...]

    @property
    def difference(self) -> tuple[Decimal, ...]:
        return tuple(EXACT.subtract(new, old) for old, new in zip(self.before, self.after, strict=True))


def diff_lines(found: Diff, limit: int | None = None) -> tuple[DiffLine, ...]:
    """The parts, the largest first; those beyond the limit are one line of each currency. They add up to the totals."""
    shown = found.parts if limit is None else found.parts[:limit]
    rest = () if limit is None else found.parts[limit:]
    lines = [_line(part.kind, part.values, [part], found) for part in shown]
    for code in dict.fromkeys(part.currency for part in rest):
        some = [part for part in rest if part.currency == code]
        lines.append(_line(f"{len(some)} more", ("",) * len(found.by), some, found))
    lines += [_line("remainder", part.values, [part], found) for part in found.remainder]
    return tuple(lines)


def total_lines(found: Diff) -> tuple[DiffLine, ...]:
    """What the month differs by, in each currency: the sum of all other lines."""
    parts = (*found.parts, *found.remainder)
    return tuple(
        DiffLine(
            "difference",
            ("",) * len(found.by),
            code,
            sum(part.rows for part in parts if part.currency == code),
            tuple(found.before.sums.get(code, {}).get(name, Decimal(0)) for name in found.columns),
            tuple(found.after.sums.get(code, {}).get(name, Decimal(0)) for name in found.columns),
        )
        for code in found.difference
    )


def markdown(found: Diff, limit: int | None = None) -> str:
    """The difference as a page of Markdown."""
    return "\n".join(_page(found, limit)) + "\n"


def headings(found: Diff) -> tuple[str, ...]:
    """The headings of the lines that `cells` fills."""
    figures = (f"{name} {when}" for name in found.columns for when in ("before", "after", "difference"))
    return ("", *found.by, "currency", "rows", *figures)


def cells(line: DiffLine) -> tuple[str, ...]:
    """A line as texts; figures in full."""
    figures = (
        text
        for old, new, more in zip(line.before, line.after, line.difference, strict=True)
        for text in (plain(old), plain(new), signed(more))
    )
    return (line.kind, *line.values, line.currency, f"{line.rows:+,}", *figures)


def plain(figure: Decimal) -> str:
    """All digits that are there, and no zeros behind them."""
    return format(EXACT.normalize(figure), "f") if figure else "0"


def signed(figure: Decimal) -> str:
    return f"+{plain(figure)}" if figure > 0 else plain(figure)


def title(found: Diff) -> str:
    """Which two deliveries of which month."""
    before = found.before.delivery or "nothing"
    return f"{found.slice}: {before} -> {found.after.delivery or 'nothing'}"


def _line(kind: str, values: Sequence[str | None], parts: Sequence[DiffPart], found: Diff) -> DiffLine:
    def total(of: str, name: str) -> Decimal:
        figure = Decimal(0)
        for part in parts:
            side = part.before if of == "before" else part.after
            figure = EXACT.add(figure, side.sums.get(name, Decimal(0)))
        return figure

    return DiffLine(
        kind,
        tuple(NONE if value is None else value for value in values),
        parts[0].currency,
        sum(part.rows for part in parts),
        tuple(total("before", name) for name in found.columns),
        tuple(total("after", name) for name in found.columns),
    )


def _page(found: Diff, limit: int | None) -> Iterator[str]:
    yield f"## {_escaped(title(found))}"
    yield ""
    yield f"Table `{found.table}`, {found.before.rows:,} rows before and {found.after.rows:,} after."
    yield ""
    lines = (*diff_lines(found, limit), *total_lines(found))
    if found.equal:
        yield "No group differs."
        return
    names = headings(found)
    yield f"| {' | '.join(map(_escaped, names))} |"
    first_figure = 2 + len(found.by)
    yield "|" + "".join("---:|" if place >= first_figure else "---|" for place in range(len(names)))
    for line in lines:
        texts = [_escaped(text) for text in cells(line)]
        yield f"| {' | '.join(f'**{text}**' if line.kind == 'difference' and text else text for text in texts)} |"
    yield ""
    yield f"{found.unchanged:,} groups are equal on both sides. The lines add up to the difference exactly."
    for warning in found.warnings:
        yield f"- {_escaped(warning)}"


def _escaped(text: str) -> str:
    """Names of other people's accounts and tags cannot break the table, nor bring HTML into it."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ").replace("\r", " ")
    return "".join(f"\\{letter}" if letter in "\\|`*_[]" else letter for letter in safe)
