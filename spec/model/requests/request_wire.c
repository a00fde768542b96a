/*
 * request_wire.c - the transport of request_turns_spec: a thread that brings
 * answers, whole, in pieces, broken, late or never, and what a right answer to
 * each request is. Each wire has one thread.
 */
#include "requests.h"
#include "schedule.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 6,
    WINDOW = 20000,
    LARGE = 60000,
    FIRST_PAUSE_MS = 100,
    LAST_PAUSE_MS = 3200
};

typedef enum step_kind {
    STEP_HEAD,
    STEP_BYTES,
    STEP_END,
    STEP_BREAK
} step_kind;

/* A part of an answer that comes at a time. */
typedef struct step {
    step_kind kind;
    int64_t at_ms;
    size_t bytes;
    bool is_silent; /* the hook is not called: the reader looks at its time */
} step;

typedef struct wire_transport {
    kl_transport base;
    kl__mutex mutex; /* rank STREAM; guards the rest, and all streams */
    kl__cond changed;
    kl__list streams;
    bool is_closed, ends;
    kl__thread thread;
} wire_transport;

typedef struct stream {
    kl__stream base;
    kl__list node;
    wire_transport *wire;
    asked *of;
    kl__stream_hook hook;
    bool has_hook, has_news;
    int64_t sent_ms; /* INT64_MAX: never */
    step steps[STEPS];
    int step_count, done;
    int status, token;
    long retry_after_ms;
    size_t come, read;
    uint64_t largest; /* part */
    bool has_head, is_ended, is_broken, is_withdrawn;
} stream;

char wire_letter(const asked *self)
{
    return (char)('a' + self->number % 26);
}

/* ---- what comes ---- */

static bool is_full(const stream *self)
{
    return self->come - self->read >= WINDOW;
}

static void take_step(stream *self, const step *taken)
{
    self->has_news |= !taken->is_silent;
    switch (taken->kind) {
    case STEP_HEAD:
        self->has_head = true;
        break;
    case STEP_BYTES:
        self->come += taken->bytes;
        if (is_full(self)) {
            saw(SEEN_FULL);
        }
        self->of->come = self->come;
        self->of->come_ms = schedule_now();
        break;
    case STEP_BREAK:
        self->is_broken = true;
        /* fallthrough */
    case STEP_END:
        self->is_ended = true;
        self->of->over_ms = schedule_now();
        break;
    }
}

/* Brings what has come by now. */
static void take_steps_locked(stream *self)
{
    int64_t now = schedule_now();

    if (self->wire->is_closed || self->is_withdrawn || self->sent_ms > now) {
        return;
    }
    while (self->done < self->step_count && !is_full(self) &&
           self->steps[self->done].at_ms <= now) {
        take_step(self, &self->steps[self->done]);
        self->done++;
    }
}

/* When the next part comes; INT64_MAX: none does by itself. */
static int64_t next_ms(const stream *self)
{
    if (self->done == self->step_count || self->is_withdrawn ||
        self->sent_ms == INT64_MAX || is_full(self)) {
        return INT64_MAX;
    }
    return self->steps[self->done].at_ms;
}

static bool must_tell(const stream *self)
{
    return self->has_hook && self->has_news &&
           (!self->hook.at_end || self->is_ended || is_full(self) ||
            self->wire->is_closed);
}

/* ---- the thread ---- */

/* Calls the hook; `self` may be closed and freed meanwhile. */
static void tell_locked(wire_transport *wire, stream *self)
{
    kl__stream_hook hook = self->hook;

    self->has_news = false;
    if (hook.hold != NULL && self->is_ended && schedule_chance(700)) {
        saw(SEEN_LENT_END);
        hook.hold(hook.arg);
        kl__mutex_unlock(&wire->mutex);
        kl__thread_set_role(KL__ROLE_TRANSPORT);
        hook.end(hook.arg);
        kl__thread_set_role(KL__ROLE_ANY);
        kl__mutex_lock(&wire->mutex);
    } else {
        hook.wake(hook.arg);
    }
}

/* A stream whose hook is to be called; NULL: none before `*due_ms`. */
static stream *find_news_locked(wire_transport *self, int64_t *due_ms)
{
    *due_ms = INT64_MAX;
    for (kl__list *node = self->streams.next; node != &self->streams;
         node = node->next) {
        stream *each = KL__CONTAINER(node, stream, node);
        int64_t ms;

        take_steps_locked(each);
        if (must_tell(each)) {
            return each;
        }
        ms = next_ms(each);
        *due_ms = ms < *due_ms ? ms : *due_ms;
    }
    return NULL;
}

