"""`--check --diff` on a host where nothing of ours is: it passes, predicts the work, and makes nothing."""

from __future__ import annotations

from pathlib import Path

from bundle import playbook, succeed

NAME = "checked"


def test_check_mode_on_a_fresh_host() -> None:
    variables = {"alluxio_name": NAME, "alluxio_environment": NAME, "alluxio_port_offset": 2500}
    run = succeed(playbook("site.yml", "--check", "--diff", **variables))
    predicted = run.tasks("changed")
    for task in ("cache_media : Record the media in the ownership record", "dataset : Make the sample"):
        assert task in predicted
    assert f"{NAME}-master" in run.output
    assert not Path(f"/var/lib/{NAME}").exists()
    assert not Path(f"/mnt/{NAME}").exists()
