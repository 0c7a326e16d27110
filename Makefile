# tapeformer needs a C11 compiler with POSIX threads and GNU make.
#
#   make                 build the programs: train generate gradcheck explain bench
#   make run             train a language model on short stories, then the copy task
#   make test            build and run the quick tests; TESTS="gemm model": only these
#   make install         install programs, header, libraries below PREFIX=/usr/local; uninstall
#   make clean           remove everything that make has built; runs/ stays
#   make help            print this text; tests/README.md lists the other targets
#
#   make V=1             print whole commands
#   make SAN=1 test      test under AddressSanitizer and UndefinedBehaviorSanitizer; SAN=thread
#   make BLAS=openblas   use OpenBLAS's matrix product instead of this project's
#   make ARCH=x86-64-v3  build for another processor than this machine's
#   make CC=clang OPT=-O0 CFLAGS=-g   use another compiler, optimization, further flags
CC     ?= cc
ARCH    = native
BUILD  ?= build$(if $(SAN),-san$(filter thread,$(SAN)))$(if $(BLAS),-$(BLAS))
PREFIX ?= /usr/local

# Three archives are built of the directories of src/: libcore.a, the core and a run's reports;
# libtapeformer.a to be installed, the core and the checker; libtools.a, the rest.
CORE     = $(addprefix core/,base kernels autograd ops nn formats text tasks training decoding)
SINGLE   = train generate bench
DOUBLE   = gradcheck explain
PROGRAMS = $(SINGLE) $(DOUBLE)
BUILT    = $(SINGLE:%=$(BUILD)/float/%) $(DOUBLE:%=$(BUILD)/double/%)
# Numerical code is worth -O3. The rest compiles faster with -O2 and runs as fast.
COMPUTE = $(patsubst %,src/core/%/%,kernels autograd ops nn training decoding) tests/kernels/gemm.c
OPT     = $(if $(filter $(COMPUTE),$<),-O3,$(if $(filter tests/%,$<),-O1,-O2))
WARN    = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
          -Werror=implicit-function-declaration -Wno-missing-field-initializers -Wno-psabi \
          -Wno-enum-float-conversion
# $(call if_taken,FLAGS): these flags, if the compiler can link a program with them.
if_taken = $(shell echo 'int main(void) { return 0; }' | \
             $(CC) -Werror $(1) -x c - -o /dev/null 2>/dev/null && echo '$(1)')
MACHINE := $(or $(call if_taken,-march=$(ARCH)),$(call if_taken,-mcpu=$(ARCH))) \
           $(call if_taken,-mprefer-vector-width=512) $(call if_taken,-msse2 -mfpmath=sse)
# -std=c11 alone forbids to fuse a*b+c, and gcc for AMD does not fuse sums unless avoid-fma-max-bits
# is 0. Nothing here reads errno or traps of floating point; isnan and infinities work.
FLOATS  := -ffp-contract=fast $(call if_taken,--param=avoid-fma-max-bits=0) -fno-math-errno \
           -fno-trapping-math $(if $(filter -O1,$(OPT)),$(call if_taken,-fexpensive-optimizations))
# Sources but base/system.c are limited to POSIX. User's flags come first: OPT and ARCH decide.
SYSTEM   = -D_FILE_OFFSET_BITS=64 $(if $(filter tests/%,$<),-D_GNU_SOURCE -Itests/support \
           $(if $(BLAS),-DBLAS),-D_XOPEN_SOURCE=700)
FLAGS    = $(CPPFLAGS) $(CFLAGS) -std=c11 $(SYSTEM) -Isrc -Isrc/core -Isrc/tools \
           -I$(BUILD)/generated $(OPT) -g1 $(MACHINE) $(FLOATS) -fPIC \
           -fno-semantic-interposition $(WARN) $(EXTRA) -MMD -MP -pthread
LIBS     = -lm -pthread -ldl $(BLAS:%=-l%)
ifdef SAN
FLAGS   += -fsanitize=$(if $(filter thread,$(SAN)),thread,address -fsanitize=undefined) \
           -fno-sanitize-recover=all
