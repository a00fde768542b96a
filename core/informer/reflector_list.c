/*
 * reflector_list.c - the two states that list: paged (the objects of all pages
 * are staged), and streaming (the objects come as watch events up to the end
 * bookmark; then the same stream is the watch). The stage becomes visible as a
 * whole. If the server cannot stream lists, paged ones are used. See
 * reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "base/mem.h"
#include "base/str.h"

#include "kubelua/log.h"

#include <string.h>

enum {
    SLOW_LIST_MS = 10000, /* a slower list is logged at INFO
                             (docs/KUBERNETES.md#slow-lists) */
    /*
     * A server that ignores sendInitialEvents sends ADDED events and no end
     * bookmark (docs/KUBERNETES.md#no-end-bookmark). Other servers send it
     * within seconds of the last object, and do not pause before. So 10 s of
     * silence, or 2 minutes in all, mean that no end will come.
     */
    SILENCE_MS = 10000,
    DEADLINE_MS = 120000,
    /* After this many streams in a row without an end bookmark, paged lists are
       used. */
    UNFINISHED_MAX = 2,
    /* Paged lists are used for an hour; then the server may have been upgraded.
     */
    REMEMBERED_MS = 3600000
};

/* Called before each list. Forgets which objects the last list had beyond its
 * version (kl__ahead). If there were any, the cache holds them, and a list that
 * is only not older than the version could undo them: this list must ask for
 * the newest state; also if versions have no order. */
static void prepare_list(kl__reflector *self)
{
    kl__listing *list = &self->listing;

    if (self->ahead.until[0] != '\0' || self->is_opaque) {
        self->newest = true;
    }
    kl__ahead_clear(&self->ahead);
    kl__packer_pack_all(self->packer); /* the list needs memory */
    *list = (kl__listing){
        .is_open = true,
        .began = kl__reflector_now(self),
        .stage = {.known = self->options.known,
                  .packer = self->packer,
                  /* The cluster may have been restored: see replace_all. */
                  .by_text = self->newest}};
}

/* Called after each list: drops what is left of it. */
static void end_list(kl__listing *list)
{
    kl__stage_clear(&list->stage);
    kl__free(list->token);
    *list = (kl__listing){0};
}

/* Puts a complete list into the queue (the stage is empty then) and watches
 * from its version; or rejects it if it is older than the known state. */
static kl_informer_state replace_all(kl__reflector *self, kl__stage *stage,
                                     const char *version)
{
    bool older = kl__version_is_older(version, kl__reflector_floor(self));
    kl__listed listed = {0};
    kl_error err;

    if (older && !self->newest) {
        /* The server ignored NotOlderThan, or lags: ask for the newest state.
         * If that is older too, the cluster was restored from a backup; a
         * reflector that insisted on its version would never recover
         * (docs/KUBERNETES.md#restored-backup). */
        kl__stage_clear(stage);
        kl__list_watch_end(self->options.source);
        self->newest = true;
        return kl__reflector_relist(self);
    }
    if (older) {
        kl_log(KL_LOG_WARN,
               "%s: the server's newest version %s is older than %s, which it "
               "sent before: was the cluster restored from a backup?",
               self->options.name, version, kl__reflector_floor(self));
        self->backward_until =
            0; /* the restore explains an event below the version */
    }
    /* Counted first, so that a handler that gets an object of the list finds
     * the list counted in the status. */
    atomic_fetch_add_explicit(&self->lists, 1, memory_order_relaxed);
    kl__stage_finish(stage);
    kl__stage_take(stage, &listed);
    listed.shards = self->shards;
    listed.shard = self->shard;
    /* Ends the error before a handler can get an object of the list. */
    kl__health_forget(self->options.health);
    kl__reflector_expect(self, -1); /* until the queue has room */
    kl_error_set(&err,
                 kl__delta_fifo_replace(self->options.fifo, &listed, version,
                                        -1, self->options.stop),
                 "out of memory for a list");
    if (err.code != KL_OK) {
        return kl__reflector_fail(
            self, &(kl__failure){.error = &err,
                                 .resume = kl__reflector_relist(self)});
    }
    /* The list shows handlers that the error is over. If the error comes back
     * they are told again, although the backoff goes on. */
    kl__health_recover(self->options.health, NULL);
    strcpy(self->version, version);
    strcpy(self->listed, version);
    kl__reflector_trust_version(self);
    self->was_listed = true;
    self->newest = false;
    self->in_pages = false;
    return KL_STATE_WATCHING;
}

