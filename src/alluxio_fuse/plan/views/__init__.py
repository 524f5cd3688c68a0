"""Ways to look at a plan: amounts, table, explanation, difference."""
