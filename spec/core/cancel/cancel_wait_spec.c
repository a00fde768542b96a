/*
 * cancel_wait_spec.c - every call that waits for another thread or a program,
 * ended at random moments. The lint of blocking calls reads the names of the
 * calls here.
 */
#include "kubeconfigs.h"
#include "pods.h"
#include "temp_files.h"
#include "trial.h"

#include "base/mem.h"
#include "cache/delta_fifo.h"
#include "object/lists.h"
#include "config/credentials.h"
#include "config/process.h"
#include "informer/processor.h"
#include "kubelua/handler.h"
#include "kubelua/memory.h"
#include "kubelua/queue.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct scene {
    kl__cancel cancel;
    kl__delta_fifo *fifo;
    kl_config *config;
    const char *script;
    kl_event_queue *queue;
    kl_queue *keys;
    kl__listed list;
} scene;

static void *set_up(const trial *what)
{
    scene *self = calloc(1, sizeof(*self));

    assert_non_null(self);
    self->script = what->detail;
    return self;
}

static void begin(void *scene_)
{
    kl__cancel_init(&((scene *)scene_)->cancel);
}

static void end(void *scene_)
{
    kl__cancel_deinit(&((scene *)scene_)->cancel);
}

static void fire(void *scene_)
{
    kl__cancel_fire(&((scene *)scene_)->cancel);
}

/* ---- the queue between reflector and informer ---- */

static void begin_full(void *scene_)
{
    scene *self = scene_;

    begin(self);
    self->fifo = kl__delta_fifo_new(1, NULL);
    assert_int_equal(kl__delta_fifo_push(self->fifo, KL__DELTA_ADDED,
                                         pod("a", "u", 1), -1, NULL),
                     KL_OK);
    self->list.objects = pod_list(1, pod("c", "u", 3));
}

static void begin_empty(void *scene_)
{
    scene *self = scene_;

    begin(self);
    self->fifo = kl__delta_fifo_new(1, NULL);
}

static void end_fifo(void *scene_)
{
    scene *self = scene_;

    kl__delta_fifo_free(self->fifo);
    self->fifo = NULL;
    kl__listed_clear(&self->list);
    end(self);
}

static void close_fifo(void *scene_)
{
    kl__delta_fifo_close(((scene *)scene_)->fifo);
}

static void block_push(void *scene_)
{
    scene *self = scene_;

    (void)kl__delta_fifo_push(self->fifo, KL__DELTA_ADDED, pod("b", "u", 2), -1,
                              &self->cancel);
}

static void block_replace(void *scene_)
{
    scene *self = scene_;

    (void)kl__delta_fifo_replace(self->fifo, &self->list, "9", -1,
                                 &self->cancel);
}

static void block_unreadable(void *scene_)
{
    scene *self = scene_;

    (void)kl__delta_fifo_unreadable(self->fifo,
                                    kl__calloc(1, sizeof(kl__unreadable)),
                                    false, -1, &self->cancel);
}

static void block_room(void *scene_)
{
    scene *self = scene_;
    (void)kl__delta_fifo_wait_room(self->fifo, -1, &self->cancel);
}

static void block_pop(void *scene_)
{
    kl__delta_batch batch = {0};

    (void)kl__delta_fifo_pop(((scene *)scene_)->fifo, &batch, 10, -1);
    kl__delta_batch_clear(&batch);
}

static void block_wait(void *scene_)
{
    (void)kl__delta_fifo_wait(((scene *)scene_)->fifo, -1);
}

#define FIFO(name, against_, begin_, block_, cancel_)              \
    {                                                              \
        .call = (name), .against = (against_), .set_up = set_up,   \
        .begin = (begin_), .block = (block_), .cancel = (cancel_), \
        .end = end_fifo, .tear_down = free                         \
    }
#define FULL(name, block_, cancel_) \
    FIFO(name, "a full queue", begin_full, block_, cancel_)
#define EMPTY(name, block_) \
    FIFO(name, "an empty queue", begin_empty, block_, close_fifo)

