# The main commands are `make demo` and `make test`. Each creates the environment that it needs once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LICENCES := Apache;BSD;MIT;PSF;Python Software Foundation
OLDEST := numpy==2.0.2 scipy==1.13.1 scikit-learn==1.6.1 numba==0.60.0 pandas==2.2.3

.PHONY: help demo test lint types tests nightly uncompiled warm oldest oracle audit soak docs reproduce-quick benchmarks clean

help:
	@echo "make demo             train a forest, prune it with every method and write the report"
	@echo "make test             linters, type checker and all tests"
	@echo "make nightly          all tests, with many more random examples"
	@echo "make docs             build and test the documentation (docs/_build/html)"
	@echo "make oldest           tests with the oldest versions of the dependencies"
	@echo "make oracle           compare ensemble selection with AutoGluon's"
	@echo "make audit            advisories and licences of the dependencies (needs pypi.org, not a mirror)"
	@echo "make soak             inject faults for ten minutes (SOAK_MINUTES=60 for an hour)"
	@echo "make reproduce-quick  the paper's tables and figures at small scale, into reproduction-quick/"
	@echo "make benchmarks       measure speed and memory and print docs/benchmarks.md (takes minutes)"
	@echo "make clean            remove the environment and all caches"

$(VENV)/.usable:
	@$(PYTHON) -c 'import sys; v = sys.version_info; ok = v >= (3, 11); \
	    ok or print(f"secateurs needs Python 3.11 or newer; {sys.executable} is {v.major}.{v.minor}. Try: make PYTHON=python3.12"); \
	    sys.exit(not ok)'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The package is installed again only when the project's settings change.
$(VENV)/.installed: $(VENV)/.usable pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.tested: $(VENV)/.usable pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --editable '.[test]' --constraint constraints.txt
	@touch $(VENV)/.installed $(VENV)/.drawing $@

$(VENV)/.drawing: $(VENV)/.usable pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[plot]'
	@touch $(VENV)/.installed $@

$(VENV)/.documented: $(VENV)/.tested docs/constraints.txt
	$(BIN)/python -m pip install --quiet --editable '.[docs]' --constraint constraints.txt --constraint docs/constraints.txt
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/secateurs demo

# Checks on one core each, and kernels that two test processes would both compile, come first.
test: lint
	@$(MAKE) --no-print-directory --jobs=2 types uncompiled warm
	@$(MAKE) --no-print-directory tests

lint: $(VENV)/.tested
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.tested
	$(BIN)/mypy

tests: $(VENV)/.tested
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal --ignore=tests/docs

# The property tests with twenty times as many random examples; takes about an hour.
nightly: $(VENV)/.tested
	$(BIN)/python -m pytest --numprocesses=2 --dist=worksteal --ignore=tests/docs --hypothesis-profile=nightly

# The kernels as plain Python, without compilation.
uncompiled: $(VENV)/.tested
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --quiet tests/outputs/test_kernels.py

# All kernels, compiled into the cache of this checkout.
warm: $(VENV)/.tested
	$(BIN)/secateurs warm

# Warnings are errors. The tests check every link and open pages in a browser.
docs: $(VENV)/.documented
	$(BIN)/python -m sphinx --jobs 2 --fail-on-warning --keep-going --quiet --doctree-dir docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m pytest --quiet tests/docs

# The oldest versions that pyproject.toml allows, in a separate environment. Runs the tests of the packages that depend on them
# most, with few random examples each. Two versions of numba must not share compiled kernels.
OLDEST_TESTS := $(addprefix tests/,ensembles persistence test_pruned_estimators.py)
$(VENV)-oldest/.tested: pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet --editable '.[test]' $(OLDEST)
	@touch $@

oldest: $(VENV)-oldest/.tested
	NUMBA_CACHE_DIR=$(abspath $(VENV)-oldest)/numba $(VENV)-oldest/bin/python -m pytest --quiet --numprocesses=2 --dist=worksteal \
	    --hypothesis-profile=few $(OLDEST_TESTS)

# AutoGluon's ensemble selection, without what else AutoGluon depends on.
$(VENV)-autogluon/.installed: $(VENV)/.tested
	$(BIN)/python -m pip install --quiet --no-deps --target $(VENV)-autogluon autogluon.core==1.6.3 autogluon.common==1.6.3
	@touch $@

oracle: $(VENV)-autogluon/.installed
	SECATEURS_AUTOGLUON=$(VENV)-autogluon $(BIN)/python -m pytest --quiet tests/pruners/test_autogluon.py

# Only the versions in constraints.txt are checked, because users do not install the test dependencies. The metadata of
# skops lack its licence, which is MIT.
$(VENV)-audit/.installed:
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet 'pip-audit>=2.9' 'pip-licenses>=5.5'
	@touch $@

audit: $(VENV)/.tested $(VENV)-audit/.installed
	$(VENV)-audit/bin/pip-licenses --python=$(BIN)/python --from=mixed --partial-match --allow-only='$(LICENCES)' \
	    --ignore-packages skops --packages $$(grep -o '^[^=#]*' constraints.txt)
	$(VENV)-audit/bin/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt

# Fault injection; see docs/reliability.md.
SOAK_MINUTES ?= 10
soak: $(VENV)/.tested
	$(BIN)/python -W ignore tests/soak --minutes $(SOAK_MINUTES) $(SOAK)

reproduce-quick: $(VENV)/.drawing
	$(BIN)/secateurs reproduce --quick -j 2 -o reproduction-quick

# For docs/benchmarks.md: make -s benchmarks BENCHMARKS="--pypruning DIR" > docs/benchmarks.md
benchmarks: $(VENV)-autogluon/.installed
	@$(BIN)/python -m benchmarks --autogluon $(VENV)-autogluon $(BENCHMARKS)

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-audit $(VENV)-autogluon .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	rm -rf docs/_build docs/api docs/gallery docs/methods/drawn
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
