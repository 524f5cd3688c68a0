"""Everything a user can say: the variables `alluxio_*`, each with its shape, unit, default and meaning.

Nothing derived is typed by a user; whatever is derived can be overridden in `alluxio_overrides`.
"""
