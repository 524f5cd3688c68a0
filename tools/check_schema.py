"""The published schema of check.json. usage: python tools/check_schema.py (writes it)"""

import json
from pathlib import Path

from alluxio_fuse.check.verdict import Check

PATH = Path(__file__).parents[1] / "src/alluxio_fuse/check/check.schema.json"


def text() -> str:
    """JSON Schema (draft 2020-12) of check.json."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Check.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    PATH.write_text(text())
