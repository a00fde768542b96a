/*
 * request_logins.c - the credentials of request_turns_spec: core/config runs as
 * it is, over token files and plugins of this file (the linker's --wrap gives
 * it these functions in place of the core's).
 */
#include "requests.h"
#include "schedule.h"

#include "base/mem.h"
#include "base/str.h"
#include "config/timestamp.h"

#include <stdio.h>
#include <string.h>

int64_t __wrap_kl__timestamp_now(void);
bool __wrap_kl__file_may_wait(const kl__file *file);
kl_code __wrap_kl__file_refresh(kl__file *file, bool *changed, kl_error *err);
kl_code __wrap_kl__exec_run(const kl__settings *settings, const char *ca,
                            int timeout_ms, kl__exec_credential *out,
                            kl__cancel *cancel, kl_error *err);
kl_code __real_kl__thread_start(kl__thread *thread, const char *name,
                                void *(*entry)(void *), void *arg,
                                kl_error *err);
kl_code __wrap_kl__thread_start(kl__thread *thread, const char *name,
                                void *(*entry)(void *), void *arg,
                                kl_error *err);

int64_t __wrap_kl__timestamp_now(void)
{
    return schedule_now();
}

/* Threads of requests do not start now and then. */
kl_code __wrap_kl__thread_start(kl__thread *thread, const char *name,
                                void *(*entry)(void *), void *arg,
                                kl_error *err)
{
    if (strncmp(name, "kl-", 3) == 0 && schedule_chance(w.fails_per_mille)) {
        return kl_error_set(err, KL_EIO, "cannot start thread %s", name);
    }
    return __real_kl__thread_start(thread, name, entry, arg, err);
}

static int make_token(void)
{
    schedule_check(w.token_count + 1 < TOKENS, "a token for each request?");
    return ++w.token_count;
}

/* Only the sender may wait for credentials: others wait for the loop, for a
 * transport's thread, or for kl_client_send. */
static void begin_wait(known_login *self, const char *what)
{
    schedule_check(strcmp(schedule_name(), "kl-sender") == 0, "%s waits for %s",
                   schedule_name(), what);
    schedule_check(!self->is_busy, "two threads wait for %s at once", what);
    self->is_busy = true;
}

static void end_wait(known_login *self)
{
    self->is_busy = false;
    self->free_ms = schedule_now();
}

/* ---- files ---- */

static known_login *login_of_file(const kl__file *file)
{
    for (int i = 0; i < w.login_count; i++) {
        if (&w.logins[i].config->token == file) {
            return &w.logins[i];
        }
    }
    schedule_fail("a file of no config");
}

bool __wrap_kl__file_may_wait(const kl__file *file)
{
    return file->path != NULL && login_of_file(file)->kind == LOGIN_PIPE;
}

kl_code __wrap_kl__file_refresh(kl__file *file, bool *changed, kl_error *err)
{
    known_login *self;

    (void)err;
    schedule_point();
    if (file->path == NULL) {
        return KL_OK;
    }
    self = login_of_file(file);
    if (self->kind == LOGIN_PIPE) {
        begin_wait(self, "a pipe");
        self->ends_ms = schedule_now() + (int64_t)schedule_random(PIPE_MS);
        schedule_wait_until(self->ends_ms);
    }
    if (self->token == 0 || self->is_file_changed) {
        self->is_file_changed = false;
        self->token = make_token();
        kl__secret_free(&file->text);
        file->text = kl__strprintf("%d", self->token);
        *changed = true;
    }
    if (self->kind == LOGIN_PIPE) {
        saw(SEEN_PIPE);
        schedule_note("login %d: the pipe is read", (int)(self - w.logins));
        end_wait(self);
    }
    return KL_OK;
}

/* ---- plugins ---- */

/* A run of a plugin, which waits for its end or to be cancelled. */
typedef struct run {
    kl__mutex mutex;
    kl__cond changed;
    bool is_canceled;
} run;

static void cancel_run(void *arg)
{
    run *self = arg;

    kl__mutex_lock(&self->mutex);
    self->is_canceled = true;
    kl__cond_broadcast(&self->changed);
    kl__mutex_unlock(&self->mutex);
}

