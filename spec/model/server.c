/*
 * server.c - what the model's server stores: the changes of each key, as a
 * chain from which the state at any version is read; and what the oracle may
 * ask.
 */
#include "server_core.h"

#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *block)
{
    if (block == NULL) {
        abort();
    }
    return block;
}

server *server_new(const server_options *options)
{
    /* First versions: from these, versions soon get longer by a digit. */
    static const int64_t firsts[] = {1, 5, 90, 95, 990, 12345};
    server *self = need(calloc(1, sizeof(*self)));

    self->options = *options;
    self->first_version =
        firsts[schedule_random(sizeof(firsts) / sizeof(firsts[0]))];
    self->version = self->first_version;
    self->compacted = self->first_version;
    kl__mutex_init(&self->mutex, KL__RANK_STREAM);
    kl__cond_init(&self->changed);
    kl__list_init(&self->streams);
    return self;
}

void server_free(server *self)
{
    schedule_check(self->open == 0, "%zu streams were not closed", self->open);
    schedule_check(self->links == 0, "the transport is still referred to");
    for (size_t i = 0; i < self->count; i++) {
        if (self->history[i].type == SERVER_ADDED) {
            free((void *)self->history[i].uid);
        }
    }
    for (int kind = 0; kind < SERVER_KINDS; kind++) {
        for (size_t i = 0; i < self->things[kind].count; i++) {
            free(self->things[kind].at[i]->key);
            free(self->things[kind].at[i]);
        }
        free(self->things[kind].at);
    }
    free(self->history);
    free(self->earlier);
    kl__cond_deinit(&self->changed);
    kl__mutex_deinit(&self->mutex);
    free(self);
}

