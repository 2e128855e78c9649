"""What a person sees: golden rows, and parts that keep their proportions."""

from memfit.footprint import KINDS
from memfit.show.bars import bar, bar_rows
from memfit.show.curve import curve_rows, highest_by_span
from memfit.show.svg import COLOURS, stacked_bar


def test_rows_show_name_size_share_and_bar():
    assert bar_rows([("weights", 2**20), ("a_very_long_layer_name_indeed/dense", 2**19)], 2**21, name_width=12) == [
        "  weights         1.0 MiB  50.0%  ██████████████",
        "  …indeed/dense".replace("…indeed/dense", "…ndeed/dense") + "    512 KiB  25.0%  ███████",
    ]


def test_a_bar_never_leaves_its_place():
    assert bar(0) == ""
    assert bar(2.0, width=4) == "████"
    assert bar(-1.0) == ""


def test_a_curve_keeps_its_peak_and_its_plateaus():
    points = [(0.0, 0), (1.0, 8), (1.01, 100), (1.02, 8), (9.0, 50), (10.0, 0)]
    spans = highest_by_span(points, 10)
    assert spans == [0, 100, 8, 8, 8, 8, 8, 8, 8, 50]
    rows = curve_rows(points, width=10, height=2)
    assert rows == ["       100 B ┤ █        ", "         0 B ┤ █▁▁▁▁▁▁▁█"]


def test_nothing_recorded_draws_nothing():
    assert curve_rows([]) == []
    assert curve_rows([(0.0, 0)]) == []


def test_every_kind_has_a_colour_and_names_are_escaped():
    assert set(COLOURS) == set(KINDS)
    assert "weights 1.0 KiB" in stacked_bar([("weights", 1024)])