static void the_queue_of_deltas(void **state)
{
    static const trial trials[] = {
        FULL("kl__delta_fifo_push", block_push, fire),
        FULL("kl__delta_fifo_replace", block_replace, fire),
        FULL("kl__delta_fifo_unreadable", block_unreadable, fire),
        FULL("kl__delta_fifo_wait_room", block_room, fire),
        FULL("kl__delta_fifo_push", block_push, close_fifo),
        FULL("kl__delta_fifo_wait_room", block_room, close_fifo),
        EMPTY("kl__delta_fifo_pop", block_pop),
        EMPTY("kl__delta_fifo_wait", block_wait),
    };

    (void)state;
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
}

/* ---- programs ---- */

static void begin_plugin(void *scene_)
{
    scene *self = scene_;

    begin(self);
    self->config = plugin_config(self->script, "");
}

static void end_plugin(void *scene_)
{
    scene *self = scene_;

    kl_config_unref(self->config);
    self->config = NULL;
    end(self);
}

static void block_credentials(void *scene_)
{
    scene *self = scene_;
    kl__credentials credentials;

    (void)kl__config_credentials(self->config, &credentials, &self->cancel,
                                 NULL);
    kl__credentials_clear(&credentials);
}

static void *fly_for_ever(void *scene_)
{
    scene *self = scene_;
    kl__credentials credentials;

    (void)kl__config_credentials(self->config, &credentials, NULL, NULL);
    kl__credentials_clear(&credentials);
    return NULL;
}

static void block_process(void *scene_)
{
    scene *self = scene_;
    char *args[] = {"/bin/sh", "-c", (char *)(uintptr_t)self->script, NULL};
    kl__process process = {.args = args,
                           .env = environ,
                           .max_output = 1 << 20,
                           .timeout_ms = 9000};
    kl__process_result result;

    (void)kl__process_run(&process, &result, &self->cancel, NULL);
    kl__process_result_deinit(&result);
}

#define PLUGIN(how, text)                                                     \
    {                                                                         \
        .call = "kl__config_credentials", .against = (how), .set_up = set_up, \
        .begin = begin_plugin, .cancel = fire, .block = block_credentials,    \
        .end = end_plugin, .tear_down = free, .detail = (text), .divisor = 2  \
    }
#define PROCESS(how, text)                                                  \
    {                                                                       \
        .call = "kl__process_run", .against = (how), .set_up = set_up,      \
        .begin = begin, .block = block_process, .cancel = fire, .end = end, \
        .tear_down = free, .detail = (text), .divisor = 2                   \
    }
#define STUBBORN "trap '' INT TERM HUP PIPE; sleep 9"

/* kl__exec_run is the body of kl__config_credentials. */
static void programs(void **state)
{
    static const trial trials[] = {
        PLUGIN("a plugin that sleeps", "exec sleep 9"),
        PLUGIN("a plugin that ignores signals", STUBBORN),
        PLUGIN("a plugin that talks",
               "while :; do echo talk >&2; sleep 0.01; done"),
        PLUGIN("a plugin that has children", "sleep 9 & sleep 9 & wait"),
        PLUGIN("a plugin that answers", "echo no json"),
        PROCESS("a program that sleeps", "exec sleep 9"),
        PROCESS("a program that ignores signals", STUBBORN),
        PROCESS("a program that ends", "exit 3"),
    };

    (void)state;
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
}

/* ---- another thread runs the plugin ---- */

static kl__thread flyer;

static void begin_behind(void *scene_)
{
    scene *self = scene_;

    unlink(temp_path("runs"));
    begin_plugin(self);
    assert_int_equal(
        kl__thread_start(&flyer, "flyer", fly_for_ever, self, NULL), KL_OK);
    while (temp_count_lines("runs") == 0) { /* it ends: the plugin writes it */
        usleep(200);
    }
}

static void end_behind(void *scene_)
{
    temp_write("gate", "");
    kl__thread_join(&flyer);
    unlink(temp_path("gate"));
    end_plugin(scene_);
}

