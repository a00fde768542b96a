/*
 * shared.h - a map in memory that many processes read without locks and one
 * process, the owner, writes: how the workers of a server (nginx) share what
 * one of them learns from the cluster.
 *
 * A map holds entries, found by (table, key): the endpoints of a Service port
 * ("services", "web/shop:http"), or bytes that the owner put. The owner changes
 * entries aside and publishes them together as the next generation; the two
 * generations before stay readable meanwhile.
 *
 * Readers never wait. A read copies out of one generation, and begins again if
 * the owner has published twice meanwhile (KL_SHARED_BUSY after so many times
 * that only a map that something else writes gets there). Nothing in the map is
 * believed: every offset, count and length is checked against the sizes that
 * kl_shared_open has verified. So a reader may rely on this when the owner
 * stalls or dies, also by SIGKILL in the middle of a publish: the last
 * published generation stays whole and readable for as long as any process has
 * the map; kl_shared_age_ms grows; the next owner goes on from it. Only one
 * thing can be behind: the version of entries whose publish was cut off. The
 * next owner moves all versions on at once.
 *
 * The map itself lives in a memfd, or in an unlinked file where there are none.
 * It is inherited by fork() only, so it is opened before the workers are
 * forked: that starts no thread and opens no connection. Its memory is taken
 * when it is made, so a machine that is full refuses the map, and no reader is
 * ever killed by SIGBUS. A program that is started anew (nginx's binary
 * upgrade) inherits no map: it makes a new one.
 *
 * Reads are thread-safe and fork-safe, allocate nothing, take no lock and never
 * fail with KL_EFORKED. Structs are plain, for FFI. Reads return a
 * kl_shared_result; all else returns kl_code as everywhere. The owner's calls
 * are in kubelua/shared_write.h.
 */
#ifndef KUBELUA_SHARED_H
#define KUBELUA_SHARED_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_shared kl_shared;

#define KL_SHARED_TABLE_MAX 31    /* bytes of a table's name */
#define KL_SHARED_KEY_MAX 511     /* bytes of a key; any bytes */
#define KL_SHARED_HOST_MAX 255    /* bytes of a host */
#define KL_SHARED_PLACE_MAX 63    /* bytes of a zone's name */
#define KL_SHARED_NODE_MAX 255    /* bytes of a node's name */
#define KL_SHARED_SIZE (32 << 20) /* of a map, where the options say none */
#define KL_SHARED_VERSIONS 65536  /* version numbers of a map */

/* Zeroed fields are the defaults. */
typedef struct kl_shared_options {
    const char *name; /* NULL: the path, or "default" */
    /* A file for processes that are not forked from one another; it is made if
     * it is missing, and stays. All of them must be allowed to write it, and
     * none may cut it shorter. NULL: memory that only forks inherit. */
    const char *path;
    /* Bytes, at least 1 MB; 0: KL_SHARED_SIZE. A third of them holds what is
     * published: about 420 bytes for a Service of three endpoints. */
    size_t size;
} kl_shared_options;

/*
 * Opens the map of that name: makes it, or finds the one of that name or file
 * that this process (or the one that it was forked from) has, whatever its
 * size; so the workers before and after a reload share it. Opened again in a
 * process that has not begun to serve, it counts one more epoch: workers of an
 * earlier epoch do not become owners any more. `options` may be NULL.
 * Thread-safe. Close it as often as it was opened. NULL: KL_ENOMEM (no such
 * memory), KL_EIO, KL_EINVAL (a size, a name), KL_ECONFIG (a file that is no
 * map, or has another layout: the message says which, and what to do).
 */
KL_API kl_shared *kl_shared_open(const kl_shared_options *options,
                                 kl_error *err);

/* Gives one kl_shared_open back; the last one unmaps it in this process. No
 * other call on it runs then. NULL is fine. */
KL_API void kl_shared_close(kl_shared *map);

