/*
 * list_watch_http.h - the fields of a list_watch over HTTP. list_watch.c makes
 * it, list_watch_ask.c sends its requests, list_watch_read.c reads the answers.
 * No other file includes it.
 */
#ifndef KL_API_LIST_WATCH_HTTP_H
#define KL_API_LIST_WATCH_HTTP_H

#include "api/client.h"
#include "api/discovery.h"
#include "api/list_watch.h"
#include "base/thread.h"
#include "json/scan.h"
#include "object/prune.h"
#include "object/resource.h"

#include <stdatomic.h>
#include <stdint.h>

/* The one thread that works with the source owns all fields but `stream`;
 * while it has lent its turn, that does (kl__stream_turn). */
typedef struct kl__http_source {
    kl__list_watch base;
    kl_client *client; /* a reference */
    char *name;        /* the resource as the user wrote it */
    char *name_space;  /* NULL: all */
    char *labels;
    char *fields;
    kl__shard shards;
    bool keeps_managed_fields;
    bool is_metadata_only;
    kl__prune *prune; /* a reference; NULL: objects are kept whole */
    kl__buf pruned;   /* the text of the object that is being read, pruned */
    bool namespace_if_any;

    bool is_doubted; /* the next resolve asks the server again */
    bool is_guessed; /* `resource` is from the built-in table, and no request
                        has succeeded with it yet */
    kl__resource resource;
    char *api_version; /* the resource's; NULL until it is resolved */

    /* The lookup by discovery that is awaited. */
    kl__search search;
    bool is_searching; /* `search` has begun */
    bool corrects;     /* it follows a 404 for a guessed resource, `missed` */
    kl_error missed;

    /* The request whose head is awaited. */
    kl__sent sent;           /* without a stream: none is awaited */
    kl__buf parameters;      /* its query, without the selectors */
    kl__buf target;          /* the whole of it */
    bool is_fresh;           /* as in kl__request */
    bool gathers;            /* as in kl__request */
    bool was_retried;        /* after a 401 */
    int64_t answer_by_ms;    /* on the real clock */
    struct refusal *refusal; /* its head has come, and its body is awaited */

    kl__mutex mutex;    /* rank CLIENT: taken after REFLECTOR, before STREAM */
    kl__stream *stream; /* the current transfer; the thread changes it with the
                           mutex held, as any thread may read it in
                           silence_ms */
    bool is_watch;
    bool counts_items; /* only items show that the server is alive: see
                          silence_ms */
    _Atomic int64_t last_item_ms; /* if counts_items: when the last one came, or
                                     the transfer began, on the real clock; else
                                     -1. Relaxed; any thread reads it */
    bool is_lent;   /* the turn has the source: it must not close the stream */
    bool is_over;   /* the turn has come to the end of the transfer */
    kl__scan *scan; /* of the current transfer */
    char *offered_continue; /* from the last 410; NULL: none */
} kl__http_source;

static inline kl__http_source *kl__http_source_of(kl__list_watch *source)
{
    return (kl__http_source *)(void *)source;
}

/* Notes that an item has come. */
void kl__http_source_note_item(kl__http_source *self);

/*
 * Begins to use discovery, after a 404 for a guessed resource. Once that has
 * answered: KL_OK: the server has it under another group, version or name, and
 * the request is to be sent again. Else `err` says why not; it is the 404 if
 * the guess was right, or if the user may not use discovery.
 */
void kl__http_source_correct(kl__http_source *self, kl__cancel *cancel,
                             const kl_error *missed);

/*
 * Waits for the answer of discovery as kl__list_watch_answer. False: it has not
 * come. True: it has, or has failed, and `err->code` says how the resolve or
 * the correction has ended.
 */
bool kl__http_source_found(kl__http_source *self, int64_t timeout_ms,
                           kl_error *err);

/* See kl__list_watch_ops. */
kl_code kl__http_source_list(kl__list_watch *source,
                             const kl__list_params *params, kl__cancel *cancel,
                             kl_error *err);
kl_code kl__http_source_watch(kl__list_watch *source,
                              const kl__watch_params *params,
                              kl__cancel *cancel, kl_error *err);
bool kl__http_source_answer(kl__list_watch *source, int64_t timeout_ms,
                            kl__cancel *cancel, kl_error *err);
kl_code kl__http_source_next(kl__list_watch *source, kl__item *item,
                             int64_t timeout_ms, kl__cancel *cancel,
                             kl_error *err);
bool kl__http_source_lends(kl__list_watch *source);
bool kl__http_source_lend(kl__list_watch *source, const kl__stream_turn *turn);
void kl__http_source_retract(kl__list_watch *source);
int64_t kl__http_source_look_again_ms(kl__list_watch *source);
void kl__http_source_end(kl__list_watch *source);

#endif
