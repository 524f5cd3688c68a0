"""Writes the chart's generated files.

usage: python tools/chart_files.py [CHART]
"""

import sys
from pathlib import Path

from charting.generated import generated

from alluxio_fuse.chart.reserved import CHART

chart = Path(sys.argv[1]) if len(sys.argv) > 1 else CHART
for name, text in generated(chart).items():
    (chart / name).write_text(text)