/* Instead of a list: the namespace is of another shard, so the cache is to be
 * empty. KL_STATE_WATCHING rests then, until the shard changes. */
static kl_informer_state list_nothing(kl__reflector *self)
{
    char version[sizeof(self->version)];
    kl_informer_state next;

    strcpy(version, kl__reflector_floor(self));
    next = replace_all(self, &self->listing.stage, version);
    end_list(&self->listing);
    return next;
}

/* A list failed before it was complete: chooses the next state, for a paged or
 * a streaming list. */
static kl_informer_state handle_list_failure(kl__reflector *self,
                                             const kl_error *err)
{
    kl__failure failure = {.error = err, .resume = kl__reflector_relist(self)};
    bool asked_for_version = !self->newest && self->version[0] != '\0';

    switch (err->code) {
    case KL_EUNKNOWN_KIND: /* a built-in resource that this server does not
                              serve */
        return kl__reflector_unresolved(self, err);
    case KL_ENOT_FOUND: /* the resource is gone; its CRD may have been deleted
                         */
        self->newest = true;
        failure.resume = KL_STATE_RESOLVING;
        return kl__reflector_fail(self, &failure);
    case KL_EGONE:
    case KL_EVERSION_AHEAD:
    case KL_EINVALID:
    case KL_EBAD_REQUEST:
        /* The server cannot list at that version: list again at once, without a
         * version (docs/KUBERNETES.md#gone). */
        self->newest = true;
        if (asked_for_version && err->retry_after_ms <= 0) {
            kl__list_watch_end(self->options.source);
            return failure.resume;
        }
        return kl__reflector_fail(self, &failure);
    default:
        return kl__reflector_fail(self, &failure);
    }
}

/*
 * The parameters of the first page: the newest state, or a state that is not
 * older than the known version (a bare version with a limit would mean exactly
 * that version). A limit together with a version makes servers before 1.34
 * bypass their cache, so a list with a version has no limit, unless the user
 * asked for pages or the last list took too long. Later pages have only the
 * token and the limit. See docs/KUBERNETES.md#version-of-a-list.
 */
static void fill_first_page(const kl__reflector *self, kl__list_params *params)
{
    int page_size = self->options.page_size;

    if (self->newest || self->version[0] == '\0') {
        params->limit = page_size > 0 ? page_size : KL__DEFAULT_PAGE_SIZE;
        return;
    }
    params->resource_version = self->version;
    params->resource_version_match = "NotOlderThan";
    params->limit = page_size;
    if (page_size == 0 && self->in_pages) {
        params->limit = KL__DEFAULT_PAGE_SIZE;
    }
}

/* Stages an object. After a renewed token, a page may be ahead of the version
 * from which the watch will begin: kl__ahead notes its objects. */
static bool stage_object(kl__reflector *self, kl__listing *list, kl__item *item)
{
    kl_object *object = item->object;
    kl__unreadable *unreadable = item->unreadable;

    item->object = NULL;
    item->unreadable = NULL;
    list->has_items = true;
    if (unreadable != NULL) {
        return kl__stage_put_unreadable(&list->stage, unreadable);
    }
    if (list->fuzzy && !kl__ahead_note(&self->ahead, object, list->version)) {
        kl_object_unref(object);
        return false;
    }
    return kl__stage_put(&list->stage, object);
}

static size_t staged_count(const kl__listing *list)
{
    return list->stage.count + list->stage.unreadable.by_key.count;
}

/* True if this page added no new object: the server knows limits, but no
 * tokens, and sends the first page again and again. */
static bool is_repeated(const kl__listing *list)
{
    return list->has_items && staged_count(list) == list->staged;
}

static kl_code end_page(kl__listing *list, kl__item *item, kl_error *err)
{
    char *token = item->continue_token;

    item->continue_token = NULL;
    if (list->token == NULL) {
        strcpy(list->version, item->version);
    }
    if (token != NULL && token[0] == '\0') {
        kl__free(token);
        token = NULL;
    }
    if (token != NULL && (kl__streq(token, list->token) || is_repeated(list))) {
        kl__free(token);
        return kl_error_set(err, KL_EPARSE,
                            "the server's list does not end: it repeats a "
                            "continue token, or a page");
    }
    kl__free(list->token);
    list->token = token;
    list->renewed = false;
    return KL_OK;
}

