# SPDX-License-Identifier: MIT
# A thin front door; CMakeLists.txt builds.
PREFIX ?= /usr/local
BUILD = build
JOBS := $(shell nproc 2>/dev/null || echo 2)

all:
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) -- --no-print-directory

# These start from a fresh machine.
packages:
	@tools/install-packages

packages-lint:
	@tools/install-packages lint

demo: packages
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target girsanov_cli -- -s --no-print-directory
	@examples/demo.sh

check: packages
	@$(MAKE) --no-print-directory all
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# Every example with data: simulate, fit, is the truth recovered? A minute.
examples: packages
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target girsanov_cli -- -s --no-print-directory
	@for run in examples/*/run; do echo "$$run"; $$run || exit 1; done

# The pictures of docs/ and examples/, anew.
pictures: packages
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target girsanov_cli -- -s --no-print-directory
	@docs/pictures/make

bench: packages
	@$(MAKE) --no-print-directory all
	@bench/run

# Every experiment of the paper, quick (ten minutes); FULL=1 for its sizes.
reproduce: packages
	@tools/install-packages reproduce
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target girsanov_cli -- -s --no-print-directory
	@experiments/reproduce

# Simulate, fit, and see whether the intervals cover the truth. Takes minutes.
coverage: packages
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target coverage -- -s --no-print-directory
	@$(BUILD)/tests/coverage/coverage

lint: packages-lint
	@tools/lint

# The canaries first: without them a silent run would prove nothing.
asan: packages
	@cmake -S . -B $(BUILD)-asan --log-level=WARNING -DGSV_SANITIZE=ON >/dev/null
	@cmake --build $(BUILD)-asan -j $(JOBS) -- --no-print-directory
	ctest --test-dir $(BUILD)-asan --no-tests=error -R '^canary'
	ctest --test-dir $(BUILD)-asan --output-on-failure -j $(JOBS) -LE numbers

tsan: packages
	@cmake -S . -B $(BUILD)-tsan --log-level=WARNING -DGSV_THREADS=ON >/dev/null
	@cmake --build $(BUILD)-tsan -j $(JOBS) -- --no-print-directory
	OMP_NUM_THREADS=4 ctest --test-dir $(BUILD)-tsan --output-on-failure \
		-j $(JOBS) -LE numbers

# Lines and branches of src/ that the tests run, file by file.
coverage-report: packages-lint
	@cmake -S . -B $(BUILD)-coverage --log-level=WARNING -DGSV_COVERAGE=ON \
		-DCMAKE_BUILD_TYPE=None >/dev/null
	@cmake --build $(BUILD)-coverage -j $(JOBS) -- -s --no-print-directory
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
	@cmake -S . -B $(BUILD)-fuzz --log-level=WARNING -DCMAKE_C_COMPILER=clang \
		-DGSV_SANITIZE=ON -DGSV_FUZZ=ON >/dev/null
	@cmake --build $(BUILD)-fuzz -j $(JOBS) -- -s --no-print-directory
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
	@cmake -S . -B $(BUILD) --log-level=WARNING >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target girsanov_cli girsanov_static \
	    girsanov_shared manuals -- --no-print-directory
	cmake --install $(BUILD) --prefix $(PREFIX)

# Debian's packages, then a look at them.
deb: packages
	@cmake -S . -B $(BUILD)-deb --log-level=WARNING -DCMAKE_INSTALL_PREFIX=/usr \
	    -DBUILD_TESTING=OFF >/dev/null
	@cmake --build $(BUILD)-deb -j $(JOBS) -- --no-print-directory
	@tools/make-deb $(BUILD)-deb
	@tools/check-deb $(BUILD)-deb

clean:
	rm -rf $(BUILD) $(BUILD)-*

.PHONY: all packages packages-lint demo check examples pictures bench reproduce coverage lint asan tsan \
	coverage-report soak fuzz faults valgrind install deb clean
