"""How the image gets to where pods find it: what contradicts is refused, and pods name it by what was delivered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from fleets import IMAGENET, Hosts, fleet

from alluxio_fuse import preflight
from alluxio_fuse.chart.values import chart_values
from alluxio_fuse.plan import plan
from alluxio_fuse.plan.delivery import pinned, repository
from alluxio_fuse.preflight.delivery import OURS
from alluxio_fuse.views import preflight as views

NAME = "registry.example.com:5000/data/alluxio-fuse:2.9.6"
DIGEST = "sha256:" + "a1" * 32


def hosts(image: dict[str, Any], *, cluster: dict[str, Any] | None = None, **variables: Any) -> Hosts:
    said = {
        "alluxio_platform": "kubernetes",
        "alluxio_image": NAME,
        "alluxio_kubernetes": {"image": image, **(cluster or {})},
        "alluxio_datasets": [IMAGENET],
    }
    return fleet(2, said | variables)


def test_pods_name_what_was_delivered() -> None:
    made = plan(hosts({"by": "push"}), DIGEST)
    assert made.fleet["image"].amount == f"registry.example.com:5000/data/alluxio-fuse@{DIGEST}"
    image = chart_values(made)["image"]
    assert (image["repository"], image["tag"], image["digest"]) == (repository(NAME), "", DIGEST)
    assert "pullPolicy" not in image


def test_an_imported_image_is_never_pulled() -> None:
    made = plan(hosts({"by": "import"}, alluxio_image="localhost/alluxio-fuse:2.9.6"), DIGEST)
    assert chart_values(made)["image"]["pullPolicy"] == "Never"
    assert chart_values(made)["image"]["digest"] == DIGEST


def test_without_a_delivery_the_image_is_as_it_is_said() -> None:
    assert plan(hosts({})).fleet["image"].amount == NAME


@pytest.mark.parametrize(
    ("image", "variables", "path", "reason"),
    [
        ({"by": "push"}, {"alluxio_image": ""}, "alluxio_image", "by its registry, repository and tag"),
        ({"by": "push"}, {"alluxio_image": "registry.example.com/a/b"}, "alluxio_image", "repository and tag"),
        ({"by": "push"}, {"alluxio_image": f"{NAME}@{DIGEST}"}, "alluxio_image", "repository and tag"),
        ({"by": "push"}, {"alluxio_image": "data/alluxio-fuse:2.9.6"}, "alluxio_image", "repository and tag"),
        ({"by": "push"}, {"alluxio_image": "localhost/a:1"}, "alluxio_image", "no registry"),
        ({"by": "push", "insecure": True, "ca_file": "/ca"}, {}, "alluxio_kubernetes.image.insecure", "either"),
        ({"by": "push"}, {"alluxio_java": 11}, "alluxio_java", "has 17"),
        ({"by": "import", "auth_file": "/a"}, {}, "alluxio_kubernetes.image.auth_file", "the run pushes nothing"),
        ({"ca_file": "/ca"}, {}, "alluxio_kubernetes.image.ca_file", "the run pushes nothing"),
    ],
)
def test_a_contradiction_is_refused(
    finding: Any, image: dict[str, Any], variables: dict[str, Any], path: str, reason: str
) -> None:
    refused = finding(hosts(image, **variables))
    assert refused.path == path
    assert reason in refused.reason


def test_a_stage_that_runs_alone_refuses_it_before_the_registry_is_blamed() -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_image": "localhost/a:1"}
    refused = {"state": "refused", "detail": "connection refused"}
    variables = {**said, "alluxio_kubernetes": {"image": {"by": "push"}}, "alluxio_datasets": [IMAGENET]}
    found = views.findings([], delivery=looked("push", refused), variables=variables).found
    assert [one["reason"] for one in found] == ["localhost/ is the controller's own storage, and no registry"]
    wrong = {**variables, "alluxio_kubernetes": {"image": {"by": "bring"}}}
    (one,) = views.findings([], delivery=looked("bring", refused), variables=wrong).found
    assert one["path"] == "alluxio_kubernetes.image.by"


def test_nodes_that_are_not_reached_import_nothing(finding: Any) -> None:
    refused = finding(hosts({"by": "import"}, cluster={"node_access": False}))
    assert (refused.path, refused.value) == ("alluxio_kubernetes.image.by", "import")
    assert "write push" in refused.remedy


@pytest.mark.parametrize(
    "name", ["r.example/a/b:1", "r.example/a/b", f"r.example/a/b@{DIGEST}", f"r.example/a/b:1@{DIGEST}"]
)
def test_a_digest_stands_in_place_of_the_tag(name: str) -> None:
    assert pinned(name, DIGEST) == f"r.example/a/b@{DIGEST}"
    assert pinned(name, "") == name
    assert repository("localhost:5000/a:1") == "localhost:5000/a"


def held(state: str, **more: Any) -> dict[str, Any]:
    return {"state": state, "detail": "", "digest": "", "platform": "", "labels": {}, **more}


def looked(by: str, held: dict[str, Any], digest: str = "", *nodes: dict[str, Any]) -> dict[str, Any]:
    named = {f"node-{number}": asked for number, asked in enumerate(nodes)}
    return {"image": NAME, "by": by, "held": held, "digest": digest, "nodes": named}


@pytest.mark.parametrize(
    ("by", "answer", "reason"),
    [
        ("push", held("refused", detail="unauthorized: authentication required"), "authentication required"),
        ("push", held("unasked", detail="skopeo is not installed"), "skopeo is not installed on the controller"),
        ("push", held("there", platform="linux/amd64"), "another image of that name"),
        ("push", held("there", platform="linux/arm64", labels={OURS: "x"}), "is for linux/arm64"),
        ("import", held("broken", detail="/a.tar: blobs/sha256/1 has the sha256 2"), "has the sha256 2"),
    ],
)
def test_what_cannot_be_handed_on_is_refused_by_name(by: str, answer: dict[str, Any], reason: str) -> None:
    found = views.findings([], delivery=looked(by, answer)).found
    assert [one["path"] for one in found] == ["alluxio_image"]
    assert reason in found[0]["reason"]


def test_the_label_is_that_of_the_role() -> None:
    assert yaml.safe_load(Path("roles/image/vars/main.yml").read_text())["__image_label"] == OURS


LACKS = {"there": False, "why": ""}
HAS = {"there": True, "why": ""}


def test_a_node_without_containerd_is_refused_by_name() -> None:
    lacks = {"there": False, "why": "there is no ctr on the node"}
    found = views.findings([], delivery=looked("import", held("absent"), "", LACKS, lacks)).found
    assert [(one["path"], one["reason"]) for one in found] == [
        ("node-1: alluxio_kubernetes.image.by", "there is no ctr on the node")
    ]


@pytest.mark.parametrize(
    ("delivery", "words"),
    [
        (looked("push", held("absent")), "registry.example.com:5000 answers, and does not hold it: the run builds"),
        (looked("push", held("there")), "registry.example.com:5000 answers, and holds a former build"),
        (looked("push", held("there"), DIGEST), f"registry.example.com:5000 answers, and holds it: {DIGEST}"),
        (looked("import", held("absent"), "", LACKS, LACKS), "imports it into containerd on 2 nodes"),
        (
            looked("import", held("there"), DIGEST, HAS, LACKS),
            "the run imports it into containerd on node-1",
        ),
        (looked("import", held("there"), DIGEST, HAS, HAS), f"containerd has it on each node: {DIGEST}"),
        ({"by": "pull", "image": NAME}, "each node has it, or has pulled it now"),
    ],
)
def test_preflight_tells_which_way_the_image_goes(delivery: dict[str, Any], words: str) -> None:
    line = preflight.delivery_line(delivery)
    assert line.startswith(f"image    {NAME}: ")
    assert words in line


def test_questions_hold_the_delivery_before_it_was_validated() -> None:
    said = {"alluxio_platform": "kubernetes", "alluxio_kubernetes": {"image": {"by": "push", "insecure": "yes"}}}
    asked = preflight.questions(said)["kubernetes"]["image"]
    assert asked == {"by": "push", "auth_file": "", "ca_file": "", "insecure": True}
    assert preflight.questions({"alluxio_kubernetes": {"image": 7}})["kubernetes"]["image"]["by"] == "pull"
