# The two commands of the README are `make site` and `make test`; the others are their parts.
SHELL := /bin/bash
PATH := $(CURDIR)/.venv/bin:$(PATH)
# One run's own settings, for example: make site ARGS='-e alluxio_check_disruptive=false'
ARGS ?=
# Groups joined by + run side by side.
GROUPS_CI := unit node+lint+chart local
GROUPS_ALL := unit nodes+lint+chart local check lies drills upkeep warm sources image fluid tune train install cluster cluster-data

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
  --no-header

.PHONY: help setup setup-dev setup-kubernetes site teardown test test-all lint docs lock lab lab-down \
  bench bench-warm bench-plan bench-nodes bench-manifest drills $(addprefix test-,$(subst +, ,$(GROUPS_CI) $(GROUPS_ALL)))

help: ## what can be made, with the usual time on two cores
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

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

test: setup-dev ## 16 min, 23 the first time: every claim of the README's first screen: the groups unit, lint, chart, node and local
	@scripts/groups $(GROUPS_CI)

test-all: setup-dev ## 3 h: every group
	@scripts/groups $(GROUPS_ALL)

lint: test-lint ## 1 min: all linters

test-lint: setup-dev
	@scripts/lint

test-unit: setup-dev ## 2 min: planner, statistics, verdict, modules
	@pytest -q tests/unit

test-chart: setup-dev ## 2 min, 9 the first time: the chart's renders, schemas and refusals, against a real Kubernetes API server
	@pytest -q tests/chart

test-node: setup-dev ## 3 min: three kinds of systemd nodes under one plan: apply, verify, apply again, remove, compare
	@pytest -q 'tests/nodes/test_scenarios.py::test_scenario[nodes]'

test-nodes: setup-dev ## 70 min: that, every node role on Debian 11 to 13, FUSE and staging on the host, also under Linux 6.1
	@pytest -q tests/nodes

test-local: setup-dev ## 10 min: the main job on this machine: twice, bad input, some lies, a killed FUSE, teardown
	@pytest -q tests/local

test-check: setup-dev ## 12 min: the sample and its report: studies, the page, and checks that disturb no other reader
	@pytest -q tests/check

test-lies: setup-dev ## 8 min: what a throughput figure can hide, planted in a real mount: a table of lies and verdicts
	@pytest -q -s tests/lies

drills: setup-dev ## faults while others read, also what is staged: what readers saw, for how long; status, drift
	@pytest -q -s tests/drills/test_faults.py tests/drills/test_faults_staged.py tests/drills/test_operations.py

test-upkeep: setup-dev ## 42 min: keys, images, backups, datasets and versions that change under readers; writers; interrupted runs
	@pytest -q -s tests/drills/test_upkeep.py tests/upkeep

test-warm: setup-dev ## 10 min: warm-up tasks of a deployment: lists, limits, kills, proofs, what is given up
	@pytest -q tests/warm

test-sources: setup-dev ## 40 min: the main job on oss://, hdfs:// and nfs:// (in a guest with a kernel of its own), and with keys that are found
	@pytest -q tests/sources

test-image: setup-dev ## 4 min: the image's services, caches and properties, and the JVM flags that are planned
	@pytest -q tests/image

test-fluid: setup-dev ## 6 min: platform fluid without Fluid: objects, refusals, its role; with a Fluid in $$FLUID_KUBECONFIG the main job there
	@pytest -q tests/fluid tests/image/test_fluid_contract.py

test-tune: setup-dev ## 5 min: settings of a mount tried for real, and kept or not
	@pytest -q tests/tune

test-train: setup-dev ## 30 min, 36 the first time: real trainings on a mount: proof, lies, refusals, interruptions, faults, loaders
	@pytest -q tests/train

test-install: setup-dev ## 5 min: the collection, built and installed into an empty home, runs the main job there
	@pytest -q tests/install

test-cluster: setup-dev ## 90 min: the chart and the main job in a real Kubernetes: the lab, or that of KUBECONFIG
	@scripts/setup-kubernetes dev
	@.venv-kubernetes/bin/pytest -q tests/cluster --ignore=tests/cluster/data

test-cluster-data: setup-dev ## there, what becomes of the data: staged reads, windows, warm-up tasks, trainings, drills
	@scripts/setup-kubernetes dev
	@.venv-kubernetes/bin/pytest -q tests/cluster/data

lab: setup-dev ## a Kubernetes of systemd nodes in podman, with an S3 store; writes .lab/kubeconfig and .lab/inventory
	@python tests/lab/cluster up

lab-down: setup-dev ## takes it away
	@python tests/lab/cluster down

bench: setup-dev ## side by side in one run: our deployment, staged sets, Alluxio's own defaults, s3fs, rclone, JuiceFS, the disk
	@scripts/bench bench docs/bench.md

bench-warm: setup-dev ## 12 min: how long the same objects take to be on a node, by each way, and what readers notice
	@scripts/bench warm docs/bench-warm.md

bench-plan: setup ## the planner's cost per node
	@python tools/bench_plan.py

bench-nodes: setup ## what an added node costs: 2 nodes and 10 are prepared
	@python scripts/bench-nodes

bench-manifest: setup-dev ## listing and manifest of a bucket with 100,000 objects
	@PYTHONPATH=tests/lab:collections python tools/bench_manifest.py

docs: setup-dev ## the generated reference
	@python tools/reference.py docs/variables.md
	@python tools/stores.py docs/stores.md
	@python tools/fleets.py >docs/plans.md

lock: setup-dev ## pins the dependencies of pyproject.toml again
	@$(LOCK) pyproject.toml -o requirements/runtime.txt
	@$(LOCK) pyproject.toml --extra dev -o requirements/dev.txt
	@$(LOCK) requirements/pip.in -o requirements/pip.txt
	@$(LOCK) --no-deps requirements/fluid.in -o requirements/fluid.txt
