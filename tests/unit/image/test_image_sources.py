"""The image's sources, without building it: the list of jars, and how a JVM is started."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from alluxio_fuse.programs import module_files

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "images" / "alluxio"
#: What the pom leaves out of what a module brings.
NOT_PUBLISHED = "alluxio-shaded-hadoop"


def shell(library: str, script: str, home: Path, **environment: str) -> list[str]:
    """Lines that a script prints after sourcing one of the image's shell libraries."""
    environment = {"PATH": "/usr/bin:/bin", "ALLUXIO_HOME": str(home), **environment}
    done = subprocess.run(
        ["bash", "-euc", f". {SOURCES / 'libexec' / library}; {script}"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "libexec").mkdir()
    (tmp_path / "libexec" / "classpath").write_text("/jars/a.jar:/jars/b.jar\n")
    return tmp_path


def java(home: Path, heap: str = "-Xmx8g -XX:MetaspaceSize=256M", **environment: str) -> list[str]:
    script = f"java_command Console MASTER '{heap}'; printf '%s\\n' \"${{java[@]}}\""
    return shell("launch.sh", script, home, **environment)


def jars() -> dict[str, str]:
    lines = [line.split("  ") for line in (SOURCES / "jars.sha256").read_text().splitlines()]
    return {jar: digest for digest, jar in lines}


def pom(element: str) -> list[str]:
    return re.findall(rf"<{element}>(.+?)</{element}>", (SOURCES / "pom.xml").read_text())


def test_every_jar_has_a_digest() -> None:
    assert len(jars()) > 250
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in jars().values())
    assert list(jars()) == sorted(jars())


def test_the_list_holds_what_the_pom_asks_for() -> None:
    (version,) = pom("alluxio.version")
    wanted = {name for name in pom("artifactId") if name.startswith("alluxio-")} - {"alluxio-parent", NOT_PUBLISHED}
    assert len(wanted) == 12
    assert {f"{name}-{version}.jar" for name in wanted} <= set(jars())


@pytest.mark.parametrize(
    ("pattern", "versions"),
    [(r"netty-(?:common|buffer|handler|transport)", 1), (r"slf4j-reload4j", 1), (r"log4j-slf4j-impl", 0)],
)
def test_one_version_of_netty_and_one_logging_binding(pattern: str, versions: int) -> None:
    found = {match[1] for jar in jars() if (match := re.fullmatch(rf"{pattern}-(\d.*)\.jar", jar))}
    assert len(found) == versions


def test_the_role_builds_the_version_of_the_pom() -> None:
    specs: Any = yaml.safe_load((ROOT / "roles/image/meta/argument_specs.yml").read_text())
    choices = specs["argument_specs"]["main"]["options"]["image_alluxio_version"]["choices"]
    assert choices == pom("alluxio.version")


def test_the_default_heap_stands_where_nothing_is_said(home: Path) -> None:
    assert "-Xmx8g" in java(home)


@pytest.mark.parametrize("said", ["-Xmx2g", "-XX:MaxRAMPercentage=50"])
@pytest.mark.parametrize("variable", ["ALLUXIO_MASTER_JAVA_OPTS", "ALLUXIO_JAVA_OPTS"])
def test_a_heap_that_is_said_replaces_the_default(home: Path, said: str, variable: str) -> None:
    command = java(home, **{variable: f"-Da=b {said}"})
    assert said in command
    assert "-Xmx8g" not in command


def test_options_of_another_service_do_not_apply(home: Path) -> None:
    assert "-Dfor=worker" not in java(home, ALLUXIO_WORKER_JAVA_OPTS="-Dfor=worker")


def test_no_argument_is_empty(home: Path) -> None:
    assert "" not in java(home, heap="")


def test_options_are_split_at_blanks(home: Path) -> None:
    command = java(home, ALLUXIO_JAVA_OPTS='-Dpattern=/*  -Dquoted="a"\n-Dlast=1')
    assert {"-Dpattern=/*", '-Dquoted="a"', "-Dlast=1"} <= set(command)


@pytest.mark.parametrize("variable", ["ALLUXIO_MASTER_JAVA_OPTS", "ALLUXIO_JAVA_OPTS"])
def test_variables_and_backticks_in_options_are_expanded_once(home: Path, variable: str) -> None:
    (home / "key").write_text("$HOME`id`")
    command = java(home, name="k", **{variable: f"-Dknown=${{name}} -Dnone=${{NONE}} -Dkey=`cat {home}/key`"})
    assert {"-Dknown=k", "-Dnone=", "-Dkey=$HOME`id`"} <= set(command)


@pytest.mark.parametrize("variable", ["ALLUXIO_CLASSPATH", "ALLUXIO_MASTER_HOSTNAME", "ALLUXIO_USERNAME"])
def test_no_other_variable_is_expanded(home: Path, tmp_path: Path, variable: str) -> None:
    java(home, **{variable: f"`touch {tmp_path}/run`$(touch {tmp_path}/run)"})
    assert not (tmp_path / "run").exists()


