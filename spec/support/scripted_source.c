/*
 * scripted_source.c - see scripted_source.h: the words of a script, and then
 * the list_watch that plays them.
 */
#include "scripted_source.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_SIZE = 128,
    MAX_REQUESTS = 256,
    HEARD_MAX = 256,
    PATIENCE_MS = 60000
};

static kl_code code_named(const char *name, size_t length)
{
    for (int code = 0; code <= KL_EFORKED; code++) {
        const char *candidate = kl_code_name((kl_code)code);

        if (strlen(candidate) == length &&
            memcmp(candidate, name, length) == 0) {
            return (kl_code)code;
        }
    }
    abort(); /* the script names an unknown code */
}

/* Makes the error of "!gone:410/2000>token"; `token` gets the token, owned by
 * the caller, or NULL. */
static kl_code make_error(const char *word, char **token, kl_error *err)
{
    kl_code code = code_named(word + 1, strcspn(word + 1, ":/>"));
    const char *status = strchr(word, ':');
    const char *retry = strchr(word, '/');
    const char *renewed = strchr(word, '>');

    kl_error_set(err, code, "scripted %s", word + 1);
    if (status != NULL && err != NULL) {
        err->http_status = atoi(status + 1);
    }
    if (retry != NULL && err != NULL) {
        err->retry_after_ms = atol(retry + 1);
    }
    *token = renewed != NULL ? kl__strdup(renewed + 1) : NULL;
    return code;
}

/* Makes the object of "web/a#uid@5". */
static kl_object *make_object(const char *word, char *version)
{
    char key[WORD_SIZE], json[4 * WORD_SIZE];
    char *at = strchr(strcpy(key, word), '@');
    char *hash, *slash;
    char uid[WORD_SIZE + 8];
    kl_object *object;

    *at = '\0';
    strcpy(version, at + 1);
    hash = strchr(key, '#');
    if (hash != NULL) {
        *hash = '\0';
    }
    snprintf(uid, sizeof(uid), "%s%s", hash != NULL ? "" : "uid-",
             hash != NULL ? hash + 1 : key);
    slash = strchr(key, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
             "\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}",
             slash != NULL ? slash + 1 : key, slash != NULL ? key : "", uid,
             version);
    object = kl_object_parse(json, strlen(json), NULL, NULL);
    if (object == NULL) {
        abort();
    }
    return object;
}

static void make_page(const char *word, kl__item *item)
{
    const char *token = strchr(word, '>');
    size_t length = token != NULL ? (size_t)(token - word) : strlen(word);

    item->type = KL__ITEM_PAGE;
    memcpy(item->version, word, length);
    item->continue_token = kl__strdup(token != NULL ? token + 1 : "");
}

/* Makes the item of a word. */
static void make_item(const char *word, kl__item *item)
{
    switch (word[0]) {
    case '=':
        make_page(word + 1, item);
        return;
    case '^':
        item->type = KL__ITEM_BOOKMARK;
        item->initial_events_end = word[1] == '^';
        strcpy(item->version, word + (word[1] == '^' ? 2 : 1));
        return;
    case '$':
        item->type = KL__ITEM_END;
        return;
    case '+':
        item->type = KL__ITEM_ADDED;
        break;
    case '~':
        item->type = KL__ITEM_MODIFIED;
        break;
    case '-':
        item->type = KL__ITEM_DELETED;
        break;
    default:
        item->type = KL__ITEM_OBJECT;
        item->object = make_object(word, item->version);
        return;
    }
    item->object = make_object(word + 1, item->version);
}

struct scripted_source {
    kl__list_watch list_watch; /* first member: pointers to it are cast */
    kl__clock *clock;
    kl__cancel *done;
    const char *name_space; /* scripted_source_within; NULL: all */
    int64_t renewed_at;     /* when the source gets new credentials; 0: never */
    int64_t heard_at[HEARD_MAX]; /* when others were answered */
    int heard;
    /* Guards the members below; `cond` wakes every waiting thread. Its rank is
     * STREAM. */
    kl__mutex mutex;
    kl__cond cond;
    kl__buf script;
    size_t at;      /* the position in the script */
    bool in_answer; /* `at` is inside an answer */
    bool open;      /* a list or watch is open */
    int64_t last_byte;
    char *renewed; /* what take_continue returns */
    kl__buf requests;
    int count;
    int64_t times[MAX_REQUESTS];
    int timeouts[MAX_REQUESTS];
    bool is_outside; /* its namespace is of another shard */
};

static scripted_source *of(kl__list_watch *list_watch)
{
    return (scripted_source *)list_watch;
}

