# useprobe - a saturation probe. `make help` lists the targets.
# Everything that is built goes below $(B); sources are found by wildcard, so a new file needs no line here.

B       ?= build
CC      ?= cc
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PREFIX  ?= /usr/local
DESTDIR ?=
FUZZ_S  ?= 60
WERROR  ?= -Werror
OPT     ?= -O2 -g
ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-7s %s\n'
MAKEFLAGS += --no-print-directory
endif

VERSION  := 0.1.0
WARN     := -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wmissing-field-initializers -Wundef -Wformat=2 -Wvla $(WERROR)
FORTIFY  := $(if $(SAN),,-D_FORTIFY_SOURCE=2 -fstack-protector-strong)
CPPFLAGS += -D_GNU_SOURCE -DUP_VERSION='"$(VERSION)"' -Iinclude -I$(B)/bpf -Ibpf
CFLAGS   += -std=c17 $(OPT) $(WARN) $(FORTIFY) $(SAN) -pthread -MMD -MP
LDFLAGS  += $(SAN) -pthread -Wl,-z,relro,-z,now
LIBS     := -lbpf -lelf -lz -lncursesw -ltinfo -ljansson -ldl -lm
BPFFLAGS := -std=gnu17 -O2 -g -target bpf -Wall -Werror -Ibpf -I/usr/include/$(shell $(CC) -dumpmachine 2>/dev/null) \
            -D__TARGET_ARCH_$(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')

# Rooms of the program (docs/DESIGN.md); the laboratory and the SQL bridge are programs of their own on the same library.
LIB_SRC   := $(sort $(wildcard src/*/*.c src/*/*/*.c) $(filter-out src/main.c,$(wildcard src/*.c)))
LAB_SRC   := $(filter src/lab/%,$(LIB_SRC))
BRIDGE_SRC:= $(filter src/sqlbridge/%,$(LIB_SRC))
# Built where ODBC and the HTTP library are there; what its tests need is no part of the library either.
BRIDGE_HAS:= $(if $(and $(wildcard /usr/include/sqlext.h /usr/local/include/sqlext.h),$(wildcard /usr/include/microhttpd.h /usr/local/include/microhttpd.h)),yes)
BRIDGE_LIBS:= -lodbc -lmicrohttpd
LIB_SRC   := $(filter-out $(LAB_SRC) $(BRIDGE_SRC),$(LIB_SRC))
BPF_SRC   := $(sort $(wildcard bpf/*.bpf.c))
SKELS     := $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.skel.h)
TEST_SRC  := $(sort $(wildcard tests/unit/test_*.c))
TEST_HELP := $(filter-out $(TEST_SRC),$(sort $(wildcard tests/unit/*.c)))
TEST_SRC  := $(filter-out $(if $(BRIDGE_HAS),,tests/unit/test_sqlbridge.c),$(TEST_SRC))
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
TESTS     := $(TEST_SRC:tests/unit/%.c=$(B)/tests/%)
FUZZERS   := $(FUZZ_SRC:tests/fuzz/%.c=$(B)/fuzz/%)
PROGRAMS  := $(if $(wildcard src/main.c),$(B)/useprobe) $(if $(LAB_SRC),$(B)/uselab) $(if $(BRIDGE_HAS),$(B)/useprobe-sqlbridge)
C_FILES   := $(shell git ls-files '*.c' '*.h' 2>/dev/null)

.PHONY: all
all: $(PROGRAMS)

$(B)/useprobe: $(call obj,src/main.c) $(B)/libuseprobe.a
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

# Only libraries that it uses: the lab is also started inside bare containers.
$(B)/uselab: $(call obj,$(LAB_SRC)) $(B)/libuseprobe.a
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS) -Wl,--as-needed -o $@ $^ $(LIBS)

$(B)/useprobe-sqlbridge: $(call obj,$(BRIDGE_SRC)) $(B)/libuseprobe.a
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -Wl,--as-needed $(BRIDGE_LIBS) $(LIBS)

$(B)/libuseprobe.a: $(call obj,$(LIB_SRC))
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Objects wait for the skeletons, since any of them may include one.
$(B)/obj/%.o: %.c | $(SKELS)
	$(say) CC $<
	$(Q)mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h)
	$(say) BPF $<
	$(Q)mkdir -p $(@D) && $(CLANG) $(BPFFLAGS) -c -o $@ $<

# Atomics that return a value need the third instruction set (Linux 5.12); what these programs hook or call is younger than that.
$(B)/bpf/requests.bpf.o $(B)/bpf/queues.bpf.o $(B)/bpf/blocks.bpf.o: BPFFLAGS += -mcpu=v3

$(B)/bpf/%.skel.h: $(B)/bpf/%.bpf.o
	$(say) SKEL $@
	$(Q){ echo '/* NOLINTBEGIN: generated */' && $(BPFTOOL) gen skeleton $< name $* && echo '/* NOLINTEND */'; } > $@.tmp && mv $@.tmp $@

$(B)/tests/%: $(B)/obj/tests/unit/%.o $(call obj,$(TEST_HELP)) $(B)/libuseprobe.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

# The laboratory is no part of the library: its tests link its objects.
$(B)/tests/test_lab_%: $(B)/obj/tests/unit/test_lab_%.o $(call obj,$(TEST_HELP) $(filter-out src/lab/main.c,$(LAB_SRC))) $(B)/libuseprobe.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

$(B)/tests/test_sqlbridge: $(B)/obj/tests/unit/test_sqlbridge.o $(call obj,$(TEST_HELP) $(filter-out src/sqlbridge/main.c,$(BRIDGE_SRC))) $(B)/libuseprobe.a
	$(say) TEST $@
	$(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(BRIDGE_LIBS) $(LIBS)

$(B)/fuzz/%: tests/fuzz/%.c $(LIB_SRC) | $(SKELS)
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=c17 -O1 -g -fsanitize=fuzzer,address,undefined -pthread -o $@ $< $(LIB_SRC) $(LIBS)

$(B)/fuzz/fuzz_lab_%: tests/fuzz/fuzz_lab_%.c $(LAB_SRC)
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=c17 -O1 -g -fsanitize=fuzzer,address,undefined -pthread -o $@ $< $(filter-out src/lab/main.c,$(LAB_SRC)) -ljansson -lm

# The load readers and the analysis stand alone, so their fuzz target is quick to build.
FUZZ_LOAD_SRC := $(filter src/load/% src/analysis/% src/rows/% src/source/scan.c,$(LIB_SRC))
$(B)/fuzz/fuzz_load: tests/fuzz/fuzz_load.c $(FUZZ_LOAD_SRC)
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=c17 -O1 -g -fsanitize=fuzzer,address,undefined -pthread -o $@ $< $(FUZZ_LOAD_SRC) -lz -ljansson -lm

# What the bridge makes of requests, connection strings and a database's answers: all that is pure in it.
FUZZ_BRIDGE_SRC := $(addprefix src/,sqlbridge/text.c sqlbridge/sample.c sqlbridge/reply.c sqlbridge/metrics.c source/sql_waits.c source/scan.c \
                     rows/number.c sink/buffer.c)
$(B)/fuzz/fuzz_sqlbridge: tests/fuzz/fuzz_sqlbridge.c $(FUZZ_BRIDGE_SRC)
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=c17 -O1 -g -fsanitize=fuzzer,address,undefined -pthread -o $@ $< $(FUZZ_BRIDGE_SRC) -ljansson -lm

# What --queue says and the files it names: two sources of the library.
FUZZ_QUEUE_SRC := src/source/queue_spec.c src/source/elf_functions.c
$(B)/fuzz/fuzz_queue: tests/fuzz/fuzz_queue.c $(FUZZ_QUEUE_SRC)
	$(say) FUZZ $@
	$(Q)mkdir -p $(@D) && $(CLANG) $(CPPFLAGS) -std=c17 -O1 -g -fsanitize=fuzzer,address,undefined -pthread -o $@ $< $(FUZZ_QUEUE_SRC) -lelf

.SECONDARY:
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

##@ set-up
.PHONY: deps deps-live
deps:                   ## install what building and testing need (a no-op when all is there)
	$(Q)sh scripts/deps.sh build
deps-live: deps         ## also install the servers, runtimes and load generators of the live tests
	$(Q)sh scripts/deps.sh live

##@ use
.PHONY: demo install uninstall clean help
demo: deps              ## main job on the built-in lab: a limited server, a load ladder, the table, the CSV, the verdict
	$(Q)$(MAKE) all && B=$(B) bash scripts/demo.sh

install: all            ## install below DESTDIR/PREFIX
	$(Q)install -D -m 755 $(B)/useprobe $(DESTDIR)$(PREFIX)/bin/useprobe
	$(Q)install -D -m 755 $(B)/uselab $(DESTDIR)$(PREFIX)/bin/uselab
	$(Q)if [ -e $(B)/useprobe-sqlbridge ]; then install -D -m 755 $(B)/useprobe-sqlbridge $(DESTDIR)$(PREFIX)/bin/useprobe-sqlbridge; fi
	$(Q)install -D -m 644 docs/useprobe.1 $(DESTDIR)$(PREFIX)/share/man/man1/useprobe.1
	$(Q)if [ -e scripts/completion.bash ]; then install -D -m 644 scripts/completion.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/useprobe; fi

uninstall:              ## remove what install put there
	$(Q)rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/useprobe bin/uselab bin/useprobe-sqlbridge share/man/man1/useprobe.1 share/bash-completion/completions/useprobe)

clean:                  ## remove everything that was built
	$(Q)rm -rf $(B)

help:                   ## this list
	$(Q)awk -F '##' '/^##@/ {printf "\n%s\n", substr($$0, 5); next} /^[a-z-]+:.*##/ {split($$1, t, ":"); printf "  %-14s %s\n", t[1], $$2}' $(firstword $(MAKEFILE_LIST))

##@ tests
.PHONY: tests scenarios scenarios-full ablation check check-live check-vm soak test check-asan check-tsan check-valgrind fuzz
tests: $(TESTS)
check: all tests        ## unit and golden tests: offline, unprivileged, under a minute
	$(Q)B=$(B) bash tests/run.sh unit

check-live: all         ## tests against the real kernel, sockets, terminals, containers; each skips with its reason
	$(Q)B=$(B) bash tests/run.sh live

scenarios: all          ## every lab scenario once: truth, answer, runner-up (minutes)
	$(Q)B=$(B) bash tests/scenarios/run.sh 1

scenarios-full: all     ## DRAWS draws of every scenario (default 5): right, unknown, confidently wrong (an hour); KEEP=DIR keeps them
	$(Q)B=$(B) bash tests/scenarios/run.sh $(or $(DRAWS),5)

ablation: $(B)/ablation ## what each rule of the attribution is worth, over kept scenario runs (RUNS='DIR...')
	$(Q)$(B)/ablation $(RUNS)
$(B)/ablation: $(B)/obj/tests/scenarios/ablation.o $(B)/libuseprobe.a
	$(say) LINK $@
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)

check-vm: all           ## real cgroup-v2 kernels under qemu (minutes)
	$(Q)B=$(B) bash tests/run.sh vm

soak: all               ## ten minutes of fork storm and cgroup churn: no growth, no negative number
	$(Q)B=$(B) STORM_S=600 TEST_TIMEOUT=900 ONLY=fork_storm bash tests/run.sh live

test: deps              ## install, build, run every test that can run here
	$(Q)$(MAKE) all tests && B=$(B) bash tests/run.sh tree unit live

check-asan:             ## unit tests under AddressSanitizer and UBSan, in a build directory of their own
	$(Q)$(MAKE) B=$(B)/asan OPT='-O1 -g' SAN='-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer' check

check-tsan:             ## unit tests under ThreadSanitizer
	$(Q)$(MAKE) B=$(B)/tsan OPT='-O1 -g' SAN='-fsanitize=thread' check

check-valgrind: all tests ## unit tests under valgrind
	$(Q)B=$(B) WRAP='valgrind -q --error-exitcode=99 --leak-check=full' bash tests/run.sh unit

fuzz: $(FUZZERS)        ## every fuzz target for FUZZ_S seconds (default 60)
	$(Q)B=$(B) FUZZ_S=$(FUZZ_S) bash tests/fuzz/run.sh

##@ quality
.PHONY: lint format format-check bench bench-load tree
lint:                   ## clang-tidy, cppcheck, every header compiles alone
	$(Q)$(MAKE) $(SKELS) && B=$(B) bash scripts/lint.sh
format:                 ## clang-format over the tracked C files
	$(Q)clang-format -i $(C_FILES)
format-check:           ## fail when a tracked C file is not formatted
	$(Q)clang-format --dry-run --Werror $(C_FILES)
tree:                   ## layout rules: four places per collector, include directions, banned calls
	$(Q)bash tests/tree.sh
bench-load: all         ## reading speed on 2 GB of k6 CSV beside wc, grep, awk and Python (MB=200 for a smaller file)
	$(Q)B=$(B) bash tests/bench/load.sh
bench: all              ## own cost beside the peers at the same interval (never part of the tests)
	$(Q)B=$(B) bash tests/bench/bench.sh
