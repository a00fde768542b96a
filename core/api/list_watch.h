/*
 * list_watch.h - a collection of a server (resource, scope, selectors), read as
 * a sequence of items: by paged LIST, WATCH or streaming list. It is a table of
 * functions, so that specs can run a reflector on a scripted one.
 */
#ifndef KL_API_LIST_WATCH_H
#define KL_API_LIST_WATCH_H

#include "base/cancel.h"
#include "object/in_shard.h"
#include "http/turn.h"
#include "kubelua/client.h"
#include "kubelua/object.h"
#include "object/prune.h"
#include "object/unreadable.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct kl__list_watch kl__list_watch;

typedef struct kl__list_params {
    const char *resource_version;       /* NULL: the parameter is left out */
    const char *resource_version_match; /* "NotOlderThan", "Exact" or NULL */
    const char *continue_token;         /* NULL or "": the first page */
    int limit;                          /* 0: no paging */
    bool fresh_connection;
} kl__list_params;

typedef struct kl__watch_params {
    const char *resource_version; /* NULL or "": all objects come first, as
                                     ADDED events */
    bool send_initial_events;     /* a streaming list; NotOlderThan is added */
    int timeout_seconds;
    bool fresh_connection;
} kl__watch_params;

typedef enum kl__item_type {
    KL__ITEM_OBJECT, /* an object of a list */
    KL__ITEM_PAGE,   /* the end of a page: version, continue_token */
    KL__ITEM_ADDED,
    KL__ITEM_MODIFIED,
    KL__ITEM_DELETED,
    KL__ITEM_LEFT,     /* it was modified, and is of another shard now */
    KL__ITEM_BOOKMARK, /* version, initial_events_end; no object */
    KL__ITEM_END       /* the watch ended cleanly */
} kl__item_type;

/* Filled by `next`. The caller owns `object` (a reference), `unreadable` and
 * `continue_token` (kl__free), and takes them out or clears the item. */
typedef struct kl__item {
    kl__item_type type;
    kl_object *object; /* NULL: no object, or one that cannot be read */
    kl__unreadable *unreadable; /* the latter; else NULL */
    char *continue_token;       /* "" or NULL: the last page */
    char version[64]; /* of the object, page or bookmark; "" if none */
    bool initial_events_end;
} kl__item;

void kl__item_clear(kl__item *item);
/* The key of the object, which may be one that cannot be read; borrowed. */
const char *kl__item_key(const kl__item *item);

typedef struct kl__list_watch_ops {
    kl_code (*resolve)(kl__list_watch *source, kl__cancel *cancel,
                       kl_error *err);
    kl_code (*list)(kl__list_watch *source, const kl__list_params *params,
                    kl__cancel *cancel, kl_error *err);
    kl_code (*watch)(kl__list_watch *source, const kl__watch_params *params,
                     kl__cancel *cancel, kl_error *err);
    bool (*answer)(kl__list_watch *source, int64_t timeout_ms,
                   kl__cancel *cancel, kl_error *err); /* NULL: the three above
                                                          wait */
    kl_code (*next)(kl__list_watch *source, kl__item *item, int64_t timeout_ms,
                    kl__cancel *cancel, kl_error *err);
    bool (*lends)(kl__list_watch *source); /* may be NULL: never */
    bool (*lend)(kl__list_watch *source, const kl__stream_turn *turn);
    void (*retract)(kl__list_watch *source);
    int64_t (*look_again_ms)(kl__list_watch *source);
    int64_t (*silence_ms)(kl__list_watch *source);
    char *(*take_continue)(kl__list_watch *source);
    bool (*has_new_credentials)(
        kl__list_watch *source);                 /* may be NULL: never */
    uint64_t (*answers)(kl__list_watch *source); /* may be NULL: none */
    void (*set_shards)(kl__list_watch *source,
                       const kl__shard *shards); /* may be NULL: does
                                                           nothing */
    bool (*is_outside)(kl__list_watch *source);  /* may be NULL: never */
    void (*end)(kl__list_watch *source);
    void (*free)(kl__list_watch *source);
} kl__list_watch_ops;

/* The first member of each implementation. */
struct kl__list_watch {
    const kl__list_watch_ops *ops;
    atomic_uint_fast64_t bytes; /* that were read; relaxed: any thread reads
                                   it */
};

typedef struct kl__list_watch_options {
    const char *resource;   /* as the user wrote it */
    const char *name_space; /* NULL: all */
    const char *labels;
    const char *fields;
    kl__shard shards; /* other objects are dropped */
    bool keep_managed_fields;
    bool metadata_only; /* as in kl_informer_options */
    kl__prune *prune;   /* takes one more reference; NULL: nothing is removed */
    bool namespace_if_any; /* for a kind without namespaces, ignore name_space;
                              else resolve fails with KL_EINVAL */
} kl__list_watch_options;

/* A list_watch over HTTP, through the client (it takes a reference). Strings
 * are copied. The caller owns it. One thread at a time, except for silence_ms.
 */
