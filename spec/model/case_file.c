/*
 * case_file.c - see case_file.h. A line is "case NAME", which begins a case;
 * "seed N", "schedules N", "NAME=N" for each switch; or an operation: its name,
 * its hand, slot and key, a, b, c.
 */
#include "case_file.h"

#include "schedule.h"
#include "shrink.h"
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 200, PATH = 1024, SCHEDULES = 20 };

typedef struct model_case {
    char name[LINE];
    history history;
    /* the number of seeds to run it with: history.seed and those after it */
    int schedules;
} model_case;

/* Which cases of which file are run, and how. */
typedef struct wanted_cases {
    const char *path;
    const char *name; /* NULL: all */
    bool (*run)(const model_case *each, const struct wanted_cases *wanted);
    uint64_t seed; /* of a trace */
    int count;     /* of those that ran */
} wanted_cases;

/* X(name, the member of switches, its type) */
#define CASE_SWITCHES(X)                                      \
    X("preemptions", preemptions, int)                        \
    X("spurious", spurious_per_mille, int)                    \
    X("hurry", hurry_per_mille, int)                          \
    X("no-streaming-list", no_streaming_list, bool)           \
    X("page-size", page_size, int)                            \
    X("idle-ms", idle_ms, int)                                \
    X("resync-ms", resync_ms, int)                            \
    X("ending", ending, ending)                               \
    X("packing", packing, packing)                            \
    X("young-ms", young_ms, int)                              \
    X("acts", acts_per_mille, int)                            \
    X("unreadable", unreadable_per_mille, int)                \
    X("discovers", discovers, bool)                           \
    X("server.streaming", server.streaming, server_streaming) \
    X("server.future", server.future, server_future)          \
    X("server.no-bookmarks", server.no_bookmarks, bool)       \
    X("server.rv-after-items", server.rv_after_items, bool)   \
    X("server.cached-lists", server.cached_lists, bool)       \
    X("server.bookmark-ms", server.bookmark_ms, int)          \
    X("server.watch-ms", server.watch_ms, int)                \
    X("server.chunk-max", server.chunk_max, size_t)           \
    X("server.delay-max-ms", server.delay_max_ms, int)        \
    X("server.faults", server.fault_per_mille, int)           \
    X("server.lists-apart", server.lists_apart, bool)         \
    X("server.wordless", server.wordless, int)                \
    X("server.lends", server.lends, bool)

void case_file_write(const history *what, FILE *out)
{
    fprintf(out, "seed %" PRIu64 "\nschedules %d\n", what->seed, SCHEDULES);
#define CASE_WRITE(name, member, type)                             \
    if (what->switches.member != 0) {                              \
        fprintf(out, "%s=%d\n", name, (int)what->switches.member); \
    }
    CASE_SWITCHES(CASE_WRITE)
#undef CASE_WRITE
    for (size_t i = 0; i < what->count; i++) {
        const op *each = &what->ops[i];
        char text[LINE];

        history_op_text(each, text, sizeof(text));
        fprintf(out, "%s %d %d %d %d %d %d  # %s\n",
                history_op_name(each->type), each->hand, each->slot, each->key,
                each->a, each->b, each->c, text);
    }
}

static bool set_switch(switches *out, const char *name, int value)
{
#define CASE_SET(text, member, type) \
    if (strcmp(name, text) == 0) {   \
        out->member = (type)value;   \
        return true;                 \
    }
    CASE_SWITCHES(CASE_SET)
#undef CASE_SET
    return false;
}

static bool read_op(history *out, const char *line)
{
    char name[LINE];
    op read = {0};

    if (out->count == HISTORY_OPS_MAX ||
        sscanf(line, "%199s %d %d %d %d %d %d", name, &read.hand, &read.slot,
               &read.key, &read.a, &read.b, &read.c) != 7) {
        return false;
    }
    for (int type = 0; type < OP_TYPES; type++) {
        if (strcmp(history_op_name((op_type)type), name) == 0) {
            read.type = (op_type)type;
            out->ops[out->count++] = read;
            return true;
        }
    }
    return false;
}