static void *run_wire(void *arg)
{
    wire_transport *self = arg;

    kl__mutex_lock(&self->mutex);
    while (!self->ends) {
        int64_t due_ms;
        stream *found = find_news_locked(self, &due_ms);

        if (found != NULL) {
            tell_locked(self, found);
        } else {
            kl__cond_wait(&self->changed, &self->mutex,
                          due_ms != INT64_MAX ? due_ms : -1);
        }
    }
    kl__mutex_unlock(&self->mutex);
    return NULL;
}

/* ---- calls of a reader ---- */

static kl_code refuse(const stream *self, kl_error *err)
{
    if (self->wire->is_closed) {
        return kl_error_set(err, KL_ECLOSED, "the wire is closed");
    }
    return self->is_ended
               ? kl_error_set(err, KL_EUNAVAILABLE, "the connection broke")
               : kl_error_set(err, KL_ETIMEOUT, "nothing has come yet");
}

static kl_code get_response(kl__stream *base, kl__response *response,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl_error *err)
{
    stream *self = (stream *)base;
    kl_code code = KL_OK;

    schedule_check(deadline_ms == 0 && cancel == NULL, "a loop that waits");
    kl__mutex_lock(&self->wire->mutex);
    take_steps_locked(self);
    *response = (kl__response){.status = self->status,
                               .retry_after_ms = self->retry_after_ms,
                               .content_type = "text/plain"};
    if (!self->has_head) {
        code = refuse(self, err);
    }
    kl__mutex_unlock(&self->wire->mutex);
    return code;
}

static kl_code read_some(kl__stream *base, char *buffer, size_t size,
                         size_t *length, int64_t deadline_ms,
                         kl__cancel *cancel, kl_error *err)
{
    stream *self = (stream *)base;
    kl_code code = KL_OK;

    schedule_check(deadline_ms == 0 && cancel == NULL, "a loop that waits");
    kl__mutex_lock(&self->wire->mutex);
    take_steps_locked(self);
    *length = self->come - self->read;
    *length = *length < size ? *length : size;
    memset(buffer, wire_letter(self->of), *length);
    self->read += *length;
    if (*length > 0) {
        kl__cond_broadcast(&self->wire->changed);
    } else if (!self->is_ended || self->is_broken) {
        code = refuse(self, err);
    }
    kl__mutex_unlock(&self->wire->mutex);
    return code;
}

static int64_t last_byte_ms(const kl__stream *base)
{
    return ((const stream *)base)->of->come_ms;
}

static bool set_hook(kl__stream *base, const kl__stream_hook *hook)
{
    stream *self = (stream *)base;
    bool has_come;

    kl__mutex_lock(&self->wire->mutex);
    take_steps_locked(self);
    self->hook = *hook;
    self->has_hook = true;
    self->has_news = false;
    has_come = self->done > 0 || self->wire->is_closed;
    kl__cond_broadcast(&self->wire->changed);
    kl__mutex_unlock(&self->wire->mutex);
    return has_come;
}

static int64_t look_again_ms(const kl__stream *base)
{
    const stream *self = (const stream *)base;

    if (self->done < self->step_count && self->steps[self->done].is_silent) {
        return self->steps[self->done].at_ms;
    }
    return schedule_chance(50) ? schedule_now() + (int64_t)schedule_random(60)
                               : -1;
}

static bool withdraw(kl__stream *base)
{
    stream *self = (stream *)base;
    bool is_sent;

    kl__mutex_lock(&self->wire->mutex);
    is_sent = self->sent_ms <= schedule_now();
    self->is_withdrawn = !is_sent;
    kl__mutex_unlock(&self->wire->mutex);
    return is_sent;
}

static kl_code get_headers(kl__stream *base, const char **lines, kl_error *err)
{
    (void)base;
    (void)err;
    *lines = "kind:model\n";
    return KL_OK;
}

/* ---- the end of a try ---- */

static int64_t pause_of(const asked *of)
{
    int64_t pause_ms = FIRST_PAUSE_MS;

    for (int i = 0; i < of->pauses && pause_ms < LAST_PAUSE_MS; i++) {
        pause_ms *= 2;
    }
    return pause_ms;
}

static void expect_pause(asked *of, int64_t asked_ms)
{
    int64_t pause_ms = pause_of(of);
    int64_t least_ms = pause_ms > asked_ms ? pause_ms : asked_ms;

    of->ready_ms = schedule_now() + least_ms;
    of->late_ms = of->ready_ms + pause_ms;
    of->pause_ms = least_ms + pause_ms;
    of->may_repeat = !of->no_retry;
    of->must_repeat = of->may_repeat;
    of->pauses++;
}

