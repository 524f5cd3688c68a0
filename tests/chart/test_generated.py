"""Generated files say what their sources say, and every value is documented and typed."""

from typing import Any

import pytest
import yaml
from charting.generated import documented, generated
from charting.schema import schema
from helm import CHART

VALUES = (CHART / "values.yaml").read_text()
#: Maps that are one value to the user.
WHOLE = {"jvm", "resources", "labels", "emptyDir"}


def leaves(values: Any, path: tuple[str, ...] = ()) -> set[str]:
    if isinstance(values, dict) and values and path[-1:] not in {(name,) for name in WHOLE}:
        return set().union(*(leaves(value, (*path, key)) for key, value in values.items()))
    return {".".join(path)}


def typed(node: dict[str, Any], path: tuple[str, ...] = ()) -> set[str]:
    if "properties" in node and path[-1:] not in {(name,) for name in WHOLE}:
        return set().union(*(typed(one, (*path, key)) for key, one in node["properties"].items()))
    return {".".join(path)}


@pytest.mark.parametrize("name", ["README.md", "values.schema.json", "files/planned.yaml"])
def test_generated_file_is_up_to_date(name: str) -> None:
    assert (CHART / name).read_text() == generated(CHART)[name], "run: python tools/chart_files.py"


def test_every_value_is_documented() -> None:
    assert leaves(yaml.safe_load(VALUES)) == documented(VALUES).keys()


def test_every_value_is_typed_and_every_type_has_its_value() -> None:
    known = {path for path in typed(schema()) if not path.startswith(("global", "fuse.clientCache.hostPath."))}
    assert leaves(yaml.safe_load(VALUES)) - {"fuse.clientCache.hostPath"} == known


def test_schema_is_closed_everywhere() -> None:
    def closed(node: Any) -> bool:
        if isinstance(node, list):
            return all(closed(one) for one in node)
        if not isinstance(node, dict):
            return True
        lists = node.get("type") == "object" and "properties" in node
        return not (lists and node["additionalProperties"]) and all(closed(one) for one in node.values())

    assert closed(schema())


def test_artifact_hub_knows_the_change() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    changes = yaml.safe_load(about["annotations"]["artifacthub.io/changes"])
    assert all({"kind", "description"} == change.keys() for change in changes)
    images = yaml.safe_load(about["annotations"]["artifacthub.io/images"])
    assert images[0]["image"].endswith(f":{about['appVersion']}")
