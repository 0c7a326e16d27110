#include "run/frames.h"
#include "base/directory.h"
#include "run/attention_look.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Steps in names have as many digits, so that names are in their order. */
#define STEP "%010ld"

/* ---- Writing ---- */

__attribute__((format(printf, 5, 6))) static void add(Frames *f, Dtype d, Shape shape, const void *bytes,
                                                      const char *name, ...) {
    va_list arguments;
    if (f->tensors == FRAMES_TENSORS) error_bug("frames: more than %d tensors", FRAMES_TENSORS);
    va_start(arguments, name);
    vsnprintf(f->name[f->tensors], FRAMES_NAME, name, arguments);
    va_end(arguments);
    f->tensor[f->tensors] = array_over(f->name[f->tensors], d, shape, bytes);
    f->tensors++;
}

void frames_add_example(Frames *f, int i, const PageExample *x) {
    if (x->n) add(f, DTYPE_I32, SHAPE(x->n), x->source, "example.%d.source", i);
    add(f, DTYPE_I32, SHAPE(x->whole), x->target, "example.%d.target", i);
}

void frames_add_weights(Frames *f, long step, int i, const PageExample *x,
                        uint8_t *const weights[PAGE_GROUPS]) {
    for (int g = 0; g < x->groups; g++) {
        const PageGroup *group = &x->group[g];
        add(f, DTYPE_U8, SHAPE(group->layers, group->heads, group->rows, group->columns), weights[g],
            "frame." STEP ".example.%d.%s", step, i, group->file_name);
    }
}

void frames_add_sample(Frames *f, int i, const PageSample *s) {
    add(f, DTYPE_I32, SHAPE(s->given_count), s->given, "sample.%d.given", i);
    if (s->wanted) add(f, DTYPE_I32, SHAPE(s->wanted_count), s->wanted, "sample.%d.wanted", i);
}

void frames_add_answer(Frames *f, long step, int i, const PageAnswer *a) {
    add(f, DTYPE_I32, SHAPE(a->count), a->tokens, "frame." STEP ".answer.%d", step, i);
}

void frames_add_beams(Frames *f, const PageSample *searched, const PageBeam *beams, int count) {
    if (count) add(f, DTYPE_I32, SHAPE(searched->given_count), searched->given, "searched.given");
    for (int i = 0; i < count; i++) {
        add(f, DTYPE_I32, SHAPE(beams[i].answer.count), beams[i].answer.tokens, "beam.%d.tokens", i);
        add(f, DTYPE_F64, SHAPE(beams[i].answer.count), beams[i].probability, "beam.%d.probability", i);
    }
}

void frames_note(Frames *f, const char *key, const char *value) {
    if (f->notes == FRAMES_NOTES) error_bug("frames: more than %d notes", FRAMES_NOTES);
    f->note[f->notes++] = (Metadata){key, value};
}

/* The step that the name of a tensor begins with. False: it has none. */
static bool step_of(const Array *a, long *step) {
    int end = 0;
    return sscanf(a->name, "frame.%ld.%n", step, &end) == 1 && end > 0;
}

/* The steps of a file's frames below `end`, ascending: at most `room`, the last of them. */
static int steps_of(const Safetensors *s, long end, long *steps, int room) {
    int count = 0;
    for (int i = 0; i < s->tensors; i++) {
        long step;
        if (!step_of(&s->tensor[i], &step) || step >= end || (count && step == steps[count - 1])) continue;
        if (count == room) memmove(steps, steps + 1, (size_t)--count * sizeof *steps);
        steps[count++] = step;
    }
    return count;
}

