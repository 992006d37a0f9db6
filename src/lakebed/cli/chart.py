"""A small bar chart for the terminal."""

from decimal import Decimal

import duckdb
from rich.table import Table

WIDTH = 40
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")
_SERVICES = len(_COLOURS) - 1


def cost_by_month_and_service(connection: duckdb.DuckDBPyConnection, table: str) -> Table:
    """Unblended cost in USD, a bar for each month, a colour for each of the dearest services."""
    rows = connection.execute(
        f"SELECT lakebed_period, line_item_product_code, sum(line_item_unblended_cost) FROM {table} "
        "WHERE line_item_currency_code = 'USD' GROUP BY ALL"
    ).fetchall()
    costs: dict[str, dict[str, Decimal]] = {}
    by_service: dict[str, Decimal] = {}
    for period, service, cost in rows:
        costs.setdefault(period, {})[service] = cost
        by_service[service] = by_service.get(service, Decimal(0)) + cost
    dearest = sorted(by_service, key=lambda name: by_service[name], reverse=True)[:_SERVICES]
    chart = Table(box=None, pad_edge=False, title="Unblended cost in USD by month and service", title_justify="left")
    chart.add_column("month")
    chart.add_column("")
    chart.add_column("USD", justify="right")
    largest = max((sum(month.values(), Decimal(0)) for month in costs.values()), default=Decimal(1)) or Decimal(1)
    for period in sorted(costs):
        month = costs[period]
        total = sum(month.values(), Decimal(0))
        shares = [month.get(name, Decimal(0)) for name in dearest]
        shares.append(total - sum(shares, Decimal(0)))
        chart.add_row(period, _bar(shares, largest), f"{total:,.2f}")
    legend = "  ".join(f"[{colour}]█[/] {name}" for colour, name in zip(_COLOURS, [*dearest, "other"], strict=False))
    chart.add_row("", legend, "")
    return chart


def _bar(shares: list[Decimal], largest: Decimal) -> str:
    """Blocks in proportion; the running total is rounded, so that the bar is as long as its sum."""
    bar, drawn, running = "", 0, Decimal(0)
    for colour, share in zip(_COLOURS, shares, strict=True):
        running += max(share, Decimal(0))
        end = int(running / largest * WIDTH + Decimal("0.5"))
        bar += f"[{colour}]{'█' * (end - drawn)}[/]"
        drawn = max(drawn, end)
    return bar
