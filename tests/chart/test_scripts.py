"""The chart's scripts do what they say, in mount namespaces of their own."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from helm import CHART

FILES = CHART / "files"
SCRIPTS = sorted(FILES.glob("*.sh"))


def bash(script: str, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs commands as root of a namespace where mounts are ours."""
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "bash", "-c", script, "bash", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        check=False,
    )


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_syntax(path: Path) -> None:
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0


def test_fuse_is_not_alive_without_its_mount(tmp_path: Path) -> None:
    done = bash('mount -t tmpfs tmpfs "$1" && bash "$2" "$1" 1', tmp_path, FILES / "fuse-live.sh")
    assert done.returncode == 1
    assert done.stdout == f"nothing of type fuse is mounted at {tmp_path}\n"


def test_fuse_is_not_ready_on_a_folder_and_a_stat_that_hangs_is_not_asked_again(tmp_path: Path) -> None:
    ready = (FILES / "fuse-ready.sh").read_text().replace("/tmp/fuse-ready", f"{tmp_path}/ready")
    assert bash(ready, tmp_path, 1).returncode == 1
    # A number that is somebody else's by now, as after a restart of the container, is no stat that waits.
    (tmp_path / "ready.pid").write_text(str(os.getpid()))
    assert "an earlier stat" not in bash(ready, tmp_path, 1).stdout
    shutil.copy("/bin/sleep", tmp_path / "stat")
    with subprocess.Popen([tmp_path / "stat", "60"]) as waiting:
        (tmp_path / "ready.pid").write_text(str(waiting.pid))
        assert "an earlier stat" in bash(ready, tmp_path, 1).stdout
        waiting.kill()
    slow = bash(f"stat() {{ sleep 3; }}; rm {tmp_path}/ready.pid\n{ready}", tmp_path, 1)
    assert slow.returncode == 1
    assert "did not answer within 1 s" in slow.stdout


@pytest.mark.parametrize(
    ("said", "there"),
    [
        (["/imagenet"], True),
        (["/imagenet", "s3://bucket/set"], True),
        (["/imagenet", "s3://bucket/former"], False),
        (["/tokens"], False),
    ],
)
def test_fuse_waits_for_its_dataset(tmp_path: Path, said: list[str], there: bool) -> None:
    """And for its source, where that is said."""
    (tmp_path / "bin").mkdir()
    image = tmp_path / "bin/alluxio"
    image.write_text("#!/bin/sh\necho 's3://bucket/set/  on  /imagenet  (s3, capacity=-1B)'\n")
    image.chmod(0o755)
    done = bash('timeout 2 bash "$@"', FILES / "fuse-wait.sh", *said, ALLUXIO_HOME=str(tmp_path))
    assert (done.returncode == 0) == there, done
    assert ("is not mounted in Alluxio yet" in done.stdout) != there


