"""What roles are given at once of a plan, of a host and of what was found there: each view is a filter of its name.

A view takes nothing that some of its users do not have; what is known later is left out, and then so is what follows.
"""