/* Takes an item of a page. False: the page is over, or it failed. */
static bool take_item(kl__reflector *self, kl__listing *list, kl__item *item,
                      kl_error *err)
{
    kl__reflector_note_item(self);
    if (item->type == KL__ITEM_PAGE) {
        if (list->fuzzy) {
            kl__ahead_reach(&self->ahead, item->version);
        }
        err->code = end_page(list, item, err);
        return false;
    }
    if (item->type != KL__ITEM_OBJECT ||
        (item->object == NULL && item->unreadable == NULL)) {
        kl_error_set(err, KL_EPARSE, "no list, but something else");
        return false;
    }
    if (!stage_object(self, list, item)) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        return false;
    }
    return true;
}

/* Reads the items of one page, up to its end. False: the task rests. */
static bool read_page(kl__reflector *self, kl__listing *list, kl_error *err)
{
    const kl__patience patience = {KL__LIST_SILENCE_MS, -1};

    for (;;) {
        kl__item item;
        bool goes_on;

        if (!kl__reflector_next_item(self, &item, patience, err)) {
            return false;
        }
        if (err->code == KL_ETIMEOUT && err->http_status == 0) {
            kl_error_set(err, KL_ETIMEOUT,
                         "a list stopped in the middle: nothing came for %d s",
                         KL__LIST_SILENCE_MS / 1000);
        }
        if (err->code != KL_OK) {
            return true;
        }
        goes_on = take_item(self, list, &item, err);
        kl__item_clear(&item);
        if (!goes_on) {
            return true;
        }
    }
}

/* The token of a later page has expired, and the server offers another one that
 * goes on at its newest version. With it the pages read so far are kept
 * (docs/KUBERNETES.md#expired-token): the watch from the first page's version
 * repairs the difference by comparing versions. Not possible if versions may
 * have no order. */
static bool take_renewed_token(kl__reflector *self, kl__listing *list)
{
    char *token;

    if (list->token == NULL || list->renewed || self->is_opaque ||
        kl__reflector_now(self) < self->backward_until) {
        return false;
    }
    token = kl__list_watch_take_continue(self->options.source);
    if (token == NULL) {
        return false;
    }
    kl_log(KL_LOG_INFO,
           "%s: the list's continue token expired; going on at the newest "
           "version",
           self->options.name);
    kl__free(list->token);
    list->token = token;
    list->renewed = true;
    list->fuzzy = true;
    return true;
}

/* Sends the request for a page. */
static kl_code ask_page(kl__reflector *self, kl__listing *list, kl_error *err)
{
    kl__list_params params = {.continue_token = list->token,
                              .limit = list->limit};

    if (list->token == NULL) {
        fill_first_page(self, &params);
        list->limit = params.limit;
    }
    return kl__list_watch_list(self->options.source, &params,
                               &self->interrupt.token, err);
}

/* Sends the request for the next page, and gets the head of the answer. False:
 * the task rests. */
static bool begin_page(kl__reflector *self, kl__listing *list, kl_error *err)
{
    if (list->got == KL__NOT_ASKED) {
        list->got = KL__ASKED;
        err->code = ask_page(self, list, err);
    }
    if (err->code == KL_OK && !kl__reflector_await_answer(self, err)) {
        return false;
    }
    self->in_pages |= err->code == KL_ETIMEOUT;
    list->got = KL__ANSWERED;
    list->staged = staged_count(list);
    list->has_items = false;
    return true;
}

/* Gets the next page. False: the task rests. */
static bool get_page(kl__reflector *self, kl__listing *list, kl_error *err)
{
    if (list->got != KL__ANSWERED && !begin_page(self, list, err)) {
        return false;
    }
    return err->code != KL_OK || read_page(self, list, err);
}

/* Gets all pages that are left. False: the task rests. */
static bool get_pages(kl__reflector *self, kl__listing *list, kl_error *err)
{
    do {
        if (!get_page(self, list, err)) {
            return false;
        }
        list->got = KL__NOT_ASKED;
        if (err->code == KL_EGONE && take_renewed_token(self, list)) {
            err->code = KL_OK;
        }
    } while (err->code == KL_OK && list->token != NULL);
    return true;
}

/* Logs why lists are paged, after a paged list has succeeded. If that fails
 * too, the cause is another one, such as a wrong field selector. */
static void tell_fallback(kl__reflector *self)
{
    if (self->no_stream.code != KL_OK) {
        kl_log(KL_LOG_INFO,
               "%s: uses paged lists for an hour, as streaming failed: %s",
               self->options.name, self->no_stream.message);
        self->no_stream.code = KL_OK;
    }
}

