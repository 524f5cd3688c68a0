"""The bundle as a collection: built, installed into an empty home, and run there without the checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leftovers
import pytest
import trees
from bundle import C1_ALONE, CHECKOUT, LABEL, Run, succeed

NAME = "installed"
CALLBACK = {"ANSIBLE_CALLBACKS_ENABLED": "alluxio.fuse.drift"}


class Home:
    """An empty home with the collection, and what docs/install.md says beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.collection = folder / ".ansible/collections/ansible_collections/alluxio/fuse"

    def run(self, *command: str | Path, **environment: str) -> Run:
        """A command as a login of this home runs it: none of the tests' own environment but their label."""
        kept = {key: os.environ[key] for key in (LABEL, "PIP_INDEX_URL", "PIP_CERT") if key in os.environ}
        path = f"{self.folder}/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        done = subprocess.run(
            [str(one) for one in command],
            cwd=self.folder / "work",
            env={"HOME": str(self.folder), "PATH": path, "LANG": "C.UTF-8", **kept, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Run(done.returncode, done.stdout)

    def play(self, *arguments: str, **environment: str) -> Run:
        """A playbook of the collection."""
        return self.run("ansible-playbook", "-i", "inventory", "-e", "@said.json", *arguments, **environment)


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    with trees.source(NAME) as folder:
        yield folder


@pytest.fixture(scope="module")
def home(data: Path) -> Iterator[Home]:
    said: dict[str, Any] = {
        "alluxio_name": NAME,
        "alluxio_environment": NAME,
        "alluxio_port_offset": 5500,
        "alluxio_datasets": [{"name": "own", "source": f"file://{data}"}],
        "alluxio_check_passes": 2,
        **C1_ALONE,
    }
    with leftovers.folder(Path(f"/var/tmp/{NAME}-home")) as folder, leftovers.deployment(said):
        made = Home(folder)
        (folder / "work").mkdir()
        (folder / "work/said.json").write_text(json.dumps(said))
        galaxy = Path(sys.executable).with_name("ansible-galaxy")
        succeed(made.run(galaxy, "collection", "build", "--output-path", folder, CHECKOUT))
        (archive,) = folder.glob("*.tar.gz")
        succeed(made.run(galaxy, "collection", "install", "--no-deps", "--offline", archive))
        succeed(made.run(sys.executable, "-m", "venv", folder / "venv"))
        install = ["pip", "install", "--quiet", "--disable-pip-version-check"]
        locked = ["--require-hashes", "--only-binary", ":all:", "-r", made.collection / "requirements/runtime.txt"]
        succeed(made.run(*install, *locked))
        succeed(made.run(*install, "--no-deps", "--no-build-isolation", "--editable", made.collection))
        shutil.copytree(made.collection / "inventories/local", folder / "work/inventory")
        yield made


@pytest.fixture(scope="module")
def first(home: Home) -> Run:
    return succeed(home.play("alluxio.fuse.site"))


def test_the_main_job_serves_every_byte(first: Run, data: Path) -> None:
    assert trees.digests(Path(f"/mnt/{NAME}/own/data")) == trees.digests(data)
    assert "verdict  " in first.output


def test_results_are_where_the_user_is(first: Run, home: Home) -> None:
    assert (home.folder / f"work/runs/plan-{NAME}.json").exists()
    assert not (home.collection / "runs").exists()


def test_a_second_run_changes_nothing(first: Run, home: Home) -> None:
    again = succeed(home.play("alluxio.fuse.services"))
    assert again.changed == 0, again.tasks("changed")


def test_drift_refuses_to_look_without_its_callback(first: Run, home: Home) -> None:
    look = ("alluxio.fuse.drift", "--check", "--diff")
    blind = home.play(*look)
    assert blind.status != 0
    assert "the callback alluxio.fuse.drift is not enabled" in blind.output
    succeed(home.play(*look, **CALLBACK))
    subprocess.run(["podman", "stop", f"{NAME}-job-worker"], check=True, capture_output=True)
    seen = home.play(*look, **CALLBACK)
    assert seen.status != 0
    assert "job-worker" in seen.output


def test_teardown(first: Run, home: Home) -> None:
    succeed(home.play("alluxio.fuse.teardown", "-e", f"alluxio_confirm={NAME}"))
    assert not Path(f"/var/lib/{NAME}").exists()
    assert not Path(f"/mnt/{NAME}").exists()
