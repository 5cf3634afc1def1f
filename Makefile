# SPDX-License-Identifier: MIT
# Short names for common tasks; CMakeLists.txt has the build.
PREFIX ?= /usr/local
BUILD = build
JOBS := $(shell nproc 2>/dev/null || echo 2)

# $(call make_in,FOLDER,OPTIONS OF CMAKE,TARGETS): all targets if none is given.
define make_in
@cmake -S . -B $(1) --log-level=WARNING $(2) >/dev/null
@cmake --build $(1) -j $(JOBS) $(addprefix --target ,$(3)) -- $(if $(3),-s) --no-print-directory
endef

all:
	$(call make_in,$(BUILD))

# These targets install missing packages first.
packages:
	@tools/install-packages

packages-check:
	@tools/install-packages check

packages-lint:
	@tools/install-packages check lint

demo: packages
	$(call make_in,$(BUILD),,girsanov_cli)
	@examples/demo.sh

# A test that hangs is ended, said, and tried once more.
CTEST = ctest --output-on-failure -j $(JOBS) --timeout 600 \
	--repeat after-timeout:2

check: packages-check
	@$(MAKE) --no-print-directory all
	$(CTEST) --test-dir $(BUILD)

# Every example with data: simulate, fit, compare with the truth. Takes a minute.
examples: packages
	$(call make_in,$(BUILD),,girsanov_cli)
	@for run in examples/*/run; do echo "$$run"; $$run || exit 1; done

# Draws the figures of docs/ and examples/ again.
pictures: packages
	$(call make_in,$(BUILD),,girsanov_cli)
	@docs/pictures/make

bench: packages-check
	@$(MAKE) --no-print-directory all
	@bench/run

# Every experiment of the paper in ten minutes; FULL=1 uses the paper's sizes.
reproduce:
	@tools/install-packages check reproduce
	$(call make_in,$(BUILD),,girsanov_cli)
	@experiments/reproduce

# Other methods and ours on the same data, in about half an hour of CPU time; FULL=1
# takes more seeds and rows. An interrupted run goes on where it ended.
peers: packages-check
	$(call make_in,$(BUILD),,girsanov_cli)
	@experiments/peers/run

# Whether confidence intervals cover the true values, by 20 data sets of each
# model; FULL=1: by 100. Takes minutes.
coverage: packages-check
	$(call make_in,$(BUILD),,coverage alarms)
	@$(BUILD)/tests/coverage/coverage $(if $(FULL),100,20)
	@$(BUILD)/tests/coverage/alarms $(if $(FULL),1000,200)

lint: packages-lint
	@tools/lint

# The planted bugs (canaries) first: they show that the sanitizers are active.
asan: packages-check
	$(call make_in,$(BUILD)-asan,-DGSV_SANITIZE=ON)
	ctest --test-dir $(BUILD)-asan --no-tests=error -R '^canary'
	$(CTEST) --test-dir $(BUILD)-asan -LE numbers

tsan: packages-check
	$(call make_in,$(BUILD)-tsan,-DGSV_THREADS=ON)
	OMP_NUM_THREADS=4 $(CTEST) --test-dir $(BUILD)-tsan -LE numbers

# Lines and branches of src/ that the tests execute, for each file.
coverage-report: packages-lint
	$(call make_in,$(BUILD)-coverage,-DGSV_COVERAGE=ON -DCMAKE_BUILD_TYPE=None)
	-ctest --test-dir $(BUILD)-coverage -j $(JOBS)
	@gcovr --root . --filter src/ --exclude-unreachable-branches \
		--html-details $(BUILD)-coverage/index.html \
		--txt $(BUILD)-coverage/coverage.txt --print-summary $(BUILD)-coverage
	@echo "file by file: $(BUILD)-coverage/index.html, coverage.txt"

# An hour of random fits with a memory limit.
soak: packages-check
	@$(MAKE) --no-print-directory all
	@tests/soak $(BUILD)/girsanov

# Random files, models, fits and command lines, TIME seconds for each kind.
TIME = 60
fuzz: packages-lint
	$(call make_in,$(BUILD)-fuzz,-DCMAKE_C_COMPILER=clang -DGSV_SANITIZE=ON -DGSV_FUZZ=ON)
	@tests/fuzz/run $(BUILD)-fuzz $(TIME)

# Hundreds of kills, interrupts, full disks and failed allocations. Takes minutes.
faults: packages-check
	@$(MAKE) --no-print-directory all
	@tests/faults/run $(BUILD)/girsanov $(BUILD)/tests/libfail_malloc.so --long

# Test programs and verbs under memcheck. Takes an hour.
valgrind: packages-lint
	@$(MAKE) --no-print-directory all
	@tests/faults/valgrind $(BUILD)

# DESTDIR is put before PREFIX, for packages.
install:
	$(call make_in,$(BUILD),,girsanov_cli girsanov_static girsanov_shared manuals)
	cmake --install $(BUILD) --prefix $(PREFIX)

# Makes the Debian packages and tests them.
deb: packages-check
	$(call make_in,$(BUILD)-deb,-DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF)
	@tools/make-deb $(BUILD)-deb
	@tools/check-deb $(BUILD)-deb

# A wheel of the Python package with the library inside, in build/wheel/; tests it,
# in a new Debian, too, where root runs it.
wheel: packages-check
	@tools/install-packages check wheel
	$(call make_in,$(BUILD),,girsanov_alone)
	@rm -rf $(BUILD)/wheel
	@tools/make-wheel $(BUILD)/alone/libgirsanov.so $(BUILD)/wheel
	@/usr/bin/python3 tools/check-wheel $(BUILD)/wheel/*.whl \
		$(if $(filter 0,$(shell id -u)),--root)

clean:
	rm -rf $(BUILD) $(BUILD)-*

.PHONY: all packages packages-check packages-lint demo check examples pictures bench reproduce peers coverage \
	lint asan tsan \
	coverage-report soak fuzz faults valgrind install deb wheel clean
