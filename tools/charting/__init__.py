"""Makes the chart's generated files from its values and the planner's rules."""
