"""When readers are as before: what waits for its read to end has not failed yet, and is no good read either."""

from pathlib import Path

from readers import QUIET_S, Read, as_before, recorded


def test_a_reader_that_is_stuck_is_not_as_before() -> None:
    """Its last read was good, and ended before the fault."""
    good = [Read(100 + tenth / 10, 100 + tenth / 10 + 0.05, "ok") for tenth in range(60)]
    assert as_before(good, 106.2)
    assert not as_before(good, 100 + 2 * QUIET_S)


def test_neither_an_error_nor_a_slow_read_nor_silence_is_as_before() -> None:
    good = Read(105.9, 106.0, "ok")
    assert not as_before([Read(103.0, 103.1, "EIO"), good], 106.1)
    assert not as_before([Read(103.0, 105.0, "ok"), good], 106.1)
    assert not as_before([], 106.1)
    assert as_before([Read(103.0, 105.0, "ok", 70_000_000), good], 106.1)


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "record").write_text("1.0 2.0 ok 7 a name\n2.0 3.0 ok")
    assert recorded(tmp_path / "record") == [Read(1.0, 2.0, "ok", 7)]
