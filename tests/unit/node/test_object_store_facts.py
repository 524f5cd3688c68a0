"""Buckets are counted by what their store lists, as folders are by what their filesystem does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ansible_collections.alluxio.fuse.plugins.module_utils import sources, store_facts

from alluxio_fuse.plan.facts import Source

LISTING = '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{}</ListBucketResult>'
OBJECT = "<Contents><Key>{}</Key><Size>{}</Size><ETag>e</ETag></Contents>"
PER_PAGE = 2
ROOT = Path(__file__).parents[3]
FILES = {"a/one": 1, "a/three": 3, "b/none": 0, "b/four": 4, "five": 5}


@contextmanager
def store(objects: dict[str, int]) -> Iterator[str]:
    """Endpoint of a store whose bucket `bucket` holds these, and lists two at a time."""

    class Lists(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            begin = int(asked.get("continuation-token", ["0"])[0])
            keys = sorted(key for key in objects if key.startswith(asked.get("prefix", [""])[0]))
            end = begin + PER_PAGE
            more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < len(keys) else ""
            found = "".join(OBJECT.format(key, objects[key]) for key in keys[begin:end])
            truncated = f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"
            body = LISTING.format(truncated + more + found).encode()
            known = urlsplit(self.path).path == "/bucket"
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(body if known else b"<Error><Code>NoSuchBucket</Code></Error>")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Lists)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def ask(objects: dict[str, int], source: str = "s3://bucket/set", limit: int = 100) -> dict[str, Any]:
    """What is found of a source, in the shape that the planner reads."""
    with store(objects) as endpoint:
        said = {"endpoint": endpoint, "path_style": True, "anonymous": True}
        found = store_facts.ask(
            {
                "source": source,
                "store": said,
                "access_key": "",
                "secret_key": "",
                "security_token": "",
                "limit": limit,
            }
        )
    Source.model_validate(found)
    return found


def test_objects_are_counted_by_size_over_all_pages() -> None:
    found = ask({"set/": 0, **{f"set/{path}": size for path, size in FILES.items()}, "other": 9})
    assert (found["state"], found["files"], found["bytes"]) == ("ok", 5, 13)
    assert found["sizes"] == [[1, 2, 1], [4, 2, 7], [8, 1, 5]]


def test_a_bucket_and_a_folder_of_the_same_files_are_told_alike(tmp_path: Path) -> None:
    for path, size in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(bytes(size))
    folder = sources.read_source(f"file://{tmp_path}", os.getuid(), 9)
    assert folder.pop("number"), "of its device, which a bucket has none of"
    assert folder == ask({f"set/{path}": size for path, size in FILES.items()})


def test_a_bucket_is_counted_as_its_manifest_holds_it() -> None:
    others = {"set/.hidden": 7, "set/.h/one": 7, "set/a//b": 7, "set/a?/b": 7, "set/\U0001f600": 7}
    found = ask({"set/a/one": 1, "set/two": 2, **others})
    assert (found["files"], found["bytes"], found["sizes"]) == (2, 3, [[1, 1, 1], [2, 1, 2]])
    assert ask({"set/.hidden": 7})["state"] == "empty"


def test_what_was_not_counted_has_no_histogram() -> None:
    many = {f"set/{number}": 1 for number in range(6)}
    uncounted = ask(many, limit=4)
    assert (uncounted["state"], uncounted["files"], uncounted["sizes"]) == ("ok", None, None)
    assert (ask({})["state"], ask({})["sizes"]) == ("empty", [])
    missing = ask({}, "s3://nobucket/set")
    assert (missing["state"], missing["sizes"]) == ("missing", None)


def test_no_key_changes_what_is_found(tmp_path: Path) -> None:
    """Ansible masks keys in what a module answers: in a source, a state and a number, too."""
    keys = {
        "of_the_bucket": ("bucket", "never-to-be-shown"),
        "of_states": ("o", "k"),
        "of_numbers": ("5", "13"),
        "of_nobody": ("unreachable", "nobody"),
    }
    with store({f"{name}/{path}": size for name in keys for path, size in FILES.items()}) as endpoint:
        there = {"endpoint": endpoint, "path_style": True}
        asked = [{"name": name, "source": f"s3://bucket/{name}", "store": there} for name in keys]
        asked[-1] |= {"source": "s3://nobody/set", "store": {"endpoint": "http://127.0.0.1:1", "path_style": True}}
        given = {name: {"access_key": access, "secret_key": secret} for name, (access, secret) in keys.items()}
        task = {
            "alluxio.fuse.object_store_facts": {
                "source": "{{ item.source }}",
                "store": "{{ item.store }}",
                "access_key": "{{ given[item.name].access_key }}",
                "secret_key": "{{ given[item.name].secret_key }}",
            },
            "loop": asked,
            "register": "stores",
        }
        content = "{{ ({'sources': {}} | alluxio.fuse.planner_facts(stores=stores.results)).sources }}"
        keep = {"ansible.builtin.copy": {"dest": f"{tmp_path}/sources", "content": content, "mode": "0600"}}
        play = {"hosts": "localhost", "gather_facts": False, "vars": {"given": given}, "tasks": [task, keep]}
        (tmp_path / "play.yml").write_text(json.dumps([play]))
        command = [sys.executable, "-m", "ansible", "playbook", "-vvv", str(tmp_path / "play.yml")]
        environment = os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert "never-to-be-shown" not in done.stdout + done.stderr
    found = json.loads((tmp_path / "sources").read_text())
    assert list(found) == [one["source"] for one in asked]
    *counted, unreachable = found.values()
    assert [(one["state"], one["files"], one["bytes"]) for one in counted] == [("ok", 5, 13)] * 3
    assert unreachable["state"] == "unreachable"
