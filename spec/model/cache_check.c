/*
 * cache_check.c - checks that each answer of a cache is the state that the
 * server had at one moment (no half of a transaction is visible), and that a
 * later answer is not of an earlier moment. The server's history has the state
 * at each moment.
 */
#include "oracle.h"

#include "coverage.h"
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

/* An answer, and the server's state at one moment of its history. There is one
 * static variable of this type: no other fiber runs within the comparison, and
 * stacks of fibers are small. */
typedef struct walk {
    const scope *scope;
    answer_kind kind;
    int value;
    int64_t answer[HISTORY_ALL_KEYS]; /* versions; 0: not in the answer */
    /* the version that the answer must have; negative: minus the version of an
     * object that cannot be read */
    int64_t now[HISTORY_ALL_KEYS];
    int64_t created[HISTORY_ALL_KEYS]; /* version of the object's creation */
    size_t different;
} walk;

static walk at;

/* Of an object that cannot be read, the cache has a former state, or none. */
static bool differs(int key)
{
    int64_t answer = at.answer[key], now = at.now[key];

    if (now >= 0) {
        return answer != now;
    }
    return answer != 0 && (answer >= -now || answer < at.created[key]);
}

/* `slot` is of answer or now, of that key. */
static void put(int64_t *slot, int64_t version, int key)
{
    bool was = differs(key);

    *slot = version;
    at.different += differs(key) ? 1 : 0;
    at.different -= was ? 1 : 0;
}

static bool is_asked_for(const server_change *change)
{
    if (change->type == SERVER_DELETED || !history_in_scope(at.scope, change)) {
        return false;
    }
    switch (at.kind) {
    case ANSWER_NODE:
        return change->spec.node == at.value;
    case ANSWER_APP:
        return change->spec.app == at.value;
    case ANSWER_VALUE:
        return change->spec.value % 3 == at.value;
    case ANSWER_NAMESPACE:
        return change->key[0] == 'n' && change->key[1] - '0' == at.value &&
               change->key[2] == '/';
    default:
        return true;
    }
}

/* Takes the next change of the history. */
static void advance(const server_change *change, int key)
{
    int64_t version = is_asked_for(change) ? change->version : 0;
    bool exists = change->type != SERVER_DELETED &&
                  history_in_scope(at.scope, change) &&
                  (at.kind != ANSWER_NAMESPACE || version != 0);

    if (change->type == SERVER_ADDED) {
        at.created[key] = change->version;
    }
    put(&at.now[key],
        exists && change->spec.is_unreadable ? -change->version : version, key);
}

/* The first moment from `floor` on at which the server had the answer;
 * SIZE_MAX: there is none. */
static size_t find_moment(const server *from, size_t floor)
{
    size_t count;
    const server_change *changes = server_history(from, &count);

    if (floor == 0 && at.different == 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (changes[i].kind == at.scope->kind) {
            advance(&changes[i], history_key_index(changes[i].key));
        }
        if (at.different == 0 && i + 1 >= floor) {
            return i + 1;
        }
    }
    return SIZE_MAX;
}

static void start(const feed *of, answer_kind kind, int value)
{
    memset(&at, 0, sizeof(at));
    at.scope = history_scope(of->scope);
    at.kind = kind;
    at.value = value;
}

static void add_object(const kl_object *object, const char *whose)
{
    int key = history_key_index(kl_object_key(object));

    schedule_check(key >= 0, "invented: %s has a key %s", whose,
                   kl_object_key(object));
    schedule_check(at.answer[key] == 0, "twice: %s has %s twice", whose,
                   kl_object_key(object));
    put(&at.answer[key], witness_version(object), key);
}

/* True if the cache may hold a list whose pages were of several versions: only
 * the watch after it brings the cache to one state. */
static bool is_fuzzy(const feed *of, int64_t version)
{
    return of->fuzzy_until != 0 && version < of->fuzzy_until;
}

void cache_begin(reading *self, world *in, user_informer *informer)
{
    char version[64];

    kl_informer_resource_version(informer->handle, version, sizeof(version));
    self->feed = informer->feed;
    self->was_synced = kl_informer_has_synced(informer->handle);
    self->floor = informer->feed->floor;
    self->is_checked = !in->has_restored && !informer->feed->is_murky &&
                       !is_fuzzy(informer->feed, strtoll(version, NULL, 10));
}

static bool is_still_checked(const reading *self, const world *in)
{
    return self->is_checked && !in->has_restored && !self->feed->is_murky &&
           self->feed->fuzzy_until != INT64_MAX;
}

static void raise_floor(feed *of, size_t floor)
{
    if (floor > of->floor) {
        of->floor = floor;
    }
}

void cache_check(const reading *self, world *in, answer_kind kind, int value,
                 const kl_object_list *list)
{
    size_t moment;

    start(self->feed, kind, value);
    for (size_t i = 0; i < list->count; i++) {
        add_object(list->items[i], "an answer");
        schedule_check(i == 0 || strcmp(kl_object_key(list->items[i - 1]),
                                        kl_object_key(list->items[i])) < 0,
                       "order: an answer is not sorted by key");
    }
    if (!is_still_checked(self, in) ||
        (!self->was_synced && list->count == 0)) {
        return;
    }
    moment = find_moment(in->server, self->floor);
    schedule_check(moment != SIZE_MAX,
                   "torn: an answer of %zu objects (kind %d, value %d, scope "
                   "%d) is none that the server had after its change %zu",
                   list->count, (int)kind, value, self->feed->scope,
                   self->floor);
    raise_floor(self->feed, moment);
    coverage_add(kind == ANSWER_ALL ? COVER_SNAPSHOTS : COVER_INDEX_SNAPSHOTS,
                 1);
}

void cache_check_one(const reading *self, world *in, int key,
                     const kl_object *object)
{
    size_t count;
    const server_change *changes = server_history(in->server, &count);
    int64_t version = object != NULL ? witness_version(object) : 0;

    if (!is_still_checked(self, in) ||
        (object == NULL && (!self->was_synced || self->floor == 0))) {
        return;
    }
    start(self->feed, ANSWER_ALL, 0);
    put(&at.answer[key], version, key);
    for (size_t i = 0; i < count; i++) {
        if (history_key_index(changes[i].key) == key) {
            advance(&changes[i], key);
        }
        if (i + 1 >= self->floor && !differs(key)) {
            raise_floor(self->feed, i + 1);
            return;
        }
    }
    schedule_fail("torn: key %d at version %lld is none that the server had "
                  "after its change %zu",
                  key, (long long)version, self->floor);
}

void cache_check_handler(const handler *self)
{
    if (self->feed->is_murky || self->world->has_restored ||
        self->feed->fuzzy_until != 0) {
        return;
    }
    start(self->feed, ANSWER_ALL, 0);
    for (int i = 0; i < self->world->keys; i++) {
        if (self->known[i] != NULL) {
            add_object(self->known[i], "a handler");
        }
    }
    schedule_check(find_moment(self->world->server, 0) != SIZE_MAX,
                   "torn: what handler %d knows at its sync is none that the "
                   "server had",
                   self->number);
}

void cache_reflects(feed *of, const server *from, int64_t version)
{
    if (!of->is_murky) {
        raise_floor(of, feeds_position(from, version));
    }
}
