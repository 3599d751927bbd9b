# The front desk: `make help` lists everything.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# To the scripts through the environment, where quotes stay what they are.
export GO     ?= go
export PYTHON ?= python3
CACHE     := .cache
VENV      := $(CACHE)/venv
VALIDATORS := $(CACHE)/validators
LINT      := $(CACHE)/bin/golangci-lint
LINT_VERSION := v2.15.0
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)

.PHONY: help build run test unit race fuzz lint bench bench-quick bench-aws cost cost-counts validators sdktest coldstart coldstart-containers local-aws local-aws-down integration test-stacks soak sam-local deploy clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

build: bin/postino ## build bin/postino

bin/postino: $(shell find cmd shared -name '*.go' -not -name '*_test.go') go.mod
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $@ ./cmd/postino

LISTEN ?= 127.0.0.1:4575
run: build ## serve on LISTEN (127.0.0.1:4575) with a demonstration; Ctrl-C stops it
	@exec bin/postino serve --demo --data "$${POSTINO_DATA:-data}" --listen $(LISTEN)

test: ## lint, unit tests under the race detector, real SDKs, signatures, the deployed stack; CI runs it and test-stacks
	@MAKE='$(MAKE)' infra/test.sh "$$TEST_AWS_PORT" lint race sdktest validators
	@echo "postino: all tests passed"

# These packages' tests run the go command, whose inputs the test cache does not
# know: a result kept from before a change would count for what came after it.
FRESH := cmd|functions|infra|shared/archtest
KEPT_PACKAGES = $$($(GO) list ./... | grep -vE '^postino/($(FRESH))(/|$$)')
FRESH_PACKAGES = $$($(GO) list ./... | grep -E '^postino/($(FRESH))(/|$$)')

unit: ## unit tests, fast
	$(GO) test $(KEPT_PACKAGES)
	$(GO) test -count=1 $(FRESH_PACKAGES)

race: ## unit tests under the race detector, which needs a C compiler
ifeq ($(shell command -v gcc || command -v clang || command -v cc),)
	@echo "!! no C compiler is installed: the tests run WITHOUT the race detector." >&2
	@[[ "$$CI" != true ]]
	@$(MAKE) -s unit
else
	CGO_ENABLED=1 $(GO) test -race $(KEPT_PACKAGES)
	CGO_ENABLED=1 $(GO) test -race -count=1 $(FRESH_PACKAGES)
endif

lint: $(LINT) ## go vet, golangci-lint, and cfn-lint for the template
	$(GO) vet ./...
	$(GO) vet -tags integration ./infra/...
	$(GO) vet -tags samlocal ./infra/samlocal
	$(LINT) run --allow-parallel-runners ./...
	infra/local/sam.sh lint

$(LINT):
	@mkdir -p $(CACHE)/bin
	GOBIN="$(CURDIR)/$(CACHE)/bin" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

FUZZTIME ?= 20s
fuzz: ## every fuzz target for FUZZTIME (20s)
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' .); do \
	  for name in $$(grep -oE '^func Fuzz[A-Za-z0-9_]*' $$f | cut -c6-); do \
	    echo "== $$name in $$(dirname $$f)"; \
	    $(GO) test ./$$(dirname $$f) -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) || exit 1; \
	  done; done

sdktest: build ## boto3, the AWS CLI and Python's signature validators against a live server
	VENV='$(VENV)' infra/sdktest/run

validators: ## npm's signature validators; where there is no npm, sdktest's alone
ifeq ($(and $(shell command -v npm),$(shell command -v node)),)
	@echo "!! npm and node are not installed: npm's validators did NOT run." >&2
	@echo "!! The signatures are checked by Python's validators alone: make sdktest." >&2
	@[[ "$$CI" != true ]]
else
	@$(MAKE) -s $(VALIDATORS)/installed
	$(GO) test -count=1 -tags external -run Independent ./shared/signing
endif

$(VALIDATORS)/installed: shared/signing/testdata/validator/package-lock.json
	rm -rf $(VALIDATORS) && mkdir -p $(VALIDATORS)
	cp shared/signing/testdata/validator/package*.json $(VALIDATORS)/
	cd $(VALIDATORS) && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

