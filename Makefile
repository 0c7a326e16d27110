# tapeformer needs a C11 compiler with POSIX threads and GNU make.
#
#   make                 build the programs: train generate gradcheck explain bench
#   make run             train the copy task, then a language model on the text in data/
#   make test            build and run the quick tests; TESTS="gemm model": only these
#   make install         install programs, libraries, header and manual pages below PREFIX=/usr/local; DESTDIR=FOLDER
#   make uninstall       remove what install has installed
#   make clean           remove everything that make has built; runs/ stays
#   make help            print this text; tests/README.md lists the other targets, for example lint, fuzz and coverage
#
#   make V=1             print whole commands
#   make SAN=1 test      test under AddressSanitizer and UndefinedBehaviorSanitizer; SAN=thread: ThreadSanitizer
#   make BLAS=openblas   use OpenBLAS's matrix product instead of this project's
#   make ARCH=x86-64-v3  build for another processor than this machine's
#   make OPT=-O0         compile every file with this optimization level
#   make CFLAGS="-g -fstack-protector-strong" LDFLAGS=-Wl,-z,now
#                        add these flags, also from the environment; OPT and ARCH take precedence
#   make CC=clang        use another compiler
#   make -j1             compile one file at a time; the default is one for each processor

# Another make than GNU's reads this line as an error with a text; GNU make reads a rule that nothing depends on.
.error tapeformer_is_built_with_GNU_make: gmake
.DEFAULT_GOAL = all
.SECONDARY:

CC     ?= cc
ARCH    = native
BUILD  ?= build$(if $(SAN),-san$(filter thread,$(SAN)))$(if $(BLAS),-$(BLAS))
PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/^.define TAPEFORMER_VERSION "\(.*\)"/\1/p' src/base/program.h)
comma   = ,

