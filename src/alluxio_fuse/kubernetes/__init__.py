"""What platform `kubernetes` needs on the controller: facts of a cluster, objects from the plan, addresses of pods."""
