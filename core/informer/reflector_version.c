/*
 * reflector_version.c - the version from which the reflector watches, and the
 * test that the server has reached it. A server that was restored from a backup
 * has not: the watch stays silent until it has, and all changes before that are
 * missed. So after a long silence the reflector asks the server for its
 * version. See reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include <limits.h>
#include <string.h>

/* The divisor of the idle timeout: a question without a clear answer is asked
 * again after 1/4 of it. */
enum { ASK_AGAIN = 4 };

void kl__reflector_trust_version(kl__reflector *self)
{
    int64_t idle = self->options.idle_timeout_ms;

    self->unchecked = false;
    self->check_at =
        idle > 0 ? kl__clock_after(self->options.clock, idle) : INT64_MAX;
}

bool kl__reflector_doubts_version(const kl__reflector *self)
{
    return kl__reflector_now(self) >= self->check_at;
}

bool kl__version_is_older(const char *a, const char *b)
{
    int order = kl_version_compare(a, b);

    return order < 0 && order != INT_MIN;
}

const char *kl__reflector_floor(const kl__reflector *self)
{
    return self->is_opaque ? self->listed : self->version;
}

/* Reads the page's version. Gives up at the second object: the server ignores
 * the limit, and the whole collection is too much to read for a version. */
static kl_code read_version(kl__reflector *self, char *version, kl_error *err)
{
    for (int items = 0; items <= 1; items++) {
        kl__item item = {0};
        kl_code code = kl__list_watch_next(self->options.source, &item,
                                           KL__LIST_SILENCE_MS,
                                           &self->interrupt.token, err);
        bool more = code == KL_OK && item.type == KL__ITEM_OBJECT;

        if (code == KL_OK && item.type == KL__ITEM_PAGE) {
            strcpy(version, item.version);
        }
        kl__item_clear(&item);
        if (!more) {
            return code;
        }
    }
    return KL_OK;
}

/* True for a refusal that will not change: the server does not serve such a
 * request, or not to this user. Overload and errors of a proxy may be over
 * soon. */
static bool is_final(const kl_error *why)
{
    return why->http_status >= 400 && why->http_status < 500 &&
           why->code != KL_ETOO_MANY_REQUESTS;
}

/* The question was not answered, and the watch goes on. The question is asked
 * again after an idle timeout, or after a part of it if an answer may come.
 * Without an idle timeout it is asked again only after a watch with opaque
 * versions broke (see end_watch). */
static void postpone_probe(kl__reflector *self, const kl_error *why)
{
    int64_t idle_ms = self->options.idle_timeout_ms;
    int64_t wait_ms = idle_ms / ASK_AGAIN;

    kl__reflector_trust_version(self);
    if (idle_ms > 0 && !is_final(why)) {
        wait_ms = why->retry_after_ms > wait_ms ? why->retry_after_ms : wait_ms;
        self->unchecked = true;
        self->check_at = kl__clock_after(self->options.clock, wait_ms);
    }
}

/*
 * Asks for one object of a state that is no older than the version. A server
 * that has not reached the version refuses this (504, after 3 s). A server that
 * does not know resourceVersionMatch answers with an older version, or reads
 * the version as an exact one. Any other answer says nothing about the version
 * (no right to list, overload): the watch goes on, and handlers are told its
 * own failures only.
 *
 * A proxy may answer with a page of its own instead of the 504. So the next
 * question names no version: then the server answers with its newest state,
 * whose version is older only if the server was restored. If versions have no
 * order, the version of a list shows nothing about the version of an event.
 */
kl_code kl__reflector_probe(kl__reflector *self, kl_error *err)
{
    kl__list_watch *source = self->options.source;
    const char *floor = kl__reflector_floor(self);
    bool asks_newest = self->unchecked && !self->is_opaque;
    kl__list_params params = {
        .resource_version = asks_newest ? NULL : self->version,
        .resource_version_match = asks_newest ? NULL : "NotOlderThan",
        .limit = 1,
        .fresh_connection = self->fresh,
    };
    char version[KL__VERSION_SIZE] = "";
    kl_error why = {.retry_after_ms = -1};
    kl_code code =
        kl__list_watch_list(source, &params, &self->interrupt.token, &why);

    if (code == KL_OK) {
        code = read_version(self, version, &why);
    }
    kl__list_watch_end(source);
    if (code == KL_OK && kl__version_is_older(version, floor)) {
        return kl_error_set(err, KL_EVERSION_AHEAD,
                            "the server's version %s is older than %s, which "
                            "it sent before: was the cluster restored from a "
                            "backup?",
                            version, floor);
    }
    if (code == KL_OK) {
        kl__reflector_trust_version(self);
        return KL_OK;
    }
    if (code != KL_EVERSION_AHEAD &&
        (why.http_status != 0 || code == KL_EPARSE)) {
        postpone_probe(self, &why);
        return KL_OK;
    }
    *err = why;
    return code;
}
