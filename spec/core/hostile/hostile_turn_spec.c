/*
 * hostile_turn_spec.c - lone pieces of a watch, which the transport thread
 * handles in the reflector's place: the reflecting task sleeps on, unless
 * there is something that only it can do.
 */
#include "kube_script.h"

#include "gate.h"

#include "kubelua/log.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { EVENTS = 30, PATIENCE_MS = 60000 };

static char gates[EVENTS][16]; /* the names of send_apart's gates */

/* ---- threads ---- */

static bool is_named(int thread, const char *name)
{
    char path[64], found[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/comm", thread);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)!fscanf(file, "%31s", found);
        fclose(file);
    }
    return strcmp(found, name) == 0;
}

/* True for a thread that runs tasks of informers. */
static bool runs_tasks(int thread)
{
    return is_named(thread, "kl-reflector") || is_named(thread, "kl-informer");
}

/* How often a thread has gone to sleep; 0: it has ended. */
static long count_sleeps(int thread)
{
    char path[64], line[256];
    long count = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
    file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

/* How often the threads that run tasks have gone to sleep; -1: one is awake. */
static long count_all_sleeps(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *each;
    long count = 0;

    assert_non_null(threads);
    while (count >= 0 && (each = readdir(threads)) != NULL) {
        int thread = atoi(each->d_name);

        if (thread != 0 && runs_tasks(thread)) {
            count = is_asleep(thread) ? count + count_sleeps(thread) : -1;
        }
    }
    closedir(threads);
    return count;
}

/* Waits until all of them sleep; returns how often they have. */
static long await_sleep(void)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    long count;

    while ((count = count_all_sleeps()) < 0) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        sched_yield();
    }
    return count;
}

static void await_sleep_of(int thread)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;

    while (!is_asleep(thread)) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        sched_yield();
    }
}

/* ---- what the transport thread does ---- */

/* A watch that sends `first`, then `piece` alone. */
#define LONE_PIECE(first, piece)                                      \
    STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(first), HOSTILE_GATE("lone"), \
          HOSTILE_CHUNK(piece), HOSTILE_FREEZE)

/* Opens a cluster whose watch is at rest after c@11, in lone pieces. */
static void open_at_rest(kube *k)
{
    kube_on(k, "list",
            ANSWER(200, LIST("10", NODE("a", "1") "," NODE("b", "2"))));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11");
    await_sleep();
}

/* A watch that sends c@11, and then each text alone, behind a gate. */
static void send_apart(kube *k, char (*texts)[256])
{
    hostile_step steps[3 + 2 * EVENTS] = {HOSTILE_STREAM,
                                          HOSTILE_CHUNK(ADDED("c", "11"))};

    for (int i = 0; i < EVENTS; i++) {
        snprintf(gates[i], sizeof(gates[i]), "gate-%d", i);
        steps[2 + 2 * i] = (hostile_step)HOSTILE_GATE(gates[i]);
        steps[3 + 2 * i] = (hostile_step)HOSTILE_CHUNK(texts[i]);
    }
    steps[2 + 2 * EVENTS] = (hostile_step)HOSTILE_FREEZE;
    kube_on(k, "watch", steps, 3 + 2 * EVENTS);
}

/* The reflector may handle the first events itself, until it waits for more. */
static void lone_events_do_not_wake_the_reflector(void **state)
{
    kube *k = *state;
    static char texts[EVENTS][256];
    kl__buf told = {0};
    long before;

    for (int i = 0; i < EVENTS; i++) {
        snprintf(texts[i], sizeof(texts[i]),
                 "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"Node\","
                 "\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\",\"uid\":"
                 "\"uid-c\",\"resourceVersion\":\"%d\"}}}\n",
                 12 + i);
    }
    k->options.compress = -1; /* packing is the reflector's own work */
    send_apart(k, texts);
    open_at_rest(k);
    before = await_sleep();
    kl__buf_printf(&told, "*a@1 *b@2 synced +c@11");
    for (int i = 0; i < EVENTS; i++) {
        hostile_open_gate(k->server, gates[i]);
        kl__buf_printf(&told, " ~c@%d>%d", 11 + i, 12 + i);
        kube_told(k, told.bytes);
    }
    assert_in_range(await_sleep() - before, 0, EVENTS / 3);
    assert_int_equal(kube_status(k).events, 1 + EVENTS);
    kube_cache(k, "a@1 b@2 c@41", "41");
    kl__buf_deinit(&told);
}

