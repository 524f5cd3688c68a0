"""Containers of a host: least privilege, one path inside as outside, a digest that changes with what matters."""

from __future__ import annotations

from typing import Any

import pytest
from fleets import local

from alluxio_fuse import containers, host
from alluxio_fuse.plan import plan

S3 = {"endpoint": "https://s3.test", "ca_file": "/etc/ca.pem"}
BUCKET = {"name": "bucket", "source": "s3://training/set", "files": 10, "bytes": "1Mi", "s3": S3}
FOLDER = {"name": "folder", "source": "file:///data/set", "files": 10, "bytes": "1Mi"}
NAMESAKE = {**FOLDER, "name": "alluxio-fuse", "through": "under_store"}


def made(**variables: Any) -> dict[str, dict[str, Any]]:
    document = plan(local(**variables))
    return {one["service"]: one for one in containers.containers(document, "localhost")}


@pytest.fixture
def both() -> dict[str, dict[str, Any]]:
    return made(alluxio_datasets=[BUCKET, FOLDER])


def test_what_others_made_is_known_by_its_label() -> None:
    ours = {"Name": "a-master", "State": {"Status": "running"}, "Config": {"Labels": {"alluxio-fuse.digest": "old"}}}
    theirs = {"Name": "a-worker", "State": {"Status": "exited"}, "Config": {"Labels": None}, "ImageName": "alluxio"}
    assert containers.of_others([ours, theirs]) == [{"name": "a-worker", "state": "exited", "image": "alluxio"}]
    assert containers.names_taken([ours]) == ""
    assert "a-worker (exited, of alluxio)" in containers.names_taken([ours, theirs])


def test_what_all_workers_may_hold() -> None:
    document = plan(local())
    (tier,) = document.nodes["localhost"]["worker"]["tiers"].amount
    assert containers.tier_bytes(document) == tier.quota


def test_starting_order() -> None:
    assert list(made()) == ["master", "job_master", "worker", "job_worker", "fuse/imagenet-sample"]


def test_only_fuse_is_root_and_may_mount(both: dict[str, dict[str, Any]]) -> None:
    for service, one in both.items():
        fuse = service.startswith("fuse/")
        assert one["user"] == ("0:0" if fuse else "1000:1000")
        assert one["cap_add"] == (["SYS_ADMIN"] if fuse else [])
        assert one["devices"] == (["/dev/fuse"] if fuse else [])


def test_sources_are_read_only_for_whoever_sees_them(both: dict[str, dict[str, Any]]) -> None:
    for service, one in both.items():
        seen = [volume for volume in one["volumes"] if volume.startswith("/data/set")]
        assert seen == ([] if service.startswith("fuse/") else ["/data/set:/data/set:ro"])


def test_a_worker_keeps_what_it_cached(both: dict[str, dict[str, Any]]) -> None:
    assert both["worker"]["command"] == ["worker-only", "--no-format"]


def test_no_key_is_in_a_site_file(both: dict[str, dict[str, Any]]) -> None:
    for one in both.values():
        text = containers.site_file(one, {"bucket": {"access_key": "canary", "secret_key": "canary"}})
        assert "canary" not in text
        assert f"alluxio.master.hostname={one['properties']['alluxio.master.hostname']}\n" in text


def test_fuse_of_a_bucket_forgets_names_when_its_mount_is_declared_otherwise(both: dict[str, dict[str, Any]]) -> None:
    (told,) = containers.redeclared(list(both.values()), {"/bucket": "0a1b", "/folder": "2c3d"})
    bucket = both["fuse/bucket"]
    assert told == {"mount_point": bucket["mount_point"], "note": f"{bucket['conf_dir']}/mount", "declared": "0a1b"}
    assert containers.redeclared(list(both.values()), {}) == []


def test_what_is_written_tells_whose_configuration_changed(both: dict[str, dict[str, Any]]) -> None:
    services = list(both.values())
    items = containers.site_files(services, {}, ["one", "two"])
    held = {item["path"]: item for item in items}
    site, ca = (f"{both['worker']['conf_dir']}/{name}" for name in ("alluxio-site.properties", "ca.pem"))
    assert (held[site]["uid"], held[site]["gid"], held[site]["mode"]) == (1000, 1000, "0600")
    assert held[ca]["content"] == "one\ntwo"
    assert f"{both['fuse/bucket']['conf_dir']}/ca.pem" not in held
    assert containers.rewritten(services, [site]) == containers.rewritten(services, [ca]) == [both["worker"]["name"]]
    assert containers.rewritten(services, [both["worker"]["conf_dir"]]) == []


def test_a_private_ca_reaches_who_reads_the_under_store(both: dict[str, dict[str, Any]]) -> None:
    assert containers.ca_files(plan(local(alluxio_datasets=[BUCKET, FOLDER]))) == ["/etc/ca.pem"]
    for service, one in both.items():
        assert any("/ca.pem:" in volume for volume in one["volumes"]) is not service.startswith("fuse/")


def test_every_service_asks_for_the_password_and_has_it_for_itself_alone(both: dict[str, dict[str, Any]]) -> None:
    items = {item["path"]: item for item in containers.site_files(list(both.values()), {}, (), "canary")}
    for service, one in both.items():
        assert one["properties"]["alluxio.security.authentication.type"] == "CUSTOM"
        path, uid = f"{one['conf_dir']}/rpc-password", 0 if service.startswith("fuse/") else 1000
        assert f"{path}:/opt/alluxio/conf/rpc-password:ro" in one["volumes"]
        assert items[path] == {"path": path, "content": "canary", "uid": uid, "gid": uid, "mode": "0400"}
    assert [item for item in items.values() if "canary" in item.get("content", "") and item["mode"] != "0400"] == []


