/*
 * list_watch_http.h - the parts of a list_watch over HTTP, between the files
 * that make it, send its requests and read its answers; other files do not
 * include it.
 */
#ifndef KL_API_LIST_WATCH_HTTP_H
#define KL_API_LIST_WATCH_HTTP_H

#include "api/client.h"
#include "api/list_watch.h"
#include "base/thread.h"
#include "json/scan.h"
#include "object/resource.h"

/* All but `stream` belongs to the one thread that works with the source. */
typedef struct kl__http_source {
    kl__list_watch base;
    kl_client *client; /* a reference */
    char *name;        /* of the resource, as typed */
    char *name_space;  /* NULL: all */
    char *labels;
    char *fields;
    bool keeps_managed_fields;
    bool is_metadata_only;
    bool namespace_if_any;

    bool is_doubted; /* a second resolve doubts what discovery knows */
    bool is_guessed; /* `resource` is out of the table of built-in names, and no
                        request has been answered with it yet */
    kl__resource resource;
    char *api_version; /* of the resource; NULL until it is resolved */

    kl__mutex mutex;    /* rank CLIENT: taken below REFLECTOR, above STREAM */
    kl__stream *stream; /* the transfer at hand; changed under the mutex, so
                           that silence_ms may look at it from any thread */
    bool is_watch;
    kl__scan *scan;         /* of the transfer at hand */
    char *offered_continue; /* by the last 410; NULL: none */
} kl__http_source;

static inline kl__http_source *kl__http_source_of(kl__list_watch *source)
{
    return (kl__http_source *)(void *)source;
}

/* Takes over what `resource` was found to be; clears it in any case. KL_EINVAL:
 * a namespace was asked for, and it has none. KL_ENOMEM. */
kl_code kl__http_source_adopt(kl__http_source *self, kl__resource *resource,
                              kl_error *err);

/*
 * After a 404 to a guessed resource: asks discovery. True: the server has it
 * under another group, version or name, and the request shall be sent again.
 * False: `err` says why not; the 404 where the guess was right, or where this
 * user may not ask discovery.
 */
bool kl__http_source_correct(kl__http_source *self, kl__cancel *cancel,
                             kl_error *err);

/* The transfer at hand becomes `stream` (NULL: none); the old one is closed. */
void kl__http_source_set_stream(kl__http_source *self, kl__stream *stream);

/* See kl__list_watch_ops. */
kl_code kl__http_source_list(kl__list_watch *source,
                             const kl__list_params *params, kl__cancel *cancel,
                             kl_error *err);
kl_code kl__http_source_watch(kl__list_watch *source,
                              const kl__watch_params *params,
                              kl__cancel *cancel, kl_error *err);
kl_code kl__http_source_next(kl__list_watch *source, kl__item *item,
                             int64_t timeout_ms, kl__cancel *cancel,
                             kl_error *err);
void kl__http_source_end(kl__list_watch *source);

#endif
