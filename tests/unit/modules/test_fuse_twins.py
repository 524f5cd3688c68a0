"""A twin has the command line of its origin, and nothing that two processes may not share."""

from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import twins
from ansible_collections.alluxio.fuse.plugins.modules import fuse_twins

ORIGIN = ["java", "-Xmx288m", "-XX:+UseG1GC", "-Dalluxio.conf.dir=/opt/alluxio/conf", "-cp", "/jars/*:/conf"]
ORIGIN += ["alluxio.image.Start", "fuse", "-m", "/mnt/a/set/data", "-a", "/set", "-o", "ro,kernel_cache"]
SITE = {twins.SHOWS_COUNTERS: "true", twins.COUNTERS: "49999", twins.CACHE: "/cache/set"}
TWIN: dict[str, Any] = {
    "number": 2,
    "flags": ["-Xmx576m"],
    "properties": {"alluxio.fuse.jnifuse.libfuse.version": "2"},
    "mount_options": ["ro", "max_read=131072"],
    "environment": {},
    "settings": {},
    "cache_bytes": 1 << 20,
    "in_memory": True,
    "memory": 1 << 30,
}


def test_its_options_come_after_those_of_its_origin() -> None:
    own = twins._own_properties(SITE, TWIN)
    words = twins.command(ORIGIN, TWIN, "/mnt/a/set/tune-2", own)
    jvm, arguments = words[: words.index("-cp")], words[words.index("-cp") :]
    assert jvm[: ORIGIN.index("-cp")] == ORIGIN[: ORIGIN.index("-cp")]
    assert jvm[ORIGIN.index("-cp") :] == [
        "-Xmx576m",
        "-Dalluxio.fuse.jnifuse.libfuse.version=2",
        "-Dalluxio.fuse.web.port=50101",
        "-Dalluxio.user.client.cache.dirs=/cache/set/tune-2",
        "-Dalluxio.user.client.cache.size=1048576",
    ]
    assert arguments[-6:] == ["-m", "/mnt/a/set/tune-2", "-a", "/set", "-o", "ro,max_read=131072"]


def test_without_a_cache_or_counters_of_its_origin_it_gets_none() -> None:
    assert twins._own_properties({}, TWIN) == {}


def test_where_no_port_is_said_counters_are_beside_alluxios_own() -> None:
    assert twins._own_properties({twins.SHOWS_COUNTERS: "true"}, TWIN) == {twins.COUNTERS: 50101}


def test_its_last_words_are_not_those_of_the_collector() -> None:
    log = "[2026-11-23][3.1s] GC(5) Pause Cleanup\njava.net.BindException: Address already in use\n[x] GC(6) Pause\n"
    assert twins._last_words(log) == "java.net.BindException: Address already in use"


def test_what_the_node_has_no_memory_for_is_not_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(twins, "start", lambda point, twin, *_: {"mount_point": f"{point}{twin['number']}", "port": 1})
    params = {"mount_point": "/m", "twins": [TWIN, TWIN | {"number": 3}], "logs": str(tmp_path), "seconds": 1}
    started, failed = fuse_twins.start_all(params, available=(1 << 30) + (1 << 29))
    assert [one["number"] for one in started] == [2]
    assert failed == [{"number": 3, "why": "it takes 1024 MiB, 512 MiB are available"}]


def test_one_that_does_not_mount_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    def start(*_: Any) -> None:
        raise twins.NotMountedError("fuse: unknown option(s): `-o max_read=131072'")

    monkeypatch.setattr(twins, "start", start)
    params = {"mount_point": "/m", "twins": [TWIN], "logs": str(tmp_path), "seconds": 1}
    _, failed = fuse_twins.start_all(params, available=1 << 40)
    assert "unknown option" in failed[0]["why"]


def test_nobody_serves_a_place_that_nobody_serves() -> None:
    with pytest.raises(ValueError, match="no FUSE process serves /nowhere"):
        twins.process_of("/nowhere")
