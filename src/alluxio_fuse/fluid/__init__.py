"""Objects of Fluid (data.fluid.io/v1alpha1) from a plan, what speaks against them, and what becomes of them."""
