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

.PHONY: all packages packages-lint demo check bench reproduce coverage lint asan install deb clean
