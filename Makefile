# The two commands of the README are `make site` and `make test`; the others are their parts.
SHELL := /bin/bash
PATH := $(CURDIR)/.venv/bin:$(PATH)
# One run's own settings, for example: make site ARGS='-e alluxio_check_disruptive=false'
ARGS ?=
HOST_ROLES := jdk or libfuse or limits
LAYERS := lint unit local chart nodes

.PHONY: help setup setup-dev site teardown test lint docs lock bench-defaults bench-plan test-roles $(LAYERS:%=test-%)

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup: ## .venv with what the job needs
	@scripts/setup runtime

setup-dev: ## .venv with what the tests need, too
	@scripts/setup dev

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

test-nodes: setup-dev ## node preparation on real systemd nodes, and a Debian 13 controller
	@pytest -q tests/nodes -k "not ($(HOST_ROLES))"

test-roles: setup-dev ## roles that the host platform will use, on Debian 11 to 13; apart, because it takes long
	@pytest -q tests/nodes -k "$(HOST_ROLES)"

test-local: setup-dev ## the main job on this machine, real Alluxio containers
	@pytest -q tests/local

bench-defaults: setup ## our deployment against Alluxio's own defaults, in one run
	@scripts/bench-defaults

bench-plan: setup ## the planner's cost per node
	@python -m alluxio_fuse.plan.bench

docs: setup-dev ## the generated reference
	@python -m alluxio_fuse.reference docs/variables.md
	@python -m alluxio_fuse.plan.examples >docs/plans.md

lock: setup-dev ## pins requirements/*.in again
	@for kind in runtime dev; do uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-annotate --no-header requirements/$$kind.in -o requirements/$$kind.txt; done
