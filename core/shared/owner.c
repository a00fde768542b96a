/*
 * owner.c - the thread of kl_shared_serve: waits for the lock, then watches the
 * cluster and publishes, and at the end gives up the lock.
 *
 * The lock is F_SETLK on the map's descriptor: it belongs to the process, not
 * to a descriptor that several processes have inherited. The thread tries to
 * get it again and again. F_SETLKW would wait instead, but only a signal or
 * pthread_cancel ends it. pthread_cancel may come just when the lock was given;
 * and a library must not use up a signal number of the program.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/str.h"
#include "base/thread.h"
#include "kubelua/event_queue.h"
#include "kubelua/log.h"
#include "kubelua/object.h"
#include "kubelua/shared_serve.h"
#include "shared/owner_feed.h"
#include "shared/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    LOCK_MS = 8, /* between two tries to get the lock, and up to 3 ms more, so
                    that processes do not keep trying at the same moment */
    REFUSED_MS = 500, /* the same, if locks do not work at all */
    TICK_MS =
        500, /* an idle owner stores this often that it hears the server */
    HEARD_MS = 100, /* a busy owner stores it at most this often */
    PUBLISH_MS = 2,
    RETRY_MS = 1000, /* the pause after a lack of memory or threads */
    NEVER = -1,
    REST = 4,    /* the pause after a publish is at least this many times as
                    long as the publish took */
    REST_MS = 25 /* but no longer: a change waits for it */
};

typedef struct kl__owner {
    kl_shared *map;
    kl_client *client;
    char **namespaces;
    size_t namespace_count;
    char *labels; /* of Services; NULL: all */
    kl__route_policy policy;
    int keep_ms;
    int publish_ms;

    pid_t pid;             /* the process of the thread */
    kl_event_queue *queue; /* wakes the thread; its informers use it */
    kl__thread thread;
    /* The caller stores, then wakes the queue; the thread clears the queue,
     * then loads. Sequentially consistent, so that the thread never misses the
     * store and the wake-up both. */
    atomic_bool is_leaving;
    atomic_bool wants_publish;
    atomic_int role; /* a kl_serve_role, read by kl_shared_role only */
    /* When the server was last heard on the watches of the caller's own; see
     * kl_shared_tell_age. NEVER: not yet; KL_SHARED_NO_WATCH: none. */
    atomic_llong told_at;

    /* Only the thread uses these. */
    kl__feed *feed;   /* NULL: it is opened at `retry_at` */
    bool has_put_all; /* the first lists of the feed were put */
    bool has_old;     /* Services that an earlier feed has put may be gone */
    bool has_more;    /* there are puts that are not published */
    int64_t retry_at;
    int64_t publish_at; /* the earliest time of the next publish */
    int64_t heard_at;   /* when the age was stored last */
} kl__owner;

static int64_t now_ms(void)
{
    return kl__clock_now(kl__clock_real());
}

static bool is_leaving(kl__owner *self)
{
    return atomic_load(&self->is_leaving);
}

static int set_lock(const kl_shared *map, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

    return fcntl(map->descriptor, F_SETLK, &lock) == 0 ? 0 : errno;
}

/* Waits until this process has the lock and owns the map: true; false:
 * kl_shared_leave was called. */
static bool await_lock(kl__owner *self)
{
    unsigned seed = (unsigned)kl__random_seed(self);
    bool was_refused = false;
    kl_error err;

    while (!is_leaving(self)) {
        int status = EAGAIN;

        if (kl__shared_is_current(self->map)) {
            status = set_lock(self->map, F_WRLCK);
        }
        if (status == 0 && kl__shared_take(self->map, &err) == KL_OK) {
            return true;
        }
        if (status == 0) {
            set_lock(self->map, F_UNLCK);
            status = ENOMEM;
        }
        if (status != EAGAIN && status != EACCES && !was_refused) {
            kl_log(KL_LOG_ERROR,
                   "shared map: this process cannot become its owner: %s; it "
                   "tries again",
                   strerror(status));
        }
        was_refused = status != EAGAIN && status != EACCES;
        seed = seed * 1103515245U + 12345U;
        kl_event_queue_wait(self->queue, was_refused
                                             ? REFUSED_MS
                                             : LOCK_MS + (int)(seed >> 16) % 4);
        kl_event_queue_next(self->queue); /* clears the wake-up */
    }
    return false;
}

