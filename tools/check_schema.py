"""The published schemas of check.json and train.json. usage: python tools/check_schema.py (writes them)"""

import json
from pathlib import Path

from pydantic import BaseModel

from alluxio_fuse.check.verdict import Check
from alluxio_fuse.train.result import Training

_SOURCE = Path(__file__).parents[1] / "src/alluxio_fuse"
#: By the file of a schema, what it describes.
SCHEMAS: dict[Path, type[BaseModel]] = {
    _SOURCE / "check/check.schema.json": Check,
    _SOURCE / "train/train.schema.json": Training,
}


def text(model: type[BaseModel]) -> str:
    """JSON Schema (draft 2020-12) of what is written."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(mode="serialization"),
    }
    return json.dumps(schema, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    for path, model in SCHEMAS.items():
        path.write_text(text(model))
