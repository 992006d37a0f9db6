"""Where boxes stand: never over each other, from left to right, and always in the same place."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from lakebed.ui.layout import BOX_GAP, Box, place_boxes

NAMES = [f"t{number}" for number in range(14)]
GRAPHS = st.tuples(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(20, 300)), unique_by=lambda one: one[0]),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40),
)


def boxes_of(*names: str, height: int = 60) -> list[Box]:
    return [Box(name, 200, height) for name in names]


@given(GRAPHS)
def test_no_box_covers_another_and_the_same_graph_has_the_same_layout(graph: tuple[list, list]) -> None:  # type: ignore[type-arg]
    sizes, edges = graph
    boxes = [Box(name, 200, height) for name, height in sizes]
    places = place_boxes(boxes, edges)
    assert places == place_boxes(boxes, list(edges))
    assert set(places) == {box.id for box in boxes}
    for one, other in combinations(boxes, 2):
        a, b = places[one.id], places[other.id]
        beside = a.x + one.width <= b.x or b.x + other.width <= a.x
        above = a.y + one.height + BOX_GAP <= b.y or b.y + other.height + BOX_GAP <= a.y
        assert beside or above, (one, a, other, b)
    assert all(place.x >= 0 and place.y >= 0 for place in places.values())


@given(st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=40))
def test_what_is_read_stands_to_the_left(pairs: list[tuple[int, int]]) -> None:
    edges = [(NAMES[min(pair)], NAMES[max(pair)]) for pair in pairs if pair[0] != pair[1]]
    places = place_boxes(boxes_of(*NAMES), edges)
    assert all(places[source].x < places[target].x for source, target in edges)


def test_a_circle_is_cut_and_a_table_may_read_itself() -> None:
    places = place_boxes(boxes_of("a", "b", "c"), [("a", "b"), ("b", "c"), ("c", "a"), ("b", "b")])
    assert [places[name].layer for name in "abc"] == [0, 1, 2]


def test_a_source_stands_just_before_its_first_reader() -> None:
    places = place_boxes(boxes_of("a", "b", "c", "late"), [("a", "b"), ("b", "c"), ("late", "c")])
    assert places["late"].layer == places["b"].layer == 1


def test_lines_that_need_not_cross_do_not() -> None:
    edges = [("a", "z"), ("b", "y"), ("c", "x")]
    places = place_boxes(boxes_of("root", "a", "b", "c", "x", "y", "z"), [("root", name) for name in "abc"] + edges)
    assert sorted("abc", key=lambda one: places[one].y) == [
        source for source, target in sorted(edges, key=lambda edge: places[edge[1]].y)
    ]


def test_a_reader_stands_in_the_middle_of_what_it_reads() -> None:
    places = place_boxes(boxes_of("a", "b", "sum"), [("a", "sum"), ("b", "sum")])
    assert places["sum"].y == (places["a"].y + places["b"].y) / 2


def test_parts_that_nothing_connects_fill_the_plane() -> None:
    places = place_boxes(boxes_of(*(f"alone{number}" for number in range(100))), [])
    wide = max(place.x for place in places.values()) + 200
    high = max(place.y for place in places.values()) + 60
    assert 0.5 < wide / high < 4
    assert place_boxes([], []) == {}