OPT      = $(if $(filter tests/%,$(filter-out tests/kernels/%,$<)),-O0,-O1)
# clang's sanitizers take minutes over the tile's unrolled loops.
$(BUILD)/%/src/core/kernels/gemm_tile.o: private FLAGS += -fno-sanitize=all
endif
# One job for each processor, unless -j or an outer make decides.
GIVEN   := $(MAKELEVEL:0=)$(filter -j% --jobs%,$(MAKEFLAGS))
MAKEFLAGS += $(if $(GIVEN),,-j$(shell getconf _NPROCESSORS_ONLN))
# Strings for C: the parts of a run's page, and the derivations in the operations' comments.
PAGE      = $(wildcard src/tools/run/*.html src/tools/run/*.css src/tools/run/*.js)
GENERATED = $(patsubst %,$(BUILD)/generated/%.inc,$(PAGE:src/tools/%=%) explain/derivations)
sources = $(filter-out src/core/kernels/gemm$(if $(BLAS),,_blas).c,$(wildcard $(1:%=src/%/*.c)))
objects = $(addprefix $(BUILD)/$(1)/,$(patsubst %.c,%.o,$(call sources,$(2))))
all: $(if $(SAN),$(BUILT),$(PROGRAMS))
include src/tools/install/Makefile src/tools/web/Makefile tests/Makefile

$(BUILD)/generated/%.inc: src/tools/%
	@mkdir -p $(@D) && sed 's/[\\"?]/\\&/g; s/.*/"&\\n",/' $< >$@
$(BUILD)/generated/explain/derivations.inc: src/tools/explain/derivations.awk src/core/ops/*.c
	@mkdir -p $(@D) && awk -f $^ >$@
# Changed flags or another machine's processor rebuild everything.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D) && { $(CC) $(MACHINE) -dM -E -x c /dev/null; \
	    echo '$(subst ','\'',$(filter-out ccache -Werror -I%,$(CC) $(FLAGS)))'; } >$@.now; \
	    cmp -s $@.now $@ || cp $@.now $@

# Single precision is built in $(BUILD)/float, double precision in $(BUILD)/double.
do      = $(if $(V),,@echo '$(1) $@' &&) mkdir -p $(@D) && $(2)
REAL    = $(if $(filter $(BUILD)/double/%,$@),-DREAL_DOUBLE)
COMPILE = $(call do,CC,$(CC) $(FLAGS) $(REAL) -c $< -o $@)
ARCHIVE = $(call do,AR,rm -f $@ && $(AR) rc $@ $^)
LINK    = $(call do,LD,$(CC) $(FLAGS) $(LDFLAGS) $(filter %.o,$^) $(WHOLE) $(filter %tools.a,$^) \
            $(filter %former.a,$^) $(filter %core.a,$^) $(LIBS) $(LDLIBS) -o $@)
vpath %.c src/tools/programs
$(BUILD)/float/%.o: %.c $(BUILD)/flags | $(GENERATED)
	$(COMPILE)
$(BUILD)/double/%.o: %.c $(BUILD)/flags | $(GENERATED)
	$(COMPILE)
$(BUILD)/%/libcore.a: $(call objects,%,$(CORE) tools/run) \
    $(BUILD)/%/src/tools/check/npy.o $(BUILD)/%/src/tools/check/grading/batch_file.o
	$(ARCHIVE)
$(BUILD)/%/libtapeformer.a: $(call objects,%,$(CORE) tools/check/gradcheck)
	$(ARCHIVE)
$(BUILD)/%/libtools.a: $(call objects,%,$(addprefix tools/,check check/grading explain))
	$(ARCHIVE)
$(patsubst %,$(BUILD)/float/%,$(PROGRAMS) $(TEST_C)): %: %.o $(BUILD)/float/libcore.a
	$(LINK)
$(patsubst %,$(BUILD)/double/%,$(PROGRAMS) $(TEST_C)): %: %.o $(BUILD)/double/libcore.a
	$(LINK)
# Some need more than the core. Students' code asks gradcheck for the functions of a list.
EXPORT = src/tools/check/exported.list
JUDGES  = $(patsubst %,$(BUILD)/double/%,$(DOUBLE) $(JUDGING))
$(JUDGES): $(BUILD)/double/libtools.a $(BUILD)/double/libtapeformer.a $(EXPORT)
$(BUILD)/double/gradcheck: \
  WHOLE = -Wl,--dynamic-list=$(EXPORT),--whole-archive $(filter %former.a,$^) -Wl,--no-whole-archive
$(BUILD)/float/bench: $(call objects,float,tools/bench)
$(SINGLE): %: $(BUILD)/float/% FORCE
$(DOUBLE): %: $(BUILD)/double/% FORCE
$(PROGRAMS):
	@cmp -s $< $@ || { rm -f $@ && cp $< $@; }
# A model for the short stories of data/: few layers and wide heads copy words soonest.
STORIES = --tokenizer bpe --vocab-size 2048 --layers 3 --heads 2 --qk-norm false \
          --init-keys queries --context 256 --batch 2
run: train generate
	./train lm --force $(STORIES) --steps 4400
	./train copy --force --steps 800 --layers 1 --d-model 64 --batch 32 --lr 0.004
	@for said in 'Tom has a red kite. Anna went to the mill. Ben likes honey. Where did Anna go?' \
	    'Greta is in the garden. Sam has a green lamp. Who has the lamp?' \
	    'The dog of Mia is called Rex. Paul is nine years old. What is the dog called?'; do \
	    echo "User: $$said" && echo "Bot: $$(echo "$$said" | ./generate runs/lm --chat)"; done
	@echo 'next: ./generate runs/lm --chat talks with you; ./train lm FILE learns a text of yours;'
	@echo '      runs/lm/report.html shows how it was learned'
help:
	@sed -n 's/^#   //p' Makefile
clean:
	rm -rf build build-* $(PROGRAMS)
.PHONY: all run help clean FORCE
.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