void frames_add_earlier(Frames *f, const Safetensors *other, long step, int most) {
    long steps[PAGE_FRAMES + 1];
    int count = steps_of(other, step, steps, PAGE_FRAMES);
    for (; count > most; count--) { /* drop the one whose neighbours are the nearest */
        int drop = count > 2 ? 1 : count - 1;
        for (int i = 1; i + 1 < count; i++)
            if (steps[i + 1] - steps[i - 1] < steps[drop + 1] - steps[drop - 1]) drop = i;
        memmove(steps + drop, steps + drop + 1, (size_t)(count - drop - 1) * sizeof *steps);
    }
    for (int i = 0; i < other->tensors; i++) {
        long of;
        bool kept = false;
        for (int k = 0; k < count && step_of(&other->tensor[i], &of); k++) kept |= of == steps[k];
        if (!kept || f->tensors == FRAMES_TENSORS) continue;
        f->tensor[f->tensors++] = other->tensor[i];
    }
}

bool frames_write(const Frames *f, const char *directory, Error *e) {
    char path[PATH_ROOM];
    return directory_file(path, directory, "frames.safetensors", STATUS_CANNOT_CREATE, e) &&
           safetensors_write(path, f->note, f->notes, f->tensor, f->tensors, e);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const Array *)a)->name, ((const Array *)b)->name);
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const Metadata *)a)->key, ((const Metadata *)b)->key);
}

Safetensors frames_as_file(Frames *f) {
    qsort(f->tensor, (size_t)f->tensors, sizeof *f->tensor, by_name);
    qsort(f->note, (size_t)f->notes, sizeof *f->note, by_key);
    return (Safetensors){"frames", f->tensor, f->tensors, f->note, f->notes};
}

/* ---- Reading ---- */

/* What is being read, and into what. */
typedef struct Reader {
    FramesPage *f;
    const Safetensors *file;
    long tokens;
    Error *e;
    bool ok;
} Reader;

__attribute__((format(printf, 2, 3))) static const Array *find(const Reader *r, const char *name, ...) {
    char text[FRAMES_NAME];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(text, sizeof text, name, arguments);
    va_end(arguments);
    return safetensors_find(r->file, text);
}

/* The ids of a tensor, and their number; NULL for none. */
static const int32_t *ids_of(Reader *r, const Array *a, long *count) {
    int32_t *ids = r->f->ids + r->f->id_count;
    *count = 0;
    if (!a || !r->ok) return NULL;
    if (!(a->dtype == DTYPE_I32 && array_expect_shape(a, SHAPE(a->count), r->e) &&
          array_to_int32(a, ids, r->e))) {
        if (a->dtype != DTYPE_I32)
            error_set(r->e, STATUS_BAD_DATA, "%s: found %s, need I32", ARRAY_PLACE(a), dtype_name(a->dtype));
        r->ok = false;
        return NULL;
    }
    for (long i = 0; i < a->count && r->ok; i++)
        if (ids[i] < 0 || ids[i] >= r->tokens)
            r->ok = error_set(r->e, STATUS_BAD_DATA, "%s: found the id %ld, need one below %ld",
                              ARRAY_PLACE(a), (long)ids[i], r->tokens);
    r->f->id_count += a->count;
    *count = a->count;
    return ids;
}

/* The weights of a group, whose layers and heads the first frame tells. */
static const uint8_t *weights_of(Reader *r, PageGroup *g, long step, int example) {
    const Array *a = find(r, "frame." STEP ".example.%d.%s", step, example, g->file_name);
    bool first = g->layers == 0;
    if (!r->ok) return NULL;
    if (!a || a->dtype != DTYPE_U8 || a->rank != 4 || a->size[0] > 1000 || a->size[1] > 1 << 20) {
        r->ok = error_set(r->e, STATUS_BAD_DATA,
                          "%s: frame." STEP ".example.%d.%s: found none, need U8 of rank 4", r->file->path,
                          step, example, g->file_name);
        return NULL;
    }
    if (first) g->layers = (int)a->size[0], g->heads = (int)a->size[1];
    r->ok = array_expect_shape(a, SHAPE(g->layers, g->heads, g->rows, g->columns), r->e);
    return a->bytes;
}