static void an_event_in_many_pieces_arrives_whole(void **state)
{
    static const char text[] = MODIFIED("c", "12") DELETED("a", "13");
    kube *k = *state;

    kube_on(k, "watch",
            STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(ADDED("c", "11")),
                  HOSTILE_GATE("lone"),
                  HOSTILE_PIECES(kube_chunked(k, text, 5, 0), 1),
                  HOSTILE_FREEZE));
    open_at_rest(k);
    hostile_open_gate(k->server, "lone");
    kube_told(k, "*a@1 *b@2 synced +c@11 ~c@11>12 -a@13");
}

static void a_gone_that_comes_alone_causes_a_relist(void **state)
{
    kube *k = *state;

    kube_on(k, "watch", LONE_PIECE(ADDED("c", "11"), ERROR_EVENT(EXPIRED)));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "21")));
    open_at_rest(k);
    kube_on(k, "list", ANSWER(200, LIST("20", NODE("c", "11"))));
    hostile_open_gate(k->server, "lone");
    kube_told_at_last(k, "+d@21");
    kube_cache(k, "c@11 d@21", "21");
    kube_requests(k, "list", 2);
}

static void rubbish_that_comes_alone_ends_the_watch(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "watch", LONE_PIECE(ADDED("c", "11"), "{\"type\":17}\n"));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "12")));
    open_at_rest(k);
    hostile_open_gate(k->server, "lone");
    kube_told(k, "*a@1 *b@2 synced +c@11 !parse +d@12");
    kube_asked(k, "watch", 1, "resourceVersion=11 ");
}

