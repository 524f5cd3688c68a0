"""The Helm chart's generated files, and its values from a plan."""