/* The client whose sender runs the plugin. */
static const known_client *door_of_run(const kl__cancel *cancel)
{
    const kl__cancel_either *either =
        KL__CONTAINER(cancel, kl__cancel_either, token);

    for (int i = 0; i < w.door_count; i++) {
        if (w.doors[i].closed == either->from[1]) {
            return &w.doors[i];
        }
    }
    schedule_fail("a plugin runs without the token of a client");
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A plugin goes on after a timeout, as it may only be slow. It has to end once
 * the last request that waited for it was cancelled, or the client is closed:
 * both happened before this moment. */
static void check_that_it_is_wanted(const known_client *door)
{
    int64_t now = schedule_now(), canceled_ms = -1, timeout_ms = -1;

    schedule_check(door->closed_ms < 0 || door->closed_ms == now,
                   "a plugin runs on although its client is closed");
    for (int i = 0; i < w.asked_count; i++) {
        const asked *each = &w.asked[i];

        if (each->door != door || each->is_open) {
            continue;
        }
        if (each->cancel_ms == now ||
            (each->cancel_ms < 0 && !asked_is_over(each))) {
            return; /* it waits, or the loop will look at it now */
        }
        if (each->cancel_ms < 0 || each->cancel_ms >= each->deadline_ms) {
            timeout_ms = each->deadline_ms <= now
                             ? max(timeout_ms, each->deadline_ms)
                             : timeout_ms;
        } else if (each->tries == 0) {
            canceled_ms = max(canceled_ms, each->cancel_ms);
        }
    }
    schedule_check(canceled_ms < 0 || canceled_ms == now ||
                       timeout_ms >= canceled_ms,
                   "a plugin runs on, and no request waits for it");
}

/* True: it ended by itself, at `end_ms`. */
static bool await_end(const known_client *door, kl__cancel *cancel,
                      int64_t end_ms)
{
    kl__cancel_hook hook;
    run self = {.is_canceled = false};
    int64_t now;

    hook.wake = cancel_run;
    hook.arg = &self;
    kl__mutex_init(&self.mutex, KL__RANK_REFLECTOR);
    kl__cond_init(&self.changed);
    if (!kl__cancel_add(cancel, &hook)) {
        self.is_canceled = true;
    }
    kl__mutex_lock(&self.mutex);
    while (!self.is_canceled && (now = schedule_now()) < end_ms) {
        check_that_it_is_wanted(door);
        kl__cond_wait(&self.changed, &self.mutex,
                      end_ms < now + 90 ? end_ms : now + 90);
    }
    kl__mutex_unlock(&self.mutex);
    kl__cancel_remove(cancel, &hook);
    kl__cond_deinit(&self.changed);
    kl__mutex_deinit(&self.mutex);
    return !self.is_canceled;
}

/* Requests that wait for a run fail with it. One that comes as it ends may wait
 * for the next run. */
static void note_failure(known_login *self, int64_t began_ms)
{
    self->failed_ms = schedule_now();
    for (int i = 0; i < w.asked_count; i++) {
        asked *each = &w.asked[i];

        if (self->users == 1 && each->door->login == self && !each->is_open &&
            !asked_is_over(each) && each->ready_ms < began_ms) {
            each->outlived++;
            schedule_check(each->outlived <= 2,
                           "request %d outlives runs of a plugin that failed",
                           each->number);
        }
    }
}

static int64_t draw_time(void)
{
    return (int64_t)(schedule_chance(500) ? schedule_random(20)
                                          : schedule_random(1200));
}

kl_code __wrap_kl__exec_run(const kl__settings *settings, const char *ca,
                            int timeout_ms, kl__exec_credential *out,
                            kl__cancel *cancel, kl_error *err)
{
    const kl_config *config = KL__CONTAINER(settings, kl_config, settings);
    int64_t began_ms = schedule_now(), took_ms = draw_time();
    bool hangs = schedule_chance(150), fails = schedule_chance(150);
    known_login *self = w.logins;
    int number;

    (void)ca;
    *out = (kl__exec_credential){.token = NULL};
    while (self->config != config) {
        self++;
    }
    begin_wait(self, "a plugin");
    schedule_check(self->token == 0 || began_ms >= self->refresh_at_ms ||
                       w.is_refused[self->token],
                   "the plugin runs again although its token %d is good",
                   self->token);
    number = ++self->runs;
    saw(SEEN_RUN);
    if (self->token != 0 && !w.is_refused[self->token]) {
        saw(SEEN_EXPIRED);
    }
    self->ends_ms = began_ms + (hangs ? timeout_ms : took_ms);
    schedule_note("login %d: run %d begins, its token was %d",
                  (int)(self - w.logins), number, self->token);
    if (!await_end(door_of_run(cancel), cancel, self->ends_ms)) {
        schedule_wait_until(schedule_now() +
                            (int64_t)schedule_random(DEATH_MS));
        end_wait(self);
        saw(SEEN_RUN_CANCELED);
        schedule_note("run %d is cancelled", number);
        return kl_error_set(err, KL_ECANCELED, "run %d was cancelled", number);
    }
    end_wait(self);
    if (hangs) {
        saw(SEEN_RUN_HUNG);
    }
    if (hangs || fails) {
        self->token = w.is_refused[self->token] ? 0 : self->token;
        note_failure(self, began_ms);
        schedule_note("run %d fails", number);
        return kl_error_set(err, hangs ? KL_ETIMEOUT : KL_ECONFIG,
                            "run %d failed", number);
    }
    self->token = make_token();
    self->refresh_at_ms = schedule_chance(300)
                              ? INT64_MAX
                              : schedule_now() + (int64_t)schedule_random(800);
    schedule_note("run %d gives token %d until %lld ms", number, self->token,
                  (long long)self->refresh_at_ms);
    out->token = kl__strprintf("%d", self->token);
    out->refresh_at_ms = self->refresh_at_ms;
    return KL_OK;
}

/* ---- configs ---- */

static const char *const users_of_kinds[] = {
    [LOGIN_TOKEN] = "{token: fixed}",
    [LOGIN_FILE] = "{tokenFile: /model/token}",
    [LOGIN_PIPE] = "{tokenFile: /model/pipe}",
    [LOGIN_PLUGIN] =
        "{exec: {command: /model/plugin, apiVersion: "
        "client.authentication.k8s.io/v1, interactiveMode: Never}}"};

void login_init(known_login *self, login_kind kind)
{
    static const kl__config_seams seams = {.plugin_timeout_ms = PLUGIN_MS};
    kl_config_options options = {.kubeconfig = NULL};
    char text[600];
    kl_error err;

    *self = (known_login){.kind = kind, .free_ms = -1, .failed_ms = -1};
    if (kind == LOGIN_NONE) {
        return;
    }
    snprintf(text, sizeof(text),
             "{current-context: m, "
             "clusters: [{name: m, cluster: {server: \"https://m\"}}], "
             "users: [{name: m, user: %s}], "
             "contexts: [{name: m, context: {cluster: m, user: m}}]}",
             users_of_kinds[kind]);
    options.kubeconfig_text = text;
    self->config = kl__config_load(&options, &seams, &err);
    schedule_check(self->config != NULL, "no config: %s", err.message);
}

void login_deinit(known_login *self)
{
    schedule_check(!self->is_busy, "a plugin outlives its client");
    kl_config_unref(self->config);
}