static void a_plugin_that_another_thread_runs(void **state)
{
    static const trial trials[] = {
        {.call = "kl__config_credentials",
         .against = "a plugin of another thread",
         .set_up = set_up,
         .begin = begin_behind,
         .block = block_credentials,
         .cancel = fire,
         .end = end_behind,
         .tear_down = free,
         .detail = "while [ ! -e gate ]; do sleep 0.002; done; echo {}",
         .divisor = 4},
    };

    (void)state;
    assert_int_equal(chdir(temp_path("")), 0);
    trials_run(trials, 1);
    assert_int_equal(chdir("/"), 0);
}

/* ---- a token in a pipe ---- */

static void begin_pipe(void *scene_)
{
    scene *self = scene_;

    begin(self);
    self->config = config_load(&(kl_config_options){
        .kubeconfig = kubeconfig_write(PLUGIN_CLUSTER, "{tokenFile: pipe}")});
}

static void block_rejected(void *scene_)
{
    scene *self = scene_;

    (void)kl__config_rejected(self->config, 0, &self->cancel);
}

#define SILENT(name, block_)                                          \
    {                                                                 \
        .call = (name), .against = "a silent pipe", .set_up = set_up, \
        .begin = begin_pipe, .block = (block_), .cancel = fire,       \
        .end = end_plugin, .tear_down = free, .divisor = 4            \
    }

static void a_token_in_a_silent_pipe(void **state)
{
    static const trial trials[] = {
        SILENT("kl__config_credentials", block_credentials),
        SILENT("kl__config_rejected", block_rejected),
    };
    int pipe;

    (void)state;
    assert_int_equal(mkfifo(temp_path("pipe"), 0600), 0);
    pipe = open(temp_path("pipe"), O_RDWR | O_CLOEXEC);
    assert_true(pipe >= 0);
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
    close(pipe);
}

/* ---- queues of events ---- */

static void begin_queue(void *scene_)
{
    scene *self = scene_;

    self->queue = kl_event_queue_new(NULL);
    assert_non_null(self->queue);
}

static void end_queue(void *scene_)
{
    scene *self = scene_;

    kl_event_queue_free(self->queue);
    self->queue = NULL;
}

static void block_queue(void *scene_)
{
    (void)kl_event_queue_wait(((scene *)scene_)->queue, -1);
}

static void wake_queue(void *scene_)
{
    kl_event_queue_wake(((scene *)scene_)->queue);
}

/* ---- a handler that does not make room ---- */

/* On the real clock: the fake clock of specs now and then wakes a thread that
 * waits on it. */
typedef struct crowd {
    kl__indexer *indexer;
    kl__health health;
    kl__processor *processor;
    kl_event_queue *queue;
    kl__cancel cancel;
    kl_registration *registration;
} crowd;

static void *set_up_crowd(const trial *what)
{
    (void)what;
    return calloc(1, sizeof(crowd));
}

static void begin_crowd(void *scene_)
{
    crowd *self = scene_;
    kl_handler_options options = {.backlog = 1, .every_change = true};
    kl__listed listed = {.objects = pod_list(1, pod("a", "u", 1))};

    kl__cancel_init(&self->cancel);
    self->queue = kl_event_queue_new(NULL);
    self->indexer = kl__indexer_new();
    kl__health_init(&self->health, kl__clock_real());
    self->processor = kl__processor_new(self->indexer, &self->health,
                                        kl__clock_real(), "pods");
    assert_int_equal(kl__processor_replace(self->processor, &listed, "1"),
                     KL_OK);
    kl__listed_clear(&listed);
    self->registration = kl__processor_add(
        self->processor,
        &(kl__subscriber){
            .queue = self->queue, .tag = self, .options = &options},
        NULL);
    assert_non_null(self->registration);
}

static void end_crowd(void *scene_)
{
    crowd *self = scene_;

    kl__processor_close(self->processor);
    kl__processor_remove_owner(self->processor, NULL, NULL);
    kl__processor_free(self->processor);
    kl__health_deinit(&self->health);
    kl__indexer_free(self->indexer);
    kl_event_queue_free(self->queue);
    kl__cancel_deinit(&self->cancel);
}

