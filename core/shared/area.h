/*
 * area.h - memory that this process and those it forks later share, under a
 * name: a second open of the name is the same area. The areas of counts and of
 * loads are such; a kl__area is the first member of theirs.
 */
#ifndef KL_SHARED_AREA_H
#define KL_SHARED_AREA_H

#include "kubelua/error.h"
#include "shared/map.h"

#include <stdbool.h>
#include <stddef.h>

/* kl__shared_file_open keeps its own data in the first page of an area; the
 * kind's data begins behind that. */
enum { KL__AREA_PAGE = KL__SHARED_HEAD_BYTES };

typedef struct kl__area {
    char *bytes;
    size_t size;
    int descriptor; /* of the file; -1: it is closed */

    /* Guarded by the lock of all areas. */
    char *name;
    int opened;
    struct kl__area *next;
} kl__area;

/* What the areas of one kind have in common, and those that are open. All
 * functions are called with the lock held. */
typedef struct kl__area_kind {
    const char *what; /* "counts" */
    size_t bytes;     /* of the structure that begins with the area */
    bool keeps_file;  /* the descriptor stays open */
    /* Fills in the sizes from the options, `size` among them. KL_EINVAL: they
     * are too large. */
    kl_code (*divide)(kl__area *self, const void *options, kl_error *err);
    /* Finds the parts of the mapped memory, which is all zero. */
    void (*lay_out)(kl__area *self);
    /* True if an open area does for these options. NULL: each does. */
    bool (*fits)(const kl__area *self, const void *options);
    /* Before the last close. NULL: nothing is to be done. */
    void (*leave)(kl__area *self);
    kl__area *first;
} kl__area_kind;

/* Returns the area of that name that fits, or makes it; NULL and `err` if that
 * fails. Thread-safe, as all that follows. */
kl__area *kl__area_open(kl__area_kind *kind, const char *name,
                        const void *options, kl_error *err);
void kl__area_close(kl__area_kind *kind, kl__area *self);

/* The lock of all areas. Rank LIFECYCLE, but a native mutex, as it must exist
 * before any call; no other lock is taken with it held. A child of a fork()
 * finds it free. */
void kl__areas_lock(void);
void kl__areas_unlock(void);

#endif
