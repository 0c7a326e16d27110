# tapeformer: `make run` trains, `make test` tests. A C compiler and make are all they need.
#
#   make                 the programs: train generate gradcheck bench
#   make run             train the copy task, then a language model on the text in data/
#   make test            build and run everything quick, in both precisions; TESTS="gemm model": these alone
#   make lint            warnings with gcc and clang, format, dependency direction, registers of the tile
#   make SAN=1 test      the same tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   make BLAS=openblas   with OpenBLAS's matrix product in place of this project's
#   make ARCH=x86-64-v3  for another processor than this machine's own

CC     ?= cc
ARCH   ?= native
BUILD  ?= build$(if $(SAN),-san)$(if $(BLAS),-$(BLAS))
OPT    ?= -O3
WARN    = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
          -Wno-missing-field-initializers -Wno-psabi

# -ffp-contract=fast lets the compiler fuse a*b+c, which -std=c11 alone forbids. The two others only give up errno
# and floating-point traps, which nothing here reads; isnan and infinities keep their meaning.
CFLAGS  = -std=c11 -D_GNU_SOURCE -Isrc $(OPT) -g -march=$(ARCH) -ffp-contract=fast -fno-math-errno -fno-trapping-math \
          $(WARN) $(EXTRA) -MMD -MP -pthread
LDLIBS  = -lm -pthread
ifdef BLAS
CFLAGS += -DBLAS
LDLIBS += -l$(BLAS)
endif
ifdef SAN
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all
OPT     = -O1
endif

PROGRAMS  = train $(patsubst src/programs/%.c,%,$(wildcard src/programs/*.c))
# The seam of matrix products has two sides: gemm.c, and gemm_blas.c.
OTHER_SIDE = src/kernels/gemm$(if $(BLAS),,_blas).c
LIB_SRC   = $(filter-out src/programs/% $(OTHER_SIDE),$(wildcard src/*/*.c))
TESTS     = $(patsubst tests/%.c,%,$(wildcard tests/*.c))

# Programs are built in both precisions, for the tests, and copied to the top. Sanitized ones stay where they are.
BUILT     = $(foreach p,float double,$(PROGRAMS:%=$(BUILD)/$(p)/%))
all: $(if $(SAN),$(BUILT),$(PROGRAMS))

# Programs that load code at run time, which calls back into them: all of the library is in them, and to be seen.
LOADERS = gradcheck tests/mutants
WHOLE   = -rdynamic -Wl,--whole-archive
PARTS   = -Wl,--no-whole-archive
link    = $(if $(filter $(1),$(LOADERS)),$(WHOLE) $(2) $(PARTS) -ldl,$(2))

# One precision: objects, library, tests and programs under $(BUILD)/float or $(BUILD)/double.
FLAGS_float  =
FLAGS_double = -DREAL_DOUBLE
define precision
$(BUILD)/$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(FLAGS_$(1)) -c $$< -o $$@
$(BUILD)/$(1)/libtapeformer.a: $$(LIB_SRC:%.c=$(BUILD)/$(1)/%.o)
	@rm -f $$@
	$$(AR) rcs $$@ $$^
$(BUILD)/$(1)/%: $(BUILD)/$(1)/%.o $(BUILD)/$(1)/libtapeformer.a
	$$(CC) $$(CFLAGS) $$(call link,$$*,$$^) $$(LDLIBS) -o $$@
$(BUILD)/$(1)/%: $(BUILD)/$(1)/src/programs/%.o $(BUILD)/$(1)/libtapeformer.a
	$$(CC) $$(CFLAGS) $$(call link,$$*,$$^) $$(LDLIBS) -o $$@
endef
$(eval $(call precision,float))
$(eval $(call precision,double))
.SECONDARY:

# Models are trained in float; gradients are checked in double. What stands at the top may be of another build.
$(filter-out gradcheck,$(PROGRAMS)): %: $(BUILD)/float/% FORCE
gradcheck: %: $(BUILD)/double/% $(BUILD)/float/% FORCE # the float twin that it runs
$(PROGRAMS):
	@cmp -s $< $@ || { rm -f $@ && cp $< $@; }

run: train generate
	./train copy --force
	./train lm --force

test: $(foreach p,float double,$(TESTS:%=$(BUILD)/$(p)/tests/%)) $(BUILT) all
	@GRADCHECK=$(BUILD)/double/gradcheck sh tests/run.sh $(foreach p,float double,$(TESTS:%=$(BUILD)/$(p)/tests/%)) \
	    tests/numpy_round_trip.py

lint:
	@sh tests/lint.sh

print-lint-flags:
	@echo $(filter-out -MMD -MP,$(CFLAGS))

clean:
	rm -rf build build-* $(PROGRAMS)

.PHONY: all run test lint print-lint-flags clean FORCE

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
