"""train.html: the page of training runs, one file without scripts or anything from elsewhere."""

from alluxio_fuse.report import plots
from alluxio_fuse.report.html import page
from alluxio_fuse.train.result import Node, Training

COLOURS = {"synthetic": "page-cache", "source": "disk", "local copy": "disk", "staged": "client-cache"}
ELSE = "worker"  # the colour of mounts


def render(made: Training) -> str:
    """The page of a result."""
    return page("training.html.j2", made=made, nodes=[_view(node) for node in made.nodes])


def _view(node: Node) -> dict[str, object]:
    name = f"{node.dataset} on {node.host}"
    speeds = [
        (f"{row.label}, {epoch}", "disk" if row.path in COLOURS else "mount", spread)
        for row in node.rows
        for epoch, spread in (("epoch 1", row.first), ("later", row.later))
        if spread
    ]
    levels = [
        (f"{row.label}, {epoch}", row.state, shares)
        for row in node.rows
        for epoch, shares in (("epoch 1", row.origins), ("later", row.origins_later))
        if shares
    ]
    learning = [row for row in node.rows if row.path != "synthetic" and not row.utilisation]
    curves = [(row.label, COLOURS.get(row.path, ELSE), row.losses) for row in learning]
    return {
        "node": node,
        "speeds": plots.spreads(f"{name}: images/s by path and epoch", speeds, "images/s"),
        "levels": plots.bars(f"{name}: where the bytes came from", levels),
        "losses": plots.losses(f"{name}: loss by step", curves),
    }
