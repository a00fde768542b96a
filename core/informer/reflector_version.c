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
 * the limit, and the whole collection is too much to read for a version. False:
 * the task rests. */
static bool read_version(kl__reflector *self, kl__probe *probe, char *version,
                         kl_error *err)
{
    const kl__patience patience = {KL__LIST_SILENCE_MS, -1};

    for (;;) {
        kl__item item;
        bool more;

        if (!kl__reflector_next_item(self, &item, patience, err)) {
            return false;
        }
        more = err->code == KL_OK && item.type == KL__ITEM_OBJECT &&
               !probe->has_item;
        probe->has_item = true;
        if (err->code == KL_OK && item.type == KL__ITEM_PAGE) {
            strcpy(version, item.version);
        }
        kl__item_clear(&item);
        if (!more) {
            return true;
        }
    }
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
static kl_code ask_version(kl__reflector *self, kl_error *err)
{
    bool asks_newest = self->unchecked && !self->is_opaque;
    kl__list_params params = {
        .resource_version = asks_newest ? NULL : self->version,
        .resource_version_match = asks_newest ? NULL : "NotOlderThan",
        .limit = 1,
        .fresh_connection = self->fresh,
    };

    return kl__list_watch_list(self->options.source, &params,
                               &self->interrupt.token, err);
}

/* Sends the question and reads the answer. False: the task rests. */
static bool get_version(kl__reflector *self, kl__probe *probe, char *version,
                        kl_error *err)
{
    if (probe->got == KL__NOT_ASKED) {
        probe->got = KL__ASKED;
        err->code = ask_version(self, err);
    }
    if (err->code == KL_OK && probe->got == KL__ASKED) {
        if (!kl__reflector_await_answer(self, err)) {
            return false;
        }
        probe->got = KL__ANSWERED;
    }
    return err->code != KL_OK || read_version(self, probe, version, err);
}

/* What the answer says, with its version or why it failed. */
static kl_code judge_answer(kl__reflector *self, const char *version,
                            const kl_error *why, kl_error *err)
{
    const char *floor = kl__reflector_floor(self);

    if (why->code == KL_OK && kl__version_is_older(version, floor)) {
        return kl_error_set(err, KL_EVERSION_AHEAD,
                            "the server's version %s is older than %s, which "
                            "it sent before: was the cluster restored from a "
                            "backup?",
                            version, floor);
    }
    if (why->code == KL_OK) {
        kl__reflector_trust_version(self);
        return KL_OK;
    }
    if (why->code != KL_EVERSION_AHEAD &&
        (why->http_status != 0 || why->code == KL_EPARSE)) {
        postpone_probe(self, why);
        return KL_OK;
    }
    *err = *why;
    return why->code;
}

bool kl__reflector_probe(kl__reflector *self, kl__probe *probe, kl_error *err)
{
    char version[KL__VERSION_SIZE] = "";
    kl_error why = {.retry_after_ms = -1};

    if (!get_version(self, probe, version, &why)) {
        return false;
    }
    kl__list_watch_end(self->options.source);
    err->code = judge_answer(self, version, &why, err);
    return true;
}