static bool read_line(model_case *out, const char *line)
{
    char name[LINE];
    int value;

    if (line[strspn(line, " \n")] == '\0' || line[0] == '#' ||
        sscanf(line, "seed %" SCNu64, &out->history.seed) == 1 ||
        sscanf(line, "schedules %d", &out->schedules) == 1) {
        return true;
    }
    if (sscanf(line, "%199[a-z.-]=%d", name, &value) == 2) {
        return set_switch(&out->history.switches, name, value);
    }
    return read_op(&out->history, line);
}

/* Runs the case that was read, unless it is not wanted, and begins another. */
static bool end_case(wanted_cases *wanted, model_case *read, const char *next)
{
    bool is_wanted =
        wanted->name == NULL || strcmp(wanted->name, read->name) == 0;
    bool is_fine = true;

    if (read->history.count > 0 && is_wanted) {
        wanted->count++;
        is_fine = wanted->run(read, wanted);
    }
    *read = (model_case){.schedules = SCHEDULES};
    snprintf(read->name, sizeof(read->name), "%s", next);
    return is_fine;
}

static bool run_file(wanted_cases *wanted, FILE *file)
{
    static model_case read;
    char line[2 * LINE];
    char name[LINE];
    bool is_fine = true;

    read = (model_case){.schedules = SCHEDULES};
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "case %199s", name) == 1) {
            is_fine = end_case(wanted, &read, name) && is_fine;
        } else if (!read_line(&read, line)) {
            printf("FAILED  %s: not understood: %.150s\n", wanted->path, line);
            return false;
        }
    }
    return end_case(wanted, &read, "") && is_fine;
}

/* Runs what `where` names: FILE, or FILE:NAME for one case of it. */
static bool run_wanted(wanted_cases *wanted, const char *where)
{
    char path[PATH];
    FILE *file;
    bool is_fine;

    snprintf(path, sizeof(path), "%.*s", (int)strcspn(where, ":"), where);
    wanted->path = path;
    wanted->name = strchr(where, ':') != NULL ? strchr(where, ':') + 1 : NULL;
    file = fopen(path, "r");
    if (file == NULL) {
        printf("FAILED  %s cannot be read\n", path);
        return false;
    }
    is_fine = run_file(wanted, file);
    fclose(file);
    if (wanted->count == 0 && is_fine) {
        printf("FAILED  %s has no such case\n", where);
        return false;
    }
    return is_fine;
}

static bool run_case(const model_case *each, const wanted_cases *wanted)
{
    static schedule_outcome outcome;
    static history what;

    what = each->history;
    for (int i = 0; i < each->schedules; i++) {
        schedule_options options = shrink_options(&what);

        schedule_run_apart(&options, world_run, &what, &outcome);
        if (outcome.failed) {
            printf("FAILED  %s:%s\n%s\nagain, with a trace: model --case %s:%s "
                   "--seed %" PRIu64 "\n",
                   wanted->path, each->name, outcome.message, wanted->path,
                   each->name, what.seed);
            return false;
        }
        what.seed++;
    }
    printf("%s holds, with %d seeds\n", each->name, each->schedules);
    return true;
}

bool case_file_run(const char *where)
{
    wanted_cases wanted = {.run = run_case};

    return run_wanted(&wanted, where);
}

static bool trace_case(const model_case *each, const wanted_cases *wanted)
{
    static schedule_outcome outcome;
    static history what;
    schedule_options options;

    what = each->history;
    what.seed = wanted->seed;
    options = shrink_options(&what);
    schedule_trace(true);
    schedule_run(&options, world_run, &what, &outcome);
    printf("%s%s\n", outcome.failed ? "FAILED  " : "it holds", outcome.message);
    return !outcome.failed;
}

bool case_file_trace(const char *where, uint64_t seed)
{
    wanted_cases wanted = {.run = trace_case, .seed = seed};

    return run_wanted(&wanted, where);
}