/* The first m tokens of a language model's target are shown: as many as its weights have rows. */
static bool read_example(Reader *r, int i, long step) {
    PageExample *x = &r->f->example[i];
    *x = (PageExample){0};
    x->source = ids_of(r, find(r, "example.%d.source", i), &x->n);
    x->target = ids_of(r, find(r, "example.%d.target", i), &x->whole);
    const Array *shown = find(r, "frame." STEP ".example.%d.text", step, i);
    x->m = shown && shown->rank == 4 && shown->size[2] < x->whole ? shown->size[2] : x->whole;
    attention_groups(x);
    return r->ok && x->target;
}

static void read_frame(Reader *r, PageFrame *frame, long step, const Page *p) {
    long count;
    frame->step = step;
    for (int i = 0; i < p->example_count; i++)
        for (int g = 0; g < r->f->example[i].groups; g++)
            frame->weights[i][g] = weights_of(r, &r->f->example[i].group[g], step, i);
    for (int i = 0; i < p->sample_count; i++) {
        const int32_t *ids = ids_of(r, find(r, "frame." STEP ".answer.%d", step, i), &count);
        frame->answer[i] = (PageAnswer){count, ids};
    }
}

static void read_samples(Reader *r, Page *p) {
    for (PageSample *s = r->f->sample; p->sample_count < PAGE_SAMPLES; s++, p->sample_count++) {
        const Array *given = find(r, "sample.%d.given", p->sample_count);
        if (!given) break;
        s->given = ids_of(r, given, &s->given_count);
        s->wanted = ids_of(r, find(r, "sample.%d.wanted", p->sample_count), &s->wanted_count);
    }
}

static void read_beams(Reader *r, Page *p) {
    p->searched.given = ids_of(r, find(r, "searched.given"), &p->searched.given_count);
    for (PageBeam *b = r->f->beam; r->ok && p->beam_count < PAGE_BEAMS; b++, p->beam_count++) {
        const Array *tokens = find(r, "beam.%d.tokens", p->beam_count),
                    *probability = find(r, "beam.%d.probability", p->beam_count);
        if (!tokens || !probability) break;
        b->answer.tokens = ids_of(r, tokens, &b->answer.count);
        b->probability = r->f->probability + r->f->probability_count;
        r->ok = r->ok && array_expect_shape(probability, SHAPE(b->answer.count), r->e);
        if (r->ok) array_to_double(probability, r->f->probability + r->f->probability_count);
        r->f->probability_count += b->answer.count;
    }
}

bool frames_page(FramesPage *f, const Safetensors *file, long tokens, Page *p, Error *e) {
    long steps[PAGE_FRAMES], numbers = 1;
    Reader r = {f, file, tokens, e, true};
    for (int i = 0; i < file->tensors; i++)
        if (file->tensor[i].dtype != DTYPE_U8) numbers += file->tensor[i].count;
    *f = (FramesPage){.ids = malloc((size_t)numbers * sizeof *f->ids),
                      .probability = malloc((size_t)numbers * sizeof *f->probability)};
    if (!f->ids || !f->probability)
        return error_set(e, STATUS_NO_MEMORY, "%s: no memory for %ld tokens", file->path, numbers);
    p->frame_count = steps_of(file, LONG_MAX, steps, PAGE_FRAMES);
    long last = p->frame_count ? steps[p->frame_count - 1] : 0;
    while (p->frame_count && p->example_count < PAGE_EXAMPLES && read_example(&r, p->example_count, last))
        p->example_count++;
    read_samples(&r, p);
    for (int i = 0; i < p->frame_count; i++) read_frame(&r, &f->frame[i], steps[i], p);
    read_beams(&r, p);
    p->examples = f->example, p->frames = f->frame, p->samples = f->sample, p->beams = f->beam;
    return r.ok;
}

void frames_page_free(FramesPage *f) {
    free(f->ids), free(f->probability);
    *f = (FramesPage){0};
}
