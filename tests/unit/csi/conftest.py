"""The official definitions, a node, and the kubelet of a node that runs the plugin."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from csi_node import DRIVER, PLUGIN, ROOT, Client, Node


@pytest.fixture(scope="session")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The official definitions as Python, made as the image makes them."""
    fetch = [sys.executable, str(ROOT / "scripts" / "tools.py"), "go"]
    tools = subprocess.run(fetch, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    made = tmp_path_factory.mktemp("definitions")
    command = [sys.executable, str(PLUGIN / "csi_definitions.py"), str(made), sys.executable, "-m", "grpc_tools.protoc"]
    subprocess.run(command, check=True, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    sys.path.insert(0, str(made))
    return made


@pytest.fixture(scope="session")
def csi(definitions: Path) -> Any:
    """Messages of the Container Storage Interface."""
    return importlib.import_module("csi_pb2")


@pytest.fixture(scope="session")
def registration(definitions: Path) -> Any:
    """Messages between a kubelet and a plugin that it found."""
    return importlib.import_module("api_pb2")


@pytest.fixture
def node(definitions: Path) -> Iterator[Node]:
    """A node on which nothing is served, and no plugin runs."""
    folder = Path(tempfile.mkdtemp(prefix="csi"))  # short: it holds sockets
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        made = Node(folder, definitions)
        stack.callback(made.close)
        yield made


@pytest.fixture
def client(node: Node, csi: Any) -> Iterator[Client]:
    """The kubelet of a node whose plugin knows `imagenet`, `clicks` and `written`, which is writable."""
    node.start("--dataset=imagenet", "--dataset=clicks", "--writable=written")
    with grpc.insecure_channel(f"unix://{node.kubelet}/plugins/{DRIVER}/csi.sock") as channel:
        yield Client(csi, channel)