bench: build ## measure the embedded server; rewrites docs/performance-figures.md (6 minutes, wants a quiet machine)
	@mkdir -p bin
	$(GO) build -o bin/bench ./infra/bench
	bin/bench --server bin/postino --markdown docs/performance-figures.md --figures infra/bench/embedded.json

bench-quick: build ## the same in half a minute: shows that it works, its figures mean little
	@mkdir -p bin
	$(GO) build -o bin/bench ./infra/bench
	bin/bench --quick --server bin/postino

export BENCH_AWS_PORT ?= 4572
bench-aws: ## load on the stack deployed to emulated AWS; rewrites docs/performance-aws.md (2 to 4 minutes, wants a quiet machine)
	@infra/local/benchaws.sh "$$BENCH_AWS_PORT" --markdown docs/performance-aws.md --figures infra/bench/aws.json

cost: ## rewrite docs/cost.md from the counts and prices of infra/cost
	$(GO) run ./infra/cost

export COST_PORT ?= 4573
cost-counts: ## count anew, on emulated AWS of its own; rewrites infra/cost/counts.json and docs/cost.md (1 minute)
	@infra/local/costcounts.sh "$$COST_PORT"
	@$(MAKE) -s cost

# STACK is ministack, or localemu, which needs Python 3.12; make deploy's is another.
export LOCAL_AWS_PORT ?= 4566
local-aws: ## emulated AWS (STACK=ministack or localemu) on loopback with the stack deployed by sam; prints what to export
	@EMULATOR="$$STACK" infra/local/sam.sh up "$$LOCAL_AWS_PORT"

local-aws-down: ## stop it with everything it started
	@infra/local/sam.sh down "$$LOCAL_AWS_PORT"

# Ports of its own, this one and the next: a stack that somebody works with stays as it is.
export TEST_AWS_PORT ?= 4567
integration: ## deploy to emulated AWS, test the stack from outside, stop it (4 minutes)
	@infra/local/integration.sh "$$TEST_AWS_PORT"

export STACKS_PORT ?= 4570
test-stacks: ## the suite on LocalEmu, the second emulator, and the functions in containers (6 minutes)
	@MAKE='$(MAKE)' infra/local/test-stacks.sh "$$STACKS_PORT"

soak: ## integration and test-stacks five times in a row, to the first failure (50 minutes)
	@for n in 1 2 3 4 5; do echo "== $$n of 5"; $(MAKE) -s integration test-stacks || exit 1; done

sam-local: ## the functions in containers under sam local, beside a stack on emulated AWS (3 minutes)
	@infra/samlocal/run "$$STACKS_PORT"

# Wants make local-aws first: the functions get the variables of that stack.
coldstart: ## measure how long the functions take to start; rewrites docs/cold-start.md
	@set -e; environment=$$(infra/local/sam.sh env "$$LOCAL_AWS_PORT"); eval "$$environment"; $(GO) run ./infra/coldstart

coldstart-containers: ## the same in containers under sam local (3 minutes, as root on Linux)
	@infra/samlocal/run "$$STACKS_PORT" -run ColdStart -colds=21 -figures='$(CURDIR)/infra/coldstart/containers.json'
	@$(GO) run ./infra/coldstart -page

# STACK, REGION and PARAMETERS come through the environment, where quotes stay what they are.
deploy: ## build and deploy into your AWS account: STACK=postino REGION=… PARAMETERS="Name=Value …"
	@MAKE='$(MAKE)' infra/deploy.sh

clean: ## stop what runs, and remove what was built and installed here
	@for run in $(CACHE)/ministack-run/* $(CACHE)/localemu-run/*; do \
	  [[ ! -d $$run ]] || "infra/local/$$(basename "$$(dirname "$$run")" -run).sh" stop "$$(basename "$$run")" || exit 1; done
	@[[ ! -d $(CACHE)/engine-run ]] || infra/local/engine.sh stop
	rm -rf bin .aws-sam $(CACHE)
