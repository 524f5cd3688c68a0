# The two commands of the README are `make site` and `make test`; the others are their parts.
SHELL := /bin/bash
PATH := $(CURDIR)/.venv/bin:$(PATH)
# One run's own settings, for example: make site ARGS='-e alluxio_check_disruptive=false'
ARGS ?=
LAYERS := unit nodes+lint+chart local

.PHONY: help setup setup-dev setup-kubernetes site teardown test lint docs lock bench bench-plan bench-nodes test-lies test-upkeep drills test-cluster lab lab-down $(addprefix test-,$(subst +, ,$(LAYERS)))

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: ## .venv with what the job needs
	@scripts/setup runtime

setup-dev: ## .venv with what the tests need, too
	@scripts/setup dev

setup-kubernetes: ## .venv-kubernetes with Helm, for platform kubernetes
	@scripts/setup-kubernetes runtime

site: setup ## the main job, on inventories/local
	@ansible-playbook site.yml $(ARGS)

teardown: setup ## undoes `make site`
	@ansible-playbook playbooks/teardown.yml $(ARGS)

test: setup-dev ## every layer, with the time of each
	@scripts/layers $(LAYERS)

lint: test-lint ## all linters

test-lint: setup-dev
	@scripts/lint

test-unit: setup-dev ## planner, statistics, filters, modules: seconds
	@pytest -q tests/unit

test-chart: setup-dev ## renders, schemas, refusals
	@pytest -q tests/chart

test-nodes: setup-dev ## every node role on Debian 11 to 13 with systemd, whole nodes, and a Debian 13 controller
	@pytest -q tests/nodes

test-local: setup-dev ## the main job on this machine, real Alluxio containers
	@pytest -q tests/local -m "not upkeep"

test-lies: setup-dev ## what a throughput figure can hide, planted in a real mount: a table of lies and verdicts
	@pytest -q -s tests/local/test_lies.py

test-upkeep: setup-dev ## on this machine: another key, another image, a backup restored under readers, and what writers may do
	@pytest -q -s tests/local -m upkeep

drills: setup-dev ## faults while others read, on this machine: what they saw, for how long, what was started again
	@pytest -q -s tests/local/test_drills.py

test-cluster: setup-dev ## the chart and the main job in a real Kubernetes: the lab; the chart also in that of KUBECONFIG
	@scripts/setup-kubernetes dev
	@.venv-kubernetes/bin/pytest -q tests/cluster

lab: setup-dev ## a Kubernetes of systemd nodes in podman, with an S3 store; writes .lab/kubeconfig and .lab/inventory
	@python tests/lab/cluster up

lab-down: setup-dev ## takes it away
	@python tests/lab/cluster down

bench: setup-dev ## side by side in one run: our deployment, Alluxio's own defaults, s3fs, rclone, JuiceFS, the disk
	@scripts/bench docs/bench.md

bench-plan: setup ## the planner's cost per node
	@python -m alluxio_fuse.plan.bench

bench-nodes: setup ## what an added node costs: 2 nodes and 10 are prepared
	@python scripts/bench-nodes

docs: setup-dev ## the generated reference
	@python -m alluxio_fuse.reference docs/variables.md
	@python -m alluxio_fuse.plan.examples >docs/plans.md

lock: setup-dev ## pins requirements/*.in again
	@for kind in runtime dev pip; do uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header requirements/$$kind.in -o requirements/$$kind.txt; done
