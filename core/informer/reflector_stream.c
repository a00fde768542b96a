/*
 * reflector_stream.c - the state that reads a streaming list: the objects as
 * watch events up to the end bookmark; then the same stream is the watch. If
 * the server cannot do it, paged lists are used. See reflector_machine.h.
 */
#include "informer/reflector_machine.h"

#include "kubelua/log.h"

#include <string.h>

enum {
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

/* True if the message of an internal error says that the storage cannot stream
 * lists; each storage has words of its own. */
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

/* Judges a wait that ended without an item. */
static verdict judge_silence(kl__reflector *self, int64_t deadline,
                             kl_error *err)
{
    if (kl__list_watch_silence_ms(self->options.source) >= SILENCE_MS) {
        kl_error_set(err, KL_EUNAVAILABLE,
                     "a streaming list fell silent before its end");
        return UNFINISHED;
    }
    if (kl__reflector_now(self) >= deadline) {
        kl_error_set(err, KL_EUNAVAILABLE,
                     "a streaming list did not end within %d s",
                     DEADLINE_MS / 1000);
        return UNSUPPORTED;
    }
    return GOES_ON;
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

/* Reads the initial events; `version` gets the end bookmark's version. */
static verdict read_initial(kl__reflector *self, kl__stage *stage,
                            char *version, kl_error *err)
{
    int64_t deadline = kl__reflector_now(self) + DEADLINE_MS;
    verdict result = GOES_ON;

    while (result == GOES_ON) {
        kl__item item = {0};
        int64_t silence = kl__list_watch_silence_ms(self->options.source);
        int64_t wait_ms = SILENCE_MS - (silence > 0 ? silence : 0);
        kl_code code = kl__list_watch_next(self->options.source, &item,
                                           wait_ms > 0 ? wait_ms : 0,
                                           self->options.stop, err);

        if (code == KL_ETIMEOUT && err->http_status == 0) {
            result = judge_silence(self, deadline, err);
            continue;
        }
        if (code != KL_OK) {
            err->code = code;
            return judge_break(err);
        }
        kl__reflector_note_item(self);
        result = stage_item(stage, &item, err);
        if (result == COMPLETE) {
            strcpy(version, item.version);
        } else if (result == GOES_ON && kl__reflector_now(self) >= deadline) {
            result = judge_silence(self, deadline, err);
        }
        kl__item_clear(&item);
    }
    return result;
}

static kl_informer_state fall_back(kl__reflector *self, const kl_error *err)
{
    self->no_stream = *err;
    kl__list_watch_end(self->options.source);
    self->unfinished = 0;
    self->streams_from = kl__reflector_now(self) + REMEMBERED_MS;
    return KL_STATE_LISTING;
}

static kl_informer_state handle_failure(kl__reflector *self, verdict result,
                                        const kl_error *err)
{
    if (result == UNSUPPORTED) {
        return fall_back(self, err);
    }
    if (result == FAILED) {
        if (err->code == KL_ETIMEOUT) {
            self->fresh = true;
        }
        return kl__reflector_list_failed(self, err);
    }
    if (++self->unfinished >= UNFINISHED_MAX) {
        return fall_back(self, err);
    }
    return kl__reflector_fail(self, &(kl__failure){.error = err,
                                                   .resume = KL_STATE_STREAMING,
                                                   .quiet = true});
}

kl_informer_state kl__reflector_stream(kl__reflector *self)
{
    kl__watch_params params = {
        .send_initial_events = true,
        .timeout_seconds = kl__reflector_timeout_seconds(self),
        .fresh_connection = self->fresh,
    };
    kl__stage stage = {.known = self->options.known, .packer = self->packer};
    char version[KL__VERSION_SIZE] = "";
    kl_informer_state next;
    verdict result;
    kl_error err = {.retry_after_ms = -1};

    kl__reflector_prepare_list(self);
    stage.by_text = self->newest; /* the cluster may have been restored: see
                                     kl__reflector_replace */
    params.resource_version = self->newest ? "" : self->version;
    err.code = kl__list_watch_watch(self->options.source, &params,
                                    self->options.stop, &err);
    self->fresh = false;
    result = err.code == KL_OK ? read_initial(self, &stage, version, &err)
                               : judge_refusal(&err);
    if (result == COMPLETE) {
        self->unfinished = 0;
        next = kl__reflector_replace(self, &stage, version);
        self->streaming = next == KL_STATE_WATCHING;
    } else {
        next = handle_failure(self, result, &err);
    }
    kl__stage_clear(&stage);
    return next;
}