class TestPrepare:
    def prepare(
        self, parent: Path, owner: str = "data-cache/imagenet", *cache: object
    ) -> subprocess.CompletedProcess[str]:
        return bash('bash "$@"', FILES / "fuse-prepare.sh", parent, 0, 0, "0750", owner, *cache, NODE_NAME="n1")

    def test_makes_a_mount_point_that_others_cannot_fill(self, tmp_path: Path) -> None:
        for _ in range(2):
            assert self.prepare(tmp_path).returncode == 0
        assert tmp_path.stat().st_mode & 0o777 == 0o750
        assert (tmp_path / "data").stat().st_mode & 0o777 == 0o555

    def test_refuses_a_folder_of_another_release(self, tmp_path: Path) -> None:
        self.prepare(tmp_path)
        done = self.prepare(tmp_path, "other-cache/imagenet")
        assert done.returncode == 1
        assert "belongs to data-cache/imagenet, not to other-cache/imagenet: give one of them another" in done.stderr

    def test_leaves_a_folder_alone_that_holds_what_is_not_ours(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o711)
        for what in ("home", "data/file"):
            (tmp_path / what).parent.mkdir(exist_ok=True)
            (tmp_path / what).touch()
            done = self.prepare(tmp_path)
            assert done.returncode == 1
            name = what.split("/")[0]
            assert f"n1: {tmp_path} has no .owner and holds {name}, so it may be somebody else's" in done.stderr
            assert "name an empty folder in fuse.mountRoot, or move away what is in it" in done.stderr
            assert tmp_path.stat().st_mode & 0o777 == 0o711
            assert not (tmp_path / ".owner").exists()
            (tmp_path / what).unlink()

    def test_takes_a_folder_with_an_empty_mount_point_and_what_a_filesystem_made(self, tmp_path: Path) -> None:
        for name in ("data", "lost+found"):
            (tmp_path / name).mkdir()
        assert self.prepare(tmp_path).returncode == 0
        assert (tmp_path / ".owner").read_text() == "data-cache/imagenet\n"

    def test_a_release_before_this_rule_keeps_its_folders(self, tmp_path: Path) -> None:
        (tmp_path / ".owner").write_text("data-cache/imagenet\n")
        (tmp_path / "pages").mkdir()
        assert self.prepare(tmp_path).returncode == 0

    def test_leaves_a_cache_alone_that_is_not_ours(self, tmp_path: Path) -> None:
        parent, cache = tmp_path / "parent", tmp_path / "cache"
        parent.mkdir()
        (cache / "data").mkdir(parents=True)
        done = self.prepare(parent, "data-cache/imagenet", cache, "/mnt/nvme0/cache")
        assert done.returncode == 1
        assert "n1: /mnt/nvme0/cache has no .owner and holds data" in done.stderr
        (cache / "data").rmdir()
        assert self.prepare(parent, "data-cache/imagenet", cache, "/mnt/nvme0/cache").returncode == 0

    @pytest.mark.parametrize("link", [".owner", "data"])
    def test_follows_no_link_of_a_reader(self, tmp_path: Path, link: str) -> None:
        parent, victim = tmp_path / "parent", tmp_path / "victim"
        parent.mkdir(mode=0o711)
        victim.mkdir(mode=0o751)
        (parent / link).symlink_to(victim / "made" if link == ".owner" else victim)
        done = self.prepare(parent)
        assert done.returncode == 1
        assert f"{parent}/{link}" in done.stderr
        assert "is a symbolic link" in done.stderr
        assert (list(victim.iterdir()), victim.stat().st_mode & 0o777) == ([], 0o751)
        assert parent.stat().st_mode & 0o777 == 0o711

    def test_takes_a_mount_point_that_a_copy_had(self, tmp_path: Path) -> None:
        """Role `stage` makes it immutable; whose it is and who may write stands already."""
        point = tmp_path / "data"
        point.mkdir(mode=0o555)
        immutable = subprocess.run(["chattr", "+i", point], capture_output=True, check=False).returncode == 0
        if not immutable:
            pytest.skip("the filesystem of the tests knows no immutable folders")
        try:
            assert self.prepare(tmp_path).returncode == 0
        finally:
            subprocess.run(["chattr", "-i", point], check=True)

    def test_claims_the_folder_in_which_a_copy_is_mounted(self, tmp_path: Path) -> None:
        one, two = tmp_path / "one", tmp_path / "two"
        (one / "data").mkdir(parents=True)
        said = ["readers", one, 0, 0, "0750", "data-cache/one", "readers", two, 0, 0, "0755", "data-cache/two"]
        done = bash('bash "$@"', FILES / "stage-prepare.sh", *said, NODE_NAME="n1")
        assert done.returncode == 0, done.stderr
        assert [(path / ".owner").read_text() for path in (one, two)] == ["data-cache/one\n", "data-cache/two\n"]
        assert one.stat().st_mode & 0o777 == 0o750
        assert (two / "data").stat().st_mode & 0o777 == 0o555
        (two / ".owner").write_text("other/two\n")
        refused = bash('bash "$@"', FILES / "stage-prepare.sh", *said, NODE_NAME="n1")
        assert refused.returncode == 1
        assert f"n1: {two} belongs to other/two, not to data-cache/two" in refused.stderr

    def test_refuses_to_hide_files(self, tmp_path: Path) -> None:
        self.prepare(tmp_path)
        (tmp_path / "data").chmod(0o755)
        (tmp_path / "data" / "file").touch()
        done = self.prepare(tmp_path)
        assert done.returncode == 1
        assert "is not empty" in done.stderr


