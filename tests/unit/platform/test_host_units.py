"""Units of a host: what each is started with, least privilege, and words that systemd takes literally."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import local

from alluxio_fuse import containers, host
from alluxio_fuse.plan import plan

BUCKET = {"name": "bucket", "source": "s3://training/set", "files": 10, "bytes": "1Mi", "through": "under_store",
          "s3": {"endpoint": "https://s3.test", "path_style": True}}  # fmt: skip
FOLDER = {"name": "folder", "source": "file:///data/a set", "files": 10, "bytes": "1Mi", "through": "under_store"}
CLUSTER = {"name": "shared", "source": "s3://training/other", "files": 10, "bytes": "1Mi"}
RUNNING = {"masters": ["alluxio.example:19998"]}
KEYS = {
    name: {"access_key": f"key of {name}", "secret_key": "back\\slash canary"}
    for name in ("bucket", "folder", "shared")
}


@pytest.fixture
def made() -> dict[str, dict[str, Any]]:
    said = {"alluxio_platform": "host", "alluxio_datasets": [BUCKET, FOLDER, CLUSTER], "alluxio_cluster": RUNNING}
    said["alluxio_force"] = ["store_read_in_order"]
    return {one["dataset"]: one for one in host.units(plan(local(**said)), "localhost")}


def test_a_unit_for_each_dataset(made: dict[str, dict[str, Any]]) -> None:
    assert [one["name"] for one in made.values()] == [f"alluxio-fuse-fuse-{name}.service" for name in made]


def test_the_sample_is_read_where_it_is_made() -> None:
    (unit,) = host.units(plan(local(alluxio_platform="host")), "localhost")
    assert unit["arguments"][3:5] == ["-u", "file:///var/lib/alluxio-fuse/sample"]


def test_without_a_cluster_nobody_is_asked_for_it(made: dict[str, dict[str, Any]]) -> None:
    for name in ("bucket", "folder"):
        assert made[name]["arguments"][0] == "alluxio.fuse.AlluxioFuse"
        assert made[name]["arguments"][5:7] == ["-c", "false"]
        assert not any("master" in key for key in made[name]["properties"] if "update" not in key)
        assert made[name]["properties"]["alluxio.user.client.cache.enabled"] == "false"
    assert made["shared"]["arguments"][:2] == ["alluxio.image.Start", "fuse"]
    assert made["shared"]["arguments"][4:6] == ["-a", "/shared"]
    assert made["shared"]["properties"]["alluxio.master.rpc.addresses"] == "alluxio.example:19998"


def test_privileges(made: dict[str, dict[str, Any]]) -> None:
    assert made["bucket"]["capabilities"] == made["shared"]["capabilities"] == ["CAP_SYS_ADMIN"]
    assert made["folder"]["capabilities"] == ["CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH"]


def test_keys_are_joined_only_where_fuse_reads_the_store(made: dict[str, dict[str, Any]]) -> None:
    for name, unit in made.items():
        text = containers.site_files([unit], KEYS)[1]["content"]
        assert ("s3a.accessKeyId=key of bucket\n" in text) is (name == "bucket")
        assert ("s3a.secretKey=back\\\\slash canary\n" in text) is (name == "bucket")
        assert ("canary" in text) is (name == "bucket")
    assert "alluxio.underfs.s3.endpoint=https://s3.test\n" in containers.site_file(made["bucket"], {})


def test_a_unit_waits_for_its_folders(made: dict[str, dict[str, Any]]) -> None:
    assert made["folder"]["requires"] == ["/data/a set"]
    assert made["bucket"]["requires"] == []
    assert made["shared"]["requires"] == [made["shared"]["client_cache"]] != [""]


def items_of(made: dict[str, dict[str, Any]], image: str = "0a1b") -> list[dict[str, Any]]:
    home = "/opt/alluxio-fuse"
    return host.unit_items([*made.values()], "/var/lib/alluxio-fuse", home, f"{home}/{image}", f"{home}/fuse")


def test_what_is_in_opt_is_removed_one_by_one(made: dict[str, dict[str, Any]]) -> None:
    """A folder that was there before, and what others put beside, stays."""
    about = {item["id"]: item["data"] for item in items_of(made)}
    assert (about["/opt/alluxio-fuse"]["contents"], about["/opt/alluxio-fuse"]["new"]) == (False, True)
    assert about["/opt/alluxio-fuse/0a1b"]["contents"]
    assert {path for path, data in about.items() if data.get("new")} == {
        "/opt/alluxio-fuse",
        *(one["mount_point"] for one in made.values()),
        *(one["mount_parent"]["path"] for one in made.values()),
    }


def test_only_recorded_homes_of_earlier_images_are_former(made: dict[str, dict[str, Any]]) -> None:
    owned = items_of(made) + items_of(made, "before")
    former = host.former_homes(owned, "/opt/alluxio-fuse", "/opt/alluxio-fuse/0a1b")
    assert {item["id"] for item in former} == {"/opt/alluxio-fuse/before"}


def test_what_is_made_is_recorded_once_and_in_order(made: dict[str, dict[str, Any]]) -> None:
    items = items_of(made)
    named = [(item["kind"], item["id"]) for item in items]
    assert len(named) == len(set(named))
    assert named[:3] == [
        ("directory", "/opt/alluxio-fuse"),
        ("directory", "/opt/alluxio-fuse/0a1b"),
        ("file", "/opt/alluxio-fuse/fuse"),
    ]
    assert named.index(("directory", "/mnt/alluxio-fuse")) < named.index(("directory", "/mnt/alluxio-fuse/folder"))
    assert {key for kind, key in named if kind == "unit"} == {one["name"] for one in made.values()}


def test_words_are_literal() -> None:
    words = ["a b", '50%"', "back\\slash", "$HOME"]
    assert host.unit_command(words) == r'"a b" "50%%\"" "back\\slash" "$$HOME"'
    assert host.unit_environment({"A": "b $c %d"}) == ['"A=b $c %%d"']


def test_the_jdk_that_was_named_wins() -> None:
    installed = [{"home": "/jdk/21", "major": 21}, {"home": "/jdk/17", "major": 17}, {"home": "/other/17", "major": 17}]
    assert host.java_home(installed, 17, "") == "/jdk/17"
    assert host.java_home(installed, 17, "/opt/jdk") == "/opt/jdk"
    assert host.java_home(installed, 11, "") == ""