/* An event, and in the same piece what ends the watch. */
static void what_came_before_an_error_in_a_piece_is_told(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "watch",
            LONE_PIECE(ADDED("c", "11"), ADDED("d", "12") ERROR_EVENT(STATUS(
                                             500, "InternalError", "no"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("e", "13")));
    open_at_rest(k);
    hostile_open_gate(k->server, "lone");
    kube_told(k, "*a@1 *b@2 synced +c@11 +d@12 !internal +e@13");
    kube_asked(k, "watch", 1, "resourceVersion=12 ");
}

static void a_lone_event_puts_silence_off_and_does_not_end_it(void **state)
{
    kube *k = *state;

    k->options.idle_timeout_ms = 800;
    kube_on(k, "watch", LONE_PIECE(ADDED("c", "11"), ADDED("d", "12")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("e", "13")));
    kube_always(k, "watch", OPEN_WATCH(""));
    open_at_rest(k);
    kube_always(k, "list", ANSWER(200, LIST("12", NODE("a", "1"))));
    hostile_open_gate(k->server, "lone");
    kube_told_at_last(k, "+e@13");
    assert_int_equal(kube_status(k).failures, 0);
}

/* ---- functions of the user ---- */

static atomic_int calls, misplaced;

static kl_code index_nothing(void *context, const kl_object *object,
                             const kl_value *root, kl_index_sink *sink)
{
    (void)context;
    (void)object;
    (void)root;
    (void)sink;
    atomic_fetch_add(&calls, 1);
    if (is_named(gettid(), "kl-transport")) {
        atomic_fetch_add(&misplaced, 1);
    }
    return KL_OK;
}

static void an_index_function_never_runs_on_the_transport_thread(void **state)
{
    kube *k = *state;

    atomic_store(&calls, 0);
    kube_on(k, "watch", LONE_PIECE(ADDED("c", "11"), ADDED("d", "12")));
    open_at_rest(k);
    assert_int_equal(kl_informer_add_index(k->informer, "by-nothing",
                                           index_nothing, NULL, NULL, NULL),
                     KL_OK);
    atomic_store(&calls, 0);
    hostile_open_gate(k->server, "lone");
    kube_told(k, "*a@1 *b@2 synced +c@11 +d@12");
    assert_int_equal(atomic_load(&calls), 1);
    assert_int_equal(atomic_load(&misplaced), 0);
}

/* ---- closing meanwhile ---- */

/* Holds the transport thread in a turn: it logs that a bookmark is ignored. The
 * reflector's thread is not held. */
static sem_t seen, leave;
static atomic_bool is_held;

static void hold(void *context, kl_log_level level, const char *line)
{
    (void)context;
    (void)level;
    if (strstr(line, "bookmark 5 ignored") == NULL) {
        return;
    }
    atomic_store(&is_held, is_named(gettid(), "kl-transport"));
    sem_post(&seen);
    if (atomic_load(&is_held)) {
        sem_wait(&leave);
    }
}

static atomic_int closer;
static atomic_bool has_closed;

static void *close_informer(void *arg)
{
    kube *k = arg;

    atomic_store(&closer, gettid());
    kl_informer_close(k->informer);
    k->informer = NULL; /* its registration is removed, too */
    k->registration = NULL;
    atomic_store(&has_closed, true);
    return NULL;
}

/* Opens one gate after the other until the transport thread has the turn. */
static void hold_a_turn(kube *k)
{
    for (int i = 0; !atomic_load(&is_held); i++) {
        assert_in_range(i, 0, EVENTS - 1);
        await_sleep();
        hostile_open_gate(k->server, gates[i]);
        sem_wait(&seen);
    }
}

static void a_close_waits_for_the_turn_on_the_transport_thread(void **state)
{
    kube *k = *state;
    static char texts[EVENTS][256];
    pthread_t thread;
    bool closed_early;

    sem_init(&seen, 0, 0);
    sem_init(&leave, 0, 0);
    atomic_store(&is_held, false);
    atomic_store(&closer, 0);
    atomic_store(&has_closed, false);
    for (int i = 0; i < EVENTS; i++) {
        strcpy(texts[i], BOOKMARK("5"));
    }
    send_apart(k, texts);
    open_at_rest(k);
    kl_set_log(hold, NULL, KL_LOG_DEBUG);
    hold_a_turn(k);
    assert_int_equal(pthread_create(&thread, NULL, close_informer, k), 0);
    while (atomic_load(&closer) == 0) {
        sched_yield();
    }
    await_sleep_of(atomic_load(&closer));
    closed_early = atomic_load(&has_closed);
    sem_post(&leave);
    pthread_join(thread, NULL);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_false(closed_early);
    sem_destroy(&leave);
    sem_destroy(&seen);
}

/* Closes in the middle of events that come one by one. */
static void closing_while_lone_events_come_loses_no_thread(void **state)
{
    for (unsigned round = 0; round < 20; round++) {
        kube *k = round == 0 ? *state : kube_renew(state);
        int64_t until =
            kl__clock_now(kl__clock_real()) + (int64_t)(round * 7 % 20);

        kube_on(k, "watch",
                STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(ADDED("c", "11")),
                      HOSTILE_PIECES(
                          kube_chunked(
                              k, kube_repeated(k, "", BOOKMARK("11"), 300, ""),
                              110, 0),
                          110),
                      HOSTILE_FREEZE));
        open_at_rest(k);
        while (kl__clock_now(kl__clock_real()) < until) {
            sched_yield();
        }
        if (round % 2 == 0) {
            kl_client_close(k->client);
        }
    }
}

/* ---- servers that are silent ---- */

/* Threads that run tasks, as far as they have not ended. */
static int count_threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int count = 0;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        count += runs_tasks(atoi(entry->d_name)) ? 1 : 0;
    }
    closedir(folder);
    return count;
}

/* Waits until at most one is left, for less time than the answer of a server is
 * waited for: threads that are not needed end after two seconds. */
static void await_few_threads(void)
{
    const struct timespec pause = {0, 10000000};
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS / 3;

    while (count_threads() > 1) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        nanosleep(&pause, NULL);
    }
}

/* Makes the cluster silent before the head of a list, in the middle of it, or
 * before the head of a watch. Returns the kind of its last request. */
static const char *fall_silent(kube *k, int place)
{
    if (place == 0) {
        kube_on(k, "list", STEPS(HOSTILE_FREEZE));
    } else if (place == 1) {
        kube_on(k, "list",
                STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("{\"kind\":\"NodeList\""),
                      HOSTILE_FREEZE));
    } else {
        kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
        kube_on(k, "watch", STEPS(HOSTILE_FREEZE));
    }
    return place == 2 ? "watch" : "list";
}

