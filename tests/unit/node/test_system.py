"""Parsers of what the kernel and the distribution say about a node."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from ansible_collections.alluxio.fuse.plugins.module_utils import gpu, network, system

SMI = Path(__file__).parent / "nvidia_smi"
GIB = 2**30


def test_meminfo() -> None:
    text = "MemTotal:       24684084 kB\nHugePages_Total:       3\n"
    assert system.parse_meminfo(text) == {"MemTotal": 24684084 * 1024, "HugePages_Total": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('ID=debian\nVERSION_ID="12"\n', {"id": "debian", "version": "12"}),
        ('NAME="x"\nID="rhel"\nVERSION_ID="9.4"\n', {"id": "rhel", "version": "9.4"}),
        ("ID=debian\n", {"id": "debian", "version": ""}),
    ],
)
def test_os_release(text: str, expected: dict[str, str]) -> None:
    assert system.parse_os_release(text) == expected


@pytest.mark.parametrize(
    ("text", "major"),
    [('JAVA_VERSION="17.0.15"', 17), ('A="x"\nJAVA_VERSION="1.8.0_402"', 8), ('JAVA_VERSION="25"', 25), ("", None)],
)
def test_java_release(text: str, major: int | None) -> None:
    assert system.parse_java_release(text) == major


def test_sonames() -> None:
    text = (
        "37 libs found in cache\n"
        "\tlibfuse3.so.3 (libc6,x86-64) => /lib/x86_64-linux-gnu/libfuse3.so.3\n"
        "\tlibfuse.so.2 (libc6,x86-64) => /lib/x86_64-linux-gnu/libfuse.so.2\n"
        "\tlibfuse.so.2 (libc6) => /lib/i386-linux-gnu/libfuse.so.2\n"
        "\tlibfused.so.9 (libc6) => /lib/libfused.so.9\n"
    )
    assert system.parse_sonames(text) == ["libfuse.so.2", "libfuse3.so.3"]


def test_listeners() -> None:
    text = (
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:4E1E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0 100\n"
        "   1: 0100007F:4E1E 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0 20\n"
    )
    assert network.parse_listeners(text) == [{"address": "127.0.0.1", "port": 19998, "inode": 4242}]
    six = text.splitlines()[0] + (
        "\n   0: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 77 1"
    )
    assert network.parse_listeners(six) == [{"address": "::1", "port": 22, "inode": 77}]


def test_own_listener_is_found_and_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        mine = [entry for entry in network.read_listeners({port}) if entry["port"] == port]
    assert [entry["address"] for entry in mine] == ["127.0.0.1"]
    assert mine[0]["process"]


def test_interfaces() -> None:
    pairs = network.parse_if_inet6("00000000000000000000000000000001 01 80 10 80       lo\n")
    assert pairs == [("lo", "::1")]
    assert "127.0.0.1" in {a for interface in network.read_interfaces() for a in interface["addresses"]}


@pytest.mark.parametrize(
    ("model", "expected", "driver"),
    [
        ("t4", [("Tesla T4", 15 * GIB, False)], "535.129.03"),
        ("v100", [("Tesla V100-SXM2-16GB", 16160 * 2**20, False)] * 8, "470.223.02"),
        (
            "a100-mig",
            [("NVIDIA A100-SXM4-40GB", 40 * GIB, True), ("NVIDIA A100-SXM4-40GB", 40 * GIB, False)],
            "525.105.17",
        ),
        ("h100", [("NVIDIA H100 80GB HBM3", 81559 * 2**20, False)] * 8, "535.161.08"),
    ],
)
def test_nvidia_smi(model: str, expected: list[tuple[str, int, bool]], driver: str) -> None:
    gpus, found = gpu.parse_smi((SMI / f"{model}.csv").read_text())
    assert [(entry["model"], entry["memory"], entry["mig"]) for entry in gpus] == expected
    assert found == driver


def test_no_driver_no_gpu() -> None:
    complaint = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    assert gpu.parse_smi(complaint) == ([], None)


def pci(root: Path, name: str, **attributes: str) -> None:
    (root / name).mkdir()
    for attribute, value in attributes.items():
        (root / name / attribute).write_text(value + "\n")


def test_pci_tree(tmp_path: Path) -> None:
    pci(tmp_path, "0000:00:1e.0", **{"vendor": "0x10de", "class": "0x030200", "device": "0x1eb8"})
    pci(tmp_path, "0000:00:1f.0", **{"vendor": "0x10de", "class": "0x030200", "device": "0xffff"})
    pci(tmp_path, "0000:00:20.0", **{"vendor": "0x10de", "class": "0x068000", "device": "0x1af1"})  # an NVSwitch
    pci(tmp_path, "0000:00:02.0", **{"vendor": "0x1af4", "class": "0x030000", "device": "0x1050"})
    assert gpu.from_pci(str(tmp_path)) == [
        {"model": "Tesla T4", "memory": 15 * GIB, "mig": False},
        {"model": "NVIDIA 10de:ffff", "memory": 0, "mig": False},
    ]
