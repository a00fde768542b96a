/*
 * main.c - the program: runs thousands of histories in a child process, so that
 * a crash is a failure like any other; makes a failing history small, and
 * prints the command that repeats it.
 */
#include "blocks.h"
#include "case_file.h"
#include "coverage.h"
#include "kubelua/log.h"
#include "schedule.h"
#include "shrink.h"
#include "world.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SHRINK_S = 30,
    TWICE_EVERY = 64, /* one of so many histories is run twice */
    /* A run of fewer histories need not have every class of events. */
    COVERED_FROM = 4000
};

typedef struct arguments {
    uint64_t first;
    uint64_t count;
    int seconds; /* 0: until the count is reached */
    int shrink_s;
    const char *replay;
    const char *cases; /* a file or a folder */
    bool has_seed;
    bool as_case; /* print the history, do not run it */
} arguments;

/* What the child reports, in memory that it shares with its parent. */
typedef struct board {
    uint64_t seed; /* of the history that runs */
    uint64_t done;
    bool has_failed;
    char message[4096];
    uint64_t counts[COVERAGE_KINDS];
} board;

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(board *told, const char *message)
{
    told->has_failed = true;
    snprintf(told->message, sizeof(told->message), "%s", message);
    _exit(1);
}

static void run_one(board *told, uint64_t seed, bool twice)
{
    static schedule_outcome outcome;
    static history made;
    long before = blocks_count();
    schedule_options options;
    uint64_t hash;
    char text[64];

    history_draw(&made, seed);
    options = shrink_options(&made);
    snprintf(text, sizeof(text), "model --replay %" PRIu64, seed);
    schedule_describe(text);
    schedule_run(&options, world_run, &made, &outcome);
    if (outcome.failed) {
        fail(told, outcome.message);
    }
    coverage_add(COVER_PREEMPTIONS, outcome.preemptions);
    coverage_add(COVER_SWITCHES, outcome.switches);
    hash = outcome.hash;
    if (twice) {
        schedule_run(&options, world_run, &made, &outcome);
        if (outcome.hash != hash) {
            fail(told, "deterministic: the same seed made another run");
        }
    }
    if (blocks_count() != before && told->done > 0) {
        fail(told, "left: memory was not given back");
    }
}

static void run_child(board *told, const arguments *how, uint64_t first)
{
    double until = now_s() + how->seconds;

    blocks_watch();
    coverage_into(told->counts);
    for (uint64_t i = first; i < how->count; i++) {
        told->seed = how->first + i;
        run_one(told, told->seed, told->seed % TWICE_EVERY == 0);
        told->done++;
        if (how->seconds > 0 && now_s() >= until) {
            break;
        }
    }
    _exit(0);
}

static void print_history(uint64_t seed, const history_cut *cut)
{
    history made;
    char text[400];

    shrink_make(&made, seed, cut);
    history_switches_text(&made.switches, text, sizeof(text));
    printf("  %s\n", text);
    for (size_t i = 0; i < made.count; i++) {
        history_op_text(&made.ops[i], text, sizeof(text));
        printf("  %2zu  %s\n", i + 1, text);
    }
    fflush(stdout);
}

static void print_failure(board *told, const arguments *how)
{
    schedule_outcome *outcome = malloc(sizeof(*outcome));
    history_cut cut = {.mask = UINT64_MAX, .preemptions = -1};
    char text[96];

    if (outcome == NULL) {
        return;
    }
    printf("FAILED  seed %" PRIu64 ", after %" PRIu64 " histories\n%s\n",
           told->seed, told->done, told->message);
    fflush(stdout);
    if (how->shrink_s > 0) {
        shrink_try(told->seed, &cut, outcome);
        if (!outcome->failed) {
            printf("alone it does not fail\n");
        } else {
            shrink(told->seed, outcome->message, how->shrink_s, &cut);
            shrink_try(told->seed, &cut, outcome);
            printf("\nmade small:\n%s\n", outcome->message);
        }
    }
    print_history(told->seed, &cut);
    shrink_text(told->seed, &cut, text, sizeof(text));
    printf("again, with a trace: model --replay %s\n", text);
    fflush(stdout);
    free(outcome);
}

