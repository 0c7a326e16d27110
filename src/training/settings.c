/* The table of settings: a row for each option of ./train, in the order of its help. From it come the command line, the
 * help, --config files, all checks, checkpoints and, with nn/settings.def, the metadata of weight files.
 *
 *     name, argument    --name ARGUMENT; a choice has no argument: the help shows its words
 *     allowed           the interval of a number, "[1,64]"; the words of a choice, "post|pre"
 *     help              one line; a row with a name alone is a heading
 *     AT(TYPE, FIELD)   type of the value (base/setting.h) and its place in TrainConfig
 *     ONLY(CONDITION)   in other runs the setting has no effect and is refused
 *     .with             the kind of another setting, without which it has no effect either
 *     .saved            nowhere, or in weight files; otherwise in checkpoints alone
 *     .computed         the default in words, if it depends on other settings (train_defaults.c)
 *     .may_change       --resume takes another value than the checkpoint's
 *
 * A new setting is a row here, or in nn/settings.def if it belongs to the model, and a member of the configuration. */
#include "training/train_config.h"
#include <string.h>

static bool is_task(const TrainConfig *r, const char *name) {
    return strcmp(r->task, name) == 0;
}

#define CONDITION(name, decides, need, test)                                                                 \
    static bool name##_holds(const TrainConfig *r) {                                                         \
        return test;                                                                                         \
    }                                                                                                        \
    static const Condition name = {name##_holds, decides, need};

CONDITION(text, "task", "lm", is_task(r, "lm"))
CONDITION(windows, "lines", "one of the two", !r->data.lines)
CONDITION(pairs, "task", "pairs", is_task(r, "pairs"))
CONDITION(data, "task", "lm or pairs", is_task(r, "lm") || is_task(r, "pairs"))
CONDITION(drawn, "task", "a task that draws its data", !data_holds(r))
CONDITION(symbols, "task", "copy, reverse or sort", task_kind(r->task) && task_kind(r->task)->answer)
CONDITION(numbers, "task", "add", is_task(r, "add"))
CONDITION(vocabulary, "tokenizer", "another", !r->data.tokenizer || r->data.tokenizer->least)
CONDITION(moments, "optimizer", "adamw or muon", r->optimizer.kind->betas)
CONDITION(falling, "schedule", "cosine or linear", r->schedule.kind->falls)
CONDITION(warmup, "schedule", "noam, cosine or linear", r->schedule.kind->warms_up)
CONDITION(samples, "quiet", "one of the two", !r->quiet)

#define COUNT              "[1,2147483647]"
#define COUNT_OR_0         "[0,2147483647]"
#define ONLY(which)        .condition = &which
#define AT(type, field)    SETTING(type, TrainConfig, field)
#define MODEL(type, field) SETTING(type, TrainConfig, model.field)
const Setting train_settings[TRAIN_SETTINGS + 1] = {
    {"Task"},
    {"preset", NULL, "paper|gpt|modern", "defaults of model and training: see Presets below",
     AT(CHOICE, preset), .computed = "paper; lm modern"},
    {"from", "DIR", NULL, "begin with the weights and the tokenizer of the run in DIR", AT(TEXT, from)},
    {"text", "FILE", NULL, "lm: the text to learn; operands after lm are texts, too", AT(TEXT, data.text),
     ONLY(text), .may_change = true},
    {"pairs", "FILE", NULL, "pairs: source, tab and target a line", AT(TEXT, data.pairs), ONLY(pairs),
     .may_change = true},
    {"tokenizer", NULL, NULL, "lm, pairs: what a token is", AT(KIND, data.tokenizer), ONLY(data),
     .kinds = all_tokenizers, .none = "fit", .computed = "char; lm fit: char or bpe, by the text"},
    {"vocab-size", "N", "[0,65536]", "lm, pairs: tokens at most; 0: all char, 1024 bpe, 8192 word",
     AT(INTEGER, data.vocab_size), ONLY(vocabulary), .computed = "0; lm with bpe 512 to 8192 by the text"},
    {"lines", .help = "lm: each line is an example, with a beginning and an end", AT(FLAG, data.lines),
     ONLY(text)},
    {"newline", NULL, "keep|unix", "lm: keep line ends, or turn each CR LF into LF",
     AT(CHOICE, data.unix_newlines), ONLY(windows)},
    {"context", "N", "[1,1048576]", "lm: tokens in the model's window", AT(INTEGER, data.context),
     ONLY(text)},
    {"tail", "P", "[0,1)", "lm, pairs: share held out, of a text its end; 0: train and evaluate on all",
     AT(REAL, data.validation), ONLY(data)},
    {"symbols", "N", "[2,20000]", "copy, reverse, sort: number of symbols", AT(INTEGER, data.symbols),
     ONLY(symbols)},
    {"max-length", "N", "[1,4096]", "copy, reverse, sort: maximum sequence length",
     AT(INTEGER, data.max_length), ONLY(symbols)},
    {"digits", "N", "[1,9]", "add: digits of a number at most", AT(INTEGER, data.digits), ONLY(numbers)},
    {"held-out", "N", "[1,10000]", "drawn tasks: number of held-out sequences", AT(INTEGER, data.held_out),
     ONLY(drawn)},
    {"Model"},
#include "nn/settings.def"
    {"dropout", "P", "[0,1)", "dropout probability P_drop", AT(REAL, dropout),
     .computed = "0.1; lm 0, 0.2 or 0.4 by passes through the text"},
    {"Training"},
    {"train", "PATTERN", NULL, "parameters that learn, by name, like '*self_attn*'; the others stay",
     AT(TEXT, train), .computed = "all"},
    {"steps", "N", COUNT_OR_0, "number of updates; schedules end there, also after --resume",
     AT(INTEGER, schedule.steps), .may_change = true},
    {"minutes", "X", "(0,inf)", "time that the run takes, less suspensions; sets --steps by the speed",
     AT(REAL, minutes), .saved = SAVED_NOWHERE, .computed = "by --steps"},
    {"plans", "LIST", NULL,
     "steps planned before, as --minutes write them: N until step A, M until B: A:N,B:M",
     AT(TEXT, schedule.plans), ONLY(falling)},
    {"batch", "N", "[1,16777216]", "sequences in a batch", AT(INTEGER, batch),
     .computed = "64; lm 12, but 64 lines"},
    {"accumulate", "N", "[1,1048576]", "batches in an update", AT(INTEGER, accumulate)},
    {"optimizer", NULL, NULL, "optimizer; muon: of the layers' matrices, with adamw for the rest",
     AT(KIND, optimizer.kind), .kinds = all_optimizers},
    {"schedule", NULL, NULL, "learning-rate schedule", AT(KIND, schedule.kind), .kinds = all_schedules},
    {"lr", "X", "(0,inf)", "peak learning rate; noam: a factor", AT(REAL, schedule.rate), .may_change = true,
     .computed = "0.002; lm 0.003; noam 1"},
    {"matrix-lr", "X", "(0,inf)", "muon: peak learning rate of the layers' matrices", AT(REAL, matrix_lr),
     .may_change = true, .with = &optimizer_muon.choice},
    {"min-lr", "X", "[0,inf)", "cosine, linear: final learning rate", AT(REAL, schedule.min_rate),
     .may_change = true, ONLY(falling), .computed = "0; gpt 0.0001"},
    {"warmup", "N", COUNT_OR_0, "steps of linear warm-up", AT(INTEGER, schedule.warmup), ONLY(warmup),
     .computed = "a fifth, at most 200; linear a 20th"},
    {"beta1", "X", "[0,1)", "adamw: decay of the first moment", AT(REAL, optimizer.beta1), ONLY(moments)},
    {"beta2", "X", "[0,1)", "adamw: decay of the second moment", AT(REAL, optimizer.beta2), ONLY(moments)},
    {"weight-decay", "X", "[0,inf)", "weight decay of matrices", AT(REAL, optimizer.weight_decay),
     .computed = "0; gpt 0.1; lm 0.2, but 0 without held-out text"},
    {"clip", "X", "[0,inf)", "maximum gradient norm; 0: no clipping", AT(REAL, optimizer.clip_norm)},
    {"eval-every", "N", COUNT, "steps between evaluations", AT(INTEGER, eval_every), .may_change = true,
     .computed = "a tenth of steps"},
    {"Output"},
    {"run", "DIR", NULL, "directory of the run", AT(TEXT, run), .saved = SAVED_NOWHERE,
     .computed = "runs/TASK"},
    {"resume", "DIR", NULL, "continue the run in DIR", AT(TEXT, resume), .saved = SAVED_NOWHERE},
    {"config", "FILE", NULL, "file of options, one NAME VALUE per line", AT(TEXT, config),
     .saved = SAVED_NOWHERE},
    {"compare", .help = "instead of training, compare the runs whose directories follow, on a page",
     AT(FLAG, compare), .saved = SAVED_NOWHERE},
    {"force", .help = "replace the run in the directory", AT(FLAG, force), .saved = SAVED_NOWHERE},
    {"checkpoint-every", "N", COUNT_OR_0, "steps between checkpoints; 0: by time only",
     AT(INTEGER, checkpoint_every), .may_change = true},
    {"checkpoint-minutes", "X", "(0,inf)", "minutes between checkpoints", AT(REAL, checkpoint_minutes),
     .may_change = true},
    {"samples", "N", "[0,1000]", "samples to print at the end", AT(INTEGER, samples), .saved = SAVED_NOWHERE,
     ONLY(samples)},
    {"json", .help = "print a JSON object for each evaluation", AT(FLAG, json), .saved = SAVED_NOWHERE},
    {"quiet", .help = "print no progress and no samples", AT(FLAG, quiet), .saved = SAVED_NOWHERE},
    {"dry-run", .help = "print the memory that a run needs", AT(FLAG, dry_run), .saved = SAVED_NOWHERE},
    {"seed", NULL, NULL, NULL, AT(NATURAL, data.seed)}, /* an option of every program */
    {0},
};

bool train_config_is_set(const TrainConfig *r, const void *field) {
    size_t offset = (size_t)((const char *)field - (const char *)r);
    for (const Setting *s = train_settings; s->name; s++)
        if (s->type != SETTING_HEADING && s->offset == offset)
            return r->given[s - train_settings] || r->taken[s - train_settings] ||
                   (r->resume && s->saved != SAVED_NOWHERE);
    return false;
}

bool train_config_compare(TrainConfig *r, Error *e) {
    for (const Setting *s = train_settings; s->name; s++)
        if (r->given[s - train_settings] && strcmp(s->name, "run") != 0 && strcmp(s->name, "compare") != 0)
            return error_set(e, STATUS_USAGE, "--%s: found --compare, need one of the two", s->name);
    if (r->compared_count < 2 || r->compared_count > TRAIN_COMPARED)
        return error_set(e, STATUS_USAGE,
                         "--compare: found %d operand%s, need the directories of 2 to %d runs",
                         r->compared_count, PLURAL(r->compared_count), TRAIN_COMPARED);
    if (!r->run) r->run = "runs";
    return true;
}
