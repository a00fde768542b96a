/*
 * reflector_chaos_spec.c - whatever a server and a network do: in the end the
 * cache is what the server has, and on the way no object went back in time.
 */
#include "cache_rig.h"
#include "reflector_runner.h"

#include "api/list_watch.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "informer/reflector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 12, HISTORY_MAX = 65536, PAGE = 3, NAME_SIZE = 32 };

/*
 * A kl__list_watch on a small model of an API server: objects that are created,
 * changed, deleted and recreated all the time, a history that is compacted,
 * and, drawn from a seed, every fault that a server or a network can have.
 *
 * `before_call` runs before each call that it answers, so that the consumer
 * works on the same thread. After `calls` calls there are no more changes and
 * faults; once everything has been sent then, it fires `done`.
 */
typedef struct model_options {
    uint64_t seed;
    int calls;
    kl__clock *clock; /* a fake clock that leaps */
    kl__cancel *done;
    void (*before_call)(void *context);
    void *context;
} model_options;

typedef struct state_of_key {
    int uid;     /* 0: the object does not exist */
    int version; /* of its last change */
} state_of_key;

typedef struct model_change {
    kl__item_type type;
    int key, uid, version;
} model_change;

typedef enum mode { IDLE, LIST, WATCH } mode;

typedef struct model_source {
    kl__list_watch list_watch; /* first member: pointers to it are cast */
    model_options options;
    uint64_t random;
    int calls, lists, faults;

    state_of_key keys[KEYS];
    int version, next_uid;
    int compacted; /* the oldest version that a watch can begin at */
    model_change *history;
    int history_count;

    mode mode;
    int at;     /* the next key of a list, or of initial events */
    int listed; /* the version of a list */
    int page_end;
    state_of_key snapshot[KEYS];
    bool initial; /* a watch that sends initial events, then their end */
    int position; /* index of the next change of a watch */
    int64_t last_byte;
    char *renewed;
} model_source;

static model_source *of(kl__list_watch *list_watch)
{
    return (model_source *)list_watch;
}

/* A random number in [0, bound). */
static int draw(model_source *self, int bound)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return (int)(self->random % (uint64_t)bound);
}

static bool is_calm(const model_source *self)
{
    return self->calls > self->options.calls;
}

/* True with a chance of `chance` in a hundred, while faults happen. */
static bool strikes(model_source *self, int chance)
{
    if (is_calm(self) || draw(self, 100) >= chance) {
        return false;
    }
    self->faults++;
    return true;
}

static void note(model_source *self, kl__item_type type, int key)
{
    state_of_key *state = &self->keys[key];

    if (self->history_count == HISTORY_MAX) {
        abort();
    }
    self->version += 1 + draw(self, 3);
    state->version = self->version;
    self->history[self->history_count++] =
        (model_change){type, key, state->uid, state->version};
}

static void mutate(model_source *self)
{
    int key = draw(self, KEYS);
    state_of_key *state = &self->keys[key];

    if (state->uid == 0) {
        state->uid = ++self->next_uid;
        note(self, KL__ITEM_ADDED, key);
        return;
    }
    if (draw(self, 3) > 0) {
        note(self, KL__ITEM_MODIFIED, key);
        return;
    }
    note(self, KL__ITEM_DELETED, key);
    state->uid = 0;
    /* deleted and created again under the same name */
    if (draw(self, 2) == 0) {
        state->uid = ++self->next_uid;
        note(self, KL__ITEM_ADDED, key);
    }
}

/* Makes up to two changes, unless the source is calm; runs before each call. */
static void go_on(model_source *self)
{
    self->calls++;
    self->options.before_call(self->options.context);
    if (is_calm(self)) {
        return;
    }
    for (int i = draw(self, 3); i > 0; i--) {
        mutate(self);
    }
    if (draw(self, 40) == 0) {
        self->compacted = self->version;
    }
}

static kl_object *make_object(int key, int uid, int version)
{
    char json[256];
    kl_object *object;

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"k%d\",\"uid\":\"u%d\","
             "\"resourceVersion\":\"%d\"}}",
             key, uid, version);
    object = kl_object_parse(json, strlen(json), NULL, NULL);
    if (object == NULL) {
        abort();
    }
    return object;
}

static void give(kl__item *item, kl__item_type type, const model_change *what)
{
    item->type = type;
    item->object = make_object(what->key, what->uid, what->version);
    snprintf(item->version, sizeof(item->version), "%d", what->version);
}

static kl_code fault(kl_error *err, kl_code code, int status, long retry_ms)
{
    kl_error_set(err, code, "model %s", kl_code_name(code));
    if (err != NULL) {
        err->http_status = status;
        err->retry_after_ms = retry_ms;
    }
    return code;
}