/* What came of a read. */
typedef enum kl_shared_result {
    KL_SHARED_OK,
    KL_SHARED_UNKNOWN,    /* there is no such entry */
    KL_SHARED_EMPTY,      /* it has no endpoint that is ready or serving */
    KL_SHARED_NOT_SYNCED, /* no such entry; but no owner has ever synced */
    KL_SHARED_EXCLUDED,   /* all endpoints that it could be are excluded */
    KL_SHARED_TOO_SMALL,  /* the caller's room; how much it takes is told */
    KL_SHARED_OTHER_KIND, /* bytes where endpoints are asked for, or reverse */
    KL_SHARED_BUSY,       /* overwritten during every try */
    KL_SHARED_BROKEN,     /* the entry contradicts itself: something wrote it */
    KL_SHARED_RESULTS
} kl_shared_result;

/* The result's stable name ("not_synced"); static, thread-safe, never NULL. */
KL_API const char *kl_shared_result_name(kl_shared_result result);

/*
 * An entry's name, made ready once and used as often as one likes. It remembers
 * where the entry was found, and its turn of round robin; so one thread uses it
 * at a time (copies are independent). It owns nothing, belongs to the map that
 * it was made for, and stays valid across fork(). `bucket` is where
 * kl_shared_versions has its version; the other fields are the library's.
 */
typedef struct kl_shared_key {
    uint32_t bucket;
    uint32_t name_length;
    uint32_t at;
    uint32_t turn;
    uint64_t generation;
    uint64_t hash;
    uint64_t name[(KL_SHARED_TABLE_MAX + 1 + KL_SHARED_KEY_MAX + 7) / 8];
} kl_shared_key;

/* Makes `key` ready for the entry of `table` with the key `text` of `length`
 * bytes. False: the table's name is empty, or one of both is too long. The
 * entry need not exist. */
KL_API bool kl_shared_key_init(const kl_shared *map, const char *table,
                               const char *text, size_t length,
                               kl_shared_key *key);

/*
 * The version of an entry: it differs from an earlier one if the entry may have
 * changed since, was made or was removed; for that it counts on with other
 * entries too. What was made of a read may be kept for as long as this is what
 * it was before that read (which puts it into `version`). A plain load.
 */
KL_API uint32_t kl_shared_version(const kl_shared *map,
                                  const kl_shared_key *key);

/* All versions, KL_SHARED_VERSIONS of them, for readers that do that load
 * themselves: kl_shared_versions(map)[key.bucket]. Valid until the map is
 * closed. */
KL_API const uint32_t *kl_shared_versions(const kl_shared *map);

typedef struct kl_shared_value {
    uint32_t version; /* before the read: see kl_shared_version */
    uint32_t length;  /* bytes of the value, copied or not */
} kl_shared_value;

/* Copies the bytes of an entry to `buffer`; nothing ends them. `value` is
 * filled in any case. KL_SHARED_TOO_SMALL: nothing was copied, it takes
 * value->length bytes. */
KL_API kl_shared_result kl_shared_get(const kl_shared *map, kl_shared_key *key,
                                      void *buffer, size_t size,
                                      kl_shared_value *value);

#define KL_SHARED_EXCLUDES 16

/*
 * Which endpoint. Zeroed: the next one in turn, of all that are ready.
 *
 * By turns: each process begins elsewhere, and each endpoint gets its turn;
 * with weights, as often as its weight says, spread evenly. With a hash: the
 * endpoint with the highest score of (hash, endpoint), which is rendezvous
 * hashing: one endpoint more or less moves its own share only, all processes
 * and machines choose the same, and a retry that excludes the first choice
 * always has the same second one. It costs about a nanosecond an endpoint,
 * with weights ten. By turns costs the same for any number of endpoints.
 *
 * Endpoints that are ready are tried first: those for the node, then those for
 * the zone, then all; then, in the same order, those that are still serving
 * while they terminate (as kube-proxy does). A weight of 0 is never picked.
 */
