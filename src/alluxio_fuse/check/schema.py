"""The published schema of check.json. usage: python -m alluxio_fuse.check.schema (writes it beside this file)"""

import json
from pathlib import Path

from alluxio_fuse.check.verdict import Check

PATH = Path(__file__).with_name("check.schema.json")


def text() -> str:
    """JSON Schema (draft 2020-12) of check.json."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Check.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
