"""A Jinja sandbox that also limits what a template may cost: steps, and the size of the texts that it makes."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jinja2 import nodes
from jinja2.runtime import Macro
from jinja2.sandbox import SandboxedEnvironment

STEPS = 1_000_000
# Characters of one text, items of one list, bits of one number.
SIZE = 4_000_000

_WIDTH = re.compile(r"\d{6,}|\*")


class TemplateTooLarge(Exception):
    """A template computes more than any SQL needs."""


class LimitedEnvironment(SandboxedEnvironment):
    """Renders one template; what is made by operators, filters, methods and loops is counted."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._left = STEPS
        self.filters = {name: self._limited(function) for name, function in self.filters.items()}
        self.filters["__counted"] = self._counted
        # thousands of words of no meaning, each made by chance
        self.globals.pop("lipsum", None)

    def renew(self) -> None:
        """Begins another template."""
        self._left = STEPS

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise TemplateTooLarge("it takes too many steps")

    def _counted(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self.spend(1)
            yield item

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Counts the turns of loops, and makes `~` an operator that is intercepted like `+`."""
        template = super()._parse(source, name, filename)
        for loop in template.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, "__counted", [], [], None, None, lineno=loop.lineno)
        _without_concat(template)
        return template

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        self.spend(1)
        if operator == "**":
            _require(_bits(left) * (right if isinstance(right, int) else 1))
        elif operator == "*":
            _require(_size(left) * _size(right) if not _are_numbers(left, right) else _bits(left) + _bits(right))
        elif operator == "+":
            _require(_size(left) + _size(right) if not _are_numbers(left, right) else 0)
        elif isinstance(left, str):
            _require(SIZE + 1 if _WIDTH.search(left) else len(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        __self.spend(1)
        if not isinstance(__obj, Macro):
            # the sandbox wraps str.format
            owner = getattr(getattr(__obj, "__wrapped__", __obj), "__self__", None)
            if isinstance(owner, str | bytes | list | tuple):
                __self._require_arguments(owner, *args, *kwargs.values())
        result = super().call(__context, __obj, *args, **kwargs)
        __self._note(result)
        return result

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def filtered(*args: Any, **kwargs: Any) -> Any:
            values = [value for value in (*args, *kwargs.values()) if isinstance(value, str | int | list | tuple)]
            self._require_arguments(*values)
            result = function(*args, **kwargs)
            self._note(result)
            return result

        # jinja2 marks filters that want the context or the environment
        filtered.__dict__.update(getattr(function, "__dict__", {}))
        return filtered

    def _require_arguments(self, *values: Any) -> None:
        """What a method or filter makes is never larger than the product of what it is given."""
        for value in values:
            if isinstance(value, str) and "{" in value and _WIDTH.search(value):
                _require(SIZE + 1)
        product = 1
        for value in values:
            product *= max(1, abs(value) if isinstance(value, int) else _size(value))
        _require(product // 100)

    def _note(self, result: Any) -> None:
        size = _size(result)
        _require(size)
        self.spend(1 + size // 100)


def _without_concat(node: Any) -> Any:
    for field, value in list(node.iter_fields()):
        if isinstance(value, nodes.Node):
            setattr(node, field, _without_concat(value))
        elif isinstance(value, list):
            setattr(node, field, [_without_concat(item) if isinstance(item, nodes.Node) else item for item in value])
    if not isinstance(node, nodes.Concat):
        return node
    texts = [nodes.Filter(part, "string", [], [], None, None, lineno=node.lineno) for part in node.nodes]
    joined: nodes.Expr = texts[0]
    for text in texts[1:]:
        joined = nodes.Add(joined, text, lineno=node.lineno)
    return joined.set_environment(node.environment) if node.environment is not None else joined


def _are_numbers(left: object, right: object) -> bool:
    return isinstance(left, int | float) and isinstance(right, int | float)


def _bits(value: object) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def _size(value: object) -> int:
    """Characters of a text, or of the texts in a list."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list | tuple):
        return len(value) + sum(_size(item) for item in value if not isinstance(item, int))
    if isinstance(value, bool) or not isinstance(value, int):
        return 1
    return abs(value)


def _require(size: int) -> None:
    if size > SIZE:
        raise TemplateTooLarge("it makes texts that are too long")
