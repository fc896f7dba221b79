# Everything but race needs Go alone: no C compiler, no tool installed by hand. Tools are built from tools.mod on first use. All
# targets but race build with the same flags, so that they share the build cache: the Kubernetes packages are compiled once.
export CGO_ENABLED = 0

GO      ?= go
VERSION ?= $(shell hack/version)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOL    := $(GO) tool -modfile=tools.mod

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/sluice
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/sluice ./cmd/sluice

.PHONY: playground
playground: ## play the story on a real control plane; ARGS=--keep leaves it up for kubectl
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	@bin/playground $(ARGS)

.PHONY: story
story: ## play a render farm's morning on a real control plane: no Job is killed, idle machines go; ARGS=--speed=100
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	@bin/playground farm $(ARGS)

.PHONY: load
load: ## measure what sluice takes with 1,000 nodes and 30,000 pods on a real control plane; ARGS='--nodes=100 --burst=500'
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/sluice ./cmd/sluice
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	@bin/playground load $(ARGS)

.PHONY: soak
soak: ## play a simulated week of 5,000 nodes and 150,000 pods with faults; ARGS='-soak-nodes=500 -soak-days=2' plays less
	$(GO) test ./internal/world -run TestASoakLeavesNothingBehind -count=1 -v -timeout 48h -args -soak-nodes=5000 -soak-days=7 $(ARGS)

.PHONY: test
test: ## run every test, those on the real control plane included
	@if [ "$$($(GO) list -f '{{.Stale}}' k8s.io/kubernetes/cmd/kube-apiserver/app)" = true ]; then \
		echo 'compiling sluice, its tests and, this first time, a Kubernetes API server: some minutes before the first result' >&2; fi
	@$(NOK3S)
	$(GO) test ./...

# Nothing in the tree brings a K3s: whoever has one names it.
NOK3S := test -n "$$SLUICE_K3S" || echo 'NOT TRIED ON K3S: SLUICE_K3S names no binary, and the stand-in is met in its place (make k3s-conformance)' >&2

.PHONY: k3s-conformance
k3s-conformance: ## try joining, names used again, removal and parking on a K3s on machines that boot: SLUICE_K3S=path of its binary; needs root
	@$(NOK3S); test -n "$$SLUICE_K3S"
	$(GO) test -tags boot -count=1 -v -timeout 60m -run TestOnARealK3s ./internal/k3sim/trial

# What runs beside something else. The real API server that some of it meets runs in a process of its own, without the race detector.
RACE := ./internal/kube ./internal/kubesim ./internal/web ./internal/actuate ./internal/agent ./internal/report ./internal/app ./internal/azure \
	./internal/imds ./internal/expander ./internal/timeline ./internal/join

.PHONY: race
race: ## run the tests of all that runs beside something else under the race detector, the real watches included; needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 20m $(RACE)

.PHONY: az-conformance
az-conformance: ## drive Microsoft's az against the simulated Azure; installs azure-cli where it can
	@GO='$(GO)' hack/az-conformance

.PHONY: cluster-check
cluster-check: ## hold scripts and cloud-init of rendered clusters to shellcheck and cloud-init; installs them where it can
	@GO='$(GO)' hack/cluster-check

.PHONY: manifests-check
manifests-check: ## hold the checksums of the manifests that servers download to the same releases in Go's module proxy; needs the network
	$(GO) test -tags modules -count=1 -v -run ManifestsAreThoseOfTheirModules ./internal/render

.PHONY: ccm-conformance
ccm-conformance: ## drive cloud-provider-azure's own provider against the simulated Azure; compiles for minutes the first time
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/azuresim ./cmd/azuresim
	@cd hack/ccm && $(GO) build -o ../../bin/ccm . && ../../bin/ccm ../../bin/azuresim

.PHONY: up
up: ## play sluice cluster up to down on machines that really boot; needs root and a Debian's debootstrap, or ALLOW_SKIP=1 to pass without
	@GO='$(GO)' hack/boot/run $(ARGS)

.PHONY: boot-test
boot-test: ## boot machines that mean harm, and hold that they leave this host as it was; needs what boot needs
	$(GO) test -tags boot -count=1 -p 1 -timeout 20m -skip TestOnARealK3s ./internal/azuresim/host ./internal/k3sim/trial

.PHONY: bench
bench: ## measure what decisions cost, in one table and bin/bench.json; ARGS=--help tells more
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/bench ./cmd/bench
	@bin/bench $(ARGS)

.PHONY: proof
proof: ## play 20,000 random histories and say whether a promise was broken; ARGS='--histories 1000 --seed 7'
	@GO='$(GO)' hack/build bin/proof-run ./cmd/proof
	@bin/proof-run $(ARGS)

.PHONY: prove
prove: ## try every order of events in small worlds of machines, as deep as FOR=5m goes; ONLY=loss tries the worlds of that name
	$(GO) test ./fleet -run '^TestProve$$' -count=1 -v -timeout 24h -prove='$(or $(FOR),5m)' -proven='$(ONLY)'

.PHONY: mutations
mutations: ## take each refusal out of the guard in turn and say what catches it; HISTORIES=20 plays histories, too
	@hack/mutations

