"""The changes: an operator, a comparison, a constant or a statement at a time."""

import ast
import copy
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from start to stop of a file become others."""

    path: Path
    line: int
    start: int
    stop: int
    text: str
    reached_by: frozenset[int]  # the lines of which one at least runs before the change can matter

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.stop :]

    def lines(self, source: bytes) -> tuple[str, str]:
        """The changed lines before and after, without their indentation: an entry of the known ones has them."""
        before, after = source.decode().splitlines(), self.apply(source).decode().splitlines()
        diff = [
            line for line in difflib.unified_diff(before, after, n=0, lineterm="") if line[:3] not in ("---", "+++")
        ]
        gone, new = ([line[1:].strip() for line in diff if line[0] == sign] for sign in "-+")
        return " ".join(gone), " ".join(new)


def variants(node: ast.AST) -> Iterator[ast.AST | str]:
    """What a node could be instead."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            changed = copy.deepcopy(node)
            changed.ops = [COMPARISONS[type(op)]()]
            yield changed
        case ast.BinOp(op=op, left=left) if type(op) in OPERATORS and not isinstance(left, ast.JoinedStr):
            changed = copy.deepcopy(node)
            changed.op = OPERATORS[type(op)]()
            yield changed
        case ast.BoolOp(op=op):
            changed = copy.deepcopy(node)
            changed.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield changed
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.IfExp(test=test):
            changed = copy.deepcopy(node)
            changed.test = ast.UnaryOp(ast.Not(), test)
            yield changed
        case ast.Continue():
            yield "break"
        case ast.Break():
            yield "continue"
        # Steps are named for tests that end a process there, and tests/surface holds their names against a page.
        case ast.Expr(value=ast.Call(func=ast.Name("pass_checkpoint") | ast.Attribute(attr="_checkpoint"))):
            return
        case ast.Expr(value=value) if not isinstance(value, ast.Constant):
            yield "pass"
        case ast.AugAssign() | ast.Raise() | ast.Delete():
            yield "pass"


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that decide something: no annotations, decorators, imports, f-strings or `if TYPE_CHECKING`."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for node in field if isinstance(field, list) else [field]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                continue
            is_alias = isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)
            if not is_alias:
                yield node
                yield from nodes(node)


def mutants(path: Path, root: Path) -> list[Mutant]:
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    begins: dict[int, int] = {}  # the first line of the innermost statement around each line
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            for line in range(node.lineno, node.end_lineno + 1):
                begins[line] = max(begins.get(line, 0), node.lineno)
    found = []
    for node in nodes(tree):
        for variant in variants(node):
            text = variant if isinstance(variant, str) else f"({ast.unparse(ast.fix_missing_locations(variant))})"
            start, stop = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
            lines = frozenset({begins[node.lineno], *range(node.lineno, node.end_lineno + 1)})
            found.append(Mutant(path.relative_to(root), node.lineno, start, stop, text, lines))
    return found
