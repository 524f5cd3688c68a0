#!/usr/bin/python
"""Documentation of the action plugin of the same name."""

DOCUMENTATION = r"""
module: train_pods
short_description: Trains on Kubernetes, on several nodes together
description:
  - For each run an Indexed Job with a pod on each node, which torchrun joins through a headless Service. The first Job
    starts the program and reads nothing; nothing is trained where that fails, or anything else speaks against it.
  - Each pod tells what it read and from where. What all have read together is compared with the manifest.
  - Jobs, Service and ConfigMap are removed whatever happens, and those of an interrupted run first of all.
  - An action plugin does all of it on the controller.
author: [alluxio-fuse]
attributes:
  check_mode:
    support: partial
    description: Makes nothing and returns no results.
options:
  plan: {description: The plan., type: dict, required: true}
  nodes: {description: 'Names of the nodes that train together.', type: list, elements: str, required: true}
  dataset: {description: 'The dataset, as filter P(alluxio.fuse.targets#filter) gives it.', type: dict, required: true}
  part:
    description: Which of several trainings this is, counted from 0, and of how many; each has images of its own.
    type: list
    elements: int
    default: [0, 1]
  metrics: {description: 'By node, where counters are read.', type: dict, required: true}
  users: {description: 'By node, who uses it.', type: dict, required: true}
  settings: {description: What C(alluxio_train) says., type: dict, required: true}
  programs: {description: 'Files of harness and program on the controller.', type: list, elements: path, required: true}
  manifest: {description: Text of the dataset's manifest., type: str, required: true}
  timeout_s: {description: Seconds to wait for pods without progress., type: int, default: 300}
extends_documentation_fragment:
  - alluxio.fuse.kubernetes
"""

EXAMPLES = r"""
- name: Train on two nodes together
  alluxio.fuse.train_pods:
    namespace: alluxio-fuse
    plan: "{{ plan_document }}"
    nodes: [node-1, node-2]
    dataset: "{{ targets | first }}"
    metrics: {}
    users: {}
    settings: {image: "registry.example.com/torch:2", gpus: 8}
    programs: [harness.py, train_pytorch.py]
    manifest: "{{ lookup('file', 'imagenet.jsonl') }}"
"""

RETURN = r"""
measured:
  description: What the nodes have trained, as filter P(alluxio.fuse.train_result#filter) takes it.
  type: dict
  returned: always
"""