static void wake(void *arg)
{
    scripted_source *self = arg;

    kl__mutex_lock(&self->mutex);
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

static char here(const scripted_source *self)
{
    return self->at < self->script.length ? self->script.bytes[self->at] : '\0';
}

static void skip_blanks(scripted_source *self)
{
    while (here(self) == ' ' || here(self) == '\n') {
        self->at++;
    }
}

/* The next word of the answer; false: there is none (yet). */
static bool next_word(scripted_source *self, char *word)
{
    size_t length = 0;

    skip_blanks(self);
    while (here(self) != '\0' && strchr(" \n;", here(self)) == NULL &&
           length < WORD_SIZE - 1) {
        word[length++] = here(self);
        self->at++;
    }
    word[length] = '\0';
    return length > 0;
}

static bool peek_word(scripted_source *self, char *word)
{
    size_t at = self->at;
    bool found = next_word(self, word);

    self->at = at;
    return found;
}

/* Fails with "!gone>token"; the token is for take_continue. */
static kl_code fail(scripted_source *self, const char *word, kl_error *err)
{
    char *token = NULL;
    kl_code code = make_error(word, &token, err);

    if (token != NULL) {
        kl__free(self->renewed);
        self->renewed = token;
    }
    return code;
}

/* Begins a blocking call: hooks it into the cancel token. */
static void enter(scripted_source *self, kl__cancel *cancel,
                  kl__cancel_hook *hook)
{
    *hook = (kl__cancel_hook){.wake = wake, .arg = self};
    kl__cancel_add(cancel, hook);
    kl__mutex_lock(&self->mutex);
}

static void leave(scripted_source *self, kl__cancel *cancel,
                  kl__cancel_hook *hook)
{
    kl__mutex_unlock(&self->mutex);
    kl__cancel_remove(cancel, hook);
}

static void record(scripted_source *self, const char *text, int timeout)
{
    if (self->count == MAX_REQUESTS) {
        abort(); /* an endless loop: no script has so many requests */
    }
    self->times[self->count] = kl__clock_now(self->clock);
    self->timeouts[self->count++] = timeout;
    kl__buf_printf(&self->requests, "%s%s",
                   self->requests.length > 0 ? "; " : "", text);
    kl__cond_broadcast(&self->cond);
}

/* The script is used up: blocks until it is fed or cancelled, or fires `done`;
 * KL_ETIMEOUT at the deadline. The caller holds the mutex. */
static kl_code wait_locked(scripted_source *self, int64_t deadline,
                           kl__cancel *cancel)
{
    skip_blanks(self);
    if (self->done != NULL && here(self) == '\0') {
        kl__mutex_unlock(&self->mutex);
        kl__cancel_fire(self->done);
        kl__mutex_lock(&self->mutex);
    }
    if (kl__cancel_fired(cancel)) {
        return KL_ECANCELED;
    }
    if (!kl__clock_wait(self->clock, &self->cond, &self->mutex, deadline) &&
        kl__clock_now(self->clock) >= deadline) {
        return KL_ETIMEOUT;
    }
    return kl__cancel_fired(cancel) ? KL_ECANCELED : KL_OK;
}

/* Moves to the next answer. The caller holds the mutex. */
static kl_code begin_locked(scripted_source *self, kl__cancel *cancel,
                            kl_error *err)
{
    char word[WORD_SIZE];

    if (self->in_answer) {
        while (here(self) != '\0' && here(self) != ';') {
            self->at++;
        }
        self->in_answer = false;
        self->at += here(self) == ';';
    }
    while (!peek_word(self, word)) {
        kl_code code = wait_locked(self, -1, cancel);

        if (code != KL_OK) {
            return kl_error_set(err, code, "cancelled");
        }
    }
    if (kl__cancel_fired(cancel)) { /* the answer is for the next request */
        return kl_error_set(err, KL_ECANCELED, "cancelled");
    }
    self->in_answer = true;
    self->open = true;
    self->last_byte = kl__clock_now(self->clock);
    if (word[0] == '!' || strcmp(word, "ok") == 0) {
        next_word(self, word);
    }
    if (word[0] == '!') {
        self->open = false;
        return fail(self, word, err);
    }
    return KL_OK;
}

static kl_code resolve(kl__list_watch *list_watch, kl__cancel *cancel,
                       kl_error *err)
{
    scripted_source *self = of(list_watch);
    kl__cancel_hook hook;
    char word[WORD_SIZE];
    kl_code code = KL_OK;

    enter(self, cancel, &hook);
    record(self, "resolve", 0);
    /* a resolve gets the next whole answer, not the rest of this one */
    if (self->in_answer) {
        size_t at = self->at;

        while (here(self) != '\0' && here(self) != ';') {
            self->at++;
        }
        self->in_answer = here(self) != ';';
        self->at = self->in_answer ? at : self->at + 1;
    }
    if (!self->in_answer && peek_word(self, word) &&
        strcmp(word, "resolve") == 0) {
        next_word(self, word);
        code = begin_locked(self, cancel, err);
    }
    self->open = false;
    leave(self, cancel, &hook);
    return code;
}

static kl_code list(kl__list_watch *list_watch, const kl__list_params *params,
                    kl__cancel *cancel, kl_error *err)
{
    scripted_source *self = of(list_watch);
    char text[512] = "list";
    size_t n = strlen(text);
    kl__cancel_hook hook;
    kl_code code;

    if (params->resource_version != NULL) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, " rv=%s",
                              params->resource_version);
    }
    if (params->resource_version_match != NULL) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, " match=%s",
                              params->resource_version_match);
    }
    if (params->continue_token != NULL) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, " continue=%s",
                              params->continue_token);
    }
    if (params->limit != 0) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, " limit=%d",
                              params->limit);
    }
    if (params->fresh_connection) {
        snprintf(text + n, sizeof(text) - n, " fresh");
    }
    enter(self, cancel, &hook);
    record(self, text, 0);
    code = begin_locked(self, cancel, err);
    leave(self, cancel, &hook);
    return code;
}

