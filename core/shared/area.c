/*
 * area.c - opens, shares and closes the areas of area.h.
 */
#include "shared/area.h"

#include "base/mem.h"
#include "base/str.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

void kl__areas_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_fork);
    pthread_mutex_lock(&lock);
}

void kl__areas_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void free_area(kl__area *self)
{
    if (self->bytes != NULL) {
        munmap(self->bytes, self->size);
    }
    if (self->descriptor >= 0) {
        close(self->descriptor);
    }
    kl__free(self->name);
    kl__free(self);
}

/* Reserves the memory as that of a map, and maps it. */
static kl_code map_area(const kl__area_kind *kind, kl__area *self,
                        kl_error *err)
{
    kl__shared_head file = {.size = self->size};

    self->descriptor = kl__shared_file_open(NULL, &file, err);
    if (self->descriptor < 0) {
        return KL_EIO;
    }
    self->bytes = mmap(NULL, self->size, PROT_READ | PROT_WRITE, MAP_SHARED,
                       self->descriptor, 0);
    if (self->bytes == MAP_FAILED) {
        self->bytes = NULL;
        return kl_error_set(err, KL_ENOMEM,
                            "no address space for %zu bytes of %s", self->size,
                            kind->what);
    }
    if (!kind->keeps_file) {
        close(self->descriptor);
        self->descriptor = -1;
    }
    return KL_OK;
}

/* A new area that is in no list. */
static kl__area *make_area(const kl__area_kind *kind, const char *name,
                           const void *options, kl_error *err)
{
    kl__area *self = kl__calloc(1, kind->bytes);

    if (self == NULL || (self->name = kl__strdup(name)) == NULL) {
        kl__free(self);
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    self->descriptor = -1;
    if (kind->divide(self, options, err) != KL_OK ||
        map_area(kind, self, err) != KL_OK) {
        free_area(self);
        return NULL;
    }
    kind->lay_out(self);
    return self;
}

static kl__area *find_locked(const kl__area_kind *kind, const char *name,
                             const void *options)
{
    kl__area *area = kind->first;

    while (area != NULL &&
           (strcmp(area->name, name) != 0 ||
            (kind->fits != NULL && !kind->fits(area, options)))) {
        area = area->next;
    }
    return area;
}

kl__area *kl__area_open(kl__area_kind *kind, const char *name,
                        const void *options, kl_error *err)
{
    kl__area *area;

    kl__areas_lock();
    area = find_locked(kind, name, options);
    if (area == NULL && (area = make_area(kind, name, options, err)) != NULL) {
        area->next = kind->first;
        kind->first = area;
        kl__live_add(KL_LIVE_SHARED, 1);
    }
    if (area != NULL) {
        area->opened++;
    }
    kl__areas_unlock();
    return area;
}

void kl__area_close(kl__area_kind *kind, kl__area *self)
{
    kl__area **at = &kind->first;
    bool is_last;

    kl__areas_lock();
    is_last = --self->opened == 0;
    if (is_last) {
        if (kind->leave != NULL) {
            kind->leave(self);
        }
        while (*at != self) {
            at = &(*at)->next;
        }
        *at = self->next;
    }
    kl__areas_unlock();
    if (is_last) {
        free_area(self);
        kl__live_add(KL_LIVE_SHARED, -1);
    }
}
