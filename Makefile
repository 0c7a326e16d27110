# tapeformer: `make run` trains, `make test` tests. A C compiler and GNU make are all they need.
#
#   make                 the programs: train generate gradcheck explain bench
#   make run             train the copy task, then a language model on the text in data/
#   make test            build and run everything quick, what computes in both precisions; TESTS="gemm model": these alone
#   make test-all        the same and what takes minutes: files of other programs by the thousand, every fault, and the
#                        tests as gcc and clang build them with -O0 and -O2, under sanitizers and valgrind
#   make coverage        lines and branches of src/ that the tests go through, and which they do not
#   make mutate          operators changed one by one, MUTANTS=100 of them or all: which of them no test notices
#   make machines        the table of README: other compilers, C libraries and processors, as far as they are installed
#   make lint            warnings with gcc and clang, format, dependencies, sizes, registers of the tile
#   make tidy            what clang-tidy finds, of the checks in .clang-tidy
#   make install         programs, libraries, header and manual pages below PREFIX=/usr/local; DESTDIR=FOLDER before it
#   make uninstall       take away what install has put there
#   make clean           take away all that was built; runs/ stays
#   make help            this text
#
#   make V=1             show whole commands
#   make SAN=1 test      the same tests under AddressSanitizer and UndefinedBehaviorSanitizer; SAN=thread: ThreadSanitizer
#   make BLAS=openblas   with OpenBLAS's matrix product in place of this project's
#   make fuzz            random input for every reader, SECONDS=60 for each; READERS="text recipe": for these; RUNS=1000000
#                        SECONDS= for so many inputs, however long they take; wants clang
#   make ARCH=x86-64-v3  for another processor than this machine's own
#   make OPT=-O0         every file so
#   make CFLAGS="-g -fstack-protector-strong" LDFLAGS=-Wl,-z,now
#                        with these as well, also from the environment; what OPT and ARCH say stands
#   make CC=clang        with another compiler
#   make -j1             one file at a time; otherwise as many as there are processors

# To another make this line is an error with a text; to GNU make it is a rule that nobody asks for.
.error tapeformer_is_built_with_GNU_make: gmake
.DEFAULT_GOAL = all

CC     ?= cc
ARCH    = native
BUILD  ?= build$(if $(SAN),-san$(filter thread,$(SAN)))$(if $(BLAS),-$(BLAS))
# Rooms that compute are worth -O3; what else there is builds faster with less, and runs as fast; tests with least of all, but
# for the plain products in tests/gemm.c.
COMPUTE  = kernels autograd ops nn training decoding
OPT      = $(if $(filter tests/%,$(filter-out tests/gemm.c,$<)),-O1,$(if $(filter-out $(COMPUTE:%=src/%/%) FORCE,$<),-O2,-O3))
WARN    = -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
          -Werror=implicit-function-declaration -Wno-missing-field-initializers -Wno-psabi -Wno-enum-float-conversion

# The first of these flags that the compiler takes and can link a program with; nothing where it takes none.
takes   = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -x c - -o /dev/null $(2) 2>/dev/null && echo yes)
first   = $(firstword $(foreach flag,$(1),$(if $(call takes,$(flag)),$(flag))))