/* Notes what the request may or has to do next. */
static void judge_try(const stream *self)
{
    asked *of = self->of;
    /* the status of an answer that breaks off counts, but not for a call that
     * streams */
    bool is_answered =
        self->has_head && ((self->status >= 400 && !of->streams) ||
                           (self->is_ended && !self->is_broken));

    of->is_open = false;
    of->status = self->has_head ? self->status : 0;
    of->was_sent = !self->is_withdrawn;
    of->is_broken = self->is_broken;
    of->is_whole = self->is_ended && !self->is_broken;
    of->ready_ms = of->late_ms = schedule_now();
    of->may_repeat = of->must_repeat = false;
    of->refused_token = -1;
    schedule_check(of->streams || !self->is_ended ||
                       of->over_ms == schedule_now(),
                   "the answer to request %d waits", of->number);
    if (is_answered && self->status == 401) {
        of->may_repeat = of->door->login->kind != LOGIN_NONE;
        of->must_repeat = of->door->login->kind == LOGIN_PLUGIN;
        of->refused_token = self->token;
        of->refusals++;
    } else if (is_answered && self->retry_after_ms >= 0) {
        expect_pause(of, self->retry_after_ms);
    } else if (!is_answered && self->is_broken && !of->is_write) {
        expect_pause(of, -1);
    }
}

static void close_stream(kl__stream *base)
{
    stream *self = (stream *)base;
    wire_transport *wire = self->wire;

    kl__mutex_lock(&wire->mutex);
    kl__list_remove(&self->node);
    judge_try(self);
    schedule_note("the stream of request %d is closed%s%s%s, to be sent "
                  "between %lld and %lld ms",
                  self->of->number, self->has_head ? ", with head" : "",
                  self->is_ended ? ", ended" : "",
                  self->is_broken ? ", broken" : "",
                  (long long)self->of->ready_ms, (long long)self->of->late_ms);
    kl__mutex_unlock(&wire->mutex);
    kl__live_add(KL_LIVE_STREAM, -1);
    kl__free(self);
}

/* ---- the start of a try ---- */

static void add_step(stream *self, step_kind kind, int64_t delay_ms)
{
    int64_t since_ms = self->step_count > 0
                           ? self->steps[self->step_count - 1].at_ms
                           : self->sent_ms;
    step *added = &self->steps[self->step_count++];

    *added = (step){.kind = kind, .at_ms = since_ms + delay_ms};
    added->is_silent = schedule_chance(100);
    if (kind == STEP_BYTES) {
        added->bytes = 1 + (size_t)schedule_random(self->largest);
    }
}

static int64_t draw_delay(void)
{
    switch (schedule_random(8)) {
    case 0:
        return (int64_t)schedule_random(3000);
    case 1:
    case 2:
        return (int64_t)schedule_random(200);
    case 3:
    case 4:
        return (int64_t)schedule_random(10);
    default:
        return 0;
    }
}

static void draw_status(stream *self)
{
    int64_t now = schedule_now();

    self->status = schedule_chance(900) ? 200 : 404;
    self->retry_after_ms = -1;
    if ((self->token != 0 && self->token < w.valid_from) ||
        now < w.refuses_until_ms || schedule_chance(40)) {
        self->status = 401;
        w.is_refused[self->token] = true;
    } else if (schedule_chance(120)) {
        self->status = schedule_chance(500) ? 429 : 503;
        self->retry_after_ms = (long)schedule_random(4) * 500 - 500;
        self->retry_after_ms =
            self->retry_after_ms < 0 ? -1 : self->retry_after_ms;
    }
}

/* Draws the whole answer. */
static void draw_answer(stream *self)
{
    int parts = (int)schedule_random(STEPS - 1), most;

    self->sent_ms = schedule_now();
    if (schedule_chance(100)) {
        self->sent_ms = schedule_chance(300)
                            ? INT64_MAX
                            : schedule_now() + (int64_t)schedule_random(400);
    }
    if (self->sent_ms == INT64_MAX) {
        return;
    }
    draw_status(self);
    self->largest = schedule_chance(self->of->streams ? 300 : 20) ? LARGE : 40;
    add_step(self, STEP_HEAD, draw_delay());
    while (parts-- > 1) {
        add_step(self, STEP_BYTES, draw_delay());
    }
    add_step(self, STEP_END, schedule_chance(500) ? 0 : draw_delay());
    most = self->step_count;
    if (schedule_chance(150)) { /* it breaks, or the rest never comes */
        self->step_count = (int)schedule_random((uint64_t)most);
        if (schedule_chance(600)) {
            add_step(self, STEP_BREAK, draw_delay());
        }
    }
    /* a reader that is not told of the parts is told of the end */
    if (self->step_count > 0) {
        self->steps[self->step_count - 1].is_silent = false;
    }
    for (int i = 0; i < self->step_count && !self->of->streams; i++) {
        self->steps[i].is_silent = false;
    }
}

static int token_of(const kl__request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcmp(request->headers[i].name, "Authorization") == 0) {
            return atoi(request->headers[i].value + strlen("Bearer "));
        }
    }
    return 0;
}