static void informers_of_silent_servers_hold_no_thread(void **state)
{
    enum { CROWD = 12 };
    kube *crowd[CROWD];
    const char *kinds[CROWD];

    (void)state;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = kube_new();
        kinds[i] = fall_silent(crowd[i], i % 3);
        kube_open(crowd[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        kube_requests(crowd[i], kinds[i], 1);
    }
    await_few_threads();
    for (int i = 0; i < CROWD; i++) {
        kube_close(crowd[i]);
        kube_free(crowd[i]);
    }
}

/* Makes the cluster silent before the head of the first answer of discovery, in
 * the middle of it, or before the second one. Returns the kind of its last
 * request. */
static const char *fall_silent_in_discovery(kube *k, int place)
{
    k->options.resource = "nodes.v1"; /* not in the table of built-in names */
    if (place == 0) {
        kube_on(k, "api", STEPS(HOSTILE_FREEZE));
    } else if (place == 1) {
        kube_on(k, "api",
                STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("{\"kind\":\"API"),
                      HOSTILE_FREEZE));
    } else {
        kube_on(k, "apis", STEPS(HOSTILE_FREEZE));
    }
    return place == 2 ? "apis" : "api";
}

/* Each client has one more informer, which waits for the same answer. */
static void discovery_of_silent_servers_holds_no_thread(void **state)
{
    enum { CROWD = 50 };
    static const kl_informer_options more = {.resource = "owls.example.com"};
    kube *crowd[CROWD];
    kl_informer *others[CROWD];
    const char *kinds[CROWD];

    (void)state;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = kube_new();
        kinds[i] = fall_silent_in_discovery(crowd[i], i % 3);
        kube_open(crowd[i]);
        others[i] = kl_informer_open(crowd[i]->client, &more, NULL);
        assert_non_null(others[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        kube_requests(crowd[i], kinds[i], 1);
    }
    await_few_threads();
    for (int i = 0; i < CROWD; i++) {
        kl_informer_close(others[i]);
        kube_close(crowd[i]); /* it asserts that this takes no time */
        kube_free(crowd[i]);
    }
}

static void an_informer_goes_on_when_discovery_answers_late(void **state)
{
    kube *k = *state;

    k->options.resource = "nodes.v1";
    kube_on(k, "api",
            STEPS(HOSTILE_GATE("late"),
                  HOSTILE_ANSWER(
                      200, "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{"
                           "\"versions\":[{\"version\":\"v1\",\"resources\":[{"
                           "\"resource\":\"nodes\",\"responseKind\":{\"kind\":"
                           "\"Node\"},\"scope\":\"Cluster\",\"verbs\":["
                           "\"list\",\"watch\"]}]}]}]}")));
    kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_requests(k, "api", 1);
    await_few_threads();
    hostile_open_gate(k->server, "late");
    kube_told(k, "*a@1 synced +b@11");
    kube_requests(k, "api", 1);
}

/* The built-in group or version is not served: discovery finds the right one.
 */
static void a_silent_answer_to_a_doubt_holds_no_thread(void **state)
{
    enum { CROWD = 12 };
    kube *crowd[CROWD];

    (void)state;
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = kube_new(); /* its list is answered with a 404 */
        kube_on(crowd[i], "api", STEPS(HOSTILE_FREEZE));
        kube_open(crowd[i]);
    }
    for (int i = 0; i < CROWD; i++) {
        kube_requests(crowd[i], "api", 1);
    }
    await_few_threads();
    for (int i = 0; i < CROWD; i++) {
        kube_close(crowd[i]);
        kube_free(crowd[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(lone_events_do_not_wake_the_reflector),
        KUBE_CASE(an_event_in_many_pieces_arrives_whole),
        KUBE_CASE(a_gone_that_comes_alone_causes_a_relist),
        KUBE_CASE(rubbish_that_comes_alone_ends_the_watch),
        KUBE_CASE(what_came_before_an_error_in_a_piece_is_told),
        KUBE_CASE(a_lone_event_puts_silence_off_and_does_not_end_it),
        KUBE_CASE(an_index_function_never_runs_on_the_transport_thread),
        KUBE_CASE(a_close_waits_for_the_turn_on_the_transport_thread),
        KUBE_CASE(closing_while_lone_events_come_loses_no_thread),
        cmocka_unit_test(informers_of_silent_servers_hold_no_thread),
        cmocka_unit_test(discovery_of_silent_servers_holds_no_thread),
        KUBE_CASE(an_informer_goes_on_when_discovery_answers_late),
        cmocka_unit_test(a_silent_answer_to_a_doubt_holds_no_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