/* True if a class of events that should occur did not. */
static bool print_coverage(const board *told)
{
    bool is_hollow = false;

    for (int i = 0; i < COVERAGE_KINDS; i++) {
        printf("%s%12" PRIu64 "  %s\n", told->counts[i] == 0 ? "*" : " ",
               told->counts[i], coverage_name((coverage_kind)i));
        is_hollow |= told->counts[i] == 0;
    }
    return is_hollow && told->done >= COVERED_FROM;
}

static board *make_board(void)
{
    board *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (told == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return told;
}

static int run_all(const arguments *how)
{
    board *told = make_board();
    double began = now_s();
    double took;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        run_child(told, how, 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        return 2;
    }
    took = now_s() - began;
    if (status != 0) {
        if (!told->has_failed) {
            snprintf(told->message, sizeof(told->message),
                     "crash: the process ended with status %d", status);
        }
        print_failure(told, how);
        return 1;
    }
    if (print_coverage(told)) {
        printf("FAILED  what is marked with * never happened\n");
        return 1;
    }
    printf("%" PRIu64 " histories from seed %" PRIu64 " hold, %.0f a second\n",
           told->done, how->first, (double)told->done / took);
    return 0;
}

static void on_log(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    fprintf(stderr, "%28s| %s\n", "", message);
}

static int replay(const char *text, bool as_case)
{
    static schedule_outcome outcome;
    static history made;
    schedule_options options;
    history_cut cut;
    uint64_t seed;

    if (!shrink_parse(text, &seed, &cut)) {
        fprintf(stderr,
                "model: %s is no SEED[:OPERATIONS[:SIMPLER"
                "[:PREEMPTIONS]]]\n",
                text);
        return 2;
    }
    shrink_make(&made, seed, &cut);
    if (as_case) {
        case_file_write(&made, stdout);
        return 0;
    }
    print_history(seed, &cut);
    options = shrink_options(&made);
    schedule_trace(true);
    kl_set_log(on_log, NULL, KL_LOG_DEBUG);
    schedule_run(&options, world_run, &made, &outcome);
    printf("%s%s\n", outcome.failed ? "FAILED  " : "it holds", outcome.message);
    return outcome.failed ? 1 : 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: model [--seed FIRST] [--histories N] [--seconds S]\n"
            "             [--shrink S] | --seeds FROM..TO | --replay CUT |\n"
            "             --as-case CUT | --case FILE[:NAME] [--seed S]\n"
            "Without a seed: from a random one.\n");
    return 2;
}

static bool parse_one(arguments *out, const char *name, const char *value)
{
    char *end;

    if (strcmp(name, "--seed") == 0) {
        out->first = strtoull(value, NULL, 10);
        out->has_seed = true;
    } else if (strcmp(name, "--histories") == 0) {
        out->count = strtoull(value, NULL, 10);
    } else if (strcmp(name, "--seconds") == 0) {
        out->seconds = atoi(value);
    } else if (strcmp(name, "--shrink") == 0) {
        out->shrink_s = atoi(value);
    } else if (strcmp(name, "--replay") == 0) {
        out->replay = value;
    } else if (strcmp(name, "--as-case") == 0) {
        out->replay = value;
        out->as_case = true;
    } else if (strcmp(name, "--case") == 0) {
        out->cases = value;
    } else if (strcmp(name, "--seeds") == 0) {
        out->first = strtoull(value, &end, 10);
        if (strncmp(end, "..", 2) != 0) {
            return false;
        }
        out->count = strtoull(end + 2, NULL, 10) - out->first + 1;
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static uint64_t unseen[COVERAGE_KINDS];
    arguments how = {.count = UINT64_MAX, .shrink_s = SHRINK_S};

    coverage_into(unseen);
    if (getrandom(&how.first, sizeof(how.first), 0) !=
        (ssize_t)sizeof(how.first)) {
        how.first = (uint64_t)time(NULL);
    }
    how.first %= UINT64_C(1000000000000);
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc || !parse_one(&how, argv[i], argv[i + 1])) {
            return usage();
        }
    }
    if (how.replay != NULL) {
        return replay(how.replay, how.as_case);
    }
    if (how.cases != NULL) {
        kl_set_log(how.has_seed ? on_log : NULL, NULL, KL_LOG_DEBUG);
        return (how.has_seed ? case_file_trace(how.cases, how.first)
                             : case_file_run(how.cases))
                   ? 0
                   : 1;
    }
    if (how.count == UINT64_MAX && how.seconds == 0) {
        return usage();
    }
    return run_all(&how);
}