# The directories of src/. `make run` builds only the core and the run's reports. The installed library adds the checker.
CORE    = base kernels autograd ops nn formats text tasks training decoding
RUN     = run
CHECK   = check/gradcheck
JUDGE   = check check/grading
TOOLS   = explain bench
PROGRAMS = train $(patsubst src/programs/%.c,%,$(wildcard src/programs/*.c))
LIGHT   = train generate $(patsubst %,tests/%/%,$(CORE) $(RUN) programs fuzz)# link the core alone
DOUBLE  = gradcheck explain# are double precision; the other programs are single precision
UNUSED_GEMM = src/kernels/gemm$(if $(BLAS),,_blas).c
sources = $(filter-out $(UNUSED_GEMM),$(wildcard $(1:%=src/%/*.c)))

# Directories of numerical code are worth -O3. The others compile faster with -O2 and run as fast.
COMPUTE = kernels autograd ops nn training decoding
OPT     = $(if $(filter tests/%,$(filter-out tests/kernels/gemm.c,$<)),-O1,$(if $(filter-out $(COMPUTE:%=src/%/%) FORCE,$<),-O2,-O3))
WARN    = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
          -Werror=implicit-function-declaration -Wno-missing-field-initializers -Wno-psabi $(QUIET)

# $(call first,FLAGS): the first flag that the compiler accepts and can link a program with; nothing if it accepts none.
takes   = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -x c - -o /dev/null $(2) 2>/dev/null && echo yes)
first   = $(firstword $(foreach flag,$(1),$(if $(call takes,$(flag)),$(flag))))

# An enumerator times a float is meant. gcc has no such warning.
QUIET := $(if $(call takes,-Wenum-float-conversion),-Wno-enum-float-conversion)

# -ffp-contract=fast fuses a*b+c, which -std=c11 alone forbids. gcc fuses from -O1 on; where it tunes for AMD it leaves
# chains of sums unfused, which would change results, unless avoid-fma-max-bits=0. -fno-math-errno and
# -fno-trapping-math give up errno and floating-point traps, which nothing here reads. isnan and infinities work.
FUSED   := $(if $(filter -O1,$(OPT)),$(call first,-fexpensive-optimizations)) $(call first,--param=avoid-fma-max-bits=0)
MACHINE := $(call first,-march=$(ARCH) -mcpu=$(ARCH)) $(call first,-mprefer-vector-width=512)
ifeq ($(filter native help clean,$(ARCH) $(MAKECMDGOALS))$(filter -march% -mcpu%,$(MACHINE)),)
$(error $(CC) knows no processor $(ARCH))
endif
# Sources are limited to POSIX, except base/system.c; tests are not.
# Processors that compute floats with more digits are told not to.
SYSTEM   = $(if $(filter src/% train.c FORCE,$<),-D_XOPEN_SOURCE=700,-D_GNU_SOURCE) -D_FILE_OFFSET_BITS=64
FLOATS  := $(if $(call takes,-msse2 -mfpmath=sse),-msse2 -mfpmath=sse) $(call first,-fexcess-precision=fast)
# The static and the shared library use the same objects.
SHARED  := -fPIC $(call first,-fno-semantic-interposition)
DEBUG    = -g1# line numbers for backtraces; EXTRA=-g adds variables and takes a quarter more time
# The user's CFLAGS and CPPFLAGS come first, so that OPT and ARCH decide and results keep their bits.
FLAGS    = $(CPPFLAGS) $(CFLAGS) -std=c11 $(SYSTEM) -Isrc -I$(BUILD)/generated $(OPT) $(DEBUG) $(MACHINE) -ffp-contract=fast \
           $(FUSED) -fno-math-errno -fno-trapping-math $(FLOATS) $(SHARED) $(WARN) $(EXTRA) -MMD -MP -pthread
FLAGS_float  =
FLAGS_double = -DREAL_DOUBLE
LINK     = $(CC) $(FLAGS) $(LDFLAGS)
LIBS     = -lm -pthread
DL       = $(if $(call takes,,-ldl),-ldl)
ifdef BLAS
FLAGS   += $(if $(filter tests/%,$<),-DBLAS)# the library has it in the file that calls BLAS alone
LIBS    += -l$(BLAS)
endif
ifdef SAN
FLAGS   += -fsanitize=$(if $(filter thread,$(SAN)),thread,address$(comma)undefined) -fno-sanitize-recover=all
OPT      = $(if $(filter tests/%,$(filter-out tests/kernels/%,$<)),-O0,-O1)# tests compile four times as fast as with -O1
endif

# One job for each processor, unless -j or an outer make decides.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif
# $(call say,WHAT,FILE) prints one short line for the command $(Q) that follows.
Q   = $(if $(V),,@)
say = $(if $(V),@:,@echo "$(1) $(2)")

# ---- Objects, archives and programs of one precision, in $(BUILD)/float or $(BUILD)/double ----

# Programs that load student code contain the whole library and export it. gradcheck, which judges the code, exports
# only the engine and the operations that move numbers.
LOADERS  = gradcheck tests/check/mutants tests/check/students
EXPORTED = $(call sources,base kernels autograd) $(patsubst %,src/ops/%.c,contiguous reshape transpose slice concat)
WHOLE    = $(call sources,$(CORE) $(RUN) $(CHECK))
# Sources that neither read REAL_DOUBLE nor include a header that does are compiled once, for both precisions.
ONCE := $(shell grep -rE '^\#include "|REAL_DOUBLE' src | awk -F '[:"]' ' \
    /REAL_DOUBLE/ { reads[$$1] = 1; next } \
    { file[NR] = $$1; header[NR] = "src/" $$3 } \
    END { do { more = 0; for (i in file) if (header[i] in reads && !(file[i] in reads)) more = reads[file[i]] = 1 } while (more); \
          for (i in file) if (file[i] ~ /\.c$$/ && !(file[i] in reads)) print file[i] }')
$(sort $(ONCE:%.c=$(BUILD)/double/%.o)): $(BUILD)/double/%: $(BUILD)/float/%
	@mkdir -p $(@D)
	@ln -f $< $@ 2>/dev/null || cp $< $@
define precision
$(BUILD)/$(1)/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(FLAGS) $$(FLAGS_$(1)) -c $$< -o $$@
$(BUILD)/$(1)/libcore.a: $(patsubst %.c,$(BUILD)/$(1)/%.o,$(call sources,$(CORE) $(RUN)))
$(BUILD)/$(1)/libtapeformer.a: $(WHOLE:%.c=$(BUILD)/$(1)/%.o)
$(BUILD)/$(1)/libjudge.a: $(patsubst %.c,$(BUILD)/$(1)/%.o,$(call sources,$(JUDGE)))
$(BUILD)/$(1)/libtools.a: $(patsubst %.c,$(BUILD)/$(1)/%.o,$(call sources,$(TOOLS)))
$(BUILD)/$(1)/%.a:
	$$(call say,AR,$$@)
	@rm -f $$@
	$$(Q)$$(AR) rc $$@ $$^
$(BUILD)/$(1)/exported.list: $$(patsubst %.c,$(BUILD)/$(1)/%.o,$$(EXPORTED)) Makefile
	$$(Q){ echo '{'; nm -g $$(filter %.o,$$^) | sed -n 's/^[0-9a-f]* [A-TV-Z] \(.*\)/\1;/p'; \
	    echo '__wrap_malloc; __wrap_calloc; __wrap_realloc; };'; } >$$@
endef
# $(call linked,NAME): what a program is linked with. No program waits for objects that it does not need; tests of the core
# draw batches as the judge does, and read its arrays.
linked = $(if $(filter $(LIGHT),$(filter-out tests/base/no_memory,$(1))),$(if $(filter tests/%,$(1)),src/check/grading/batch_file.o src/check/npy.o) libcore.a, \
             $(if $(filter gradcheck tests/check/%,$(1)),,libtools.a) libjudge.a \
             $(if $(filter $(LOADERS),$(1)),$(WHOLE:%.c=%.o),libtapeformer.a))
# $(call program,PRECISION,NAME,OBJECT)
define program
$(BUILD)/$(1)/$(2): $(BUILD)/$(1)/$(3).o $(addprefix $(BUILD)/$(1)/,$(call linked,$(2))) \
    $(if $(filter gradcheck,$(2)),$(BUILD)/$(1)/exported.list)
	$$(call say,LD,$$@)
	$$(Q)$$(LINK) $(if $(filter gradcheck,$(2)),-Wl$$(comma)--dynamic-list=$(BUILD)/$(1)/exported.list,$(if $(filter $(LOADERS),$(2)),-rdynamic)) \
	    $$(filter-out %.list,$$^) $(if $(filter $(LOADERS),$(2)),$$(DL)) $$(LIBS) $$(LDLIBS) -o $$@
endef
$(foreach p,float double,$(eval $(call precision,$(p)))$(foreach name,$(PROGRAMS),\
    $(eval $(call program,$(p),$(name),$(if $(wildcard $(name).c),,src/programs/)$(name)))))

# Changed flags or another machine's processor rebuild everything.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@{ printf '%s\n' '$(subst ','\'',$(filter-out ccache,$(CC)) $(filter-out -Werror -I%,$(FLAGS)))'; $(CC) $(MACHINE) -dM -E -x c /dev/null; } >$@.now
	@cmp -s $@.now $@ || cp $@.now $@
	@rm $@.now

# The page's style and script, as lines of C strings.
GENERATED = $(patsubst src/%,$(BUILD)/generated/%.inc,src/run/page.html src/run/page.css src/run/page.js)
$(BUILD)/generated/%.inc: src/%
	@mkdir -p $(@D)
	@sed 's/[\\"?]/\\&/g; s/.*/"&\\n",/' $< >$@
$(foreach p,float double,$(BUILD)/$(p)/src/run/page.o): $(GENERATED)

# The derivations of the operations, from the header comments of their files.
$(BUILD)/generated/explain/derivations.inc: src/explain/derivations.awk $(wildcard src/ops/*.c)
	@mkdir -p $(@D)
	@awk -f $< $(filter %.c,$^) >$@
$(foreach p,float double,$(BUILD)/$(p)/src/explain/backward.o): $(BUILD)/generated/explain/derivations.inc

$(filter-out $(DOUBLE),$(PROGRAMS)): %: $(BUILD)/float/% FORCE
$(filter $(DOUBLE),$(PROGRAMS)): %: $(BUILD)/double/% FORCE
$(PROGRAMS):
	@cmp -s $< $@ || { rm -f $@ && cp $< $@; }

run: train generate
	./train copy --force
	./train lm --force
	@echo 'next: ./generate runs/lm writes more text, ./generate runs/copy copies what you type; open runs/lm/report.html'

help:
	@sed -n 's/^#   //p' Makefile

clean:
	rm -rf build build-* $(PROGRAMS)

.PHONY: all run install uninstall help clean FORCE

# Tests need the programs of both precisions. Sanitized programs stay in their build directory.
BUILT = $(foreach p,$(PRECISIONS),$(PROGRAMS:%=$(BUILD)/$(p)/%))
include src/install/Makefile src/web/Makefile tests/Makefile
all: $(if $(SAN),$(BUILT),$(PROGRAMS))

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