def test_the_digest_follows_a_jvm_flag_of_its_own_service_only() -> None:
    before, after = made(), made(alluxio_overrides={"worker.heap": "2Gi"})
    changed = {service for service in before if before[service]["digest"] != after[service]["digest"]}
    assert changed == {"worker"}


def test_everything_made_is_recorded(both: dict[str, dict[str, Any]]) -> None:
    services = list(both.values())
    recorded = {(item["kind"], item["id"]) for item in containers.owned_items(services, "/var/lib/alluxio-fuse")}
    assert {
        ("directory", folder["path"]) for folder in containers.folders(services, "/var/lib/alluxio-fuse")
    } < recorded
    assert {("container", one["name"]) for one in services} < recorded
    assert ("mount", "/mnt/alluxio-fuse/folder") in recorded


def test_what_readers_enter_is_removed_only_when_empty(both: dict[str, dict[str, Any]]) -> None:
    items = containers.owned_items(list(both.values()), "/var/lib/alluxio-fuse")
    emptied = [item["id"] for item in items if item["kind"] == "directory" and item["data"]["contents"]]
    assert "/var/lib/alluxio-fuse/conf" in emptied
    assert [path for path in emptied if path.startswith("/mnt")] == []


IMAGES = [{"Id": "sha256:planned"}]


def running(services: list[dict[str, Any]], **other: Any) -> list[dict[str, Any]]:
    """Containers as planned, as `podman inspect` says it, but for what is said of one by its service."""
    return [
        {
            "Name": one["name"],
            "State": {"Status": "running"},
            "Image": IMAGES[0]["Id"],
            "Config": {"Labels": {"alluxio-fuse.digest": one["digest"]}},
            **other.get(one["service"], {}),
        }
        for one in services
    ]


def test_what_runs_as_planned_is_not_outdated() -> None:
    services = [*made().values()]
    assert containers.outdated(services, running(services), IMAGES) == []
    assert not containers.reimaged(services, running(services), IMAGES)


@pytest.mark.parametrize("other", [{"Image": "sha256:before"}, {"Config": {"Labels": None}}])
def test_another_image_or_another_plan_is(other: dict[str, Any]) -> None:
    services = [*made().values()]
    found = running(services, **{"master": other, "fuse/imagenet-sample": other})
    assert containers.outdated(services, found, IMAGES) == ["alluxio-fuse-master", "alluxio-fuse-fuse-imagenet-sample"]
    assert containers.reimaged(services, found, IMAGES) == ("Image" in other)
    stopped = running(services, worker={"State": {"Status": "exited"}, "Image": "sha256:before"})
    assert containers.outdated(services, stopped, IMAGES) == []


def test_what_runs_and_was_rewritten_is_started_again(both: dict[str, dict[str, Any]]) -> None:
    services = list(both.values())
    found = running(services, job_worker={"State": {"Status": "exited"}})
    paths = [f"{both[name]['conf_dir']}/alluxio-site.properties" for name in ("worker", "job_worker")]
    assert containers.started_again(services, found, IMAGES, paths) == [both["worker"]["name"]]


def test_what_goes_with_a_dataset(both: dict[str, dict[str, Any]]) -> None:
    """Its container, cache and mount point; nothing of another one, and nothing of the deployment."""
    owned = containers.owned_items([*both.values()], "/var/lib/alluxio-fuse")
    left = containers.left(owned, [one for name, one in both.items() if name != "fuse/bucket"], "alluxio-fuse")
    assert left["mount_points"] == ["/mnt/alluxio-fuse/bucket/data"]
    assert {(item["kind"], item["id"]) for item in left["items"]} == {
        ("container", "alluxio-fuse-fuse-bucket"),
        ("directory", both["fuse/bucket"]["client_cache"]),
        ("directory", "/mnt/alluxio-fuse/bucket"),
        ("directory", "/mnt/alluxio-fuse/bucket/data"),
        ("mount", "/mnt/alluxio-fuse/bucket"),
    }
    assert containers.left(owned, [*both.values()], "alluxio-fuse") == {"items": [], "mount_points": []}


def test_a_dataset_called_as_the_deployment_takes_no_home_along() -> None:
    (unit,) = host.units(plan(local(alluxio_platform="host", alluxio_datasets=[NAMESAKE])), "localhost")
    home = "/opt/alluxio-fuse"
    owned = host.unit_items([unit], "/var/lib/alluxio-fuse", home, f"{home}/0a1b", f"{home}/fuse")
    left = {item["id"] for item in containers.left(owned, [], "alluxio-fuse")["items"]}
    assert left == {unit["name"], unit["mount_point"], unit["mount_parent"]["path"]}


@pytest.mark.parametrize("name", ["conf", "journal", "namespace"])
def test_a_dataset_s_name_takes_no_folder_of_the_deployment_along(name: str) -> None:
    services = [*made(alluxio_datasets=[{**FOLDER, "name": name}]).values()]
    owned = containers.owned_items(services, "/var/lib/alluxio-fuse")
    left = containers.left(owned, services[:-1], "alluxio-fuse")
    assert f"/mnt/alluxio-fuse/{name}/data" in left["mount_points"]
    assert f"/var/lib/alluxio-fuse/{name}" not in [item["id"] for item in left["items"]]


def test_a_restored_master_begins_with_the_backup() -> None:
    services = [*made().values()]
    (master,) = containers.restoring(services, "/var/lib/a/restored.gz")
    assert master["env"]["ALLUXIO_JAVA_OPTS"].endswith("init.from.backup=file:///var/lib/a/restored.gz")
    assert master["digest"] != next(one["digest"] for one in services if one["service"] == "master")
    assert master["volumes"][-1] == "/var/lib/a/restored.gz:/var/lib/a/restored.gz:ro"