kl__list_watch *kl__list_watch_new(kl_client *client,
                                   const kl__list_watch_options *options,
                                   kl_error *err);

/*
 * Finds the resource, or begins to ask discovery for it: the first time it may
 * be in the cache. kl__list_watch_answer follows. A call after a successful one
 * says that the result was wrong, and asks the server again (see
 * kl__discovery_expire). `list` and `watch` need one successful call before.
 * An earlier transfer is ended first. As kl__discovery_resolve.
 */
kl_code kl__list_watch_resolve(kl__list_watch *source, kl__cancel *cancel,
                               kl_error *err);

/*
 * Begin a page, or a watch: send the request, for which they may have to wait
 * for credentials; kl__list_watch_answer follows. An earlier transfer is ended
 * first. `err` is not NULL.
 */
kl_code kl__list_watch_list(kl__list_watch *source,
                            const kl__list_params *params, kl__cancel *cancel,
                            kl_error *err);
kl_code kl__list_watch_watch(kl__list_watch *source,
                             const kl__watch_params *params, kl__cancel *cancel,
                             kl_error *err);

/*
 * Waits for the answer of discovery, or for the head of that to a list or
 * watch, at most for `timeout_ms` (< 0: no limit). False: it has not come yet,
 * and the caller may lend its turn. True: it has, or has failed; `err->code`
 * says which. HTTP errors are codes: kl__status_error. An answer that is not
 * JSON is KL_EPARSE; none within 30 s is KL_ETIMEOUT. The message of an error
 * has 5 s to come. It may have to wait for new credentials. `cancel` is the one
 * that the request was begun with. `err` is not NULL.
 */
bool kl__list_watch_answer(kl__list_watch *source, int64_t timeout_ms,
                           kl__cancel *cancel, kl_error *err);

/*
 * Returns the next item. KL_ETIMEOUT: none came within timeout_ms (< 0: no
 * limit); the caller may call again. For an ERROR event, returns the code that
 * its Status stands for (KL_EGONE, ...). A stream that breaks is
 * KL_EUNAVAILABLE, in the middle of a frame too. An object that cannot be read
 * (nested too deeply, too large, brackets that hold no JSON) is an item as
 * any other, with `unreadable` set, if its name is found. An object without a
 * name, an object of another kind (a Table), or other text that does not parse
 * is KL_EPARSE: nothing is skipped silently. After any error but KL_ETIMEOUT,
 * and after KL__ITEM_PAGE or KL__ITEM_END, the transfer is over: KL_EINVAL
 * until the next `list` or `watch`.
 */
kl_code kl__list_watch_next(kl__list_watch *source, kl__item *item,
                            int64_t timeout_ms, kl__cancel *cancel,
                            kl_error *err);

/* True if kl__list_watch_lend may be called: an answer is awaited, or there is
 * a transfer. */
bool kl__list_watch_lends(kl__list_watch *source);

/*
 * Lends `turn` while the caller rests: see kl__stream_turn and kl__stream_lend.
 * The turn calls kl__list_watch_next with a timeout of 0; one that is lent
 * while an answer is awaited has no `run`, and `wake` is called with a mutex of
 * rank NEWS at most. The caller calls retract before it goes
 * on, and may call `answer` or `next` afterwards. The real time of
 * look_again_ms is when it should do so: to give up waiting for the head, or to
 * free memory; < 0: no need.
 */
bool kl__list_watch_lend(kl__list_watch *source, const kl__stream_turn *turn);
void kl__list_watch_retract(kl__list_watch *source);
int64_t kl__list_watch_look_again_ms(kl__list_watch *source);

/* Milliseconds since the server has shown life in the current transfer, by an
 * item of a watch, or a byte of a list; at first, since it began. -1: there is
 * no transfer. Thread-safe. */
int64_t kl__list_watch_silence_ms(kl__list_watch *source);
/* The bytes that were read, unzipped. Thread-safe. */
uint64_t kl__list_watch_bytes(kl__list_watch *source);

/* After a KL_EGONE of `list` or `next` on a later page: the token that the
 * server offers to go on at a newer version; the caller owns it; NULL: none. */
char *kl__list_watch_take_continue(kl__list_watch *source);

/* True if a request was answered with 401, and the credentials have changed
 * since. */
bool kl__list_watch_has_new_credentials(kl__list_watch *source);
/* How many requests the server has answered with success, those of others of
 * the same client, too. */
uint64_t kl__list_watch_answers(kl__list_watch *source);

/* Gives the source another shard, from the next `list` or `watch` on. Call it
 * when there is no transfer. */
void kl__list_watch_set_shards(kl__list_watch *source, const kl__shard *shards);

/* True if the source reads one namespace, and its shard does not have that
 * namespace: the source has no object to list or watch. Call it after
 * kl__list_watch_resolve. */
bool kl__list_watch_is_outside(kl__list_watch *source);

/* Ends the current transfer, or the wait for an answer, if there is one. */
void kl__list_watch_end(kl__list_watch *source);

/* Ends the transfer and frees the source; NULL is fine. */
void kl__list_watch_free(kl__list_watch *source);

#endif
