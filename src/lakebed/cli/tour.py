"""The tour of `lakebed demo`: the steps in order."""

import time
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
from rich.rule import Rule

import lakebed
from lakebed.cli.chart import cost_by_month_and_service
from lakebed.cli.frame import ERR, OUT, escape
from lakebed.cli.progress import ProgressBars
from lakebed.cli.run import render as render_run
from lakebed.config import load_settings
from lakebed.engines.duckdb.extensions import load_extension
from lakebed.engines.duckdb.facts import EXTENSIONS
from lakebed.engines.registry import require_engine
from lakebed.errors import ExtraMissing, LakebedError
from lakebed.extras import require_extras
from lakebed.lineage.imports import load_schema
from lakebed.samples.charges import ACCOUNTS
from lakebed.schema.duckdb import quote_literal
from lakebed.targets.registry import target_kind
from lakebed.workspace import Workspace

TABLE = "sample_report"


def require_tour() -> None:
    """Raises ExtraMissing where the tour could not even load: before it has written anything."""
    require_engine("spark", "the demo")


class Tour:
    """The steps in order. Each says what it does, does it with the public API, and shows what came of it."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder = folder
        self._bills = folder / "bills"
        self._database = folder / "costs.duckdb"
        self._target = f"duckdb:{self._database}"
        self._workdir = str(folder / ".lakebed")
        self._rows = rows

    def take(self) -> None:
        started = time.monotonic()
        self._deliver()
        self._plan()
        self._load()
        self._restate()
        self._reconcile()
        self._ask()
        self._views()
        self._merge()
        self._iceberg()
        self._trace()
        OUT.print(Rule(style="dim"))
        OUT.print(f"Done in {time.monotonic() - started:.0f} s. All of it lies in {escape(str(self._folder))}. Next:")
        OUT.print(f"  lakebed status --workdir {escape(self._workdir)}")
        OUT.print(f"  duckdb {escape(str(self._database))}            # ask your own questions")
        OUT.print("  lakebed run s3://your-bucket/prefix --target duckdb:costs.duckdb")

    def _deliver(self) -> None:
        _say("1", "Four months of billing data arrive", f"{self._rows:,} rows each; tags come, go and collide")
        truth = lakebed.sample(self._bills, rows=self._rows, restate=False)
        for delivery in truth.deliveries:
            OUT.print(f"  {delivery.period}  {len(delivery.columns)} columns  {len(delivery.files)} files")

    def _plan(self) -> None:
        _say("2", "What would happen", "lakebed plan: nothing is touched")
        for one in lakebed.plan(str(self._bills), self._target, workdir=self._workdir).deliveries:
            OUT.print(f"  {one.action} {one.delivery.slice.period}: {escape(one.decision.reason)}")

    def _load(self) -> None:
        _say("3", "Loaded into DuckDB by Spark", "lakebed run; each month lands whole or not at all")
        render_run(self._run())

    def _restate(self) -> None:
        _say("4", "AWS restates September", "a newer delivery replaces the month; nothing is counted twice")
        lakebed.sample(self._bills, rows=self._rows)
        render_run(self._run())

    def _run(self, target: str | None = None) -> lakebed.RunReport:
        with ProgressBars() as bars:
            done = lakebed.run(str(self._bills), target or self._target, workdir=self._workdir, observer=bars)
        if done.failed:
            raise LakebedError("a delivery of the demo failed; see above")
        return done

    def _reconcile(self) -> None:
        _say("5", "Does it add up?", "lakebed reconcile: source files against table, to the last digit")
        for load in lakebed.reconcile(self._target, workdir=self._workdir).loads:
            assert load.reconciliation is not None
            sums = load.reconciliation.table.sums
            total = sums["line_item_unblended_cost"]
            verdict = "[green]adds up[/]" if load.holds else "[bold red]does not add up[/]"
            OUT.print(f"  {load.slice.period}  {len(sums)} sums, unblended cost {total.normalize():f}  {verdict}")

    def _ask(self) -> None:
        _say("6", "Questions in SQL", "the columns that every month had, and those that only one did")
        with duckdb.connect(str(self._database), read_only=True) as connection:
            for question in _QUESTIONS:
                ERR.print(f"[dim]{escape(question)}[/]")
                for line in connection.execute(question).fetchall():
                    OUT.print("  " + "  ".join(escape(str(value)) for value in line))
            OUT.print(cost_by_month_and_service(connection, TABLE))

    def _views(self) -> None:
        _say("7", "The SQL that people have", "lakebed views: Athena's names and CUR 2.0's maps, beside the table")
        for view in lakebed.views(f"{self._target}#{TABLE}", workdir=self._workdir).views:
            OUT.print(f"  {view.name}: {len(view.columns)} columns")
        with duckdb.connect(str(self._database), read_only=True) as connection:
            ERR.print(f"[dim]{escape(_LIBRARY_QUERY)}[/]")
            for line in connection.execute(_LIBRARY_QUERY).fetchall():
                OUT.print("  " + "  ".join(escape(str(value)) for value in line))

    def _merge(self) -> None:
        _say(
            "8", "Account names are merged in", "lakebed merge: a column that the table never had; old rows keep theirs"
        )
        result = lakebed.merge(_ACCOUNT_NAMES, f"{self._target}#{TABLE}", keys=ACCOUNT, strategy="update")
        OUT.print(f"  {result.updated:,} rows updated, added {', '.join(result.added_columns)}, {result.total:,} rows")

    def _iceberg(self) -> None:
        _say("9", "The same into Iceberg", "one snapshot for each delivery; Spark and DuckDB must read the same digits")
        iceberg = target_kind("iceberg").extra
        try:
            require_extras([EXTENSIONS] if iceberg is None else [iceberg, EXTENSIONS], "this step")
        except ExtraMissing as absent:
            OUT.print(f"  left out: {escape(str(absent))}")
            return
        target = f"iceberg:billing.{TABLE}"
        done = self._run("iceberg:billing")
        result = lakebed.merge(_ACCOUNT_NAMES, target, keys=ACCOUNT, strategy="update", workdir=self._workdir)
        OUT.print(f"  {done.rows:,} rows, {result.updated:,} updated")
        by_spark, by_duckdb = self._ask_spark(target), self._ask_duckdb(target)
        for name in sorted(by_spark):
            same = "[green]same[/]" if by_spark[name] == by_duckdb.get(name) else "[bold red]different[/]"
            OUT.print(f"  {escape(str(name)):16} Spark {by_spark[name]:f}  DuckDB {by_duckdb.get(name)}  {same}")
        if by_spark != by_duckdb:
            raise LakebedError("Spark and DuckDB read different sums from the Iceberg table")

    def _ask_spark(self, target: str) -> dict[str, Decimal]:
        from lakebed.engines.spark.session import open_session

        with open_session(load_settings({"workdir": self._workdir})) as session:
            frame = lakebed.read(target, spark=session.spark, workdir=self._workdir)
            found = frame.groupBy("account_name").agg({COST: "sum"}).toArrow()
        return dict(zip(*(column.to_pylist() for column in found.columns), strict=True))

    def _ask_duckdb(self, target: str) -> dict[str, Decimal]:
        """By DuckDB's own Iceberg extension, which knows nothing of Lakebed."""
        with duckdb.connect() as connection:
            for extension in ("avro", "httpfs", "iceberg"):
                load_extension(connection, extension)
            place = quote_literal(self._metadata(target))
            return dict(
                connection.execute(
                    f"SELECT account_name, sum({COST}) FROM iceberg_scan({place}) GROUP BY ALL"
                ).fetchall()
            )

    def _metadata(self, target: str) -> str:
        from lakebed.targets.iceberg.target import IcebergTarget

        table = Workspace.open({"workdir": self._workdir}).target(target)
        assert isinstance(table, IcebergTarget)
        return table.existing_table().metadata_location.removeprefix("file://")

    def _trace(self) -> None:
        _say("10", "Where does this number come from?", "lakebed lineage: a view, traced to billing columns")
        OUT.print(f"[dim]{escape(_VIEW)}[/]")
        schema = load_schema([self._target], dialect="duckdb")
        [view] = lakebed.analyze(_VIEW, dialect="duckdb", schema=schema).statements
        for edge in view.column_lineage:
            if edge.target_column:
                OUT.print(f"  {edge.source_table}.{edge.source_column} → {edge.target_column}  [dim]{edge.role}[/]")


