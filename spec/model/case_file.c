/*
 * case_file.c - see case_file.h. A line is "seed N", "schedules N", "NAME=N"
 * for each switch, or an operation: its name, its hand, slot and key, a, b, c.
 */
#include "case_file.h"

#include "schedule.h"
#include "shrink.h"
#include "world.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE = 200, PATH = 1024, SCHEDULES = 20 };

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

static bool read_line(case_file *out, const char *line)
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

bool case_file_read(const char *path, case_file *out, char *why, size_t size)
{
    FILE *file = fopen(path, "r");
    char line[2 * LINE];
    bool is_fine = file != NULL;

    *out = (case_file){.schedules = SCHEDULES};
    if (file == NULL) {
        snprintf(why, size, "%s cannot be read", path);
        return false;
    }
    while (is_fine && fgets(line, sizeof(line), file) != NULL) {
        is_fine = read_line(out, line);
        if (!is_fine) {
            snprintf(why, size, "%s: not understood: %.150s", path, line);
        }
    }
    fclose(file);
    return is_fine;
}

static bool run_file(const char *path)
{
    static schedule_outcome outcome;
    static case_file read;
    char why[2 * LINE];

    if (!case_file_read(path, &read, why, sizeof(why))) {
        printf("FAILED  %s\n", why);
        return false;
    }
    for (int i = 0; i < read.schedules; i++) {
        schedule_options options = shrink_options(&read.history);

        schedule_run_apart(&options, world_run, &read.history, &outcome);
        if (outcome.failed) {
            printf("FAILED  %s\n%s\nagain, with a trace: model --case %s "
                   "--seed %" PRIu64 "\n",
                   path, outcome.message, path, read.history.seed);
            return false;
        }
        read.history.seed++;
    }
    printf("%s holds, with %d seeds\n", path, read.schedules);
    return true;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

bool case_file_run(const char *path)
{
    struct dirent **names = NULL;
    bool is_fine = true;
    struct stat found;
    int count;

    if (stat(path, &found) != 0 || !S_ISDIR(found.st_mode)) {
        return run_file(path);
    }
    count = scandir(path, &names, is_visible, alphasort);
    for (int i = 0; i < count; i++) {
        char each[PATH];

        snprintf(each, sizeof(each), "%s/%s", path, names[i]->d_name);
        is_fine = run_file(each) && is_fine;
        free(names[i]);
    }
    free(names);
    if (count <= 0) {
        printf("FAILED  %s has no case\n", path);
    }
    return is_fine && count > 0;
}

bool case_file_trace(const char *path, uint64_t seed)
{
    static schedule_outcome outcome;
    static case_file read;
    schedule_options options;
    char why[2 * LINE];

    if (!case_file_read(path, &read, why, sizeof(why))) {
        printf("FAILED  %s\n", why);
        return false;
    }
    read.history.seed = seed;
    options = shrink_options(&read.history);
    schedule_trace(true);
    schedule_run(&options, world_run, &read.history, &outcome);
    printf("%s%s\n", outcome.failed ? "FAILED  " : "it holds", outcome.message);
    return !outcome.failed;
}
