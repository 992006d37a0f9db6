"""What the Spark UI shows of our jobs: the run that they belong to, and what each does."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def named_jobs(session: SparkSession, about: Mapping[str, str], doing: str) -> Iterator[None]:
    """Names the jobs that this thread starts. Classic Spark has groups and descriptions, Connect has tags only."""
    description = _description(about, doing)
    group = f"lakebed-run-{about['run']}" if "run" in about else None
    tags = [] if group is None else [group]
    if "connect" in type(session).__module__:
        # Anything but a comma may be in a tag.
        tags.append(description.replace(",", ";"))
    else:
        _describe_classic(session, group, description)
    for tag in tags:
        session.addTag(tag)
    try:
        yield
    finally:
        for tag in tags:
            session.removeTag(tag)


def _description(about: Mapping[str, str], doing: str) -> str:
    """`lakebed load acme daily 2026-01: convert 40 files`."""
    named = [about[name] for name in ("task", "payer", "report", "period") if name in about]
    if "table" in about and "period" not in about:
        named.append(about["table"])
    return f"{' '.join(['lakebed', *named])}: {doing}"


def _describe_classic(session: SparkSession, group: str | None, description: str) -> None:
    context = session.sparkContext
    # Whoever has put our work into a group of their own wants to cancel it by that.
    if group is not None and context.getLocalProperty("spark.jobGroup.id") is None:
        context.setJobGroup(group, description)
    context.setJobDescription(description)