static kl_code watch(kl__list_watch *list_watch, const kl__watch_params *params,
                     kl__cancel *cancel, kl_error *err)
{
    scripted_source *self = of(list_watch);
    const char *version = params->resource_version;
    char text[512];
    kl__cancel_hook hook;
    kl_code code;

    snprintf(text, sizeof(text), "%s%s%s%s",
             params->send_initial_events ? "stream" : "watch",
             version != NULL && version[0] != '\0' ? " rv=" : "",
             version != NULL ? version : "",
             params->fresh_connection ? " fresh" : "");
    enter(self, cancel, &hook);
    record(self, text, params->timeout_seconds);
    code = begin_locked(self, cancel, err);
    leave(self, cancel, &hook);
    return code;
}

/* Plays words until one is an item or an error, or none is left. */
static kl_code play_locked(scripted_source *self, kl__item *item, bool *found,
                           kl_error *err)
{
    char word[WORD_SIZE];

    *found = false;
    while (next_word(self, word)) {
        if (word[0] == '%') {
            kl__clock_advance(self->clock, atoll(word + 1));
            continue;
        }
        *found = true;
        kl__cond_broadcast(&self->cond);
        if (word[0] == '!') {
            self->open = false;
            return fail(self, word, err);
        }
        self->last_byte = kl__clock_now(self->clock);
        make_item(word, item);
        return KL_OK;
    }
    return KL_OK;
}

static kl_code next(kl__list_watch *list_watch, kl__item *item,
                    int64_t timeout_ms, kl__cancel *cancel, kl_error *err)
{
    scripted_source *self = of(list_watch);
    int64_t deadline = kl__clock_after(self->clock, timeout_ms);
    kl__cancel_hook hook;
    kl_code code = KL_OK;
    bool found = false;

    memset(item, 0, sizeof(*item));
    enter(self, cancel, &hook);
    while (code == KL_OK && !found) {
        code = kl__cancel_fired(cancel) ? KL_ECANCELED : KL_OK;
        if (code == KL_OK) {
            code = play_locked(self, item, &found, err);
        }
        if (code == KL_OK && !found) {
            code = wait_locked(self, deadline, cancel);
            kl_error_set(err, code, "scripted silence");
        }
    }
    leave(self, cancel, &hook);
    return code;
}

static int64_t silence_ms(kl__list_watch *list_watch)
{
    scripted_source *self = of(list_watch);
    int64_t silence;

    kl__mutex_lock(&self->mutex);
    silence = self->open ? kl__clock_now(self->clock) - self->last_byte : -1;
    kl__mutex_unlock(&self->mutex);
    return silence;
}

static char *take_continue(kl__list_watch *list_watch)
{
    scripted_source *self = of(list_watch);
    char *token;

    kl__mutex_lock(&self->mutex);
    token = self->renewed;
    self->renewed = NULL;
    kl__mutex_unlock(&self->mutex);
    return token;
}

static bool has_new_credentials(kl__list_watch *list_watch)
{
    const scripted_source *self = of(list_watch);

    return self->renewed_at != 0 &&
           kl__clock_now(self->clock) >= self->renewed_at;
}

void scripted_source_renew(scripted_source *source, int64_t at)
{
    source->renewed_at = at;
}