static kl__feed *open_feed(kl__owner *self, kl_error *err)
{
    kl__feed_scope scope = {.namespaces = self->namespaces,
                            .count = self->namespace_count,
                            .labels = self->labels,
                            .policy = self->policy,
                            .keep_ms = self->keep_ms};

    if (self->has_old &&
        (kl__shared_renew(self->map, KL__SERVICES_TABLE, err) != KL_OK ||
         kl__shared_renew(self->map, KL__SPECS_TABLE, err) != KL_OK)) {
        return NULL;
    }
    self->has_old = false;
    return kl__feed_open(self->client, &scope, self->queue, err);
}

/* Opens the feed when its time has come. False: the client is closed, and there
 * is nothing to serve. */
static bool need_feed(kl__owner *self)
{
    kl_error err;

    if (self->feed != NULL) {
        return !kl__feed_has_ended(self->feed);
    }
    if (now_ms() < self->retry_at) {
        return true;
    }
    self->feed = open_feed(self, &err);
    if (self->feed == NULL && err.code == KL_ECLOSED) {
        return false;
    }
    if (self->feed == NULL) {
        kl_log(KL_LOG_ERROR,
               "shared map: its owner cannot watch Services, and tries again "
               "in a second: %s",
               err.message);
        self->retry_at = now_ms() + RETRY_MS;
    }
    self->has_put_all = false;
    return true;
}

/* A change was missed because there was no memory: the feed is opened again,
 * and lists everything. */
static void reopen_feed(kl__owner *self, const kl_error *err)
{
    kl_log(KL_LOG_ERROR,
           "shared map: its owner lists Services again in a second: %s",
           err->message);
    kl__feed_close(self->feed);
    self->feed = NULL;
    self->has_old = true;
    self->retry_at = now_ms() + RETRY_MS;
}

static void read_feed(kl__owner *self)
{
    kl_error err;

    if (self->feed == NULL) {
        kl_event_queue_next(self->queue); /* clears the wake-up */
    } else if (kl__feed_read(self->feed, &err) != KL_OK) {
        reopen_feed(self, &err);
    }
}

/* Puts the changes of the feed, once its first lists are complete. */
static kl_code put_feed(kl__owner *self, kl_error *err)
{
    kl_code code;

    if (self->feed == NULL || !kl__feed_has_synced(self->feed) ||
        (self->has_put_all && !kl__feed_changed(self->feed) &&
         now_ms() < kl__feed_next_change(self->feed))) {
        return KL_OK;
    }
    self->has_more = true;
    do { /* the first lists are put at once, then some large Services a time */
        code = kl__feed_put(self->feed, self->map, err);
    } while (code == KL_OK && !self->has_put_all &&
             kl__feed_changed(self->feed));
    if (code == KL_OK && !self->has_put_all && self->namespace_count > 0) {
        code = kl_shared_complete(self->map, KL__SERVICES_TABLE, err);
        code = code == KL_OK
                   ? kl_shared_complete(self->map, KL__SPECS_TABLE, err)
                   : code;
    }
    self->has_put_all = self->has_put_all || code == KL_OK;
    return code;
}

static void publish_changes(kl__owner *self)
{
    int64_t begin = now_ms(), took;
    kl_error err;
    kl_code code;

    if (begin < self->publish_at) {
        return;
    }
    if (atomic_exchange(&self->wants_publish, false)) {
        self->has_more = true;
    }
    code = put_feed(self, &err);
    if (!self->has_more) {
        return;
    }
    code = code == KL_OK ? kl_shared_publish(self->map, &err) : code;
    took = (now_ms() - begin) * REST;
    took = took < REST_MS ? took : REST_MS;
    self->publish_at =
        now_ms() + (took > self->publish_ms ? took : self->publish_ms);
    self->has_more = false;
    if ((code == KL_OK || code == KL_ETOO_LARGE) && self->has_put_all) {
        kl__shared_set_synced(self->map);
    }
    if (code == KL_ENOMEM) {
        self->has_more = true;
        self->publish_at = now_ms() + RETRY_MS;
    }
}

