"""What skopeo and ctr say, as the modules that run them read it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from ansible_collections.alluxio.fuse.plugins.modules import containerd_image, image_facts

MANIFEST = "{}"
CONFIG = {"os": "linux", "architecture": "amd64", "config": {"Labels": {"alluxio-fuse.inputs": "x"}}}
IMAGE = "r/a@sha256:1"


def answering(*answers: tuple[int, str, str]) -> Any:
    left = list(answers)
    return lambda *_: left.pop(0)


def test_a_held_image_is_told_by_digest_platform_and_labels() -> None:
    found = image_facts.ask(answering((0, MANIFEST, ""), (0, json.dumps(CONFIG), "")))
    assert found == {
        "state": "there",
        "detail": "",
        "digest": f"sha256:{hashlib.sha256(MANIFEST.encode()).hexdigest()}",
        "platform": "linux/amd64",
        "labels": {"alluxio-fuse.inputs": "x"},
    }


@pytest.mark.parametrize(
    ("said", "state", "words"),
    [
        ("manifest unknown: manifest unknown", "absent", "manifest unknown"),
        ("name unknown: repository name not known to registry", "absent", "name unknown"),
        ('unauthorized: authentication \\"required\\"', "refused", 'authentication "required"'),
        ("x509: certificate signed by unknown authority", "refused", "x509"),
    ],
)
def test_a_registry_that_says_no_is_told_in_its_words(said: str, state: str, words: str) -> None:
    found = image_facts.ask(answering((1, "", f'time="now" level=fatal msg="Error parsing: {said}"\n')))
    assert found["state"] == state
    assert words in found["detail"]
    assert found["digest"] == ""


class Node:
    """A module that runs ctr on a node with these images, {name: digest}, and containers, {id: image}."""

    def __init__(self, images: dict[str, str], containers: dict[str, str]) -> None:
        self.images, self.containers = images, containers

    def get_bin_path(self, name: str, **_: Any) -> str:
        return name

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        what, verb, *more = command[3:]
        if (what, verb) == ("images", "remove"):
            for name in more[1:]:
                del self.images[name]
            return 0, "", ""
        if (what, verb) == ("containers", "list"):
            rows = [f"{one} {image} runc" for one, image in self.containers.items()]
            return 0, "\n".join(["CONTAINER IMAGE RUNTIME", *rows]), ""
        rows = [f"{name} type {digest} 1 MiB linux/amd64 -" for name, digest in self.images.items()]
        return 0, "\n".join(["REF TYPE DIGEST SIZE PLATFORMS LABELS", *rows]), ""


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No container of these ends while a test looks."""
    monkeypatch.setattr(containerd_image, "WAIT_S", 0)


def left(images: dict[str, str], containers: dict[str, str]) -> tuple[dict[str, Any], set[str]]:
    node = Node(dict(images), containers)
    said = containerd_image.leave(containerd_image.Containerd(node), {"name": IMAGE}, check=False)
    return said, set(node.images)


def test_the_last_name_goes_with_that_by_the_id() -> None:
    said, images = left({IMAGE: "sha256:1", "sha256:id": "sha256:1", "r/b:1": "sha256:2"}, {"c": "r/b:1"})
    assert said == {"there": False, "used": []}
    assert images == {"r/b:1"}


def test_a_tag_that_others_made_keeps_the_image() -> None:
    _, images = left({IMAGE: "sha256:1", "sha256:id": "sha256:1", "r/a:2.9.6": "sha256:1"}, {})
    assert images == {"r/a:2.9.6", "sha256:id"}


def test_an_image_that_a_container_uses_by_any_name_stays() -> None:
    said, images = left({IMAGE: "sha256:1", "sha256:id": "sha256:1"}, {"c": "sha256:id"})
    assert said == {"there": True, "used": ["c"]}
    assert IMAGE in images
