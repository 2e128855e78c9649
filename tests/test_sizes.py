import pytest

from memfit import MemfitError
from memfit.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1, 1),
        ("8GiB", 8 * 2**30),
        ("500MB", 500_000_000),
        ("1.5 GB", 1_500_000_000),
        ("64kib", 65536),
        ("12", 12),
        ("7 B", 7),
    ],
)
def test_sizes_are_read_in_binary_and_decimal_units(size, expected):
    assert parse_size(size) == expected


@pytest.mark.parametrize("size", ["8XB", "", "GiB", "-1GiB", "0", 0, -5, 1.5, True, None, "1e9", "8 G i B"])
def test_what_is_not_a_size_is_refused_with_what_was_received(size):
    with pytest.raises(MemfitError, match="Received") as caught:
        parse_size(size)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (150 * 2**20, "150 MiB"),
        (2**30 * 3 // 2, "1.50 GiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_sizes_are_shown_in_binary_units(size, expected):
    assert format_size(size) == expected