/* When the server was last heard on the watch that has been silent for longest,
 * of those of the feed and of the caller; NEVER: not on all of them yet. */
static int64_t oldest_message(const kl__owner *self, int64_t now)
{
    int64_t told = atomic_load(&self->told_at), at = INT64_MAX;

    if (self->namespace_count > 0) {
        int64_t age = kl__feed_age_ms(self->feed);

        at = age >= 0 ? now - age : NEVER;
    }
    at = told < at ? told : at;
    return at != INT64_MAX ? at : NEVER;
}

static void tell_heard(kl__owner *self)
{
    int64_t now = now_ms(), at;

    if (self->feed == NULL || now < self->heard_at + HEARD_MS) {
        return;
    }
    at = oldest_message(self, now);
    if (at != NEVER) {
        self->heard_at = now;
        kl__shared_heard(self->map, at);
    }
}

/* The time to wait for the next event. */
static int64_t next_wait(const kl__owner *self)
{
    int64_t now = now_ms(), at = now + TICK_MS;
    bool has_put_all = self->feed != NULL && self->has_put_all;
    int64_t change_at =
        has_put_all ? kl__feed_next_change(self->feed) : INT64_MAX;
    bool has_changes = self->has_more || atomic_load(&self->wants_publish) ||
                       now >= change_at ||
                       (has_put_all && kl__feed_changed(self->feed));

    at = change_at < at ? change_at : at;
    if (has_changes && self->publish_at < TICK_MS + now) {
        at = self->publish_at;
    }
    if (self->feed == NULL && self->retry_at < at) {
        at = self->retry_at;
    }
    return at > now ? at - now : 0;
}

/* The owner's loop. 1. Open the feed, and again after a lack of memory. 2.
 * Handle events until none waits. 3. Publish their changes, and the puts of
 * callers, together. */
static void own_map(kl__owner *self)
{
    while (!is_leaving(self) && need_feed(self)) {
        read_feed(self);
        tell_heard(self);
        publish_changes(self);
        kl_event_queue_wait(self->queue, next_wait(self));
    }
}

/* Gives up the lock first, so that the next owner starts while this one closes
 * its informers. */
static void give_up(kl__owner *self)
{
    kl__shared_drop(self->map);
    set_lock(self->map, F_UNLCK);
    kl__feed_close(self->feed);
    self->feed = NULL;
}

/* The thread. It uses its own fields of kl__owner, the atomics, the map's head
 * and its writer. */
static void *run_owner(void *arg)
{
    kl__owner *self = arg;

    if (await_lock(self)) {
        atomic_store(&self->role, KL_ROLE_OWNER);
        kl_log(KL_LOG_INFO, "shared map: process %ld is its owner",
               (long)getpid());
        own_map(self);
        atomic_store(&self->role, KL_ROLE_NONE);
        give_up(self);
    }
    atomic_store(&self->role, KL_ROLE_NONE);
    return NULL;
}

static void free_owner(kl__owner *self)
{
    for (size_t i = 0; i < self->namespace_count; i++) {
        kl__free(self->namespaces[i]);
    }
    kl__free(self->namespaces);
    kl__free(self->labels);
    kl_event_queue_free(self->queue);
    kl_client_unref(self->client);
    kl__free(self);
}

