"""Every case renders to what was reviewed, and a real API server takes every object of it."""

import subprocess
from pathlib import Path

import pytest
import yaml
from helm import CASES, CHART, Helm, Object, case, pod_template

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", CASES)
def test_render_is_what_was_reviewed(helm: Helm, name: str, request: pytest.FixtureRequest) -> None:
    golden, rendered = GOLDEN / f"{name}.yaml", helm.text(case(name))
    if request.config.getoption("--update-golden"):
        golden.write_text(rendered)
    assert rendered == golden.read_text()


def test_every_golden_render_has_its_case() -> None:
    assert sorted(path.stem for path in GOLDEN.iterdir()) == CASES


def test_lint(helm: Helm) -> None:
    for name in CASES:
        helm.run("lint", "--strict", str(CHART), "--values", str(case(name)))


@pytest.mark.parametrize("name", CASES)
def test_api_server_takes_every_object(helm: Helm, cluster: list[str], name: str) -> None:
    objects = list(helm.objects(case(name)).values())
    # Pods are taken only where their priority class is there.
    classes = [one for one in objects if one["kind"] == "PriorityClass"]
    apply(cluster, classes)
    try:
        apply(cluster, [one for one in objects if one not in classes], "--dry-run=server")
    finally:
        for one in classes:
            subprocess.run(
                [*cluster, "delete", "priorityclass", one["metadata"]["name"]], check=True, capture_output=True
            )


def test_api_server_refuses_a_field_that_it_does_not_know(helm: Helm, cluster: list[str]) -> None:
    service = helm.objects(case("default"))["Service", "cache-alluxio-fuse-master"]
    service["spec"]["selektor"] = {}
    with pytest.raises(AssertionError, match="selektor"):
        apply(cluster, [service], "--dry-run=server")


def apply(cluster: list[str], objects: list[Object], *how: str) -> None:
    done = subprocess.run(
        [*cluster, "apply", "--server-side", "--validate=strict", *how, "-f", "-"],
        input=yaml.safe_dump_all(objects),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 or not objects, done.stderr


def refused_pods(cluster: list[str], objects: list[Object]) -> dict[str, str]:
    """Component and reason of each pod that a namespace of Pod Security `restricted` does not let in."""
    refused = {}
    for one in objects:
        if not (template := pod_template(one)):
            continue
        component = template["metadata"]["labels"]["app.kubernetes.io/component"]
        spec = {key: value for key, value in template["spec"].items() if key != "priorityClassName"}
        # What the controller adds: volumes of claim templates.
        for claim in one["spec"].get("volumeClaimTemplates", []):
            source = {"claimName": claim["metadata"]["name"]}
            spec["volumes"] = [*spec["volumes"], {"name": claim["metadata"]["name"], "persistentVolumeClaim": source}]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "restricted"}, "spec": spec}
        if one["kind"] != "Pod":
            spec["restartPolicy"] = "Always"
        done = subprocess.run(
            [*cluster, "create", "--dry-run=server", "-f", "-"],
            input=yaml.safe_dump(pod),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            refused[component] = done.stderr
    return refused


def test_restricted_namespace_takes_every_pod_without_fuse(helm: Helm, cluster: list[str]) -> None:
    assert refused_pods(cluster, list(helm.objects(case("restricted")).values())) == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("object-store", {"fuse-imagenet", "fuse-clicks", "test"}),
        ("nvme-nodes", {"fuse-imagenet", "worker", "test"}),
        ("autoscaling", {"fuse-imagenet", "fuse-imagenet-val", "worker", "startup-taint", "test"}),
    ],
)
def test_only_pods_with_host_folders_need_more(helm: Helm, cluster: list[str], name: str, expected: set[str]) -> None:
    refused = refused_pods(cluster, list(helm.objects(case(name)).values()))
    assert set(refused) == expected
    for component, reason in refused.items():
        assert "hostPath" in reason
        assert ("privileged" in reason) == component.startswith("fuse-")


def test_notes_tell_how_to_mount_and_watch(helm: Helm) -> None:
    notes = helm.run(
        "install", "cache", str(CHART), "--dry-run=client", "--namespace", "data", "--values", str(case("object-store"))
    ).split("NOTES:")[1]
    for words in (
        "/mnt/data/cache-alluxio-fuse/imagenet/data",
        "mountPropagation: HostToContainer",
        "helm -n data test cache",
        "Claim for namespace vision: data-cache-alluxio-fuse-imagenet",
        "delete pod",
        "fuse.readType CACHE",
    ):
        assert words in notes


def test_notes_say_how_nodes_get_the_image(helm: Helm) -> None:
    install = ("install", "cache", str(CHART), "--dry-run=client", "--values")
    words = "No registry has localhost/alluxio-fuse:2.9.6"
    assert words in helm.run(*install, str(case("object-store")))
    assert words not in helm.run(*install, str(case("own-names")))


def test_api_server_takes_the_examples(cluster: list[str]) -> None:
    examples = [yaml.safe_load(path.read_text()) for path in sorted((CHART / "examples").iterdir())]
    apply(cluster, examples, "--dry-run=server")