class TestVerify:
    def test_tier_on_the_filesystem_that_is_mounted(self, tmp_path: Path) -> None:
        script = 'mount -t tmpfs tmpfs "$1" && mkdir "$1/tier" && bash "$2" storage "$1/tier" "$1" /mnt/nvme0'
        assert bash(script, tmp_path, FILES / "verify.sh", NODE_NAME="n1").returncode == 0

    def test_tier_where_nothing_is_mounted(self, tmp_path: Path) -> None:
        (tmp_path / "tier").mkdir()
        done = bash(
            'mount --bind "$1" "$1" && bash "$2" storage "$1/tier" "$1" /mnt/nvme0',
            tmp_path,
            FILES / "verify.sh",
            NODE_NAME="n1",
        )
        assert done.returncode == 1
        assert "n1: nothing is mounted at /mnt/nvme0" in done.stderr

    def test_tier_beside_the_filesystem(self, tmp_path: Path) -> None:
        (tmp_path / "point").mkdir()
        script = 'mount -t tmpfs tmpfs "$1/point" && bash "$2" storage "$1" "$1/point" /mnt/nvme0'
        done = bash(script, tmp_path, FILES / "verify.sh", NODE_NAME="n1")
        assert done.returncode == 1
        assert "is not on the filesystem" in done.stderr

    def test_tier_in_a_folder_of_others(self, tmp_path: Path) -> None:
        # The namespace knows no user but root.
        script = 'chown() { :; }; export -f chown; bash "$@"'
        own = (script, FILES / "verify.sh", "own", tmp_path, "/mnt/nvme0", "data-cache")
        (tmp_path / "home").touch()
        done = bash(*own, NODE_NAME="n1")
        assert done.returncode == 1
        assert "n1: /mnt/nvme0 has no .owner and holds home" in done.stderr
        assert "name an empty folder in worker.tiers[].hostPath" in done.stderr
        (tmp_path / "home").rename(tmp_path / "lost+found")
        for _ in range(2):
            assert bash(*own, NODE_NAME="n1").returncode == 0
            (tmp_path / "blocks").touch()

    def test_marker(self, tmp_path: Path) -> None:
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        marker = tmp_path / "marker"
        verify = ('bash "$@"', FILES / "verify.sh", "marker", marker, empty)
        assert "is missing" in bash(*verify, NODE_NAME="n1").stderr
        marker.touch()
        assert bash(*verify, NODE_NAME="n1").returncode == 0
        marker.write_text("another")
        assert "another digest" in bash(*verify, NODE_NAME="n1").stderr


class TestConfigure:
    """configure.sh in a pod whose volume is mounted at /journal."""

    @pytest.fixture(autouse=True)
    def image(self, tmp_path: Path) -> None:
        for name in ("home/conf/core-site.xml", "config/alluxio-site.properties", "conf/file", "journal/journal/log"):
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).write_text("a=b\n")
        shutil.copytree(FILES, tmp_path / "scripts")

    def start(self, tmp_path: Path, mount: str = "mount --bind") -> str:
        """A start of the pod; gives what its site file has more than the ConfigMap's."""
        script = (FILES / "configure.sh").read_text().replace("' /journal '", f"' {tmp_path}/journal '")
        script = re.sub(r"(?<![\w}])/(conf|config|scripts|journal)/", rf"{tmp_path}/\1/", script)
        done = bash(f'{mount} "$1" "$1"\n{script}', tmp_path / "journal", ALLUXIO_HOME=str(tmp_path / "home"))
        assert done.returncode == 0, done.stderr
        return (tmp_path / "conf/alluxio-site.properties").read_text().removeprefix("a=b\n")

    def test_the_journal_makes_way_for_a_backup_once(self, tmp_path: Path) -> None:
        volume, begin = tmp_path / "journal", f"init.from.backup=file://{tmp_path}/journal/restored.gz\n"
        assert self.start(tmp_path) == ""
        assert (volume / "journal/log").exists()
        (volume / "restore.gz").write_text("one")
        assert self.start(tmp_path) == f"alluxio.master.journal.{begin}"
        (aside,) = volume.glob("journal-*")
        assert re.fullmatch(r"journal-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", aside.name)
        assert (aside / "log").read_text() == "a=b\n"
        assert sorted(path.name for path in volume.iterdir()) == [aside.name, "namespace", "restored.gz"]
        (volume / "journal").mkdir()  # the master's new one
        assert self.start(tmp_path).endswith(begin)
        assert [*volume.glob("journal-*")] == [aside]
        assert (volume / "journal").exists()
        (volume / "restored.gz").unlink()
        assert self.start(tmp_path) == ""

    def test_it_goes_on_where_a_start_was_cut_off(self, tmp_path: Path) -> None:
        volume = tmp_path / "journal"
        (volume / "journal").rename(volume / "journal-before")
        (volume / "restore.gz").write_text("two")
        (volume / "restored.gz").write_text("one")
        assert self.start(tmp_path).count("init.from.backup") == 1
        assert (volume / "restored.gz").read_text() == "two"
        assert not (volume / "restore.gz").exists()

    def test_a_pod_without_the_volume_knows_of_none(self, tmp_path: Path) -> None:
        (tmp_path / "journal/restore.gz").touch()
        assert self.start(tmp_path, mount=":") == ""
        assert (tmp_path / "journal/restore.gz").exists()