/* A refusal that may answer any request. */
static kl_code refuse(model_source *self, kl_error *err)
{
    switch (draw(self, 6)) {
    case 0:
        return fault(err, KL_EFORBIDDEN, 403, -1);
    case 1:
        return fault(err, KL_EUNAVAILABLE, 0, -1);
    case 2:
        return fault(err, KL_ETOO_MANY_REQUESTS, 429, 1000);
    case 3:
        return fault(err, KL_EINTERNAL, 500, -1);
    case 4:
        return fault(err, KL_ETIMEOUT, 0, -1);
    default:
        return fault(err, KL_EUNAVAILABLE, 503, 2000);
    }
}

static kl_code resolve(kl__list_watch *list_watch, kl__cancel *cancel,
                       kl_error *err)
{
    model_source *self = of(list_watch);

    (void)cancel;
    go_on(self);
    return strikes(self, 10) ? fault(err, KL_EUNKNOWN_KIND, 0, -1) : KL_OK;
}

static void take_snapshot(model_source *self)
{
    self->listed = self->version;
    memcpy(self->snapshot, self->keys, sizeof(self->keys));
}

static kl_code list(kl__list_watch *list_watch, const kl__list_params *params,
                    kl__cancel *cancel, kl_error *err)
{
    model_source *self = of(list_watch);
    int asked =
        params->resource_version != NULL ? atoi(params->resource_version) : 0;

    (void)cancel;
    go_on(self);
    self->last_byte = kl__clock_now(self->options.clock);
    if (strikes(self, 10)) {
        return refuse(self, err);
    }
    if (params->continue_token != NULL && strikes(self, 30)) {
        kl__free(self->renewed);
        self->renewed =
            draw(self, 3) > 0 ? kl__strprintf("%d!", self->at) : NULL;
        return fault(err, KL_EGONE, 410, -1);
    }
    if (asked > self->version || (asked > 0 && strikes(self, 5))) {
        return fault(err, KL_EVERSION_AHEAD, 504, 1000);
    }
    if (params->continue_token == NULL) {
        self->at = 0;
        take_snapshot(self);
    } else {
        self->at = atoi(params->continue_token);
        if (strchr(params->continue_token, '!') != NULL) {
            /* an inconsistent continuation: the further pages show the objects
             * as they are now */
            take_snapshot(self);
        }
    }
    self->page_end = self->at + PAGE < KEYS ? self->at + PAGE : KEYS;
    self->mode = LIST;
    return KL_OK;
}

static kl_code watch(kl__list_watch *list_watch, const kl__watch_params *params,
                     kl__cancel *cancel, kl_error *err)
{
    model_source *self = of(list_watch);

    (void)cancel;
    go_on(self);
    self->last_byte = kl__clock_now(self->options.clock);
    if (strikes(self, 10)) {
        return refuse(self, err);
    }
    self->mode = WATCH;
    self->initial = params->send_initial_events;
    if (self->initial) {
        if (strikes(self, 3)) {
            return fault(err, KL_EINVALID, 422, -1);
        }
        self->at = 0;
        take_snapshot(self);
        return KL_OK;
    }
    self->position = atoi(params->resource_version);
    if (self->position < self->compacted && draw(self, 2) == 0) {
        return fault(err, KL_EGONE, 410, -1);
    }
    return KL_OK;
}

/* The next object of the snapshot; false: there is none before `end`. */
static bool next_listed(model_source *self, int end, model_change *what)
{
    while (self->at < end) {
        int key = self->at++;

        if (self->snapshot[key].uid != 0) {
            *what =
                (model_change){KL__ITEM_OBJECT, key, self->snapshot[key].uid,
                               self->snapshot[key].version};
            return true;
        }
    }
    return false;
}

static kl_code next_of_list(model_source *self, kl__item *item, kl_error *err)
{
    model_change what;

    if (strikes(self, 3)) {
        return fault(err, KL_EUNAVAILABLE, 0, -1);
    }
    if (next_listed(self, self->page_end, &what)) {
        give(item, KL__ITEM_OBJECT, &what);
        return KL_OK;
    }
    item->type = KL__ITEM_PAGE;
    snprintf(item->version, sizeof(item->version), "%d", self->listed);
    item->continue_token =
        self->at < KEYS ? kl__strprintf("%d", self->at) : kl__strdup("");
    self->lists += self->at == KEYS;
    self->mode = IDLE;
    return KL_OK;
}

/* Fails in the middle of a stream; KL_OK: no fault. */
static kl_code break_stream(model_source *self, kl__item *item, bool *found,
                            kl_error *err)
{
    *found = strikes(self, 8);
    if (!*found) {
        return KL_OK;
    }
    switch (draw(self, 5)) {
    case 0:
        return fault(err, KL_EUNAVAILABLE, 0, -1);
    case 1:
        return fault(err, KL_EPARSE, 0, -1);
    case 2:
        return fault(err, KL_EINTERNAL, 500, -1);
    case 3:
        return fault(err, KL_ETOO_MANY_REQUESTS, 429, 1000);
    default:
        item->type = KL__ITEM_END;
        return KL_OK;
    }
}