# -ffp-contract=fast lets the compiler fuse a*b+c, which -std=c11 alone forbids; gcc does it at -O1, and where it tunes for
# AMD in chains of sums, only where it is asked for more, and other bits would come of it. The two others only give up errno
# and floating-point traps, which nothing here reads; isnan and infinities keep their meaning. Products use the widest
# vectors of the machine; plain loops may then as well, which compilers else think too dear.
FUSED   := $(if $(filter -O1,$(OPT)),$(call first,-fexpensive-optimizations)) $(call first,--param=avoid-fma-max-bits=0)
MACHINE := $(call first,-march=$(ARCH) -mcpu=$(ARCH)) $(call first,-mprefer-vector-width=512)
ifeq ($(filter native help clean,$(ARCH) $(MAKECMDGOALS))$(filter -march% -mcpu%,$(MACHINE)),)
$(error $(CC) knows no processor $(ARCH))
endif
# The sources keep to POSIX, but for base/system.c; tests may ask for more. macOS and NetBSD hide a part of POSIX from who
# asks for POSIX alone. Floats are floats: where a processor computes in more digits of its own accord, it is asked not to.
SYSTEM   = $(if $(filter src/% train.c FORCE,$<),-D_XOPEN_SOURCE=700,-D_GNU_SOURCE) -D_DARWIN_C_SOURCE -D_NETBSD_SOURCE -D_FILE_OFFSET_BITS=64
FLOATS  := $(if $(call takes,-msse2 -mfpmath=sse),-msse2 -mfpmath=sse) $(call first,-fexcess-precision=fast)
# The same objects make the static and the shared library; functions of a file may know each other in both.
SHARED  := -fPIC $(call first,-fno-semantic-interposition)
# Lines for backtraces; EXTRA=-g has variables for a debugger as well, and takes a quarter more time to build.
DEBUG    = -g1
# CPPFLAGS, CFLAGS, LDFLAGS and LDLIBS are whose make this is, from the environment or behind `make`, and come first: with
# whatever else a distribution asks for, level and processor are what OPT and ARCH say, and results keep their bits.
FLAGS   = $(CPPFLAGS) $(CFLAGS) -std=c11 $(SYSTEM) -Isrc -I$(BUILD)/generated $(OPT) $(DEBUG) $(MACHINE) -ffp-contract=fast \
          $(FUSED) -fno-math-errno -fno-trapping-math $(FLOATS) $(SHARED) $(WARN) $(EXTRA) -MMD -MP -pthread
LINK    = $(CC) $(FLAGS) $(LDFLAGS)
LIBS    = -lm -pthread
ifdef BLAS
FLAGS  += -DBLAS
LIBS   += -l$(BLAS)
endif
ifdef SAN
FLAGS  += -fsanitize=$(if $(filter thread,$(SAN)),thread,address$(comma)undefined) -fno-sanitize-recover=all
OPT     = -O1
endif

OS_NAME := $(shell uname)

# All processors, unless -j says how many or another make has said it.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
endif

# One short line a file: $(call say,WHAT,FILE) before the command $(Q).
Q   = $(if $(V),,@)
say = $(if $(V),@:,@echo "$(1) $(2)")

