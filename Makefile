# One command for each thing a reader of the papers wants to do; `make` alone lists them.
#
# Every notebook is a rule: its executed copy under build/ is the target, so a notebook that fails leaves no target and
# is run again next time. `robustlib report` moves the copy into place only when the last cell has run.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := help

PROFILE ?= pocket
FIGURES ?= paper_figures
ifeq ($(CONDA_DEFAULT_ENV),robustlib)
PYTHON := $(CONDA_PREFIX)/bin/python
ENVIRONMENT :=
else
PYTHON := .venv/bin/python
ENVIRONMENT := .venv/installed
endif

RUN := $(PYTHON) -m robustlib report
PROFILES := robustlib/sweep/profiles

# PROFILE names a folder of profiles, one a document, such as pocket; or one of them, such as full/vqa-bench.
level := $(firstword $(subst /, ,$(PROFILE)))
profiles := $(wildcard $(PROFILES)/$(PROFILE)/*.toml $(PROFILES)/$(PROFILE).toml)
ifeq ($(profiles)$(filter published,$(PROFILE)),)
$(error PROFILE=$(PROFILE) is no profile: choose published, $(notdir $(wildcard $(PROFILES)/*)), or one document of \
	these, such as pocket/vqa-bench)
endif

# What a notebook's result depends on besides itself: the rooms it calls. A changed room makes its notebooks run again.
data := $(shell find robustlib/data robustlib/*.py -name '*.py' -o -name '*.csv')
answers := $(data) $(shell find robustlib/perturbations robustlib/corruptions robustlib/models robustlib/scoring robustlib/sweep \
	-name '*.py' -o -name '*.csv' -o -name '*.toml' -o -name '*.safetensors')
numbers := $(data) $(shell find robustlib/metrics robustlib/report -name '*.py')

.PHONY: help reproduce verify test lint lab bench models lock clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

reproduce: $(FIGURES)/index.html ## rebuild every table and figure (PROFILE=pocket)

# The whole of paper_figures is what the default profile makes; of another, its own folders are compared.
verify: ## compute them again from the predictions in build/, and compare with the committed ones cell by cell
	rm -rf build/verify build/committed
	mkdir -p build/committed
	git archive HEAD $(if $(filter pocket,$(PROFILE)),paper_figures,$(patsubst $(FIGURES)/%/provenance.json,paper_figures/%,$(filter $(FIGURES)/%,$(reported)))) | tar -x -C build/committed
	$(MAKE) reproduce FIGURES=build/verify
	$(PYTHON) -m robustlib verify build/verify build/committed/paper_figures

test: $(ENVIRONMENT) ## run the test suite
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m pytest -n 2 --dist worksteal

lint: $(ENVIRONMENT) ## ruff and mypy
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

lab: $(ENVIRONMENT) ## open the notebooks in JupyterLab
	$(PYTHON) -m jupyterlab --notebook-dir .

bench: $(ENVIRONMENT) ## measure speed side by side with peers
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m tests.bench.corruptions
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m tests.bench.families
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m tests.bench.sweep
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m tests.bench.predictions
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON) -m tests.bench.costs

models: $(ENVIRONMENT) ## train the pocket models again from scratch
	$(RUN) notebooks/train_pocket_models.ipynb build/train_pocket_models.ipynb

lock: $(ENVIRONMENT) ## write the installed versions to requirements.lock
	$(PYTHON) -m pip freeze --exclude robustlib --exclude pip --exclude setuptools | sed 's/+cpu$$//' > requirements.lock

clean: ## remove what can be rebuilt; predictions stay
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find build -mindepth 1 -maxdepth 1 ! -name predictions -exec rm -rf {} + 2>/dev/null || true

.venv/installed: requirements.lock pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robustlib needs Python 3.11 or newer, python3 is " + sys.version.split()[0])'
	rm -rf .venv
	python3 -m venv .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# Each group of targets is one notebook: its executed copy, and the record it leaves beside its tables or figures.

corruptions := $(data) $(shell find robustlib/corruptions robustlib/report -name '*.py' -o -name '*.csv')

build/corruption_gallery.ipynb $(FIGURES)/gallery/provenance.json &: notebooks/corruption_gallery.ipynb $(corruptions) | $(ENVIRONMENT)
	$(RUN) $< build/corruption_gallery.ipynb -p out_dir=../$(FIGURES)/gallery

build/published/published_audit.ipynb $(FIGURES)/vqa_bench/published_audit/provenance.json &: notebooks/published_audit.ipynb $(numbers) | $(ENVIRONMENT)
	$(RUN) $< build/published/published_audit.ipynb -p out_dir=../$(FIGURES)/vqa_bench/published_audit

reported := build/corruption_gallery.ipynb $(FIGURES)/gallery/provenance.json \
	build/published/published_audit.ipynb $(FIGURES)/vqa_bench/published_audit/provenance.json

# What the authors of a document published, rendered by the notebooks that render what is measured here.
# $(1): the notebooks' NAME, such as vqa_bench.
define published
build/published/$(1)_%.ipynb $(FIGURES)/$(1)/published/%/provenance.json &: notebooks/$(1)_%.ipynb $$(numbers) | $$(ENVIRONMENT)
	$$(RUN) $$< build/published/$(1)_$$*.ipynb -p source=published -p out_dir=../$(FIGURES)/$(1)/published/$$*

reported += $$(foreach kind,tables figures,build/published/$(1)_$$(kind).ipynb $(FIGURES)/$(1)/published/$$(kind)/provenance.json)
endef

$(foreach name,vqa_bench laya,$(eval $(call published,$(name))))

# A document is one notebook that sweeps, NAME_sweep, and others that render what it left: NAME_tables, NAME_figures.
# $(1): the profile, such as pocket/vqa-bench; $(2): the notebooks' NAME, such as vqa_bench.
define document
build/$(1)/$(2)_sweep.ipynb build/predictions/$(1)/manifest.json &: notebooks/$(2)_sweep.ipynb $$(answers) | $$(ENVIRONMENT)
	$$(RUN) $$< build/$(1)/$(2)_sweep.ipynb -p profile=$(1) -p out=../build/predictions/$(1)
	touch build/predictions/$(1)/manifest.json

build/$(1)/$(2)_%.ipynb $(FIGURES)/$(2)/$$(level)/%/provenance.json &: notebooks/$(2)_%.ipynb build/predictions/$(1)/manifest.json $$(numbers) | $$(ENVIRONMENT)
	$$(RUN) $$< build/$(1)/$(2)_$$*.ipynb -p source=../build/predictions/$(1) -p out_dir=../$(FIGURES)/$(2)/$$(level)/$$*

reported += build/$(1)/$(2)_sweep.ipynb $$(foreach kind,$$(filter-out sweep,$$(patsubst notebooks/$(2)_%.ipynb,%,$$(wildcard notebooks/$(2)_*.ipynb))), \
	build/$(1)/$(2)_$$(kind).ipynb $(FIGURES)/$(2)/$$(level)/$$(kind)/provenance.json)
endef

name = $(subst -,_,$(basename $(notdir $(1))))
$(foreach profile,$(filter-out %/models.toml,$(profiles)),$(eval $(call document,$(patsubst $(PROFILES)/%.toml,%,$(profile)),$(call name,$(profile)))))

# The models of a level, undisturbed.
build/predictions/$(level)/models/manifest.json: $(PROFILES)/$(level)/models.toml $(answers) | $(ENVIRONMENT)
	$(PYTHON) -m robustlib sweep $(level)/models --out $(@D)
	touch $@

build/$(level)/models.ipynb $(FIGURES)/models/$(level)/provenance.json &: notebooks/models.ipynb build/predictions/$(level)/models/manifest.json $(numbers) | $(ENVIRONMENT)
	$(RUN) $< build/$(level)/models.ipynb -p source=../build/predictions/$(level)/models -p out_dir=../$(FIGURES)/models/$(level)

ifneq ($(filter %/models.toml,$(profiles)),)
reported += build/$(level)/models.ipynb $(FIGURES)/models/$(level)/provenance.json
endif

# The two pages that show it all, and in build/ the second of them with the seconds and the machine.
$(FIGURES)/README.md $(FIGURES)/index.html &: $(reported) $(numbers) $(wildcard robustlib/report/templates/*)
	$(PYTHON) -m robustlib index $(FIGURES) --build build