static const model_change *after_position(const model_source *self)
{
    for (int i = 0; i < self->history_count; i++) {
        if (self->history[i].version > self->position) {
            return &self->history[i];
        }
    }
    return NULL;
}

/* Answers a read for which there is nothing to send: time passes. Once the
 * source is calm and has sent everything, the run ends. */
static kl_code silence(model_source *self, int64_t timeout_ms, kl_error *err)
{
    if (is_calm(self) && !self->initial) {
        kl__cancel_fire(self->options.done);
        return fault(err, KL_ECANCELED, 0, -1);
    }
    if (timeout_ms < 0) {
        abort(); /* the caller must have asked for an idle limit */
    }
    kl__clock_advance(self->options.clock, timeout_ms);
    return fault(err, KL_ETIMEOUT, 0, -1);
}

static kl_code next_of_watch(model_source *self, kl__item *item,
                             int64_t timeout_ms, kl_error *err)
{
    const model_change *event;
    model_change what;
    bool broke;
    kl_code code = break_stream(self, item, &broke, err);

    if (broke) {
        return code;
    }
    if (self->initial && next_listed(self, KEYS, &what)) {
        give(item, KL__ITEM_ADDED, &what);
        return KL_OK;
    }
    if (self->initial) {
        self->initial = false;
        self->lists++;
        self->position = self->listed;
        item->type = KL__ITEM_BOOKMARK;
        item->initial_events_end = true;
        snprintf(item->version, sizeof(item->version), "%d", self->position);
        return KL_OK;
    }
    if (self->position < self->compacted) {
        return fault(err, KL_EGONE, 410, -1);
    }
    event = after_position(self);
    if (event == NULL && !is_calm(self) && draw(self, 4) == 0) {
        self->position = self->version;
        item->type = KL__ITEM_BOOKMARK;
        snprintf(item->version, sizeof(item->version), "%d", self->position);
        return KL_OK;
    }
    if (event == NULL) {
        return silence(self, timeout_ms, err);
    }
    self->position = event->version;
    give(item, event->type, event);
    return KL_OK;
}

static kl_code next(kl__list_watch *list_watch, kl__item *item,
                    int64_t timeout_ms, kl__cancel *cancel, kl_error *err)
{
    model_source *self = of(list_watch);
    kl_code code;

    (void)cancel;
    memset(item, 0, sizeof(*item));
    go_on(self);
    code = self->mode == LIST ? next_of_list(self, item, err)
                              : next_of_watch(self, item, timeout_ms, err);
    if (code == KL_OK) {
        self->last_byte = kl__clock_now(self->options.clock);
    }
    return code;
}

static int64_t silence_ms(kl__list_watch *list_watch)
{
    model_source *self = of(list_watch);

    return kl__clock_now(self->options.clock) - self->last_byte;
}

static char *take_continue(kl__list_watch *list_watch)
{
    model_source *self = of(list_watch);
    char *token = self->renewed;

    self->renewed = NULL;
    return token;
}

static void end(kl__list_watch *list_watch)
{
    of(list_watch)->mode = IDLE;
}

static model_source *model_source_new(const model_options *options)
{
    static const kl__list_watch_ops ops = {
        .resolve = resolve,
        .list = list,
        .watch = watch,
        .next = next,
        .silence_ms = silence_ms,
        .take_continue = take_continue,
        .end = end,
        .free = end, /* model_source_free frees the model itself */
    };
    model_source *self = kl__calloc(1, sizeof(*self));

    self->list_watch.ops = &ops;
    self->options = *options;
    self->random = options->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    self->history = kl__calloc(HISTORY_MAX, sizeof(model_change));
    for (int i = 0; i < 20; i++) {
        mutate(self);
    }
    return self;
}

static kl__list_watch *model_source_list_watch(model_source *model)
{
    return &model->list_watch;
}

static void model_source_free(model_source *model)
{
    kl__free(model->renewed);
    kl__free(model->history);
    kl__free(model);
}

static size_t model_source_count(const model_source *model)
{
    size_t count = 0;

    for (int i = 0; i < KEYS; i++) {
        count += model->keys[i].uid != 0;
    }
    return count;
}

static bool model_source_find(const model_source *model, const char *key,
                              char *uid, char *version)
{
    const state_of_key *state = &model->keys[atoi(key + 1)];

    snprintf(uid, NAME_SIZE, "u%d", state->uid);
    snprintf(version, NAME_SIZE, "%d", state->version);
    return state->uid != 0;
}

static int model_source_lists(const model_source *model)
{
    return model->lists;
}

static int model_source_faults(const model_source *model)
{
    return model->faults;
}