typedef struct kl_pick_options {
    uint64_t hash;        /* of kl_shared_hash; 0: by turns */
    uint64_t zone;        /* kl_shared_hash of the zone's name; 0: none */
    uint64_t node;        /* kl_shared_hash of the node's name; 0: none */
    uint32_t excluded;    /* how many of `exclude` count; those beyond do not */
    uint32_t with_places; /* 1: zone and node are copied too */
    uint64_t exclude[KL_SHARED_EXCLUDES]; /* `identity` of what was tried */
} kl_pick_options;

enum {
    KL_ENDPOINT_READY = 1,
    KL_ENDPOINT_SERVING = 2,
    KL_ENDPOINT_TERMINATING = 4,
    KL_ENDPOINT_DNS = 8 /* the host is a name that has to be resolved */
};

/* How near a picked endpoint is. */
enum { KL_PICK_ALL, KL_PICK_ZONE, KL_PICK_NODE };

/* An endpoint, copied out of the map. Texts end with NUL. */
typedef struct kl_pick {
    uint64_t identity; /* of host and port; under 2^53, the same everywhere */
    uint32_t version;  /* before the read: see kl_shared_version */
    uint16_t port;
    uint16_t flags; /* KL_ENDPOINT_READY ... */
    uint16_t weight;
    uint16_t scope;       /* KL_PICK_ALL ... */
    uint16_t ready;       /* how many endpoints of the entry are ready */
    uint16_t total;       /* and how many there are */
    uint32_t host_length; /* bytes, without the NUL */
    uint32_t spare;
    char host[KL_SHARED_HOST_MAX + 1];
    char zone[KL_SHARED_PLACE_MAX + 1];
    char node[KL_SHARED_NODE_MAX + 1];
} kl_pick;

/* Picks one endpoint of an entry. `options` may be NULL. Only what
 * KL_SHARED_OK comes with is filled; `version` is in any case. */
KL_API kl_shared_result kl_shared_pick(const kl_shared *map, kl_shared_key *key,
                                       const kl_pick_options *options,
                                       kl_pick *pick);

/* Copies all endpoints of an entry, of one generation: the ready ones, the
 * others that serve, the rest. `count` is how many there are, in any case;
 * KL_SHARED_TOO_SMALL: more than `capacity`. */
KL_API kl_shared_result kl_shared_endpoints(const kl_shared *map,
                                            kl_shared_key *key, kl_pick *picks,
                                            uint32_t capacity, uint32_t *count);

/* The hash of some bytes, for kl_pick_options; under 2^53 and never 0, the same
 * in every process, on every machine and in every version. */
KL_API uint64_t kl_shared_hash(const void *bytes, size_t length);

/* True once an owner has published a complete list; it stays true. */
KL_API bool kl_shared_synced(const kl_shared *map);

/* Milliseconds since an owner last heard of the server; -1: none ever has. */
KL_API int64_t kl_shared_age_ms(const kl_shared *map);

/* A map at one moment. */
typedef struct kl_shared_status {
    uint64_t size;       /* bytes of the map */
    uint64_t room;       /* bytes that a generation can have */
    uint64_t used;       /* bytes of the last one */
    uint64_t entries;    /* in it */
    uint64_t generation; /* how many were published */
    uint64_t epoch;      /* how often it was opened before a fork */
    uint64_t takeovers;  /* how many owners it has had */
    uint64_t full;       /* publishes that found no room */
    int64_t age_ms;      /* see kl_shared_age_ms */
    uint32_t owner_pid;  /* 0: there is none; else it may have died */
    uint32_t synced;     /* 0 or 1 */
} kl_shared_status;

/* Fills `to`. */
KL_API void kl_shared_get_status(const kl_shared *map, kl_shared_status *to);

#ifdef __cplusplus
}
#endif
#endif
