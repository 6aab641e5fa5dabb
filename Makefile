# The commands of this repository. `make` alone lists them.
#
# A machine needs a POSIX shell, make, git and any Node.js from 20 with npm; `npm ci` brings the
# rest, the pinned runtime included. Variables given to make reach what it runs.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.SILENT:
MAKEFLAGS += --no-print-directory

ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x64,$(shell uname -m)))
PINNED := node_modules/node-linux-$(ARCH)/bin/node
NODE = $(if $(wildcard $(PINNED)),$(PINNED),node)
RUN = $(NODE) --conditions=source

ROOT := .svc
PASSWORD := $(ROOT)/root-password
SERVER_FLAGS = start --set svc.server.rootPath=$(ROOT) \
	--set svc.server.rootPasswordPath=$(PASSWORD) --set svc.server.sampleDatabase=demo

# Those that are given: make would export the others as empty text, which is none of their defaults.
VARIABLES := BASE BUSY CLASS CYCLES DIR HOURS KEEP LANES ONLY PROFILE ROUNDS RUNS SAMPLES SECONDS SEED SIZE \
	SUITE SVC_SHARED SYSTEM TARGET WORLDS
export $(VARIABLES)
unexport $(foreach name,$(VARIABLES),$(if $($(name)),,$(name)))

INSTALLED := node_modules/.package-lock.json

.PHONY: help start dev test alone check docs crash cuts agent-matrix vanish full-disks root-orders small-memory simulate mutants fuzz conformance promtool keep bench clean resources attack cluster-orders timing \
	prepared rocksdb cluster porcupine images e2e release

help: ## list the commands
	echo 'make <command>:'
	sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		awk -F'|' '{printf "%-14s %s\n", $$1, $$2}'

start: prepared $(PASSWORD) ## start a server in the foreground, with a sample database; Ctrl-C stops it
	exec bin/svc $(SERVER_FLAGS)

cluster: prepared $(PASSWORD) ## start three servers that form a cluster, in the foreground; Ctrl-C stops them
	exec $(RUN) server/testing/cluster/foreground.ts $(ROOT)/cluster $(PASSWORD)

dev: $(INSTALLED) $(PASSWORD) ## start a server that restarts when a source changes
	exec $(RUN) --watch-path=server --watch-preserve-output \
		server/node/main.ts $(SERVER_FLAGS)

test: rocksdb ## run every test: types, lint, format, structure, unit to end-to-end; FILES='server/log/*' only those; BUSY=4 beside busy loops
	exec $(RUN) server/testing/run-tests.ts $(if $(FILES),files $(FILES),all)

alone: $(INSTALLED) ## run the quick tests in a clone with nothing beside it
	exec $(RUN) server/testing/alone.ts

check: $(INSTALLED) ## run the quick tests that a change may concern, the nearest first, and the gates: while editing; SECONDS=50
	exec $(RUN) server/testing/run-tests.ts check $(or $(SECONDS),50)

docs: $(INSTALLED) ## write the pages of docs/ that are made from tables of the code
	exec $(RUN) server/testing/documents/write-manual.ts

resources: $(INSTALLED) ## write the Kubernetes resource definitions that are made from operator/api
	exec $(RUN) operator/testing/write-resources.ts

cuts: prepared ## cut the network of a cluster in every shape, some minutes; make test takes two of them
	CUTS=all exec $(RUN) server/testing/run-tests.ts files server/testing/faults/one-way-cuts.slow.test.ts

agent-matrix: prepared ## hold every cell of what agents may do against a model, 783,360 calls; make test takes 6,000
	AGENT_MATRIX=all exec $(RUN) server/testing/run-tests.ts files server/protocols/mcp/permission-matrix.test.ts

vanish: $(INSTALLED) ## let clients vanish in every turn of every request, two minutes; make test takes a part
	VANISH=all exec $(RUN) --test server/testing/protocol/vanishing-clients.slow.test.ts server/testing/protocol/vanishing-http.slow.test.ts

full-disks: prepared ## fill the disks of a cluster's members for longer than a minute; make test does for seconds
	FULL_DISKS=long exec $(RUN) server/testing/run-tests.ts files server/testing/faults/full-disk-cluster.slow.test.ts

root-orders: prepared ## two servers and more on one root, in every order of start, kill and freeze; make test takes some
	ROOT_ORDERS=1 exec $(RUN) --test server/node/root-orders.slow.test.ts

small-memory: prepared ## let queries, loads, views and sessions fill a server in 512 MiB for ten minutes; make test does for seconds
	SMALL_MEMORY=600 exec $(RUN) --test server/node/small-memory.slow.test.ts