static void block_crowd(void *scene_)
{
    crowd *self = scene_;

    (void)kl__processor_wait_room(self->processor, &self->cancel);
}

/* No thread pulls its events. */
static void block_registration(void *scene_)
{
    (void)kl_registration_wait_synced(((crowd *)scene_)->registration, -1,
                                      NULL);
}

static void fire_crowd(void *scene_)
{
    kl__cancel_fire(&((crowd *)scene_)->cancel);
}

static void close_crowd(void *scene_)
{
    kl__processor_close(((crowd *)scene_)->processor);
}

static void queues_of_events(void **state)
{
    static const trial trials[] = {
        {.call = "kl_event_queue_wait",
         .against = "an empty queue",
         .set_up = set_up,
         .begin = begin_queue,
         .block = block_queue,
         .cancel = wake_queue,
         .end = end_queue,
         .tear_down = free},
        {.call = "kl__processor_wait_room",
         .against = "a full handler",
         .set_up = set_up_crowd,
         .begin = begin_crowd,
         .block = block_crowd,
         .cancel = fire_crowd,
         .end = end_crowd,
         .tear_down = free},
        {.call = "kl__processor_wait_room",
         .against = "a full handler, closed",
         .set_up = set_up_crowd,
         .begin = begin_crowd,
         .block = block_crowd,
         .cancel = close_crowd,
         .end = end_crowd,
         .tear_down = free},
        {.call = "kl_registration_wait_synced",
         .against = "a handler that has not synced, closed",
         .set_up = set_up_crowd,
         .begin = begin_crowd,
         .block = block_registration,
         .cancel = close_crowd,
         .end = end_crowd,
         .tear_down = free},
    };

    (void)state;
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
}

/* ---- queues of keys ---- */

static void begin_keys(void *scene_)
{
    scene *self = scene_;

    self->keys = kl_queue_new(NULL, NULL);
    assert_non_null(self->keys);
    kl_queue_add_after(self->keys, "later", 60000, NULL);
}

static void end_keys(void *scene_)
{
    scene *self = scene_;

    kl_queue_free(self->keys);
    self->keys = NULL;
}

static void block_keys(void *scene_)
{
    (void)kl_queue_wait(((scene *)scene_)->keys, -1);
}

static void block_take(void *scene_)
{
    kl_queue_item item;

    (void)kl_queue_take(((scene *)scene_)->keys, &item, -1);
}

static void shut_down_keys(void *scene_)
{
    kl_queue_shut_down(((scene *)scene_)->keys);
}

static void drain_keys(void *scene_)
{
    kl_queue_drain(((scene *)scene_)->keys);
}

#define KEYS(call_, block_, how, cancel_)                            \
    {                                                                \
        .call = (call_), .against = (how), .set_up = set_up,         \
        .begin = begin_keys, .block = (block_), .cancel = (cancel_), \
        .end = end_keys, .tear_down = free                           \
    }

static void queues_of_keys(void **state)
{
    static const trial trials[] = {
        KEYS("kl_queue_wait", block_keys, "an empty queue, shut down",
             shut_down_keys),
        KEYS("kl_queue_wait", block_keys, "an empty queue, drained",
             drain_keys),
        KEYS("kl_queue_take", block_take, "an empty queue, shut down",
             shut_down_keys),
    };

    (void)state;
    trials_run(trials, sizeof(trials) / sizeof(trials[0]));
}

static int nothing_lives(void **state)
{
    (void)state;
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        assert_int_equal(kl_live_count((kl_live_kind)i), 0);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(the_queue_of_deltas),
        cmocka_unit_test_setup_teardown(programs, temp_files_setup,
                                        temp_files_teardown),
        cmocka_unit_test_setup_teardown(a_plugin_that_another_thread_runs,
                                        temp_files_setup, temp_files_teardown),
        cmocka_unit_test_setup_teardown(a_token_in_a_silent_pipe,
                                        temp_files_setup, temp_files_teardown),
        cmocka_unit_test(queues_of_events),
        cmocka_unit_test(queues_of_keys),
    };

    return cmocka_run_group_tests(specs, NULL, nothing_lives);
}
