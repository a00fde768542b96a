/*
 * counts.c - opens and closes the area of kubelua/shared_count.h.
 */
#include "shared/counts.h"

#include "base/mem.h"
#include "base/str.h"
#include "shared/map.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The first page is of the file (kl__shared_file_open); in the second one is
 * the number of series without room, and behind it are the rows. */
enum { PAGE = KL__SHARED_HEAD_BYTES };

_Static_assert(sizeof(kl__count_row) == 384, "as kl_counts_options says");
_Static_assert(KL__COUNT_SUM_AT < KL_COUNTS_CELLS, "all have a cell");

/* Guards the list of areas, their names and counts of this process. Rank
 * LIFECYCLE, but a native mutex, as it must exist before any call; no other
 * lock is taken with it held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static kl_counts *areas;

/* The threads of the parent, which may have held the lock, do not exist in the
 * child of a fork(). */
static void reset_in_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, reset_in_child);
}

static void free_area(kl_counts *self)
{
    if (self->bytes != NULL) {
        munmap(self->bytes, self->size);
    }
    kl__free(self->name);
    kl__free(self);
}

static uint32_t round_up(uint32_t number)
{
    uint32_t power = 1;

    while (power < number) {
        power *= 2;
    }
    return power;
}

/* Fills in the sizes. False: they are too large. */
static bool divide_area(kl_counts *self, const kl_counts_options *options)
{
    uint32_t series = options->series != 0 ? options->series : KL_COUNTS_SERIES;

    if (series > KL_COUNTS_SERIES_MAX ||
        options->stripes > KL_COUNTS_STRIPES_MAX) {
        return false;
    }
    self->series = round_up(series);
    self->stripes = round_up(options->stripes);
    self->row_bytes = (uint32_t)(sizeof(kl__count_row) +
                                 (size_t)self->stripes * KL_COUNTS_CELLS * 8);
    self->size = 2 * PAGE + (size_t)self->series * self->row_bytes;
    return true;
}

/* Reserves the memory as that of a map, and maps it. */
static kl_code map_area(kl_counts *self, kl_error *err)
{
    kl__shared_head file = {.size = self->size};
    int descriptor = kl__shared_file_open(NULL, &file, err);

    if (descriptor < 0) {
        return KL_EIO;
    }
    self->bytes = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                       descriptor, 0);
    close(descriptor);
    if (self->bytes == MAP_FAILED) {
        self->bytes = NULL;
        return kl_error_set(err, KL_ENOMEM,
                            "no address space for %zu bytes of counts",
                            self->size);
    }
    self->full = (_Atomic uint64_t *)(void *)(self->bytes + PAGE);
    self->rows = self->bytes + 2 * PAGE;
    return KL_OK;
}

static kl_counts *make_area(const kl_counts_options *options, const char *name,
                            kl_error *err)
{
    kl_counts *self = kl__calloc(1, sizeof(*self));

    if (self == NULL || (self->name = kl__strdup(name)) == NULL) {
        kl__free(self);
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    if (!divide_area(self, options)) {
        kl_error_set(err, KL_EINVAL,
                     "counts of more than %d series, or %d "
                     "stripes",
                     KL_COUNTS_SERIES_MAX, KL_COUNTS_STRIPES_MAX);
        free_area(self);
        return NULL;
    }
    if (map_area(self, err) != KL_OK) {
        free_area(self);
        return NULL;
    }
    self->next = areas;
    areas = self;
    kl__live_add(KL_LIVE_SHARED, 1);
    return self;
}

kl_counts *kl_counts_open(const kl_counts_options *options, kl_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static const kl_counts_options defaults;
    const char *name;
    kl_counts *counts;

    pthread_once(&once, watch_fork);
    options = options != NULL ? options : &defaults;
    name = options->name != NULL ? options->name : "default";
    pthread_mutex_lock(&lock);
    counts = areas;
    while (counts != NULL && strcmp(counts->name, name) != 0) {
        counts = counts->next;
    }
    if (counts == NULL) {
        counts = make_area(options, name, err);
    }
    if (counts != NULL) {
        counts->opened++;
    }
    pthread_mutex_unlock(&lock);
    return counts;
}

void kl_counts_close(kl_counts *counts)
{
    kl_counts **at = &areas;
    bool is_last;

    if (counts == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    is_last = --counts->opened == 0;
    if (is_last) {
        while (*at != counts) {
            at = &(*at)->next;
        }
        *at = counts->next;
    }
    pthread_mutex_unlock(&lock);
    if (is_last) {
        free_area(counts);
        kl__live_add(KL_LIVE_SHARED, -1);
    }
}

uint32_t kl_counts_rows(const kl_counts *counts)
{
    return counts->series;
}

uint64_t kl_counts_full(const kl_counts *counts)
{
    return atomic_load_explicit(counts->full, memory_order_relaxed);
}
