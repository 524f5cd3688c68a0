"""Callback plugins that no other test sees at work."""

import json
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]

# In a process of its own, as this one has loaded them already.
PRELOAD = """
import json, sys
from ansible.plugins.loader import callback_loader, init_plugin_loader
init_plugin_loader([sys.argv[1]])
callback = callback_loader.get("alluxio.fuse.preload")
before = sorted(name for name in sys.modules if name.startswith("alluxio_fuse"))
callback.v2_playbook_on_start(None)
print(json.dumps([before, sorted(sys.modules)]))
"""


def test_every_filter_is_there_before_the_first_task() -> None:
    collections = str(CHECKOUT / "collections")
    done = subprocess.run([sys.executable, "-c", PRELOAD, collections], capture_output=True, text=True, check=True)
    before, after = json.loads(done.stdout)
    assert before == []
    files = {
        f"ansible_collections.alluxio.fuse.plugins.filter.{path.stem}" for path in CHECKOUT.glob("plugins/filter/*.py")
    }
    assert files <= set(after)
