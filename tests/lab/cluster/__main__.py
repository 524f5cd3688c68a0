"""A Kubernetes of systemd nodes in podman, with an S3 store.

usage: .venv/bin/python tests/lab/cluster up [GPU_NODES]     2, unless said otherwise; again: what is missing
       .venv/bin/python tests/lab/cluster down
       .venv/bin/python tests/lab/cluster load IMAGE...      from podman's storage to every node
       .venv/bin/python tests/lab/cluster power NODE on|off
       .venv/bin/python tests/lab/cluster add                a further GPU node; prints its name
       .venv/bin/python tests/lab/cluster remove NODE        takes it away
"""

import sys

import lab
import node_images
from settings import nodes


def main(arguments: list[str]) -> None:
    """Runs one command."""
    match arguments:
        case ["up"]:
            lab.up(2)
        case ["up", count] if count.isdigit() and 1 <= int(count) <= 9:
            lab.up(int(count))
        case ["down"]:
            lab.down()
        case ["load", *names] if names:
            node_images.load(names, nodes())
        case ["power", name, ("on" | "off") as state]:
            lab.power(name, state)
        case ["add"]:
            print(lab.add().name)
        case ["remove", name]:
            lab.remove(name)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