enum { RUNS = 300, CALLS = 1500 };

typedef struct chaos {
    kl__delta_fifo *fifo;
    kl__indexer *indexer;
    uint64_t seed;
    int errors;
    char reason[KL_ERROR_MESSAGE_SIZE]; /* of the last error that was told */
} chaos;

static void check(const chaos *self, const kl__change *change)
{
    const char *old =
        change->old != NULL ? kl_object_resource_version(change->old) : NULL;
    const char *new = kl_object_resource_version(change->object);
    bool fine = true;

    if (change->type == KL__CHANGE_UPDATE) {
        fine = kl_version_compare(old, new) < 0 &&
               strcmp(kl_object_uid(change->old),
                      kl_object_uid(change->object)) == 0;
    } else if (change->type == KL__CHANGE_DELETE && !change->unknown) {
        fine = kl_version_compare(old, new) < 0;
    }
    if (!fine) {
        print_error("seed %llu: %s went from %s to %s\n",
                    (unsigned long long)self->seed,
                    kl_object_key(change->object), old, new);
    }
    assert_true(fine);
}

/* The consumer: applies what is queued, as the informing task would. */
static void consume(void *context)
{
    chaos *self = context;
    kl__delta_batch batch = {0};

    while (kl__delta_fifo_pop(self->fifo, &batch, 100, 0) == KL_OK) {
        kl__change_list changes = {0};
        const kl__delta *first = &batch.items[0];

        if (first->type == KL__DELTA_REPLACED) {
            assert_int_equal(cache_transact_list(self->indexer,
                                                 &first->listed->objects,
                                                 first->version, &changes),
                             KL_OK);
        } else if (first->type == KL__DELTA_ERROR) {
            self->errors++;
            snprintf(self->reason, sizeof(self->reason), "%s",
                     first->error->message);
        } else {
            assert_int_equal(
                cache_transact_batch(self->indexer, &batch, &changes), KL_OK);
        }
        for (size_t i = 0; i < changes.count; i++) {
            check(self, &changes.items[i]);
        }
        kl__change_list_clear(&changes);
        kl__delta_batch_clear(&batch);
    }
}

static void compare(const chaos *self, const model_source *model)
{
    kl_object_list list = {0};
    char uid[32], version[32];

    assert_int_equal(kl__indexer_list(self->indexer, NULL, NULL, &list, NULL),
                     KL_OK);
    if (list.count != model_source_count(model)) {
        print_error("seed %llu: %zu objects\n", (unsigned long long)self->seed,
                    list.count);
    }
    assert_int_equal(list.count, model_source_count(model));
    for (size_t i = 0; i < list.count; i++) {
        assert_true(model_source_find(model, kl_object_key(list.items[i]), uid,
                                      version));
        assert_string_equal(kl_object_uid(list.items[i]), uid);
        assert_string_equal(kl_object_resource_version(list.items[i]), version);
    }
    kl_object_list_clear(&list);
}

static void run(uint64_t seed, bool paged)
{
    kl__clock *clock = kl__clock_fake(1000);
    chaos self = {.seed = seed};
    kl__cancel done;
    kl__health health;
    kl__reflector *reflector;
    reflector_runner runner;
    model_source *model;

    kl__clock_fake_leap(clock);
    kl__cancel_init(&done);
    kl__health_init(&health, clock);
    self.fifo = kl__delta_fifo_new(0, clock);
    self.indexer = kl__indexer_new();
    model = model_source_new(&(model_options){
        .seed = seed,
        .calls = CALLS,
        .clock = clock,
        .done = &done,
        .before_call = consume,
        .context = &self,
    });
    reflector = kl__reflector_new(&(kl__reflector_options){
        .source = model_source_list_watch(model),
        .fifo = self.fifo,
        .known = self.indexer,
        .health = &health,
        .stop = &done,
        .clock = clock,
        .name = "model",
        .no_streaming_list = paged,
        .seed = seed,
    });
    reflector_runner_init(&runner, &done);
    runner.reflector = reflector;
    reflector_runner_run(&runner);
    reflector_runner_deinit(&runner);
    consume(&self);
    compare(&self, model);
    assert_true(model_source_lists(model) > 0);
    assert_true(model_source_faults(model) > 20);
    assert_true(self.errors > 0);
    kl__reflector_free(reflector);
    model_source_free(model);
    kl__indexer_free(self.indexer);
    kl__delta_fifo_free(self.fifo);
    kl__health_deinit(&health);
    kl__cancel_deinit(&done);
    kl__clock_fake_free(clock);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void paged_lists_converge_under_every_fault(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        run(seed, true);
    }
}

static void streaming_lists_converge_under_every_fault(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        run(seed, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paged_lists_converge_under_every_fault),
        cmocka_unit_test(streaming_lists_converge_under_every_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
