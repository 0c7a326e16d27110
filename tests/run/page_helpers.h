/* A small page, made without a model. */
#ifndef TESTS_PAGE_HELPERS_H
#define TESTS_PAGE_HELPERS_H

#include "base/file.h"
#include "run/page.h"
#include <string.h>

static const char *const HARMLESS[] = {"a", "b", "花", " ", "\n"};
static const char *const HOSTILE[] = {"</script><img onerror=alert(1)>", "<b>", "\"'&", "-->", "]]>"};

enum { SAMPLE_TOKENS = 5, SAMPLE_FRAMES = 3, SAMPLE_EXAMPLES = 2 };

typedef struct SamplePage {
    Page page;
    PageExample example[SAMPLE_EXAMPLES];
    PageFrame frame[SAMPLE_FRAMES];
    uint8_t room[SAMPLE_FRAMES][SAMPLE_EXAMPLES][2][1000];
    PageSample sample;
    PageBeam beam[2];
    Picture curve;
    PageFact fact;
    Series series;
} SamplePage;

static int32_t sample_ids[] = {0, 1, 2, 3, 4}, sample_wrong[] = {0, 2, 2};
static const double sample_y[] = {3, 2, 1}, sample_probability[SAMPLE_TOKENS] = {0.5, 0.25, 1, 1, 1};

/* Makes a page of 2 examples with 2 layers of 3 heads, once causal, at 3 steps. In frame f every row gives all its weight
 * to column f, or in a causal group to the last one it has if that comes before. */
static inline void sample_page(SamplePage *s, const char *const *token) {
    memset(s, 0, sizeof *s);
    for (int i = 0; i < SAMPLE_EXAMPLES; i++) {
        PageExample *x = &s->example[i];
        *x = (PageExample){.target = sample_ids, .m = SAMPLE_TOKENS, .whole = SAMPLE_TOKENS, .groups = 2};
        x->group[0] = (PageGroup){"Encoder",     "encoder",  2,          3,    SAMPLE_TOKENS,
                                  SAMPLE_TOKENS, sample_ids, sample_ids, false};
        x->group[1] = (PageGroup){"Decoder",     "decoder",  2,          3,   SAMPLE_TOKENS,
                                  SAMPLE_TOKENS, sample_ids, sample_ids, true};
        for (int f = 0; f < SAMPLE_FRAMES; f++)
            for (int g = 0; g < 2; g++) {
                uint8_t *w = s->room[f][i][g];
                s->frame[f].weights[i][g] = w;
                for (int map = 0; map < 6; map++)
                    for (long r = 0; r < SAMPLE_TOKENS; r++, w += SAMPLE_TOKENS) {
                        long n = page_row_weights(&x->group[g], r);
                        w[f < n ? f : n - 1] = 100;
                    }
            }
    }
    for (int f = 0; f < SAMPLE_FRAMES; f++) {
        s->frame[f].step = 100 * (f + 1);
        s->frame[f].answer[0] = f ? (PageAnswer){SAMPLE_TOKENS, sample_ids} : (PageAnswer){3, sample_wrong};
    }
    s->sample = (PageSample){sample_ids, SAMPLE_TOKENS, sample_ids, SAMPLE_TOKENS};
    for (int i = 0; i < 2; i++) s->beam[i] = (PageBeam){s->frame[i].answer[0], sample_probability};
    s->series = (Series){token[0], 3, NULL, sample_y, false};
    s->curve = (Picture){PICTURE_CHART, token[1], token[0], .chart = {.series = &s->series, .count = 1}};
    s->fact = (PageFact){"text", token[0]};
    s->page = (Page){.title = token[0],
                     .status = token[1],
                     .figures = &s->fact,
                     .curves = &s->curve,
                     .token = token,
                     .examples = s->example,
                     .frames = s->frame,
                     .samples = &s->sample,
                     .searched = s->sample,
                     .beams = s->beam,
                     .beam_count = 2,
                     .options = &s->fact,
                     .command = "./train copy",
                     .figure_count = 1,
                     .curve_count = 1,
                     .example_count = SAMPLE_EXAMPLES,
                     .frame_count = SAMPLE_FRAMES,
                     .sample_count = 1,
                     .option_count = 1};
}

#endif