# What belongs to programs alone stays outside the library. `make run` builds nothing of it, and no gradient checks: the
# programs that it wants link with the library without that room.
PROGRAM_ROOMS = grading bench explain programs
LIGHT    = train generate
PROGRAMS = train $(patsubst src/programs/%.c,%,$(wildcard src/programs/*.c))
# The seam of matrix products has two sides: gemm.c, and gemm_blas.c.
OTHER_SIDE = src/kernels/gemm$(if $(BLAS),,_blas).c
LIB_SRC  = $(filter-out $(PROGRAM_ROOMS:%=src/%/%) $(OTHER_SIDE),$(wildcard src/*/*.c))
MORE_SRC = $(filter-out src/programs/%,$(wildcard $(PROGRAM_ROOMS:%=src/%/*.c)))

# The tests: C programs, each in both PRECISIONS, and scripts. What computes nothing, and what trains as users do, is run in
# float alone; what proves gradients, or shows experiments, in double alone, as users do. TWICE=1: all in both.
PRECISIONS = float double
ONLY_float = programs bench resume damage nothing_lost bad_input file no_memory group_limit options pool tasks corpus tokenizer \
             utf8 json wording fuzz_seeds page page_browser pictures \
             run_page watch metrics directory children handed_in explanations explain_flags no_memory_shown
ONLY_double = mutants students student_files cheats functions checker explain patterns
TESTS    = $(C_TESTS) $(basename $(notdir $(SCRIPTS)))
# What takes longest begins first, in either precision.
LONGEST  = explain mutants students grading student_files ulps programs verify gemm
JUDGES   = $(ONLY_double) gradcheck grading verify verdicts model_check ops_golden ulps
C_TESTS  = $(LONGEST) $(filter-out $(LONGEST) $(OF_LINUX),$(patsubst tests/%.c,%,$(wildcard tests/*.c)))
# These stand before the C library with system calls of Linux's.
OF_LINUX = $(if $(filter Linux,$(OS_NAME)),,file tape fuzz_seeds)
# Not for a sanitizer, before which tests/faults puts an allocator of its own, and which finds nothing in numbers.
SCRIPTS  = $(if $(SAN),,tests/faults/faults.py tests/cache_misses.sh tests/installed.sh \
               tests/numpy_round_trip.py tests/numpy_kernels.py tests/numpy_walk.py)

# Programs are built in both precisions, for the tests, and copied to the top. Sanitized ones stay where they are. One test
# in float asks the checker as it is shipped.
BUILT     = $(foreach p,$(PRECISIONS),$(PROGRAMS:%=$(BUILD)/$(p)/%)) $(if $(filter verify,$(TESTS)),$(BUILD)/double/gradcheck)
all: $(if $(SAN),$(BUILT),$(PROGRAMS))

# Programs that load code at run time, which calls back into them: all of the library is in them, and to be seen. Of
# gradcheck, which judges that code, no more than it needs: the engine, and operations that only move numbers.
LOADERS = gradcheck tests/mutants tests/students
SEEN    = $(wildcard src/base/*.c src/kernels/*.c src/autograd/*.c) \
          $(patsubst %,src/ops/%.c,contiguous reshape transpose permute slice concat)
DL      = $(if $(call takes,,-ldl),-ldl)

# One precision: objects, libraries, tests and programs under $(BUILD)/float or $(BUILD)/double.
FLAGS_float  =
FLAGS_double = -DREAL_DOUBLE
define precision
$(BUILD)/$(1)/%.o: %.c $(BUILD)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$$(CC) $$(FLAGS) $$(FLAGS_$(1)) -c $$< -o $$@
$(BUILD)/$(1)/libtapeformer.a: $$(LIB_SRC:%.c=$(BUILD)/$(1)/%.o)
$(BUILD)/$(1)/libtraining.a: $$(patsubst %.c,$(BUILD)/$(1)/%.o,$$(filter-out src/gradcheck/%,$$(LIB_SRC)))
$(BUILD)/$(1)/seen.list: $$(patsubst %.c,$(BUILD)/$(1)/%.o,$$(filter-out $$(OTHER_SIDE),$$(SEEN)))
	$$(Q){ echo '{'; nm -g $$^ | sed -n 's/^[0-9a-f]* [A-TV-Z] \(.*\)/\1;/p'; \
	    echo '__wrap_malloc; __wrap_calloc; __wrap_realloc; };'; } >$$@
$(BUILD)/$(1)/libprograms.a: $$(MORE_SRC:%.c=$(BUILD)/$(1)/%.o)
$(BUILD)/$(1)/%.a:
	$$(call say,AR,$$@)
	@rm -f $$@
	$$(Q)$$(AR) rc $$@ $$^
$(foreach name,$(PROGRAMS) $(C_TESTS:%=tests/%) tests/interop/files,$(eval $(call program,$(1),$(name))))
endef
# What loaded code sees of it. The linker of macOS knows no such list, and shows all.
shown = $(if $(filter gradcheck,$(2)),$(call listed,$(1)),$(if $(filter $(LOADERS),$(2)),-rdynamic))
listed = $(if $(filter Darwin,$(OS_NAME)),-rdynamic,-Wl$(comma)--dynamic-list=$(BUILD)/$(1)/seen.list)
comma = ,
# Program $(2) of precision $(1).
define program
$(BUILD)/$(1)/$(2): $(BUILD)/$(1)/$(if $(wildcard $(2).c),,src/programs/)$(2).o \
    $(if $(filter $(LIGHT),$(2)),$(BUILD)/$(1)/libtraining.a,$(BUILD)/$(1)/libprograms.a \
        $(if $(filter $(LOADERS),$(2)),$(LIB_SRC:%.c=$(BUILD)/$(1)/%.o),$(BUILD)/$(1)/libtapeformer.a)) \
    $(if $(filter gradcheck,$(2)),$(BUILD)/$(1)/seen.list)
	$$(call say,LD,$$@)
	$$(Q)$$(LINK) $(call shown,$(1),$(2)) $$(filter-out %.list,$$^) \
	    $(if $(filter $(LOADERS),$(2)),$$(DL)) $$(LIBS) $$(LDLIBS) -o $$@
endef
$(eval $(call precision,float))
$(eval $(call precision,double))
.SECONDARY:

# What was compiled in another way is compiled again, and what another machine has compiled for a processor of its own.
FOR_PROCESSOR = $(CC) $(MACHINE) -dM -E -x c /dev/null
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@{ printf '%s\n' '$(subst ','\'',$(filter-out ccache,$(CC)) $(FLAGS))'; $(FOR_PROCESSOR); } >$@.now
	@cmp -s $@.now $@ || cp $@.now $@
	@rm $@.now

# The page's style and script, as lines of C strings.
GENERATED = $(patsubst src/%,$(BUILD)/generated/%.inc,$(wildcard src/report/page.css src/report/page.js))
$(BUILD)/generated/%.inc: src/%
	@mkdir -p $(@D)
	@sed 's/[\\"?]/\\&/g; s/.*/"&\\n",/' $< >$@
$(foreach p,float double,$(BUILD)/$(p)/src/report/page_files.o): $(GENERATED)

# Models are trained in float; gradients are checked, and numbers shown, in double. What stands at the top may be of
# another build.
DOUBLE = gradcheck explain
$(filter-out $(DOUBLE),$(PROGRAMS)): %: $(BUILD)/float/% FORCE
$(filter $(DOUBLE),$(PROGRAMS)): %: $(BUILD)/double/% FORCE
gradcheck: $(BUILD)/float/gradcheck # the twin that it runs
$(PROGRAMS):
	@cmp -s $< $@ || { rm -f $@ && cp $< $@; }

# ---- For other programs: one header, a static and a shared library in both precisions, which show what it declares ----

PREFIX  ?= /usr/local
VERSION  = 0.1.0
NAME_float  = tapeformer
NAME_double = tapeformer-double
OBJCOPY  = $(shell $(CC) -print-prog-name=objcopy)

$(BUILD)/tapeformer.h: src/tapeformer.h src/install/header.awk src/ops/ops.def $(wildcard src/*/*.h)
	@mkdir -p $(@D)
	@awk -f src/install/header.awk $< >$@

# A list of names, for the linker that makes a shared library, and for objcopy.
ifeq ($(OS_NAME),Darwin)
so      = lib$(1).0.dylib
so_link = lib$(1).dylib
SO_FLAGS = -dynamiclib -install_name $(PREFIX)/lib/$(@F) -Wl,-exported_symbols_list,$(@D)/exports
so_list = sed 's/^/_/'
else
so      = lib$(1).so.0
so_link = lib$(1).so
SO_FLAGS = -shared -Wl,-soname,$(@F) -Wl,--version-script=$(@D)/exports
so_list = { echo '{ global:'; sed 's/$$/;/'; echo 'local: *; };'; }
endif

define library
$(BUILD)/$(1)/names: $(BUILD)/tapeformer.h src/install/exports.awk
	@mkdir -p $$(@D)
	@$$(CC) -std=c11 -E $$(FLAGS_$(1)) $$< | awk -v header=$$< -f src/install/exports.awk >$$@
$(BUILD)/$(1)/exports: $(BUILD)/$(1)/names
	@$$(so_list) <$$< >$$@
$(BUILD)/$(1)/$(call so,$(NAME_$(1))): $(BUILD)/$(1)/exports $$(LIB_SRC:%.c=$(BUILD)/$(1)/%.o)
	$$(call say,LD,$$@)
	$$(Q)$$(LINK) $$(SO_FLAGS) $$(filter %.o,$$^) $$(LIBS) $$(LDLIBS) -o $$@
# One object, in which only the listed names are seen from outside. Without objcopy all are.
$(BUILD)/$(1)/installed/lib$(NAME_$(1)).a: $(BUILD)/$(1)/names $$(LIB_SRC:%.c=$(BUILD)/$(1)/%.o)
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(Q)$$(CC) -r -nostdlib $$(filter %.o,$$^) -o $$(@D)/tapeformer.o
	$$(Q)! command -v $$(OBJCOPY) >/dev/null || $$(OBJCOPY) --keep-global-symbols=$$< $$(@D)/tapeformer.o
	$$(Q)$$(AR) rc $$@ $$(@D)/tapeformer.o
endef
$(foreach p,float double,$(eval $(call library,$(p))))

# A manual page of what --help says, and what it says about each command that has a help of its own.
TO_PAGE = -v page=tapeformer-$* -v version=$(VERSION) -f src/install/manual.awk
MANUALS = $(PROGRAMS:%=$(BUILD)/man/tapeformer-%.1)
$(MANUALS): $(BUILD)/man/tapeformer-%.1: % src/install/manual.awk
	@mkdir -p $(@D)
	@{ ./$* --help | awk $(TO_PAGE); \
	   for command in $$(./$* --help | awk '!NF { on = 0 } on { print $$1 } /^Commands, each with/ { on = 1 }'); do \
	       ./$* $$command --help | awk -v command=$$command $(TO_PAGE); \
	   done; } >$@

# Everything that install puts somewhere, and uninstall takes away. The folder's name may hold what means something to a
# shell, and a superuser's umask nothing to those who use what is there.
export to = $(DESTDIR)$(PREFIX)
LIBRARIES = $(foreach p,float double,$(BUILD)/$(p)/$(call so,$(NAME_$(p))) $(BUILD)/$(p)/installed/lib$(NAME_$(p)).a)
INSTALLED = $(PROGRAMS:%=bin/tapeformer-%) $(PROGRAMS:%=share/man/man1/tapeformer-%.1) include/tapeformer.h \
            $(patsubst %,lib/%,$(notdir $(LIBRARIES)) $(foreach p,float double,$(call so_link,$(NAME_$(p)))) \
            $(foreach p,float double,pkgconfig/$(NAME_$(p)).pc)) libexec/tapeformer/float/tapeformer-gradcheck
# The pkg-config file of precision $(1).
define pc
prefix=$(PREFIX)
includedir=$${prefix}/include
libdir=$${prefix}/lib

Name: $(NAME_$(1))
Description: a Transformer and the autograd under it, in $(1)
Version: $(VERSION)
Cflags: -I$${includedir} $(FLAGS_$(1))
Libs: -L$${libdir} -l$(NAME_$(1))
Libs.private: $(LIBS) $(LDLIBS)
endef
export pc_float  = $(call pc,float)
export pc_double = $(call pc,double)

install: all $(LIBRARIES) $(BUILD)/tapeformer.h $(MANUALS)
	@umask 022; for folder in $(sort $(dir $(INSTALLED))); do mkdir -p "$$to/$$folder" || exit; done
	@for p in $(PROGRAMS); do install -m 755 $$p "$$to/bin/tapeformer-$$p" || exit; done
	@install -m 755 $(BUILD)/float/gradcheck "$$to/libexec/tapeformer/float/tapeformer-gradcheck"
	@install -m 644 $(MANUALS) "$$to/share/man/man1"
	@install -m 644 $(BUILD)/tapeformer.h "$$to/include"
	@install -m 755 $(filter-out %.a,$(LIBRARIES)) "$$to/lib"
	@install -m 644 $(filter %.a,$(LIBRARIES)) "$$to/lib"
	@$(foreach p,float double,ln -sf $(call so,$(NAME_$(p))) "$$to/lib/$(call so_link,$(NAME_$(p)))";)
	@umask 022; $(foreach p,float double,printf '%s\n' "$$pc_$(p)" >"$$to/lib/pkgconfig/$(NAME_$(p)).pc";)
	@echo "installed below $$to"

uninstall:
	@[ ! -d "$$to" ] || { cd "$$to" && rm -f $(INSTALLED); }
	@-rmdir "$$to/libexec/tapeformer/float" "$$to/libexec/tapeformer" 2>/dev/null || :

run: train generate
	./train copy --force
	./train lm --force

# Not $(MAKE) in the recipe: make would take that for a make of its own.
THIS_MAKE  := $(MAKE)
# What is run in another precision than $(1).
ELSEWHERE   = $(if $(TWICE),,$(foreach p,$(filter-out $(1),float double),$(ONLY_$(p))))
# Those of TESTS, scripts first, which take longest, and programs; what the scripts want is built before, by all processors.
programs_of = $(foreach p,$(PRECISIONS),$(patsubst %,$(BUILD)/$(p)/tests/%,$(filter-out $(call ELSEWHERE,$(p)),$(filter $(1),$(TESTS)))))
RUN_C       = $(call programs_of,$(LONGEST)) $(call programs_of,$(filter-out $(LONGEST),$(C_TESTS)))
RUN_SCRIPTS = $(foreach s,$(SCRIPTS),$(if $(filter $(basename $(notdir $(s))),$(TESTS)),$(s)))
test: $(RUN_C) $(BUILT) all $(if $(filter tests/installed.sh,$(RUN_SCRIPTS)),$(LIBRARIES) $(BUILD)/tapeformer.h $(MANUALS))
	@BUILD=$(BUILD) GRADCHECK=$(BUILD)/double/gradcheck MAKE=$(THIS_MAKE) sh tests/run.sh $(RUN_SCRIPTS) $(RUN_C)

# What takes longer, and wants more than a compiler.
test-all: $(BUILD)/float/tests/interop/files
	@ALL=1 $(MAKE) TWICE=1 test
	@BUILD=$(BUILD) ALL=1 MAKE=$(THIS_MAKE) sh tests/run.sh tests/adding_an_operation.sh tests/interop/check.py \
	    tests/interop/differential.py tests/faults/faults.py
	@MAKE=$(THIS_MAKE) CC="$(CC)" sh tests/ways.sh

machines:
	@MAKE=$(THIS_MAKE) CC="$(CC)" sh tests/machines.sh

# What of src/ the tests go through, and what they notice of it; MUTANTS=100 tries so many, otherwise all, for hours.
# Nothing is inlined or made twice, so that a branch of the source is one in the count; products at -O1, or they take hours.
# In double those that judge gradients, which is done in double alone.
COVERED = OPT='$$(if $$(filter src/kernels/% src/bench/peak.c,$$<),-O1 -fno-inline -fno-thread-jumps,-O0)' \
          EXTRA="--coverage -fprofile-update=single -include tests/coverage.h -Dalways_inline=__unused__ -DSLOWER=10"
coverage:
	@find build-coverage -name '*.gcda' -delete 2>/dev/null || :
	@$(MAKE) -s BUILD=build-coverage $(COVERED) PRECISIONS=float run-tests
	@ALL=1 $(MAKE) -s BUILD=build-coverage $(COVERED) PRECISIONS=double TESTS="$(JUDGES)" run-tests
	@BUILD=build-coverage GRADCHECK=build-coverage/double/gradcheck sh tests/run.sh $(filter tests/numpy%,$(SCRIPTS)) | grep -v '^ok '
	@ALL=1 build-coverage/float/tests/no_memory_shown
	@BUILD=build-coverage PLACES=1 python3 -B tests/faults/faults.py memory || :
	@python3 tests/coverage.py build-coverage
mutate: $(RUN_C) $(BUILT)
	@python3 tests/mutate.py $(BUILD) $(MUTANTS)
run-tests: $(RUN_C) $(BUILT)
	@GRADCHECK=$(BUILD)/double/gradcheck sh tests/run.sh $(RUN_C) | grep -v '^ok '

lint: $(GENERATED)
	@sh tests/lint.sh

# cppcheck is not asked: it breaks off at a compound literal that is an argument, goes on behind functions that do not
# return, and finds fault with what is so in the other precision alone; of 34 reports one was a mistake, a member unused.
tidy: $(GENERATED)
	@if ! command -v clang-tidy >/dev/null; then echo "skip tidy: there is no clang-tidy"; else \
	    flags=$$(MAKEFLAGS= $(MAKE) -s CC=clang print-lint-flags) && \
	    ls $(filter-out %/gemm_blas.c,$(wildcard src/*/*.c)) train.c | \
	        xargs -P 2 -n 8 sh -c 'clang-tidy --quiet "$$@" -- '"$$flags"' 2>/dev/null' tidy; fi

# libFuzzer comes with clang. SECONDS for each reader, of tests/fuzz/readers.h.
FUZZ = build-fuzz/float
SECONDS ?= 60
fuzz:
	@if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang -fsanitize=fuzzer -x c - -o /dev/null 2>/dev/null; \
	    then echo "skip fuzz: there is no clang with libFuzzer"; echo "0 passed, 0 failed"; else \
	    $(MAKE) -s CC="$(filter ccache,$(CC)) clang" BUILD=build-fuzz SAN=1 EXTRA=-fsanitize=fuzzer-no-link $(FUZZ)/fuzz && \
	    SECONDS_EACH=$(SECONDS) sh tests/fuzz/run.sh $(FUZZ); fi
# No reader multiplies matrices, and clang's sanitizers take minutes over the tile's unrolled loops.
$(FUZZ)/src/kernels/gemm_tile.o: FLAGS += -fno-sanitize=all
$(FUZZ)/fuzz: $(FUZZ)/tests/fuzz/fuzz.o $(FUZZ)/libprograms.a $(FUZZ)/libtapeformer.a
	$(Q)$(LINK) -fsanitize=fuzzer $^ $(LIBS) $(LDLIBS) -o $@

print-lint-flags:
	@echo $(filter-out -MMD -MP,$(FLAGS))

help:
	@sed -n 's/^#   //p' Makefile

clean:
	rm -rf build build-* $(PROGRAMS)

.PHONY: all coverage machines mutate run-tests install uninstall run test test-all lint tidy fuzz print-lint-flags help clean \
        FORCE

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