static uint64_t count_answers(kl__list_watch *list_watch)
{
    const scripted_source *self = of(list_watch);
    int64_t now = kl__clock_now(self->clock);
    uint64_t count = 0;

    for (int i = 0; i < self->heard; i++) {
        count += now >= self->heard_at[i] ? 1 : 0;
    }
    return count;
}

void scripted_source_hear(scripted_source *source, int64_t at)
{
    assert(source->heard < HEARD_MAX);
    source->heard_at[source->heard++] = at;
}

/* Records "shard 40-7f": the first bytes of each range's bounds. */
static void set_shards(kl__list_watch *list_watch, const kl__shard *shards)
{
    scripted_source *self = of(list_watch);
    kl__buf text = {0};

    kl__buf_puts(&text, "shard");
    for (size_t i = 0; i < shards->ranges.count; i++) {
        kl__buf_printf(&text, " %02x-%02x",
                       (unsigned)(shards->ranges.items[i].first >> 56),
                       (unsigned)(shards->ranges.items[i].last >> 56));
    }
    kl__mutex_lock(&self->mutex);
    self->is_outside = self->name_space != NULL &&
                       !kl__shard_has_namespace(shards, self->name_space);
    record(self, text.bytes, 0);
    kl__mutex_unlock(&self->mutex);
    kl__buf_deinit(&text);
}

void scripted_source_within(scripted_source *source, const char *name_space)
{
    source->name_space = name_space;
}

static bool is_outside(kl__list_watch *list_watch)
{
    scripted_source *self = of(list_watch);
    bool outside;

    kl__mutex_lock(&self->mutex);
    outside = self->is_outside;
    kl__mutex_unlock(&self->mutex);
    return outside;
}

static void end(kl__list_watch *list_watch)
{
    scripted_source *self = of(list_watch);

    kl__mutex_lock(&self->mutex);
    self->open = false;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

/* Ends the open list or watch; the record stays readable until
 * scripted_source_free. */
static void free_list_watch(kl__list_watch *list_watch)
{
    end(list_watch);
}

scripted_source *scripted_source_new(const char *script, kl__clock *clock,
                                     kl__cancel *done)
{
    static const kl__list_watch_ops ops = {
        .resolve = resolve,
        .list = list,
        .watch = watch,
        .next = next,
        .silence_ms = silence_ms,
        .take_continue = take_continue,
        .has_new_credentials = has_new_credentials,
        .answers = count_answers,
        .set_shards = set_shards,
        .is_outside = is_outside,
        .end = end,
        .free = free_list_watch,
    };
    scripted_source *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        abort();
    }
    self->list_watch.ops = &ops;
    self->clock = clock;
    self->done = done;
    kl__mutex_init(&self->mutex, KL__RANK_STREAM);
    kl__cond_init(&self->cond);
    kl__buf_puts(&self->script, script);
    kl__buf_puts(&self->requests, "");
    return self;
}

kl__list_watch *scripted_source_list_watch(scripted_source *source)
{
    return &source->list_watch;
}

void scripted_source_feed(scripted_source *self, const char *script)
{
    kl__mutex_lock(&self->mutex);
    kl__buf_puts(&self->script, script);
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

bool scripted_source_await(scripted_source *self, int requests)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool arrived;

    kl__mutex_lock(&self->mutex);
    while (self->count < requests &&
           kl__cond_wait(&self->cond, &self->mutex, deadline)) {
    }
    arrived = self->count >= requests;
    kl__mutex_unlock(&self->mutex);
    return arrived;
}

bool scripted_source_await_played(scripted_source *self)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool played = false;

    kl__mutex_lock(&self->mutex);
    do {
        size_t at = self->at;

        skip_blanks(self);
        played = here(self) == '\0';
        self->at = at;
    } while (!played && kl__cond_wait(&self->cond, &self->mutex, deadline));
    kl__mutex_unlock(&self->mutex);
    return played;
}

bool scripted_source_await_end(scripted_source *self)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool ended;

    kl__mutex_lock(&self->mutex);
    while (self->open && kl__cond_wait(&self->cond, &self->mutex, deadline)) {
    }
    ended = !self->open;
    kl__mutex_unlock(&self->mutex);
    return ended;
}

const char *scripted_source_requests(scripted_source *self)
{
    return self->requests.bytes;
}

int64_t scripted_source_time(scripted_source *self, int i)
{
    return self->times[i];
}

int scripted_source_timeout(scripted_source *self, int i)
{
    return self->timeouts[i];
}

void scripted_source_free(scripted_source *self)
{
    if (self == NULL) {
        return;
    }
    kl__buf_deinit(&self->script);
    kl__buf_deinit(&self->requests);
    kl__free(self->renewed);
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
    kl__free(self);
}