class TestMounts:
    """mounts.sh against a stand-in for the image: a `java` that writes down what it is told and shows a mount table."""

    @pytest.fixture(autouse=True)
    def image(self, tmp_path: Path) -> None:
        for folder in ("datasets", "credentials/imagenet", "memory", "tmp", "libexec", "bin"):
            (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "table").write_text("/journal/namespace on / (local, not read-only, properties={})\n")
        (tmp_path / "libexec" / "launch.sh").write_text("java_command() { java=(java -Xmx1m); }\n")
        java = tmp_path / "bin" / "java"
        java.write_text(
            f'#!/bin/bash\necho "$@" >>{tmp_path}/argv\nread -r -d "" told <"${{1#@}}"\n'
            f'case $told in *mount\\") cat {tmp_path}/table ;; *) echo $told >>{tmp_path}/told ;; esac\n'
        )
        java.chmod(0o755)
        (tmp_path / "credentials" / "imagenet" / "secret_key").write_text("hidden")
        (tmp_path / "datasets" / "imagenet").write_text(
            "uri=s3://b/i\nreadonly=true\noption=a.b=c\nsecret=s3a.secretKey=secret_key\n"
        )

    def look(self, tmp_path: Path) -> str:
        """One look at the table; gives what Alluxio was told to do."""
        script = (FILES / "mounts.sh").read_text().split("trap 'exit 0' TERM")[0]
        for folder in ("datasets", "credentials", "memory"):
            script = script.replace(f"/{folder}", f"{tmp_path}/{folder}")
        path = f"{tmp_path}/bin:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", script + "\nreconcile"],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": path, "ALLUXIO_HOME": str(tmp_path)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        told = tmp_path / "told"
        said = told.read_text() if told.exists() else ""
        told.unlink(missing_ok=True)
        return said

    def table(self, tmp_path: Path, *lines: str) -> None:
        (tmp_path / "table").write_text("\n".join(("/journal/namespace on / (local)", *lines)) + "\n")

    def mark(self, said: str) -> str:
        return said.split("declaration=")[1].split('"', maxsplit=1)[0]

    def test_mounts_what_is_declared_and_keeps_keys_out_of_arguments(self, tmp_path: Path) -> None:
        said = self.look(tmp_path)
        assert '"mount" "--readonly" "--option" "a.b=c" "--option" "s3a.secretKey=hidden"' in said
        assert said.strip().endswith('"/imagenet" "s3://b/i"')
        assert "hidden" not in (tmp_path / "argv").read_text()
        assert not list((tmp_path / "memory").iterdir())

    def test_keys_of_any_characters_arrive_as_they_are(self, tmp_path: Path) -> None:
        key = r'a"b\nc\d & e#f'
        (tmp_path / "credentials" / "imagenet" / "secret_key").write_text(key)
        said = self.look(tmp_path)
        # As java reads such a file: words in quotation marks, in which a backslash is for what follows it.
        words = [re.sub(r"\\(.)", r"\1", word) for word in re.findall(r'"((?:[^"\\]|\\.)*)"', said)]
        assert f"s3a.secretKey={key}" in words

    def test_a_token_is_told_where_the_secret_has_one(self, tmp_path: Path) -> None:
        declared = tmp_path / "datasets" / "imagenet"
        declared.write_text(declared.read_text() + "optional-secret=fs.oss.securityToken=token\n")
        assert "fs.oss.securityToken" not in self.look(tmp_path)
        (tmp_path / "credentials" / "imagenet" / "token").write_text("of STS")
        assert '"--option" "fs.oss.securityToken=of STS"' in self.look(tmp_path)

    def test_leaves_what_is_as_declared(self, tmp_path: Path) -> None:
        mark = self.mark(self.look(tmp_path))
        self.table(tmp_path, f"s3://b/i on /imagenet (s3, properties={{alluxio.fuse.chart.declaration={mark}}})")
        assert self.look(tmp_path) == ""

    def test_brings_a_changed_key_over_without_an_unmount(self, tmp_path: Path) -> None:
        mark = self.mark(self.look(tmp_path))
        self.table(tmp_path, f"s3://b/i on /imagenet (s3, properties={{alluxio.fuse.chart.declaration={mark}}})")
        (tmp_path / "credentials" / "imagenet" / "secret_key").write_text("rotated")
        said = self.look(tmp_path)
        assert '"updateMount"' in said
        assert "s3a.secretKey=rotated" in said
        assert '"unmount"' not in said

    def test_a_new_source_is_mounted_anew(self, tmp_path: Path) -> None:
        self.table(tmp_path, "s3://b/old on /imagenet (s3, properties={alluxio.fuse.chart.declaration=0})")
        said = self.look(tmp_path)
        assert said.index('"unmount" "/imagenet"') < said.index('"mount"')

    def test_unmounts_what_is_no_longer_declared(self, tmp_path: Path) -> None:
        mark = self.mark(self.look(tmp_path))
        self.table(
            tmp_path,
            f"s3://b/i on /imagenet (s3, properties={{alluxio.fuse.chart.declaration={mark}}})",
            "s3://b/x on /gone (s3)",
        )
        assert '"unmount" "/gone"' in self.look(tmp_path)
