"""A small grammar of queries, for tests that ask a real engine about each of them."""

import random
from collections.abc import Sequence

TABLES = {
    "people": ("id", "name", "age", "city"),
    "orders": ("order_id", "id", "amount", "day"),
    "items": ("item_id", "order_id", "price"),
}
DDL = (
    "CREATE TABLE people (id INTEGER, name VARCHAR, age INTEGER, city VARCHAR)",
    "CREATE TABLE orders (order_id INTEGER, id INTEGER, amount INTEGER, day DATE)",
    "CREATE TABLE items (item_id INTEGER, order_id INTEGER, price INTEGER)",
)

# A relation that a query can read: its text in FROM, its alias, its columns.
Source = tuple[str, str, tuple[str, ...]]


class Grammar:
    """Random queries that are valid for the tables above."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def query(self, depth: int = 2) -> str:
        kind = self.random.random()
        if depth and kind < 0.15:
            return self.union(depth)
        if depth and kind < 0.35:
            return self.with_query(depth)
        text, _ = self.select(depth, [])
        return text

    def union(self, depth: int) -> str:
        width = self.random.randint(1, 3)
        parts = [self.fixed_select(width) for _ in range(self.random.randint(2, 3))]
        return f" {self.random.choice(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} ".join(parts)

    def fixed_select(self, width: int) -> str:
        table = self.random.choice(list(TABLES))
        numbers = [column for column in TABLES[table] if column not in ("name", "city", "day")]
        items = [f"{self.random.choice(numbers)} AS {self.fresh('u')}" for _ in range(width)]
        return f"SELECT {', '.join(items)} FROM {table}"

    def with_query(self, depth: int) -> str:
        ctes: list[Source] = []
        texts = []
        for _ in range(self.random.randint(1, 2)):
            text, columns = self.select(depth - 1, ctes)
            name = self.fresh("cte")
            texts.append(f"{name} AS ({text})")
            ctes.append((name, name, columns))
        text, _ = self.select(0, ctes, must_read=ctes[-1])
        return f"WITH {', '.join(texts)} {text}"

    def source(self, depth: int, ctes: Sequence[Source]) -> Source:
        if ctes and self.random.random() < 0.5:
            name, _, columns = self.random.choice(list(ctes))
            alias = self.fresh("r")
            return f"{name} AS {alias}", alias, columns
        if depth and self.random.random() < 0.4:
            text, columns = self.select(depth - 1, ctes)
            alias = self.fresh("d")
            return f"({text}) AS {alias}", alias, columns
        name = self.random.choice(list(TABLES))
        alias = self.fresh("t")
        return f"{name} AS {alias}", alias, TABLES[name]

    def select(
        self, depth: int, ctes: Sequence[Source], must_read: Source | None = None
    ) -> tuple[str, tuple[str, ...]]:
        first = must_read or self.source(depth, ctes)
        sources = [first]
        text = first[0]
        merged: tuple[str, ...] = ()
        if self.random.random() < 0.5:
            second = self.source(depth, ctes)
            common = [c for c in first[2] if c in second[2] and first[2].count(c) == second[2].count(c) == 1]
            sources.append(second)
            way = self.random.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            if common and self.random.random() < 0.5:
                merged = (self.random.choice(common),)
                text += f" {way} {second[0]} USING ({merged[0]})"
            else:
                text += f" CROSS JOIN {second[0]}"
        items, names = self.items(sources, merged)
        return f"SELECT {', '.join(items)} FROM {text}", tuple(names)

    def items(self, sources: list[Source], merged: tuple[str, ...]) -> tuple[list[str], list[str]]:
        items: list[str] = []
        names: list[str] = []
        for _ in range(self.random.randint(1, 4)):
            choice = self.random.random()
            _, alias, columns = self.random.choice(sources)
            unique = [column for column in columns if columns.count(column) == 1]
            if choice < 0.15:
                items.append("*")
                names += self.star(sources, merged)
            elif choice < 0.3:
                hidden = (
                    self.random.choice(unique) if unique and len(columns) > 1 and self.random.random() < 0.5 else None
                )
                items.append(f"{alias}.*" + (f" EXCLUDE ({hidden})" if hidden else ""))
                names += [column for column in columns if column != hidden]
            elif unique:
                column = self.random.choice(unique)
                name = column if self.random.random() < 0.4 else self.fresh("x")
                expression = self.random.choice(
                    [
                        "{c}",
                        "coalesce({c}, NULL)",
                        "CASE WHEN {c} IS NULL THEN {c} END",
                        "max({c}) OVER (PARTITION BY {c})",
                        "(SELECT max(price) FROM items WHERE {c} IS NOT NULL)",
                    ]
                ).format(c=f"{alias}.{column}")
                items.append(f"{expression} AS {name}")
                names.append(name)
            else:
                items.append(f"1 AS {self.fresh('k')}")
                names.append(items[-1].split()[-1])
        return items, names

    def star(self, sources: list[Source], merged: tuple[str, ...]) -> list[str]:
        names = list(sources[0][2])
        for _, _, columns in sources[1:]:
            names += [column for column in columns if column not in merged]
        return names