.PHONY: fuzz
fuzz: ## try bad input at every reader, each for FUZZTIME=10s; ONLY=FuzzTags tries one, KEEP=20 keeps the inputs that went new ways
	@GO='$(GO)' FUZZTIME='$(FUZZTIME)' ONLY='$(ONLY)' KEEP='$(KEEP)' hack/fuzz

.PHONY: microbench
microbench: ## run the benchmarks of the packages and no test
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: house
house: ## print the shape of the packages that decide: lines, arrows between files, methods and fields
	$(GO) test -count=1 -run TestShapeOfTheDecision -v ./internal/house

.PHONY: economics
economics: ## print what plans and replayed days cost; ARGS='-data DIR' names the traces, ARGS='-only story' needs none
	@GO='$(GO)' hack/build bin/economics ./cmd/economics
	@bin/economics $(ARGS)

.PHONY: lint
lint: ## run the linters
	$(TOOL) golangci-lint run ./...

.PHONY: fmt
fmt: ## format the Go files
	$(TOOL) golangci-lint fmt ./...

.PHONY: vuln vulncheck
vulncheck: vuln
vuln: ## look for known vulnerabilities in what is linked; asks vuln.go.dev, or DB=URL
	@GO='$(GO)' DB='$(DB)' hack/vulncheck

.PHONY: sbom
sbom: build ## say what bin/sluice is made of: bin/sluice.cdx.json, in CycloneDX
	$(GO) run ./cmd/sbom bin/sluice > bin/sluice.cdx.json

.PHONY: image
image: ## build an OCI layout for amd64 and arm64 in bin/dist/image, without a container engine
	@GO='$(GO)' VERSION='$(VERSION)' hack/image bin/dist

.PHONY: image-check
image-check: ## build the image of what is committed in two folders: the same digest, and less than 30 MB for each platform
	@GO='$(GO)' hack/image-check

.PHONY: image-run
image-run: image ## run the image in containerd under the restricted profile, in a story on a real control plane; needs root and Debian
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	@VERSION='$(VERSION)' hack/image-run

.PHONY: release
release: image ## make archives, checksums, image, chart, bills of materials and provenance of a tagged commit in bin/dist/assets
	@GO='$(GO)' VERSION='$(VERSION)' hack/release/make bin/dist

.PHONY: chart-test
chart-test: ## lint, render, install, upgrade and uninstall the chart on a real control plane; the manifests and examples are held there, too
	@GO='$(GO)' LDFLAGS='-X k8s.io/component-base/version.gitVersion=$(shell $(GO) list -m -f '{{.Version}}' k8s.io/kubernetes)' hack/build bin/controlplane ./internal/controlplane/process
	cd hack/chart && SLUICE_CONTROLPLANE='$(CURDIR)/bin/controlplane' $(GO) test -count=1 ./...

.PHONY: skew
skew: ## play story, manifests, door and chart on the oldest Kubernetes and on the next one, and print the table of docs/reference/support.md; ONLY=1.31 PART=door
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	@GO='$(GO)' hack/build bin/controlplane ./internal/controlplane/process
	@GO='$(GO)' ONLY='$(ONLY)' PART='$(PART)' hack/skew/run

.PHONY: monitoring-test
monitoring-test: ## play the alerts and hold rules and dashboards to the series that sluice has; ARGS=-update writes the dashboards
	cd hack/monitoring && $(GO) test -count=1 ./... $(ARGS)

.PHONY: monitoring-story
monitoring-story: ## play the story and hold each panel to show something of it, for four minutes
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	cd hack/monitoring && $(GO) test -tags story -count=1 -v -run TestPanelsShowTheStory . -playground='$(CURDIR)/bin/playground'

.PHONY: test-browser
test-browser: ## try the page in a real Chromium, which is installed where it can be: live, back in time, keys, axe, hostile text, behind a proxy
	@chromium=$$(hack/chromium) && cd hack/browser && SLUICE_CHROMIUM="$$chromium" $(GO) test -count=1 -timeout 10m ./...

.PHONY: screenshots
screenshots: ## take the pictures of the page in docs/images
	@chromium=$$(hack/chromium) && cd hack/browser && SLUICE_CHROMIUM="$$chromium" $(GO) test -count=1 -tags screenshots -run TestScreenshots . -screenshots '$(CURDIR)/docs/images'

.PHONY: demo
demo: ## record the playground's story as moving pictures in docs/images: its page, and sluice top in a terminal; about four minutes
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/sluice ./cmd/sluice
	@GO='$(GO)' LDFLAGS='$(LDFLAGS)' hack/build bin/playground ./cmd/playground
	@chromium=$$(hack/chromium) && cd hack/browser && SLUICE_CHROMIUM="$$chromium" $(GO) test -count=1 -timeout 10m -tags demo -run TestDemo -v . -demo '$(CURDIR)/docs/images' -programs '$(CURDIR)/bin'

.PHONY: catalog
catalog: ## renew the tables of sizes and prices; DATE=2026-11-21 SKUS='skus*.json' PRICES='prices*.json', as docs/reference/catalog.md says
	$(GO) run ./internal/azure/catalog/generate -date '$(DATE)' -skus '$(SKUS)' -prices '$(PRICES)'

.PHONY: clean
clean: ## remove what was built
	rm -rf bin