kl_informer_state kl__reflector_list(kl__reflector *self)
{
    kl__listing *list = &self->listing;
    kl_informer_state next;
    kl_error err = {.retry_after_ms = -1};

    if (!list->is_open) {
        prepare_list(self);
    }
    if (kl__list_watch_is_outside(self->options.source)) {
        return list_nothing(self);
    }
    if (!get_pages(self, list, &err)) {
        return KL_STATE_LISTING;
    }
    if (err.code == KL_OK) {
        int64_t took = kl__reflector_now(self) - list->began;

        kl_log(took > SLOW_LIST_MS ? KL_LOG_INFO : KL_LOG_DEBUG,
               "%s: listed %zu objects in %lld ms", self->options.name,
               list->stage.count, (long long)took);
        tell_fallback(self);
        kl__list_watch_end(self->options.source);
        next = replace_all(self, &list->stage, list->version);
    } else {
        next = handle_list_failure(self, &err);
    }
    end_list(list);
    return next;
}

/* The state of a streaming list, or what its end says about the server. */
typedef enum verdict {
    GOES_ON,  /* more items have to come */
    COMPLETE, /* the end bookmark came */
    FAILED, /* network, credentials, overload: says nothing about the server */
    UNFINISHED,  /* the server may not know streaming lists */
    UNSUPPORTED, /* the server does not know them */
} verdict;

/* Judges a refusal of the request (docs/KUBERNETES.md#streaming-list). */
static verdict judge_refusal(const kl_error *err)
{
    switch (err->code) {
    case KL_EINVALID:     /* 422: sendInitialEvents is forbidden */
    case KL_EBAD_REQUEST: /* 400: an older or aggregated server */
    case KL_ENOT_ALLOWED: /* 405: it may be able to list, but not to watch */
        return UNSUPPORTED;
    default:
        return FAILED;
    }
}

/* True if the message of an internal error says that the server's storage
 * cannot stream lists. Each kind of storage says it in other words. */
