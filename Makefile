# On a fresh machine with Python 3.11 or newer, each of these makes the environment it needs and can be run again:
#   make train    trains the FashionMNIST classifier       (ARGS="--epochs 1" hands options on)
#   make test     runs every test once, of costly ones a quarter of their cases (ARGS="-k views" picks tests)
#   make test-all  runs every test in each mode that shows something about it, as CI does (ARGS=--thorough: in all three)
#   make extensions  compiles the files that every operation passes through anew, after a change of one of them
#   make accelerator  tests and measures on the GPU or TPU that JAX finds (DEVICE=cuda, cuda13 or tpu says which wheels of JAX)
#   make libraries  runs 83 libraries built on PyTorch, in an environment without it (ARGS="einops timm" picks some)
#   make quick-libraries  runs the eight of them that install and run soonest, as CI does
#   make torch-tests  runs PyTorch's own tests by torchlike (ARGS=--tenth: the tenth of them that CI runs)
#   make onnx    exports models as ONNX and runs them, with the libraries that this needs
# PYTHON=python3.12 chooses the interpreter, VENV=.venv-3.12 the folder of the environment.
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help train test test-all compare torch-tests extensions accelerator onnx run-onnx libraries run-libraries quick-libraries run-quick-libraries check docs clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@sed -n 's/^#  *make/make/p; s/^# \(PYTHON\)/\1/p' Makefile

train: $(VENV)/.ready-to-train
	$(BIN)/python examples/fashion_mnist.py $(ARGS)

# There are three modes, and they must mean the same: traced (steps compiled whole), eager (each op compiled) and interpreted (nothing
# compiled). Compiling takes most of the suite's time, so test runs each test in one mode, interpreted where that shows something, and one in
# thirty compiled as well. test-all runs each in all modes that can show something about it. XLA's older emitters, which compile quicker, serve
# here; pytest by itself compiles as users do.
SUITE = $(BIN)/python -m pytest --quick-compile -n auto --dist worksteal
test: $(VENV)/.ready-to-develop
	$(SUITE) --each-once $(ARGS)
test-all: $(VENV)/.ready-to-develop
	$(SUITE) --every-mode $(ARGS)

# Against PyTorch itself, which is installed for this alone: it answers the recorded cases anew, and those of tests/compare. Nothing is
# compiled, which is quick; that all modes give the recorded values is what `test-all` shows. The extension modules are left unused, so that the
# suite runs once with them and once with the Python files.
compare: $(VENV)/.ready-to-compare
	$(BIN)/python -m tests.golden.record --folder build/golden
	TORCHLIKE_EXTENSIONS=0 TORCHLIKE_TEST_MODE=interpreted $(BIN)/python -m pytest --golden build/golden -n auto --dist worksteal $(ARGS)

# PyTorch's test files come from Debian's source package, by apt; where that cannot be had, this says so and runs nothing.
torch-tests: $(VENV)/.ready-for-torch-tests
	$(BIN)/python -m tests.torch_tests.run $(ARGS)

# Installing the package compiles them the first time. Until they are compiled again, an edited file is used as it is, and the others too.
extensions: $(VENV)/.ready-to-develop
	$(BIN)/python torchlike/_extensions/build.py

# JAX for CUDA 13 by default. DEVICE=cuda takes CUDA 12, DEVICE=tpu a TPU. Which JAX it is, Python decides: 0.11 and newer ones need Python
# 3.12 (PYTHON=python3.12 VENV=.venv-3.12). JAX="jax==0.11.2 jaxlib==0.11.2" names one. PyTorch with CUDA takes part where it is installed.
# Warnings of drivers fail no test here. DEVICE=made-up shows on the CPU that all of this runs.
DEVICE ?= cuda13
JAX ?=
accelerator: $(VENV)/.ready-for-$(DEVICE)
	JAX_PLATFORMS=$(if $(filter made-up,$(DEVICE)),cpu) TORCHLIKE_ACCELERATOR=all \
		$(BIN)/python -m pytest -W default -rx tests/accelerator tests/_core/test_devices.py $(ARGS)
	$(BIN)/python -m benchmarks.accelerator $(if $(filter made-up,$(DEVICE)),--made-up --rounds 1)

