/*
 * map.h - a shared map as one process has it: what kl_shared points to. Opened
 * in map.c, read by read.c and pick.c, written by writer.c.
 */
#ifndef KL_SHARED_MAP_H
#define KL_SHARED_MAP_H

#include "shared/layout.h"

typedef struct kl__shared_writer kl__shared_writer;

struct kl_shared {
    /* The sizes as they were verified; the map's own are not read again. */
    kl__shared_head *head;
    kl__word *slots;
    _Atomic uint32_t *versions;
    uint32_t slot_words;
    uint64_t seed;
    size_t size;
    int descriptor;
    uint64_t epoch; /* of the kl_shared_open before the fork */
    /* Set by the first kl__shared_take in this process, never unset while the
     * map is open: readers of it need no lock. */
    _Atomic(kl__shared_writer *) writer;
    atomic_bool is_serving;
    /* What core/shared/owner.c keeps here; NULL without it. */
    void *owner;

    /* Guarded by the lock of map.c. */
    char *name;
    int opened; /* how often */
    struct kl_shared *next;
};

/* Maps that are open in this process differ by this number, and processes that
 * were forked from one another too: where turns of round robin begin. */
uint64_t kl__shared_process_seed(void);

/*
 * Makes the memory of a map that begins with `head`, with its disk space or
 * pages taken; with a path opens that file, whatever is in it, or makes it.
 * Returns a descriptor, close-on-exec; -1: KL_EIO, KL_ENOMEM.
 */
int kl__shared_file_open(const char *path, const kl__shared_head *head,
                         kl_error *err);

#endif
