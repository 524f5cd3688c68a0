"""The image goes to a real registry, by the run's own stage: once, and refused by name where it cannot go."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bundle import Run, playbook, succeed
from containers import IMAGE, run
from registry import Registry, registry

REPOSITORY = "data/alluxio-fuse"
PUSH = "image : Push to "


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def deliver(served: Registry, *arguments: str, tag: str = "2.9.6", **image: Any) -> Run:
    said = {"by": "push", "auth_file": str(served.auth_file), "ca_file": str(served.ca_file), **image}
    return playbook(
        "playbooks/deliver.yml",
        *arguments,
        alluxio_name="pushed",
        alluxio_environment="pushed",
        alluxio_platform="kubernetes",
        alluxio_image=f"{served.address}/{REPOSITORY}:{tag}",
        # no node is reached, so no cluster is asked
        alluxio_kubernetes={"node_access": False, "image": {key: value for key, value in said.items() if value}},
        alluxio_datasets=[{"name": "set", "source": "s3://bucket/set"}],
    )


def pushes(done: Run) -> int:
    return sum(name.startswith(PUSH) for name in done.tasks("changed"))


def test_check_mode_foretells_the_push(served: Registry) -> None:
    assert pushes(succeed(deliver(served, "--check"))) == 1
    assert served.held(REPOSITORY) == []


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ({"auth_file": ""}, "authentication required"),
        ({"ca_file": ""}, "certificate signed by unknown authority"),
        ({"auth_file": "/nowhere/auth.json"}, "/nowhere/auth.json: no such file on the controller"),
    ],
    ids=["no credentials", "no CA", "no file"],
)
def test_what_a_registry_refuses_is_told_in_its_words(served: Registry, image: dict[str, str], words: str) -> None:
    refused = deliver(served, **image)
    assert refused.status != 0
    assert f"alluxio_image: {served.address}/{REPOSITORY}:2.9.6" in refused.output
    assert words in refused.output
    assert "Build" not in " ".join(refused.tasks("changed"))
    assert served.held(REPOSITORY) == []


def test_the_image_is_pushed_once(served: Registry) -> None:
    first = succeed(deliver(served, "-vvv"))
    assert pushes(first) == 1
    assert served.password not in first.output
    manifest = json.loads(served.skopeo("inspect", "--raw", f"docker://{served.address}/{REPOSITORY}:2.9.6"))
    built = run("podman", "image", "inspect", "--format", "{{.Id}}", IMAGE).strip()
    assert manifest["config"]["digest"] == f"sha256:{built}"
    again = succeed(deliver(served))
    assert again.changed == 0, again.tasks("changed")
    assert pushes(succeed(deliver(served, "--check"))) == 0


def test_the_name_of_another_image_is_not_taken(served: Registry, tmp_path: Path) -> None:
    (tmp_path / "Containerfile").write_text("FROM scratch\nCOPY Containerfile /\n")
    theirs = f"{served.address}/{REPOSITORY}:theirs"
    run("podman", "build", "--isolation", "chroot", "--tag", theirs, tmp_path)
    try:
        client = ("--authfile", str(served.auth_file), "--cert-dir", str(served.ca_file.parent))
        run("podman", "push", *client, theirs)
        before = served.skopeo("inspect", "--raw", f"docker://{theirs}")
        refused = deliver(served, tag="theirs")
        assert refused.status != 0
        assert "another image of that name, which no run of this bundle built" in refused.output
        assert served.skopeo("inspect", "--raw", f"docker://{theirs}") == before
    finally:
        run("podman", "rmi", theirs)
