"""Where the boxes of a graph stand: in layers from left to right, by what reads what.

The method is Sugiyama's. Circles are cut, every box goes one layer behind what it reads, the order within layers is
chosen for few crossings, and boxes move towards their neighbours as far as the order allows. The same graph always gets
the same layout, and no box covers another.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

LAYER_GAP = 72
BOX_GAP = 24
# What an edge that passes a layer keeps free there.
PASSING_HEIGHT = 6
# A long edge has a place in each layer that it passes, unless there are too many of them.
MOST_PASSING = 20_000
SWEEPS = 8
# Boxes that stand alone fill rows of about this proportion, width by height.
PROPORTION = 1.6


@dataclass(frozen=True, slots=True)
class Box:
    """Something to place, and how large it is."""

    id: str
    width: int
    height: int


class Place(NamedTuple):
    """The upper left corner of a box, and its layer, counted from the left."""

    x: int
    y: int
    layer: int


def place_boxes(boxes: Sequence[Box], edges: Iterable[tuple[str, str]]) -> dict[str, Place]:
    """A place for every box; an edge is a pair of ids, and one whose end is not among the boxes is left out."""
    number = {box.id: place for place, box in enumerate(boxes)}
    pairs = dict.fromkeys(
        (number[source], number[target])
        for source, target in edges
        if source in number and target in number and source != target
    )
    parts = [_Part(members, boxes, links) for members, links in _connected(len(boxes), pairs)]
    # the largest part first; of equal ones that which comes first in the input
    parts.sort(key=lambda part: -len(part.members))
    return _shelve(parts, boxes)


def _connected(count: int, pairs: Iterable[tuple[int, int]]) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """The parts of the graph that no edge connects, each with its edges."""
    root = list(range(count))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    pairs = list(pairs)
    for source, target in pairs:
        first, second = sorted((find(source), find(target)))
        root[second] = first
    members: dict[int, list[int]] = {}
    for node in range(count):
        members.setdefault(find(node), []).append(node)
    links: dict[int, list[tuple[int, int]]] = {key: [] for key in members}
    for pair in pairs:
        links[find(pair[0])].append(pair)
    return [(nodes, links[key]) for key, nodes in members.items()]


class _Part:
    """A connected part: its boxes in layers, with their places relative to its own corner."""

    def __init__(self, members: Sequence[int], boxes: Sequence[Box], links: Sequence[tuple[int, int]]) -> None:
        self.members = members
        self._boxes = boxes
        # passing places have numbers behind those of the boxes
        self._next = len(boxes)
        if len(members) == 1:
            self.places = {members[0]: Place(0, 0, 0)}
        else:
            forward = _without_circles(members, links)
            layer = _layers(members, forward)
            layers, down, up = self._with_passing(layer, forward)
            layers = _ordered(layers, down, up)
            self.places = self._coordinates(layers, down, up)
        self.width = max(place.x + boxes[node].width for node, place in self.places.items())
        self.height = max(place.y + boxes[node].height for node, place in self.places.items())

    def _height(self, node: int) -> int:
        return self._boxes[node].height if node < len(self._boxes) else PASSING_HEIGHT

    def _with_passing(
        self, layer: dict[int, int], forward: Sequence[tuple[int, int]]
    ) -> tuple[list[list[int]], dict[int, list[int]], dict[int, list[int]]]:
        """The layers with places for edges that pass them, and who is connected with whom in the next layer."""
        layers: list[list[int]] = [[] for _ in range(max(layer.values()) + 1)]
        for node in self.members:
            layers[layer[node]].append(node)
        down: dict[int, list[int]] = {}
        up: dict[int, list[int]] = {}

        def connect(source: int, target: int) -> None:
            down.setdefault(source, []).append(target)
            up.setdefault(target, []).append(source)

        passed = sum(layer[target] - layer[source] - 1 for source, target in forward)
        for source, target in forward:
            before = source
            if passed <= MOST_PASSING:
                for between in range(layer[source] + 1, layer[target]):
                    layers[between].append(self._next)
                    connect(before, self._next)
                    before = self._next
                    self._next += 1
            if layer[target] == layer[source] + 1 or passed <= MOST_PASSING:
                connect(before, target)
        return layers, down, up

    def _coordinates(
        self, layers: Sequence[Sequence[int]], down: dict[int, list[int]], up: dict[int, list[int]]
    ) -> dict[int, Place]:
        top: dict[int, float] = {}
        for nodes in layers:
            below = 0
            for node in nodes:
                top[node] = below
                below += self._height(node) + BOX_GAP
        for sweep in range(4):
            towards_sources = sweep % 2 == 0
            for nodes in layers if towards_sources else reversed(layers):
                self._pull(nodes, top, up if towards_sources else down)
        highest = min(top.values())
        places: dict[int, Place] = {}
        x = 0
        for number, nodes in enumerate(layers):
            real = [node for node in nodes if node < len(self._boxes)]
            for node in real:
                places[node] = Place(x, round(top[node] - highest), number)
            x += max((self._boxes[node].width for node in real), default=0) + LAYER_GAP
        return places

    def _pull(self, nodes: Sequence[int], top: dict[int, float], beside: dict[int, list[int]]) -> None:
        """Moves the boxes of a layer to the middle of their neighbours, as near as order and room allow.

        That is an isotonic regression: boxes that would cover each other become a block, which moves as one.
        """
        blocks: list[tuple[float, int]] = []  # the mean of what its boxes want, and how many they are
        offsets: list[int] = []
        offset = 0
        for node in nodes:
            near = beside.get(node)
            wanted = top[node]
            if near:
                middle = sum(top[other] + self._height(other) / 2 for other in near) / len(near)
                wanted = middle - self._height(node) / 2
            blocks.append((wanted - offset, 1))
            while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
                (later, many), (earlier, some) = blocks.pop(), blocks.pop()
                blocks.append(((later * many + earlier * some) / (many + some), many + some))
            offsets.append(offset)
            offset += self._height(node) + BOX_GAP
        place = 0
        for start, many in blocks:
            # whole numbers: rounding one start for all of a block keeps its boxes apart
            for _ in range(many):
                top[nodes[place]] = round(start) + offsets[place]
                place += 1


def _without_circles(members: Sequence[int], links: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges but for those that lead back to where a walk came from."""
    following: dict[int, list[int]] = {}
    entered: set[int] = set()
    for source, target in links:
        following.setdefault(source, []).append(target)
        entered.add(target)
    kept: list[tuple[int, int]] = []
    done: set[int] = set()
    for start in sorted(members, key=lambda node: (node in entered, node)):
        if start in done:
            continue
        on_way = {start}
        walk = [(start, iter(following.get(start, ())))]
        while walk:
            node, rest = walk[-1]
            target = next(rest, -1)
            if target < 0:
                done.add(node)
                on_way.discard(node)
                walk.pop()
            elif target not in on_way:
                kept.append((node, target))
                if target not in done:
                    on_way.add(target)
                    walk.append((target, iter(following.get(target, ()))))
    return kept