ACCOUNT = "line_item_usage_account_id"
COST = "line_item_unblended_cost"
_ACCOUNT_NAMES = pa.table(
    {ACCOUNT: [account.id for account in ACCOUNTS], "account_name": [account.name for account in ACCOUNTS]}
)
_VIEW = f"""CREATE VIEW monthly_cost AS
SELECT lakebed_period AS month, coalesce(account_name, {ACCOUNT}) AS account,
       sum(CASE WHEN line_item_line_item_type <> 'Tax' THEN {COST} END) AS cost
FROM {TABLE} GROUP BY ALL"""
_LIBRARY_QUERY = f"""SELECT year, month, product_product_name, sum(line_item_unblended_cost) AS cost
FROM {TABLE}_athena WHERE year = '2026' AND month = '9' GROUP BY ALL ORDER BY cost DESC LIMIT 3"""
_QUESTIONS = (
    f"SELECT lakebed_period, count(*), count(resource_tags_user_environment), count(resource_tags_user_environment_1)\n"
    f"FROM {TABLE} GROUP BY ALL ORDER BY ALL",
    f"SELECT line_item_currency_code, sum(line_item_unblended_cost) FROM {TABLE} GROUP BY ALL ORDER BY ALL",
)


def _say(number: str, title: str, what: str) -> None:
    OUT.print(Rule(f"[bold]{number}. {title}[/]", align="left", style="dim"))
    OUT.print(f"[dim]{escape(what)}[/]")
