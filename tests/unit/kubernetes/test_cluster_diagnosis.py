"""What a cluster is asked, and what is said where it does not answer."""

from pathlib import Path
from typing import Any

from alluxio_fuse.kubernetes import diagnosis


def test_every_container_has_a_log_and_one_that_was_started_again_two() -> None:
    status = {
        "initContainerStatuses": [{"name": "clear", "restartCount": 0}],
        "containerStatuses": [{"name": "fuse", "restartCount": 2}],
    }
    pods: list[dict[str, Any]] = [
        {"metadata": {"name": "fuse-1"}, "status": status},
        {"metadata": {"name": "new"}, "status": {}},
    ]
    assert diagnosis.logs(pods) == [("fuse-1", "clear", False), ("fuse-1", "fuse", False), ("fuse-1", "fuse", True)]


def test_without_a_kubeconfig_there_is_an_entry(tmp_path: Path) -> None:
    [part] = diagnosis.gather(str(tmp_path / "none"), None, "space", "fuse")
    assert part.path == "cluster"
    assert part.why


def test_an_api_server_that_is_away_is_asked_once(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],"
        " clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: a, user: {}}]}"
    )
    [part] = diagnosis.gather(str(tmp_path / "config"), None, "space", "fuse")
    assert part.path == "cluster/version.json"
    assert "refused" in part.why


def test_who_wrote_which_field_is_left_out() -> None:
    pod = {"metadata": {"name": "a", "managedFields": [1]}}
    assert diagnosis.without_managers({"items": [pod]}) == {"items": [{"metadata": {"name": "a"}}]}