# torch.onnx.export needs jax2onnx, which brings many libraries along: .venv-onnx.
onnx:
	@$(MAKE) --no-print-directory run-onnx VENV=$(VENV)-onnx
run-onnx: $(VENV)/.ready-for-onnx
	$(BIN)/python -m pytest tests/onnx tests/export --quick-compile $(ARGS)

# The libraries have an environment of their own, in which there is no PyTorch: .venv-libraries.
libraries:
	@$(MAKE) --no-print-directory run-libraries VENV=$(VENV)-libraries
run-libraries: $(VENV)/.ready-for-libraries
	$(BIN)/python -m tests.libraries.run $(ARGS)
	$(BIN)/python -m tests.libraries.names > $(VENV)/names.txt
	@head -n 1 $(VENV)/names.txt; echo "Which of PyTorch's names they use that torchlike only stands in for: $(VENV)/names.txt"

quick-libraries:
	@$(MAKE) --no-print-directory run-quick-libraries VENV=$(VENV)-quick-libraries
run-quick-libraries: $(VENV)/.ready-for-quick-libraries
	$(BIN)/python -m tests.libraries.run --quick --jobs 2 $(ARGS)

check: $(VENV)/.ready-to-develop
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports

docs: $(VENV)/.ready-to-develop
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) build dist site .pytest_cache .ruff_cache .hypothesis

# The stamps: an environment is set up again only when pyproject.toml has changed.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "torchlike needs Python 3.11 or newer; choose one with PYTHON=python3.11. Found:"; $(PYTHON) --version; exit 1; }
	@echo "Making the environment $(VENV) ..."
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "This Python cannot make environments (on Debian: apt install python3-venv)."; exit 1; }

$(VENV)/.ready-to-train: pyproject.toml | $(BIN)/python
	@echo "Installing torchlike and what it stands on (once; about 1 GB on disk) ..."
	$(PIP) install --editable '.[datasets]'
	@touch $@

$(VENV)/.ready-to-develop: pyproject.toml | $(BIN)/python
	@echo "Installing torchlike with its development tools (once; about 1.5 GB on disk) ..."
	$(PIP) install --editable '.[dev]'
	@touch $@ $(VENV)/.ready-to-train

$(VENV)/.ready-for-cuda $(VENV)/.ready-for-cuda13 $(VENV)/.ready-for-tpu: $(VENV)/.ready-for-%: $(VENV)/.ready-to-develop
	@echo "Installing JAX for $* ..."
	$(PIP) install --editable '.[dev,$*]' $(JAX)
	@touch $@

$(VENV)/.ready-for-made-up: $(VENV)/.ready-to-develop

$(VENV)/.ready-for-libraries: pyproject.toml tests/libraries/requirements.txt | $(BIN)/python
	@echo "Installing 83 libraries and torchlike (once; about 5 GB on disk) ..."
	$(PIP) install ./tests/libraries/placeholder --editable '.[datasets,tensorboard]' -r tests/libraries/requirements.txt
	@touch $@

$(VENV)/.ready-for-onnx: pyproject.toml | $(BIN)/python
	@echo "Installing torchlike with what exports ONNX (once; about 1.5 GB on disk) ..."
	$(PIP) install --editable '.[onnx,stablehlo]' pytest hypothesis
	@touch $@

$(VENV)/.ready-for-quick-libraries: pyproject.toml tests/libraries/requirements.txt tests/libraries/quick.txt | $(BIN)/python
	@echo "Installing eight libraries and torchlike (once; about 1 GB on disk) ..."
	$(PIP) install ./tests/libraries/placeholder --editable . -r tests/libraries/quick.txt -c tests/libraries/requirements.txt
	@touch $@

$(VENV)/.ready-to-compare: $(VENV)/.ready-to-develop
	@echo "Installing PyTorch, to compare with ..."
	$(PIP) install --editable '.[dev,compare]'
	@touch $@

$(VENV)/.ready-for-torch-tests: $(VENV)/.ready-to-compare
	@echo "Installing what PyTorch's tests need ..."
	$(PIP) install --editable '.[dev,compare,torch-tests]'
	@touch $@
