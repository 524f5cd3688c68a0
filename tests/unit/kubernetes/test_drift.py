"""Every field that somebody changed is told, and nothing that the API server keeps for itself."""

from typing import Any

from alluxio_fuse.kubernetes import drift


def made(**spec: Any) -> dict[str, Any]:
    return {
        "kind": "DaemonSet",
        "metadata": {"name": "fuse", "labels": {"app": "x"}, "resourceVersion": "7", "managedFields": [1]},
        "spec": {"containers": [{"name": "fuse", "image": "a:1", "args": ["fuse"]}], **spec},
        "status": {"ready": 1},
    }


def test_what_the_api_server_writes_is_no_difference() -> None:
    live = made()
    live["metadata"] |= {"resourceVersion": "9", "managedFields": [], "generation": 3}
    live["status"] = {}
    assert drift.differences(made(), live) == []


def test_changed_added_and_removed_fields_are_named() -> None:
    live = made(paused=True)
    live["spec"]["containers"][0]["image"] = "b:2"
    del live["metadata"]["labels"]["app"]
    assert [str(one) for one in drift.differences(made(), live)] == [
        "metadata.labels.app: nothing, not x",
        "spec.containers[fuse].image: b:2, not a:1",
        "spec.paused: True, not nothing",
    ]


def test_the_marks_of_helm_are_neither_a_difference_nor_taken_off() -> None:
    live = made()
    live["metadata"]["annotations"] = {"meta.helm.sh/release-name": "a", "mine": "x"}
    assert drift.marked(made(), live)["metadata"]["annotations"] == {"meta.helm.sh/release-name": "a"}
    assert drift.marked(made(), made()) == made()


def test_lists_of_another_length_and_long_texts_are_shown_short() -> None:
    live = made()
    live["spec"]["containers"].append({"name": "more", "image": "x" * 500})
    line = str(*drift.differences(made(), live))
    assert line.startswith("spec.containers: [{'name': 'fuse'")
    assert len(line) < 200
