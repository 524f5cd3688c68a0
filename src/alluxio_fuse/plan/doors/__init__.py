"""Ways to look at a plan: amounts, table, explanation, difference. All take the plan as plan.json holds it."""
