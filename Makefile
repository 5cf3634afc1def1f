# SPDX-License-Identifier: MIT
# A thin front door; CMakeLists.txt builds.
PREFIX ?= /usr/local
BUILD = build
JOBS := $(shell nproc 2>/dev/null || echo 2)

# $(call make_in,FOLDER,OPTIONS OF CMAKE,TARGETS): none means all of them.
define make_in
@cmake -S . -B $(1) --log-level=WARNING $(2) >/dev/null
@cmake --build $(1) -j $(JOBS) $(addprefix --target ,$(3)) -- $(if $(3),-s) --no-print-directory
endef

all:
	$(call make_in,$(BUILD))

# These start from a fresh machine.
packages:
	@tools/install-packages

packages-lint:
	@tools/install-packages lint

demo: packages
	$(call make_in,$(BUILD),,girsanov_cli)
	@examples/demo.sh

check: packages
	@$(MAKE) --no-print-directory all
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# Every example with data: simulate, fit, is the truth recovered? A minute.
examples: packages
	$(call make_in,$(BUILD),,girsanov_cli)
	@for run in examples/*/run; do echo "$$run"; $$run || exit 1; done

# The pictures of docs/ and examples/, anew.
pictures: packages
	$(call make_in,$(BUILD),,girsanov_cli)
	@docs/pictures/make

bench: packages
	@$(MAKE) --no-print-directory all
	@bench/run

# Every experiment of the paper, quick (ten minutes); FULL=1 for its sizes.
reproduce: packages
	@tools/install-packages reproduce
	$(call make_in,$(BUILD),,girsanov_cli)
	@experiments/reproduce

# Simulate, fit, and see whether the intervals cover the truth. Takes minutes.
coverage: packages
	$(call make_in,$(BUILD),,coverage)
	@$(BUILD)/tests/coverage/coverage

lint: packages-lint
	@tools/lint

# The canaries first: without them a silent run would prove nothing.
asan: packages
	$(call make_in,$(BUILD)-asan,-DGSV_SANITIZE=ON)
	ctest --test-dir $(BUILD)-asan --no-tests=error -R '^canary'
	ctest --test-dir $(BUILD)-asan --output-on-failure -j $(JOBS) -LE numbers

tsan: packages
	$(call make_in,$(BUILD)-tsan,-DGSV_THREADS=ON)
	OMP_NUM_THREADS=4 ctest --test-dir $(BUILD)-tsan --output-on-failure \
		-j $(JOBS) -LE numbers

# Lines and branches of src/ that the tests run, file by file.
coverage-report: packages-lint
	$(call make_in,$(BUILD)-coverage,-DGSV_COVERAGE=ON -DCMAKE_BUILD_TYPE=None)
	-ctest --test-dir $(BUILD)-coverage -j $(JOBS)
	@gcovr --root . --filter src/ --exclude-unreachable-branches \
		--html-details $(BUILD)-coverage/index.html \
		--txt $(BUILD)-coverage/coverage.txt --print-summary $(BUILD)-coverage
	@echo "file by file: $(BUILD)-coverage/index.html, coverage.txt"

# An hour of random fits under a limit of memory.
soak: packages
	@$(MAKE) --no-print-directory all
	@tests/soak $(BUILD)/girsanov

# Random files, models, fits and command lines, TIME seconds of each sort.
TIME = 60
fuzz: packages-lint
	$(call make_in,$(BUILD)-fuzz,-DCMAKE_C_COMPILER=clang -DGSV_SANITIZE=ON -DGSV_FUZZ=ON)
	@tests/fuzz/run $(BUILD)-fuzz $(TIME)

# Killed, interrupted, out of disk and memory, hundreds of times. Takes minutes.
faults: packages
	@$(MAKE) --no-print-directory all
	@tests/faults/run $(BUILD)/girsanov $(BUILD)/tests/libfail_malloc.so --long

# Test programs and verbs under memcheck. Takes an hour.
valgrind: packages-lint
	@$(MAKE) --no-print-directory all
	@tests/faults/valgrind $(BUILD)

# DESTDIR is in front of all of it, for those who make packages.
install:
	$(call make_in,$(BUILD),,girsanov_cli girsanov_static girsanov_shared manuals)
	cmake --install $(BUILD) --prefix $(PREFIX)

# Debian's packages, then a look at them.
deb: packages
	$(call make_in,$(BUILD)-deb,-DCMAKE_INSTALL_PREFIX=/usr -DBUILD_TESTING=OFF)
	@tools/make-deb $(BUILD)-deb
	@tools/check-deb $(BUILD)-deb

clean:
	rm -rf $(BUILD) $(BUILD)-*

.PHONY: all packages packages-lint demo check examples pictures bench reproduce coverage lint asan tsan \
	coverage-report soak fuzz faults valgrind install deb clean
