/*
 * reflector_list.c - the state that reads a paged list: objects of all pages
 * are staged and become visible together. See reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/log.h"

#include <string.h>

enum {
    SLOW_LIST_MS = 10000
}; /* a slower list is logged at INFO (docs/KUBERNETES.md#slow-lists) */

typedef struct listing {
    kl__stage stage;
    char *token; /* owned; NULL: the first page */
    int limit;
    char version[KL__VERSION_SIZE]; /* of the first page */
    size_t staged;                  /* objects in the stage before this page */
    bool has_items;                 /* this page has objects */
    bool renewed; /* `token` replaces an expired one: it goes on at a newer
                     version */
    bool fuzzy;   /* such a token was used: the pages are of two versions */
} listing;

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
static bool stage_object(kl__reflector *self, listing *list, kl__item *item)
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

static size_t staged_count(const listing *list)
{
    return list->stage.count + list->stage.unreadable.by_key.count;
}

/* True if this page added no new object: the server knows limits, but no
 * tokens, and sends the first page again and again. */
static bool is_repeated(const listing *list)
{
    return list->has_items && staged_count(list) == list->staged;
}

static kl_code end_page(listing *list, kl__item *item, kl_error *err)
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

/* Reads the items of one page; KL_OK at its end. */
static kl_code read_page(kl__reflector *self, listing *list, kl_error *err)
{
    kl__list_watch *source = self->options.source;

    list->staged = staged_count(list);
    list->has_items = false;
    for (;;) {
        kl__item item = {0};
        int64_t silence = kl__list_watch_silence_ms(source);
        kl_code code;

        if (silence >= KL__LIST_SILENCE_MS) {
            return kl_error_set(err, KL_ETIMEOUT,
                                "a list stopped in the middle: nothing came "
                                "for %lld s",
                                (long long)silence / 1000);
        }
        code = kl__list_watch_next(
            source, &item, KL__LIST_SILENCE_MS - (silence > 0 ? silence : 0),
            self->options.stop, err);
        if (code == KL_ETIMEOUT && err->http_status == 0) {
            continue;
        }
        if (code != KL_OK) {
            return code;
        }
        kl__reflector_note_item(self);
        if (item.type == KL__ITEM_PAGE) {
            if (list->fuzzy) {
                kl__ahead_reach(&self->ahead, item.version);
            }
            code = end_page(list, &item, err);
            kl__item_clear(&item);
            return code;
        }
        if (item.type != KL__ITEM_OBJECT ||
            (item.object == NULL && item.unreadable == NULL)) {
            kl__item_clear(&item);
            return kl_error_set(err, KL_EPARSE, "no list, but something else");
        }
        if (!stage_object(self, list, &item)) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        }
    }
}

/* The token of a later page has expired, and the server offers another one that
 * goes on at its newest version. With it the pages read so far are kept
 * (docs/KUBERNETES.md#expired-token): the watch from the first page's version
 * repairs the difference by comparing versions. Not possible if versions may
 * have no order. */
static bool take_renewed_token(kl__reflector *self, listing *list)
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

static kl_code read_pages(kl__reflector *self, listing *list, kl_error *err)
{
    kl__list_params params = {0};
    kl_code code;

    fill_first_page(self, &params);
    list->limit = params.limit;
    do {
        code = kl__list_watch_list(self->options.source, &params,
                                   self->options.stop, err);
        self->in_pages |= code == KL_ETIMEOUT;
        if (code == KL_OK) {
            code = read_page(self, list, err);
        }
        if (code == KL_EGONE && take_renewed_token(self, list)) {
            code = KL_OK;
        }
        params = (kl__list_params){.continue_token = list->token,
                                   .limit = list->limit};
    } while (code == KL_OK && list->token != NULL);
    return code;
}

kl_informer_state kl__reflector_list_failed(kl__reflector *self,
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

/* The cache may hold objects of later pages, which are newer than the version;
 * a list that is only not older than the version could undo them. */
void kl__reflector_prepare_list(kl__reflector *self)
{
    if (self->ahead.until[0] != '\0' || self->is_opaque) {
        self->newest = true;
    }
    kl__ahead_clear(&self->ahead);
    kl__packer_pack_all(self->packer); /* the list needs memory */
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
    listing list = {.stage.known = self->options.known,
                    .stage.packer = self->packer};
    int64_t began = kl__reflector_now(self);
    kl_informer_state next;
    kl_error err = {.retry_after_ms = -1};

    kl__reflector_prepare_list(self);
    list.stage.by_text = self->newest; /* the cluster may have been restored:
                                          see kl__reflector_replace */
    err.code = read_pages(self, &list, &err);
    if (err.code == KL_OK) {
        int64_t took = kl__reflector_now(self) - began;

        kl_log(took > SLOW_LIST_MS ? KL_LOG_INFO : KL_LOG_DEBUG,
               "%s: listed %zu objects in %lld ms", self->options.name,
               list.stage.count, (long long)took);
        tell_fallback(self);
        kl__list_watch_end(self->options.source);
        next = kl__reflector_replace(self, &list.stage, list.version);
    } else {
        next = kl__reflector_list_failed(self, &err);
    }
    kl__stage_clear(&list.stage);
    kl__free(list.token);
    return next;
}