def _layers(members: Sequence[int], forward: Sequence[tuple[int, int]]) -> dict[int, int]:
    """One layer behind the last of what a box reads; what reads nothing stands just before its first reader."""
    following: dict[int, list[int]] = {node: [] for node in members}
    missing = dict.fromkeys(members, 0)
    for source, target in forward:
        following[source].append(target)
        missing[target] += 1
    layer = dict.fromkeys(members, 0)
    sources = [node for node in members if not missing[node]]
    ready = list(sources)
    for node in ready:
        for target in following[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    for node in sources:
        if following[node]:
            layer[node] = min(layer[target] for target in following[node]) - 1
    return layer


def _ordered(layers: list[list[int]], down: dict[int, list[int]], up: dict[int, list[int]]) -> list[list[int]]:
    """The order with the fewest crossings of those that sweeps to and fro have tried."""
    best, fewest = layers, _crossings(layers, down)
    current = [list(nodes) for nodes in layers]
    for sweep in range(SWEEPS):
        if not fewest:
            break
        numbers = range(1, len(current)) if sweep % 2 == 0 else range(len(current) - 2, -1, -1)
        for number in numbers:
            beside = current[number - 1] if sweep % 2 == 0 else current[number + 1]
            _sort_by_neighbours(current[number], beside, up if sweep % 2 == 0 else down)
        crossings = _crossings(current, down)
        if crossings < fewest:
            best, fewest = [list(nodes) for nodes in current], crossings
    return best


def _sort_by_neighbours(nodes: list[int], beside: Sequence[int], links: dict[int, list[int]]) -> None:
    position = {node: place for place, node in enumerate(beside)}
    wanted: dict[int, float] = {}
    for place, node in enumerate(nodes):
        near = [position[other] for other in links.get(node, ())]
        # one without neighbours stays where it is, in proportion
        wanted[node] = sum(near) / len(near) if near else place * len(beside) / len(nodes)
    nodes.sort(key=wanted.__getitem__)


def _crossings(layers: Sequence[Sequence[int]], down: dict[int, list[int]]) -> int:
    count = 0
    for nodes, following in pairwise(layers):
        position = {node: place for place, node in enumerate(following)}
        seen: list[int] = []
        for node in nodes:
            ends = sorted(position[target] for target in down.get(node, ()))
            # an edge crosses those that begin above it and end below
            count += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def _shelve(parts: Sequence[_Part], boxes: Sequence[Box]) -> dict[str, Place]:
    """The parts beside and below each other, as books on shelves."""
    area = sum((part.width + LAYER_GAP) * (part.height + 2 * BOX_GAP) for part in parts)
    widest = max([int((area * PROPORTION) ** 0.5), *(part.width for part in parts)], default=0)
    places: dict[str, Place] = {}
    x = y = deepest = 0
    for part in parts:
        if x and x + part.width > widest:
            x, y, deepest = 0, y + deepest + 2 * BOX_GAP, 0
        for node, place in part.places.items():
            places[boxes[node].id] = Place(x + place.x, y + place.y, place.layer)
        x += part.width + LAYER_GAP
        deepest = max(deepest, part.height)
    return places