/* Checks that this try is allowed, and does not come late. */
static void check_try(const asked *of, int token)
{
    const known_login *login = of->door->login;
    int64_t now = schedule_now();

    schedule_check(!of->is_open, "request %d is sent twice at once",
                   of->number);
    schedule_check(of->cancel_ms < 0 || of->cancel_ms == now,
                   "request %d is sent after it was cancelled", of->number);
    schedule_check(of->door->closed_ms < 0 || of->door->closed_ms == now,
                   "request %d is sent after the close", of->number);
    schedule_check(now <= of->deadline_ms, "request %d is sent late",
                   of->number);
    schedule_check(now >= of->ready_ms, "request %d does not pause",
                   of->number);
    schedule_check(now <= of->late_ms || now == login->free_ms,
                   "request %d is sent at %lld ms, could be at %lld ms",
                   of->number, (long long)now, (long long)of->late_ms);
    schedule_check(of->tries == 0 || of->may_repeat, "request %d is sent again",
                   of->number);
    schedule_check(of->refusals <= 1 || of->refused_token < 0,
                   "request %d is sent again after two 401", of->number);
    schedule_check(of->refused_token < 0 || of->refused_token != token,
                   "request %d is sent again with the refused token",
                   of->number);
    schedule_check(login->kind != LOGIN_PLUGIN || login->users > 1 ||
                       (token == login->token &&
                        (now < login->refresh_at_ms || now == login->free_ms)),
                   "request %d is sent with token %d, the plugin's is %d",
                   of->number, token, login->token);
}

static kl__stream *open_stream(kl_transport *base, const kl__request *request,
                               kl_error *err)
{
    static const kl__stream_ops ops = {.response = get_response,
                                       .read = read_some,
                                       .last_byte_ms = last_byte_ms,
                                       .close = close_stream,
                                       .set_hook = set_hook,
                                       .look_again_ms = look_again_ms,
                                       .withdraw = withdraw,
                                       .headers = get_headers};
    wire_transport *at = (wire_transport *)base;
    stream *self;

    kl__mutex_lock(&at->mutex);
    if (at->is_closed) {
        kl__mutex_unlock(&at->mutex);
        kl_error_set(err, KL_ECLOSED, "the client is closed");
        return NULL;
    }
    self = kl__calloc(1, sizeof(*self));
    self->base.ops = &ops;
    self->wire = at;
    self->of = &w.asked[atoi(request->target + 1)];
    self->token = token_of(request);
    check_try(self->of, self->token);
    if (self->of->tries > 0) {
        saw(self->of->refused_token >= 0 ? SEEN_AFTER_401 : SEEN_AFTER_PAUSE);
    }
    self->of->tries++;
    self->of->is_open = true;
    self->of->come = 0;
    self->of->come_ms = schedule_now();
    draw_answer(self);
    schedule_note("request %d of client %d is sent with token %d: %d",
                  self->of->number, (int)(self->of->door - w.doors),
                  self->token, self->status);
    kl__list_append(&at->streams, &self->node);
    kl__cond_broadcast(&at->changed);
    kl__mutex_unlock(&at->mutex);
    kl__live_add(KL_LIVE_STREAM, 1);
    return &self->base;
}

/* ---- life ---- */

static void close_wire(kl_transport *base)
{
    wire_transport *self = (wire_transport *)base;

    kl__mutex_lock(&self->mutex);
    self->is_closed = true;
    for (kl__list *node = self->streams.next; node != &self->streams;
         node = node->next) {
        KL__CONTAINER(node, stream, node)->has_news = true;
    }
    kl__cond_broadcast(&self->changed);
    kl__mutex_unlock(&self->mutex);
}

static void free_wire(kl_transport *base)
{
    wire_transport *self = (wire_transport *)base;

    kl__mutex_lock(&self->mutex);
    schedule_check(kl__list_empty(&self->streams), "a stream stays open");
    self->ends = true;
    kl__cond_broadcast(&self->changed);
    kl__mutex_unlock(&self->mutex);
    kl__thread_join(&self->thread);
    kl__cond_deinit(&self->changed);
    kl__mutex_deinit(&self->mutex);
    kl__free(self);
}

kl_transport *wire_new(void)
{
    static const kl__transport_ops ops = {open_stream, close_wire, free_wire};
    wire_transport *self = kl__calloc(1, sizeof(*self));
    kl_error err;

    self->base.ops = &ops;
    atomic_init(&self->base.refs, 1);
    kl__mutex_init(&self->mutex, KL__RANK_STREAM);
    kl__cond_init(&self->changed);
    kl__list_init(&self->streams);
    schedule_check(
        kl__thread_start(&self->thread, "wire", run_wire, self, &err) == KL_OK,
        "no thread for a wire");
    return &self->base;
}