def test_options_that_no_shell_can_read_start_nothing(home: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        java(home, ALLUXIO_JAVA_OPTS="-Dopen=`cat")


def test_alluxio_env_may_name_what_is_not_defined(home: Path) -> None:
    """What Fluid appends to it: the text of the environment between double quotes."""
    (home / "conf").mkdir()
    (home / "conf" / "alluxio-env.sh").write_text("export ALLUXIO_JAVA_OPTS=\"-Da=${NONE} -Db=`echo '$HOME'`\"\n")
    command = java(home, ALLUXIO_JAVA_OPTS="-Da=${NONE} -Db=`echo '$HOME'`")
    assert {"-Da=", "-Db=$HOME"} <= set(command)
    script = "echo $-"
    assert "u" in shell("launch.sh", script, home)[0]


def test_the_masters_name_in_the_environment_stands_above_the_general_options(home: Path) -> None:
    general, own = "-Dalluxio.master.hostname=general", "-Dalluxio.master.hostname=own"
    environment = {"ALLUXIO_JAVA_OPTS": general, "ALLUXIO_MASTER_HOSTNAME": "m", "ALLUXIO_MASTER_JAVA_OPTS": own}
    command = java(home, **environment)
    assert [each for each in command if "master.hostname" in each] == [general, "-Dalluxio.master.hostname=m", own]


def test_the_environment_names_properties(home: Path) -> None:
    command = java(home, ALLUXIO_MASTER_HOSTNAME="m", ALLUXIO_RAM_FOLDER="/ram")
    assert "-Dalluxio.master.hostname=m" in command
    assert "-Dalluxio.worker.tieredstore.level0.dirs.path=/ram" in command


def test_jars_come_first_on_the_class_path(home: Path) -> None:
    command = java(home, ALLUXIO_CLASSPATH="/own.jar")
    assert command[command.index("-cp") + 1] == f"/jars/a.jar:/jars/b.jar:{home}/conf:/own.jar"


@pytest.mark.parametrize(
    ("mount", "ours"),
    [
        ("fuse.alluxio-fuse alluxio-fuse", True),
        ("fuse.alluxio-fuse somebody", True),
        ("fuse.sshfs host:/alluxio-fuse", False),
        ("tmpfs fuse.alluxio-fuse", False),
        ("", False),
    ],
)
def test_mounts_of_others_are_told_from_ours(home: Path, mount: str, ours: bool) -> None:
    assert shell("mounts.sh", f"is_ours '{mount}' && echo yes || echo no", home) == ["yes" if ours else "no"]


@pytest.mark.parametrize(
    ("path", "found"), [("/proc", "proc proc"), ("/proc/", "proc proc"), ("/pro", ""), ("/proc/1", "")]
)
def test_only_a_mount_at_exactly_the_path_counts(home: Path, path: str, found: str) -> None:
    assert shell("mounts.sh", f"mounted_at {path}", home) == [found]


def test_something_else_at_the_mount_point_is_refused(home: Path) -> None:
    script = "clear_mount_point /proc 2>&1 && echo cleared || echo refused"
    assert shell("mounts.sh", script, home)[-1] == "refused"


def test_settings_of_a_mount_are_set_where_sys_is_read_only(home: Path, tmp_path: Path) -> None:
    """A stand-in for mount(8): what would be the kernel's files are looked at when they are unmounted."""
    (tmp_path / "set").write_text("# Made by a\nread_ahead_kb=1024\nmax_background=64\ncongestion_threshold=48\n")
    script = f"""
    mount_entry() {{ echo "fuse.alluxio-fuse alluxio-fuse 0:7777"; }}
    mountpoint() {{ return 0; }}
    mount() {{ mkdir -p "$4/class/bdi/0:7777" "$4/7777"; }}
    umount() {{ (cd "$1" && grep -r . . | sort) ; rm -r "${{1:?}}"/*; }}
    apply_settings /mnt/set {tmp_path}/set
    apply_settings /mnt/set {tmp_path}/none
    """
    assert shell("mounts.sh", script, home) == [
        "./class/bdi/0:7777/read_ahead_kb:1024",
        "./7777/congestion_threshold:48",
        "./7777/max_background:64",
    ]


def test_what_others_mounted_over_a_mount_keeps_its_settings(home: Path, tmp_path: Path) -> None:
    (tmp_path / "set").write_text("read_ahead_kb=1024\n")
    script = f"""
    mount_entry() {{ echo "ext4 /dev/vda 0:7777"; }}
    mountpoint() {{ return 0; }}
    mount() {{ mkdir -p "$4/class/bdi/0:7777" "$4/7777"; }}
    umount() {{ (cd "$1" && grep -r . . || true); rm -r "${{1:?}}"/*; }}
    apply_settings /mnt/set {tmp_path}/set 2>&1
    """
    assert shell("mounts.sh", script, home) == [
        "/mnt/set: no settings, something else is mounted over it (ext4 /dev/vda 0:7777)"
    ]


def test_a_jvm_carries_the_password_where_the_deployment_has_one(home: Path) -> None:
    agent = f"-javaagent:{home}/jars/alluxio-image.jar"
    assert agent not in java(home)
    (home / "conf").mkdir()
    (home / "conf" / "rpc-password").write_text("canary")
    command = java(home)
    assert command.count(agent) == 1
    assert command.index(agent) < command.index("-cp")
    assert not any("canary" in one for one in command)


def test_the_jvm_of_a_command_keeps_its_standard_output_for_the_answer(home: Path) -> None:
    logs = ["-Xlog:gc", "-XX:+PrintGC", "-verbose:class"]
    environment = {"ALLUXIO_JAVA_OPTS": " ".join([*logs, "-Da=b"])}
    quiet = "-Xlog:all=warning:stderr"
    service = java(home, **environment)
    assert {*logs, "-Da=b"} <= set(service)
    assert quiet not in service
    script = "java_command USER_LOGGER USER ''; printf '%s\\n' \"${java[@]}\""
    command = shell("launch.sh", script, home, **environment)
    assert {quiet, "-Da=b"} <= set(command)
    assert not set(logs) & set(command)


def test_the_program_that_stages_has_all_that_it_imports() -> None:
    named = yaml.safe_load((ROOT / "roles/image/vars/main.yml").read_text())["__image_program_names"]
    wanted = module_files("", "chart_stage")
    assert named == [one["path"].rpartition("/")[2] for one in wanted if "content" in one]