static kl_code copy_namespaces(kl__owner *self, const kl_serve_options *options,
                               kl_error *err)
{
    static const char *const all[] = {"*"};
    bool has_names =
        options->namespaces != NULL && options->namespace_count > 0;
    const char *const *names = has_names ? options->namespaces : all;
    size_t count = options->no_services ? 0
                   : has_names          ? options->namespace_count
                                        : 1;

    self->namespaces = kl__calloc(count + 1, sizeof(char *));
    if (self->namespaces == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    for (; self->namespace_count < count; self->namespace_count++) {
        char *copy = kl__strdup(names[self->namespace_count]);

        if (copy == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory");
        }
        self->namespaces[self->namespace_count] = copy;
    }
    return KL_OK;
}

/* Parses the selector only to check it: with a wrong one kl_shared_serve fails
 * at once, instead of the thread later. */
static kl_code copy_labels(kl__owner *self, const char *labels, kl_error *err)
{
    kl_selector *parsed;

    if (labels == NULL) {
        return KL_OK;
    }
    parsed = kl_selector_parse(labels, err);
    if (parsed == NULL) {
        return err->code;
    }
    kl_selector_free(parsed);
    self->labels = kl__strdup(labels);
    return self->labels != NULL ? KL_OK
                                : kl_error_set(err, KL_ENOMEM, "out of memory");
}

static kl__owner *new_owner(kl_shared *map, kl_client *client,
                            const kl_serve_options *options, kl_error *err)
{
    kl__owner *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    self->map = map;
    self->client = client != NULL ? kl_client_ref(client) : NULL;
    self->policy.external_names = options->external_names;
    self->keep_ms = options->keep_ms;
    self->publish_ms =
        options->publish_ms > 0 ? options->publish_ms : PUBLISH_MS;
    self->pid = getpid();
    atomic_init(&self->role, KL_ROLE_WAITING);
    atomic_init(&self->told_at, KL_SHARED_NO_WATCH);
    self->queue = kl_event_queue_new(err);
    if (self->queue == NULL || copy_namespaces(self, options, err) != KL_OK ||
        copy_labels(self, options->labels, err) != KL_OK) {
        free_owner(self);
        return NULL;
    }
    return self;
}

/* The owner state of this process; NULL in a child of fork(), where the thread
 * does not exist. The child does not free the copy of its parent's state. */
static kl__owner *owner_of(const kl_shared *map)
{
    kl__owner *self = map != NULL ? map->owner : NULL;

    return self != NULL && self->pid == getpid() ? self : NULL;
}

kl_code kl_shared_serve(kl_shared *map, kl_client *client,
                        const kl_serve_options *options, kl_error *err)
{
    static const kl_serve_options defaults;
    kl_error made;
    kl__owner *self;
    kl_code code;

    options = options != NULL ? options : &defaults;
    if (map == NULL || (client == NULL && !options->no_services)) {
        return kl_error_set(err, KL_EINVAL, "serving needs a map and a client");
    }
    if (owner_of(map) != NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "this process serves the map already");
    }
    code = client != NULL ? kl_client_check(client, err) : KL_OK;
    if (code != KL_OK) {
        return code;
    }
    self = new_owner(map, client, options, &made);
    if (self == NULL) {
        return kl_error_set(err, made.code, "%s", made.message);
    }
    kl__shared_begin_serving(map);
    code = kl__thread_start(&self->thread, "kl-owner", run_owner, self, err);
    if (code != KL_OK) {
        free_owner(self);
        return code;
    }
    map->leave = kl_shared_leave;
    map->owner = self;
    return KL_OK;
}

void kl_shared_leave(kl_shared *map)
{
    kl__owner *self = owner_of(map);

    if (self == NULL) {
        return;
    }
    atomic_store(&self->is_leaving, true);
    kl_event_queue_wake(self->queue);
    kl__thread_join(&self->thread);
    map->owner = NULL;
    free_owner(self);
}

kl_serve_role kl_shared_role(const kl_shared *map)
{
    kl__owner *self = owner_of(map);

    return self != NULL ? (kl_serve_role)atomic_load(&self->role)
                        : KL_ROLE_NONE;
}

bool kl_shared_has_owner(const kl_shared *map)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

    /* F_GETLK does not report a lock that this process itself holds */
    return kl_shared_role(map) == KL_ROLE_OWNER ||
           (fcntl(map->descriptor, F_GETLK, &lock) == 0 &&
            lock.l_type != F_UNLCK);
}

void kl_shared_publish_soon(kl_shared *map)
{
    kl__owner *self = owner_of(map);

    if (self != NULL && !atomic_exchange(&self->wants_publish, true)) {
        kl_event_queue_wake(self->queue);
    }
}

void kl_shared_tell_age(kl_shared *map, int64_t age_ms)
{
    kl__owner *self = owner_of(map);

    if (self != NULL) {
        atomic_store(&self->told_at, age_ms == KL_SHARED_NO_WATCH ? age_ms
                                     : age_ms < 0                 ? NEVER
                                                  : now_ms() - age_ms);
    }
}
