"""What looks at a deployment, and changes nothing: status, drift and diagnosis."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from bundle import playbook, podman, succeed
from drilled import NAME, started, status
from object_store import RestartableStore


def test_status_of_what_serves(deployed: None, variables: dict[str, Any]) -> None:
    run = succeed(status(variables))
    assert "5 of 5 as planned" in run.output
    assert "FAILING" not in run.output
    assert run.changed == 0


def test_drift_of_what_is_as_planned(deployed: None, variables: dict[str, Any]) -> None:
    run = succeed(playbook("playbooks/drift.yml", "--check", "--diff", **variables))
    assert "drift    none" in run.output
    assert run.changed == 0


def test_drift_names_what_somebody_changed_and_leaves_it(deployed: None, variables: dict[str, Any]) -> None:
    site_file = Path(f"/var/lib/{NAME}/conf/{NAME}-fuse-bucket/alluxio-site.properties")
    was, began = site_file.read_text(), started()
    site_file.write_text(f"{was}alluxio.debug=true\n")
    try:
        run = playbook("playbooks/drift.yml", "--check", "--diff", **variables)
        assert run.status == 2
        assert f"{site_file} another content the planned one" in " ".join(run.output.split())
        assert site_file.read_text() == f"{was}alluxio.debug=true\n"
        assert started() == began
    finally:
        site_file.write_text(was)


def test_a_diagnosis_holds_what_is_needed_and_no_key(
    deployed: None, store: RestartableStore, variables: dict[str, Any], tmp_path: Path
) -> None:
    """One line that tells a key is planted in a log."""
    podman("exec", f"{NAME}-worker", "sh", "-c", f"echo 'planted s3a.secretKey={store.about.secret_key}' >/proc/1/fd/1")
    run = succeed(playbook("playbooks/diagnose.yml", "-e", f"diagnose_dir={tmp_path}", **variables))
    bundle = tmp_path / "diagnosis.tar.gz"
    assert f"diagnosis  {bundle}" in run.output
    assert bundle.stat().st_mode & 0o777 == 0o600
    with tarfile.open(bundle) as archive:
        files = {one.name.partition("/")[2]: archive.extractfile(one).read().decode() for one in archive}
    index = json.loads(files["index.json"])
    assert {one["path"] for one in index["parts"]} == files.keys() - {"index.json"}
    assert not [one for one in index["missing"] if not one["path"].endswith(("dmesg.txt", "memory", "io"))]
    assert "planted s3a.secretKey=[redacted]" in files[f"nodes/localhost/{NAME}-worker/log.txt"]
    assert "alluxio.worker.web.port=" in files[f"nodes/localhost/{NAME}-worker/alluxio-site.properties"]
    commands = [one["command"] for one in json.loads(files["nodes/localhost/processes.json"])]
    assert ["alluxio.image.Start", "worker"] in [command[-2:] for command in commands]
    assert "5 of 5 as planned" in files["status.txt"]
    assert json.loads(files["nodes/localhost/fuse-bucket-metrics.json"])
    assert any(name.startswith("services/master-") and name.endswith("-report.json") for name in files)
    keys = (store.about.access_key, store.about.secret_key)
    assert not [name for name, text in {**files, "output": run.output}.items() if any(key in text for key in keys)]


def test_unstick_refuses_what_it_does_not_know(deployed: None, variables: dict[str, Any]) -> None:
    run = playbook("playbooks/unstick.yml", "-e", "alluxio_unstick=nothing", **variables)
    assert run.status != 0
    assert "localhost mounts bucket" in " ".join(run.output.split())
