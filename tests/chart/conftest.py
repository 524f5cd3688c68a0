"""Tools of the chart's tests: fetched or built once, into the user's cache."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from apiserver import api_server
from helm import ROOT, Helm


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden renders anew; review the diff")


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder of helm and kubectl."""
    fetched = subprocess.run(
        [sys.executable, ROOT / "scripts" / "tools.py"], check=True, stdout=subprocess.PIPE, text=True
    )
    return Path(fetched.stdout.strip())


@pytest.fixture
def helm(tools: Path, tmp_path: Path) -> Helm:
    return Helm(tools / "helm", tmp_path)


@pytest.fixture(scope="session")
def kubernetes() -> Path:
    """The folder of etcd and the API server."""
    built = subprocess.run(
        [ROOT / "tests/lab/kubernetes/build", "apiserver"], check=True, stdout=subprocess.PIPE, text=True
    )
    return Path(built.stdout.strip())


@pytest.fixture(scope="session")
def cluster(kubernetes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """kubectl, as a command line that talks to an API server of our own."""
    with api_server(kubernetes, tmp_path_factory.mktemp("api")) as config:
        kubectl = [str(kubernetes / "kubectl"), f"--kubeconfig={config}"]
        subprocess.run([*kubectl, "apply", "-f", ROOT / "tests/chart/cluster.yaml"], check=True, capture_output=True)
        subprocess.run(
            [*kubectl, "wait", "--for=condition=Established", "crd", "--all"], check=True, capture_output=True
        )
        yield kubectl
