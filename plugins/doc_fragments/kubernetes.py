"""Which namespace of which Kubernetes cluster a module is about."""

from __future__ import annotations


class ModuleDocFragment:
    """Options of the modules of action group C(alluxio.fuse.kubernetes)."""

    DOCUMENTATION = r"""
options:
  kubeconfig:
    description: File on the controller. C(KUBECONFIG) and C(~/.kube/config) when not given.
    type: path
  context:
    description: Context in that file. The current one when not given.
    type: str
  namespace:
    description: Namespace of the deployment.
    type: str
    required: true
"""
