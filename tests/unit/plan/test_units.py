"""Sizes and durations as users write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from alluxio_fuse.plan.units import format_size, parse_amount, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [("64Gi", 64 << 30), ("512Mi", 512 << 20), ("1.5Ti", 3 << 39), ("4096", 4096), (4096, 4096), ("2 Gi", 2 << 30)],
)
def test_binary_units_and_bytes(text: object, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["64G", "64GB", "10M", "1T", "5k"])
def test_decimal_letters_are_refused_with_both_meanings(text: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        parse_size(text)
    remedy = str((refused.value.context or {})["remedy"])
    assert f"{text.rstrip('B').upper()}i" in remedy
    assert "powers of ten" in remedy


@pytest.mark.parametrize("text", ["", "Gi", "-1Gi", "1e9", "64 gigs", True, None, 1.5])
def test_other_texts_are_no_sizes(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        parse_size(text)


@pytest.mark.parametrize("value", [64, "64", " 64 ", (1 << 20) - 1])
def test_an_amount_without_a_unit_is_no_few_bytes(value: object) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        parse_amount(value)
    assert f"write the unit: {str(value).strip()}Gi" in str((refused.value.context or {})["remedy"])


@pytest.mark.parametrize(
    ("value", "size"), [(0, 0), ("0", 0), (1 << 20, 1 << 20), ("512Ki", 512 << 10), ("2Gi", 2 << 30)]
)
def test_other_amounts_are_sizes(value: object, size: int) -> None:
    assert parse_amount(value) == size


@given(st.integers(0, 1 << 60))
def test_whole_units_read_back(size: int) -> None:
    text = format_size(size)
    if "." not in text and text.endswith("i"):
        assert parse_size(text) == pytest.approx(size, rel=0.01)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("10m", 600), ("2h", 7200), ("1d", 86400)])
def test_durations(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["10", 10, "ten minutes", "1w"])
def test_durations_need_a_unit(text: object) -> None:
    with pytest.raises(PydanticCustomError):
        parse_duration(text)
