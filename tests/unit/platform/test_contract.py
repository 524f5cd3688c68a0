"""Every platform's role has the entry points that are promised of it, and is told what it asks for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from fleets import local

from alluxio_fuse import preflight
from alluxio_fuse.plan import plan
from alluxio_fuse.plan.intent.fleet import FleetIntent
from alluxio_fuse.plan.platforms import CAPABILITIES
from alluxio_fuse.plan.views.deployment import deployment

ROOT = Path(__file__).parents[3]
CALL = yaml.safe_load((ROOT / "playbooks/tasks/platform.yml").read_text())[0]["block"][0]
FOLDER = {"name": "set", "source": "file:///data/set", "files": 10, "bytes": "1Mi"}
#: What only the caller of one entry point can say.
SAID = {"restart": {"platform_dataset"}, "restore": {"platform_backup"}, "warm": {"platform_task"}}


def entries(platform: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / f"roles/platform_{platform}/meta/argument_specs.yml").read_text())
    specs: dict[str, Any] = found["argument_specs"]
    return specs


def test_there_is_a_role_for_each_platform() -> None:
    assert set(CAPABILITIES) == set(get_args(FleetIntent.model_fields["alluxio_platform"].annotation))


@pytest.mark.parametrize("platform", CAPABILITIES)
def test_entry_points_are_those_promised(platform: str) -> None:
    assert set(entries(platform)) == set(CAPABILITIES[platform].verbs)


@pytest.mark.parametrize("platform", CAPABILITIES)
def test_a_role_is_told_all_that_it_requires(platform: str) -> None:
    for verb, entry in entries(platform).items():
        required = {name for name, option in entry["options"].items() if option.get("required")}
        assert required <= set(CALL["vars"]) | SAID.get(verb, set())


def test_an_input_is_the_same_for_all() -> None:
    found: dict[str, list[Any]] = {}
    for platform in CAPABILITIES:
        for name, option in entries(platform)["main"]["options"].items():
            if name in CALL["vars"]:
                found.setdefault(name, []).append({key: option.get(key) for key in ("type", "required", "no_log")})
    assert set(found) == set(CALL["vars"])
    assert [name for name, options in found.items() if any(one != options[0] for one in options)] == []


@pytest.mark.parametrize("platform", CAPABILITIES)
def test_plan_and_preflight_tell_the_same_of_a_deployment(platform: str) -> None:
    through = {"through": "under_store"} if platform == "host" else {}
    claim = {"source": "pvc://claim/below", "marker": None} if CAPABILITIES[platform].in_pods else {}
    hosts = local(alluxio_platform=platform, alluxio_datasets=[FOLDER | through | claim])
    planned, asked = deployment(plan(hosts), "localhost"), preflight.questions(hosts["localhost"]["variables"])
    cluster = planned.pop("kubernetes")
    assert planned == {key: asked[key] for key in planned}
    both = ("node_access", "fluid", "claims")
    assert {key: cluster.get(key) for key in both} == {key: asked["kubernetes"].get(key) for key in both}
    assert cluster["claims"] == ({"/sources/set": "claim/below"} if claim else {})


@pytest.mark.parametrize("platform", [name for name, can in CAPABILITIES.items() if can.in_pods])
def test_a_role_takes_every_part_of_the_cluster(platform: str) -> None:
    """Of one that it does not know, Ansible ends every one of its entry points."""
    claim = FOLDER | {"source": "pvc://claim/below"}
    hosts = local(alluxio_platform=platform, alluxio_datasets=[claim])
    planned, asked = deployment(plan(hosts), "localhost"), preflight.questions(hosts["localhost"]["variables"])
    for entry in entries(platform).values():
        known = entry["options"]["platform_cluster"]["options"].keys()
        assert planned["kubernetes"].keys() | asked["kubernetes"].keys() <= known


@pytest.mark.parametrize("platform", CAPABILITIES)
def test_what_a_platform_lacks_is_refused_by_its_playbook(platform: str) -> None:
    for playbook in CAPABILITIES[platform].lacks:
        text = (ROOT / f"playbooks/{playbook}.yml").read_text()
        assert "tasks/can.yml" in text
        assert f"asked: {playbook}\n" in text


@pytest.mark.parametrize("platform", CAPABILITIES)
def test_a_playbook_is_refused_only_where_its_platform_lacks_it(platform: str, tmp_path: Path) -> None:
    """By Ansible itself, which resolves the words of a refusal before it knows whether there is one."""
    lacks = dict(CAPABILITIES[platform].lacks)
    asking = [path.stem for path in (ROOT / "playbooks").glob("*.yml") if "tasks/can.yml" in path.read_text()]
    assert len(asking) > 5
    tasks = [
        {
            "block": [{"ansible.builtin.include_tasks": str(ROOT / "playbooks/tasks/can.yml"), "vars": {"asked": one}}],
            "rescue": [{"ansible.builtin.debug": {"msg": f"refused {one}: {{{{ ansible_failed_result.msg }}}}"}}],
        }
        for one in asking
    ]
    variables = {"plan_deployment": {"platform": platform, "lacks": lacks}}
    play = {"hosts": "localhost", "gather_facts": False, "vars": variables, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", "localhost,", "-c", "local", str(tmp_path / "play.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    refused = {one for one in asking if f"refused {one}: alluxio_platform: {platform}: " in done.stdout}
    assert refused == lacks.keys()
    assert done.stdout.count("refused ") == len(refused), done.stdout


@pytest.mark.parametrize(
    ("hosts", "asked"), [("all", "m1"), ("gpu_nodes", "m1"), ("all:!m1", "m2")], ids=["all", "no master", "one of them"]
)
def test_where_alluxio_runs_in_containers_its_command_line_is_a_masters(hosts: str, asked: str, tmp_path: Path) -> None:
    """Whichever host a play begins with."""
    inventory = "[gpu_nodes]\ng1\ng2\n[masters]\nm1\nm2\n[all:vars]\nansible_connection=local\n"
    (tmp_path / "hosts").write_text(inventory)
    options = {"name": "x", "state_dir": "/x", "plan": {}, "image": "x", "credentials": {}, "under_readers": False}
    said = {f"platform_{key}": value for key, value in (options | {"backup_dir": ""}).items()}
    tasks = [
        {"ansible.builtin.include_role": {"name": "platform_containers", "tasks_from": "endpoints"}, "vars": said},
        {"ansible.builtin.debug": {"msg": "asked {{ platform_containers_found.cli.host }}."}},
    ]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": hosts, "gather_facts": False, "tasks": tasks}]))
    command = [f"{sys.prefix}/bin/ansible-playbook", "-i", str(tmp_path / "hosts"), str(tmp_path / "play.yml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(re.findall(r"asked (\w+)\.", done.stdout)) == {asked}