static bool says_unsupported(const char *message)
{
    static const char *const words[] = {"unsupported", "Unsupported",
                                        "not supported", "sendInitialEvents"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(message, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Judges an error after the request was accepted. */
static verdict judge_break(const kl_error *err)
{
    if (judge_refusal(err) == UNSUPPORTED) {
        return UNSUPPORTED;
    }
    if (err->code ==
        KL_EINTERNAL) { /* 200, then an ERROR of 500: from the storage */
        return says_unsupported(err->message) ? UNSUPPORTED : UNFINISHED;
    }
    return err->code == KL_EPARSE ? UNFINISHED : FAILED;
}

/* True if a streaming list takes too long. */
static bool is_late(kl__reflector *self, const kl__listing *list)
{
    return kl__reflector_now(self) >= list->deadline;
}

/* Judges a list that is silent or late. */
static verdict judge_delay(kl__reflector *self, const kl__listing *list,
                           kl_error *err)
{
    if (kl__list_watch_silence_ms(self->options.source) >= SILENCE_MS) {
        kl_error_set(err, KL_EUNAVAILABLE,
                     "a streaming list fell silent before its end");
        return UNFINISHED;
    }
    if (is_late(self, list)) {
        kl_error_set(err, KL_EUNAVAILABLE,
                     "a streaming list did not end within %d s",
                     DEADLINE_MS / 1000);
        return UNSUPPORTED;
    }
    return GOES_ON; /* bytes have come just now */
}

/* Adds or removes the object of one item in the stage. */
static verdict stage_item(kl__stage *stage, kl__item *item, kl_error *err)
{
    kl_object *object = item->object;
    kl__unreadable *unreadable = item->unreadable;

    switch (item->type) {
    case KL__ITEM_ADDED:
    case KL__ITEM_MODIFIED:
        item->object = NULL;
        item->unreadable = NULL;
        if (!(unreadable != NULL ? kl__stage_put_unreadable(stage, unreadable)
                                 : kl__stage_put(stage, object))) {
            kl_error_set(err, KL_ENOMEM, "out of memory for a list");
            return FAILED;
        }
        return GOES_ON;
    case KL__ITEM_DELETED:
    case KL__ITEM_LEFT:
        kl__stage_remove(stage, kl__item_key(item));
        return GOES_ON;
    case KL__ITEM_BOOKMARK:
        return item->initial_events_end && item->version[0] != '\0' ? COMPLETE
                                                                    : GOES_ON;
    case KL__ITEM_END:
        kl_error_set(err, KL_EUNAVAILABLE,
                     "a streaming list ended before its end bookmark");
        return UNFINISHED;
    default:
        kl_error_set(err, KL_EPARSE, "no watch event, but something else");
        return UNFINISHED;
    }
}

/* Takes one of the initial events, or the end bookmark. */
static verdict take_initial(kl__reflector *self, kl__listing *list,
                            kl__item *item, kl_error *err)
{
    verdict result;

    kl__reflector_note_item(self);
    result = stage_item(&list->stage, item, err);
    if (result == COMPLETE) {
        strcpy(list->version, item->version);
    } else if (result == GOES_ON && is_late(self, list)) {
        result = judge_delay(self, list, err);
    }
    kl__item_clear(item);
    return result;
}

/* Reads the initial events. False: the task rests. */
static bool read_initial(kl__reflector *self, kl__listing *list,
                         verdict *result, kl_error *err)
{
    const kl__patience patience = {SILENCE_MS, list->deadline};

    *result = GOES_ON;
    while (*result == GOES_ON) {
        kl__item item;

        if (!kl__reflector_next_item(self, &item, patience, err)) {
            return false;
        }
        if (err->code == KL_OK) {
            *result = take_initial(self, list, &item, err);
        } else if (err->code == KL_ETIMEOUT && err->http_status == 0) {
            *result = judge_delay(self, list, err);
        } else {
            *result = judge_break(err);
        }
    }
    return true;
}

static kl_informer_state fall_back(kl__reflector *self, const kl_error *err)
{
    self->no_stream = *err;
    kl__list_watch_end(self->options.source);
    self->unfinished = 0;
    self->streams_from = kl__reflector_now(self) + REMEMBERED_MS;
    return KL_STATE_LISTING;
}

static kl_informer_state
handle_stream_failure(kl__reflector *self, verdict result, const kl_error *err)
{
    if (result == UNSUPPORTED) {
        return fall_back(self, err);
    }
    if (result == FAILED) {
        if (err->code == KL_ETIMEOUT) {
            self->fresh = true;
        }
        return handle_list_failure(self, err);
    }
    if (++self->unfinished >= UNFINISHED_MAX) {
        return fall_back(self, err);
    }
    return kl__reflector_fail(self, &(kl__failure){.error = err,
                                                   .resume = KL_STATE_STREAMING,
                                                   .quiet = true});
}

static kl_code ask_stream(kl__reflector *self, kl_error *err)
{
    kl__watch_params params = {
        .send_initial_events = true,
        .resource_version = self->newest ? "" : self->version,
        .timeout_seconds = kl__reflector_timeout_seconds(self),
        .fresh_connection = self->fresh,
    };

    self->fresh = false;
    return kl__list_watch_watch(self->options.source, &params,
                                &self->interrupt.token, err);
}

/* Gets a streaming list up to its end bookmark. False: the task rests. */
static bool get_stream(kl__reflector *self, kl__listing *list, verdict *result,
                       kl_error *err)
{
    if (list->got == KL__NOT_ASKED) {
        list->got = KL__ASKED;
        err->code = ask_stream(self, err);
    }
    if (err->code == KL_OK && list->got == KL__ASKED) {
        if (!kl__reflector_await_answer(self, err)) {
            return false;
        }
        list->got = KL__ANSWERED;
        list->deadline = kl__reflector_now(self) + DEADLINE_MS;
    }
    if (err->code != KL_OK) {
        *result = judge_refusal(err);
        return true;
    }
    return read_initial(self, list, result, err);
}

kl_informer_state kl__reflector_stream(kl__reflector *self)
{
    kl__listing *list = &self->listing;
    kl_informer_state next;
    verdict result;
    kl_error err = {.retry_after_ms = -1};

    if (!list->is_open) {
        prepare_list(self);
    }
    if (kl__list_watch_is_outside(self->options.source)) {
        return list_nothing(self);
    }
    if (!get_stream(self, list, &result, &err)) {
        return KL_STATE_STREAMING;
    }
    if (result == COMPLETE) {
        self->unfinished = 0;
        next = replace_all(self, &list->stage, list->version);
        self->streaming = next == KL_STATE_WATCHING;
    } else {
        next = handle_stream_failure(self, result, &err);
    }
    end_list(list);
    return next;
}
