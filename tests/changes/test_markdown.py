"""Comments for GitHub: names of any kind stay inside of their cells, and long lists stay short."""

from pathlib import Path

import lakebed
from lakebed.changes.compare import ComparedEdge, LineageDifference
from lakebed.changes.markdown import difference_comment, impact_comment


def test_names_cannot_leave_their_cells(tmp_path: Path) -> None:
    (tmp_path / "m.sql").write_text('SELECT "a|b`c" AS "</details>x" FROM t')
    result = lakebed.impact(drop='t."a|b`c"', folder=tmp_path, dialect="duckdb")
    comment = impact_comment(result)
    assert "would break" in comment
    rows = [line for line in comment.splitlines() if line.startswith("| ")]
    assert all(line.replace("\\|", "").count("|") == 5 for line in rows), rows
    assert "`</details>" not in comment.replace("``", "`") or "``" in comment


def test_nothing_is_said_in_few_words(tmp_path: Path) -> None:
    (tmp_path / "m.sql").write_text("SELECT a FROM t")
    comment = impact_comment(lakebed.impact(drop="m.a", folder=tmp_path))
    assert "Nothing breaks." in comment
    assert "Nothing reads it." in comment


def test_long_lists_end() -> None:
    edges = tuple(ComparedEdge(f"t.c{n}", f"v.c{n}", "value", False, "v.sql", 1) for n in range(5000))
    names = tuple(f"v.c{n}" for n in range(5000))
    comment = difference_comment(LineageDifference(edges, edges, names, names, names, names))
    assert len(comment) < 65_536
    assert "and 4900 more" in comment