crash: prepared ## kill servers under load and look for lost writes: CYCLES=200 SEED=1, PROFILE=backup
	$(call run,server/testing/crash/crash.ts)

cluster-orders: $(INSTALLED) ## ten simulated servers in every order of start, name, list and signal: SEED=1 RUNS=200
	$(call run,server/simulation/formation/run.ts)

cluster-crash: prepared ## the same with the members of a cluster, and compare what they hold: CYCLES=100
	$(call run,server/testing/cluster/cluster-crash.ts)

simulate: $(INSTALLED) ## run the deterministic simulation: SEED=1, or HOURS=2; PROFILE=storage, raft, cluster or operator
	$(call run,$(if $(filter operator,$(PROFILE)),operator,server)/simulation/run.ts)

mutants: $(INSTALLED) ## put small bugs into the consensus core and see who notices: WORLDS=20
	$(call run,server/simulation/raft/mutants/run.ts)

porcupine: prepared ## have an outside checker judge histories of real clusters: RUNS=20 SECONDS=30
	$(call run,server/testing/cluster/histories.ts)

fuzz: prepared ## feed parsers and requests with nonsense: TARGET=sql SECONDS=60
	$(call run,server/testing/fuzz/fuzz.ts)

attack: prepared ## attack ports of members, then a server as a user without rights, all doors at once: PROFILE=exhaust SECONDS=30
	$(RUN) --test server/testing/attack/cluster-ports.e2e.test.ts server/testing/attack/sockets.e2e.test.ts
	$(call run,server/testing/attack/attack.ts)

timing: prepared ## see whether times of answers tell who exists, or how a token begins: SAMPLES=200000
	$(call run,server/testing/timing/timing.ts)

promtool: prepared ## judge metrics and rules by promtool, and have a real Prometheus scrape a server: SECONDS=60
	SECONDS=$${SECONDS:-60} exec $(RUN) server/testing/run-tests.ts files server/monitoring/rules.test.ts server/monitoring/metric-data.test.ts server/node/monitoring/prometheus.slow.test.ts

conformance: prepared ## replay recorded exchanges or an outside suite: SUITE=http DIR=... REPORT=file
	$(call run,server/testing/conformance/conformance.ts)

keep: prepared ## keep a database as this release writes it, for the tests of later ones
	$(call run,server/testing/upgrade/databases.ts)

rocksdb: $(INSTALLED) ## compile RocksDB as a release, some minutes once: long reads take half the time
	$(NODE) bin/build-rocksdb.mjs
	$(NODE) bin/prepare.mjs --quiet >&2

bench: rocksdb prepared ## measure a class of work beside its peer: CLASS=W2 ROUNDS=7
	$(call run,bench/run.ts)

clean: ## remove what was built and cached; databases and installed packages stay
	rm -rf dist build .cache

images: rocksdb prepared ## build the container images, without an engine: dist/images/*.tar
	$(call run,images/main.ts)

e2e: images ## run the scenarios on a real Kubernetes of three nodes: ONLY=S01 KEEP=1
	$(call run,e2e/main.ts)

release:
	echo "make $@: not there yet in this version" >&2
	exit 2

# Runs an entry point; one that is not written yet says so.
define run
	if [ ! -f $(1) ]; then echo "make $@: not there yet in this version" >&2; exit 2; fi
	exec $(RUN) $(1)
endef

# The start bundle and the native store, where their sources have changed.
prepared: $(INSTALLED)
	$(NODE) bin/prepare.mjs --quiet >&2

# npm empties what a link points to, which may be the installation of another checkout.
$(INSTALLED): package-lock.json
	if ! command -v npm >/dev/null 2>&1; then \
		echo 'make: npm is not on the PATH: install Node.js from version 20 with npm' >&2; exit 1; fi
	if [ -L node_modules ]; then \
		cmp -s package-lock.json node_modules/../package-lock.json && \
			[ -e $(INSTALLED) ] && exit 0; \
		echo 'make: node_modules is a link and its packages are others: install there' >&2; \
		exit 1; fi; \
	echo 'installing packages (npm ci)' >&2; \
	npm ci --no-audit --no-fund --loglevel=error >&2 && touch $@

# A random password of root for the server of `make start`; readable by its owner alone.
$(PASSWORD):
	umask 077 && mkdir -p $(ROOT) && \
		od -An -tx1 -N12 /dev/urandom | tr -d ' \n' > $@.new && mv $@.new $@