/* The index of a key in the sorted array, or where it would be inserted. */
static size_t place_of(const things *all, const char *key)
{
    size_t low = 0, high = all->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(all->at[middle]->key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static thing *find_thing(const server *self, server_kind kind, const char *key)
{
    const things *all = &self->things[kind];
    size_t place = place_of(all, key);

    return place < all->count && strcmp(all->at[place]->key, key) == 0
               ? all->at[place]
               : NULL;
}

static thing *make_thing(server *self, server_kind kind, const char *key)
{
    things *all = &self->things[kind];
    size_t place = place_of(all, key);
    thing *made = find_thing(self, kind, key);

    if (made != NULL) {
        return made;
    }
    made = need(calloc(1, sizeof(*made)));
    made->key = need(strdup(key));
    made->kind = kind;
    if (all->count == all->capacity) {
        all->capacity = 2 * all->capacity + 16;
        all->at = need(realloc(all->at, all->capacity * sizeof(all->at[0])));
    }
    memmove(&all->at[place + 1], &all->at[place],
            (all->count - place) * sizeof(all->at[0]));
    all->at[place] = made;
    all->count++;
    return made;
}

const server_change *server_latest(const server *self, const thing *which)
{
    return which != NULL && which->latest > 0
               ? &self->history[which->latest - 1]
               : NULL;
}

const server_change *server_change_at(const server *self, const thing *which,
                                      int64_t version)
{
    size_t at = which->latest;

    while (at > 0 && (self->history[at - 1].is_undone ||
                      self->history[at - 1].version > version)) {
        at = self->earlier[at - 1];
    }
    return at > 0 ? &self->history[at - 1] : NULL;
}

const server_change *server_change_before(const server *self, size_t index)
{
    size_t at = self->earlier[index];

    while (at > 0 && self->history[at - 1].is_undone) {
        at = self->earlier[at - 1];
    }
    return at > 0 ? &self->history[at - 1] : NULL;
}

static void make_room(server *self)
{
    if (self->count < self->capacity) {
        return;
    }
    self->capacity = 2 * self->capacity + 64;
    self->history =
        need(realloc(self->history, self->capacity * sizeof(server_change)));
    self->earlier =
        need(realloc(self->earlier, self->capacity * sizeof(size_t)));
}

static const char *next_uid(server *self)
{
    char uid[40];

    snprintf(uid, sizeof(uid), "6b6c7561-0000-4000-8000-%012d", ++self->uids);
    return need(strdup(uid));
}

static int64_t append(server *self, thing *which, server_change_type type,
                      const server_spec *spec)
{
    const server_change *last = server_latest(self, which);
    server_change change = {.type = type,
                            .kind = which->kind,
                            .version = ++self->version,
                            .at_ms = schedule_now(),
                            .key = which->key,
                            .spec = spec != NULL ? *spec : last->spec};

    change.uid = type == SERVER_ADDED ? next_uid(self) : last->uid;
    make_room(self);
    self->history[self->count] = change;
    self->earlier[self->count] = which->latest;
    which->latest = ++self->count;
    server_wake_locked(self);
    return change.version;
}

static int64_t write_change(server *self, server_kind kind, const char *key,
                            server_change_type type, const server_spec *spec)
{
    const server_change *last;
    thing *which;
    int64_t version = 0;
    bool exists;

    kl__mutex_lock(&self->mutex);
    which = make_thing(self, kind, key);
    last = server_latest(self, which);
    exists = last != NULL && last->type != SERVER_DELETED;
    if (exists == (type != SERVER_ADDED)) {
        version = append(self, which, type, spec);
    }
    kl__mutex_unlock(&self->mutex);
    return version;
}

int64_t server_create(server *self, server_kind kind, const char *key,
                      const server_spec *spec)
{
    return write_change(self, kind, key, SERVER_ADDED, spec);
}

int64_t server_update(server *self, server_kind kind, const char *key,
                      const server_spec *spec)
{
    return write_change(self, kind, key, SERVER_MODIFIED, spec);
}

int64_t server_delete(server *self, server_kind kind, const char *key)
{
    return write_change(self, kind, key, SERVER_DELETED, NULL);
}

void server_compact(server *self, size_t keep)
{
    int64_t version;

    kl__mutex_lock(&self->mutex);
    version = self->version;
    for (size_t i = self->count; i > 0; i--) {
        if (self->history[i - 1].is_undone) {
            continue;
        }
        version = self->history[i - 1].version;
        if (keep-- == 0) {
            break;
        }
        version--;
    }
    if (version > self->compacted) {
        self->compacted = version;
    }
    kl__mutex_unlock(&self->mutex);
}

/* Removes undone changes from the head of each chain. */
static void forget_undone(server *self)
{
    for (int kind = 0; kind < SERVER_KINDS; kind++) {
        for (size_t i = 0; i < self->things[kind].count; i++) {
            thing *each = self->things[kind].at[i];

            while (each->latest > 0 &&
                   self->history[each->latest - 1].is_undone) {
                each->latest = self->earlier[each->latest - 1];
            }
        }
    }
}

void server_restore(server *self, size_t changes)
{
    kl__mutex_lock(&self->mutex);
    for (size_t i = self->count; i > 0 && changes > 0; i--) {
        if (!self->history[i - 1].is_undone) {
            self->history[i - 1].is_undone = true;
            self->version = self->history[i - 1].version - 1;
            changes--;
        }
    }
    forget_undone(self);
    if (self->compacted > self->version) {
        self->compacted = self->version;
    }
    server_break_all(self);
    kl__mutex_unlock(&self->mutex);
}

void server_change_options(server *self, const server_options *options)
{
    kl__mutex_lock(&self->mutex);
    self->options = *options;
    kl__mutex_unlock(&self->mutex);
}

int64_t server_real_version(int64_t version)
{
    return version >= SERVER_APART ? version - SERVER_APART : version;
}

int64_t server_shown_version(const server *self, int64_t version)
{
    return self->options.lists_apart ? version + SERVER_APART : version;
}

int64_t server_draw_lag(const server *self, int64_t least)
{
    int64_t lag = (int64_t)schedule_random(5);
    int64_t version = self->version - lag;

    version = version < self->first_version ? self->first_version : version;
    return version < least ? least : version;
}

const server_change *server_history(const server *self, size_t *count)
{
    *count = self->count;
    return self->history;
}

static const server_change *existing(const server *self, const thing *which)
{
    const server_change *last = server_latest(self, which);

    return last != NULL && last->type != SERVER_DELETED ? last : NULL;
}

const server_change *server_find(const server *self, server_kind kind,
                                 const char *key)
{
    return existing(self, find_thing(self, kind, key));
}

void server_each(const server *self, server_kind kind,
                 void (*visit)(const server_change *object, void *context),
                 void *context)
{
    for (size_t i = 0; i < self->things[kind].count; i++) {
        const server_change *object = existing(self, self->things[kind].at[i]);

        if (object != NULL) {
            visit(object, context);
        }
    }
}

static void count_one(const server_change *object, void *context)
{
    (void)object;
    ++*(size_t *)context;
}

size_t server_count(const server *self, server_kind kind)
{
    size_t count = 0;

    server_each(self, kind, count_one, &count);
    return count;
}

int64_t server_version(const server *self)
{
    return self->version;
}

size_t server_requests(const server *self)
{
    return self->requests;
}

size_t server_streams(const server *self)
{
    return self->open;
}
