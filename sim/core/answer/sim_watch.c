/*
 * sim_watch.c - see sim_list.h: WATCH (docs/KUBERNETES.md#watch-events).
 * Initial events come first, then a cursor moves through the history of the
 * resource. A watch has no queue of its own: the resource keeps the last events
 * in a ring. If the ring has dropped an event that a watch has not read, the
 * watch ends, as on a real server (docs/KUBERNETES.md#slow-readers).
 */
#include "sim/core/answer/sim_list.h"

#include "sim/core/answer/sim_plan.h"
#include "sim/core/answer/sim_shape.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/store/sim_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH = 64 * 1024, /* events are made in pieces of this size */
    /* a watch ends after this to twice this time, as by the default of
     * --min-request-timeout */
    DEFAULT_SECONDS = 1800,
    LAST_BOOKMARK_MS = 2000 /* the last bookmark comes so long before the end */
};

static int64_t cluster_now_ms(const kl__sim_answer *answer)
{
    return kl__sim_clock_now(&answer->sim->clock);
}

static int64_t earlier_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void schedule_bookmark(kl__sim_answer *answer, int64_t now)
{
    kl__sim_watch *watch = &answer->watch;
    int64_t last = watch->end_ms - LAST_BOOKMARK_MS;

    watch->bookmark_ms = now + answer->sim->bookmark_ms;
    if (last > now) {
        watch->bookmark_ms = earlier_of(watch->bookmark_ms, last);
    }
}

/* Appends an ERROR event, and ends the watch. */
static void end_with(kl__sim_answer *answer, const kl__sim_status *status)
{
    kl__buf_puts(&answer->out, "{\"type\":\"ERROR\",\"object\":");
    kl__sim_status_write(status, &answer->out);
    kl__buf_puts(&answer->out, "}\n");
    answer->watch.ended = true;
}

static void end_too_old(kl__sim_answer *answer, int64_t version, int64_t floor)
{
    kl__sim_status status = {.code = 410, .reason = "Expired"};

    snprintf(status.message, sizeof(status.message),
             "too old resource version: %" PRId64 " (%" PRId64 ")", version,
             floor);
    end_with(answer, &status);
}

void kl__sim_watch_expire(kl__sim_answer *answer)
{
    if (answer->watch.resource != NULL && !answer->watch.ended) {
        end_too_old(answer, answer->watch.after, answer->sim->version);
    }
}

/* Keeps the current objects, which are sent first; later changes follow. */
static kl_code take_snapshot(kl__sim_answer *answer, bool marked, kl_error *err)
{
    kl__sim_watch *watch = &answer->watch;
    kl__sim_resource *resource = watch->resource;
    const kl__sim_node *node = resource->items.first[0];
    int64_t version = answer->sim->version;

    for (; node != NULL; node = node->next[0]) {
        if (kl__sim_selection_matches(&answer->selection, node->state) &&
            kl__sim_answer_keep(answer, node->state, err) != KL_OK) {
            return KL_ENOMEM;
        }
    }
    watch->cursor = resource->next;
    watch->after = version;
    watch->marker = marked ? version : 0;
    return KL_OK;
}

/* Sets where the watch begins. */
static kl_code begin_watch_at(kl__sim_answer *answer,
                              const kl__sim_options *options, kl_error *err)
{
    kl__sim_watch *watch = &answer->watch;
    kl__sim_resource *resource = watch->resource;

    watch->cursor = resource->next;
    watch->after = answer->sim->version;
    if (options->initial) {
        if (options->at <= answer->sim->version) {
            return take_snapshot(answer, options->bookmarks, err);
        }
        watch->await = options->at;
        watch->give_up_ms = cluster_now_ms(answer) + KL__SIM_WAIT_MS;
    } else if (options->at != 0 && (options->at < resource->floor ||
                                    kl__sim_plan_expires(answer))) {
        end_too_old(answer, options->at, resource->floor);
    } else if (options->at != 0) {
        watch->cursor = kl__sim_resource_after(resource, options->at);
        watch->after = options->at;
    } else if (!options->has_initial) {
        return take_snapshot(answer, false, err);
    }
    return KL_OK;
}

kl_code kl__sim_watch_open(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err)
{
    kl__sim_watch *watch = &answer->watch;
    kl__sim_options options;
    kl_code code = KL_OK;
    const char *name = answer->ask.route.name;
    int64_t now = cluster_now_ms(answer);

    if (!kl__sim_options_read(&options, answer, resource->kind, true, &code,
                              err)) {
        return code;
    }
    if (name != NULL && /* /api/v1/watch/namespaces/a/pods/b */
        kl__sim_selection_name(&answer->selection, name, err) != KL_OK) {
        return KL_ENOMEM;
    }
    kl__sim_answer_json(answer, 200);
    resource->refs++;
    watch->resource = resource;
    watch->bookmarked = answer->sim->bookmarks;
    watch->view =
        (kl__sim_view){answer->kind, answer->ask.route.version, false, 0};
    answer->view = watch->view;
    watch->bookmarks = options.bookmarks;
    if (!options.has_timeout) {
        options.timeout_seconds =
            DEFAULT_SECONDS + (int64_t)(kl__sim_random() % DEFAULT_SECONDS);
    }
    if (options.timeout_seconds < 0) {
        options.timeout_seconds = 0;
    }
    watch->end_ms =
        now + earlier_of(options.timeout_seconds, INT32_MAX) * INT64_C(1000);
    schedule_bookmark(answer, now);
    return begin_watch_at(answer, &options, err);
}

/* A PartialObjectMetadataList cannot be watched: a real server ends such a
 * watch silently at its first event. */
static bool has_no_shape(kl__sim_answer *answer)
{
    if (answer->form.shape == KL__SIM_PARTIAL_LIST) {
        answer->watch.ended = true;
    }
    return answer->watch.ended;
}

/* Appends a BOOKMARK event; `is_end`: the bookmark that ends the initial
 * events. */
static void write_bookmark(kl__sim_answer *answer, int64_t version, bool is_end)
{
    static const char end[] =
        "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}";
    kl__sim_view view = answer->watch.view;
    kl__buf *out = &answer->out;
    char metadata[160];

    if (has_no_shape(answer)) {
        return;
    }
    view.version = version;
    kl__buf_puts(out, "{\"type\":\"BOOKMARK\",\"object\":");
    if (is_end && kl__sim_kind_is(view.kind, KL__SIM_CUSTOM)) {
        snprintf(metadata, sizeof(metadata),
                 "{%s,\"resourceVersion\":\"%" PRId64 "\"}", end, version);
    } else {
        snprintf(metadata, sizeof(metadata),
                 "{\"resourceVersion\":\"%" PRId64 "\"%s%s}", version,
                 is_end ? "," : "", is_end ? end : "");
    }
    kl__sim_shape_bookmark(answer, &view, metadata, out);
    answer->form.is_headless = true;
    kl__buf_puts(out, "}\n");
}

static void write_event(kl__sim_answer *answer, const char *type,
                        const kl__sim_state *state, int64_t version)
{
    kl__sim_view view = answer->watch.view;

    if (has_no_shape(answer)) {
        return;
    }
    view.version = version;
    kl__buf_printf(&answer->out, "{\"type\":\"%s\",\"object\":", type);
    kl__sim_shape_object(answer, &view, state, &answer->out);
    answer->form.is_headless = true;
    kl__buf_puts(&answer->out, "}\n");
}

/* Appends an event as this watch sees it: an object that begins to match the
 * selection is ADDED, an object that no longer matches is DELETED. */
static void show_event(kl__sim_answer *answer, const kl__sim_event *event)
{
    const kl__sim_selection *selection = &answer->selection;
    bool was = event->previous != NULL &&
               kl__sim_selection_matches(selection, event->previous);
    bool is = event->object != NULL &&
              kl__sim_selection_matches(selection, event->object);

    if (is) {
        write_event(answer, was ? "MODIFIED" : "ADDED", event->object, 0);
    } else if (was) {
        write_event(answer, "DELETED", event->previous, event->version);
    }
}

static void fill_initial(kl__sim_answer *answer)
{
    while (answer->state_at < answer->state_count &&
           answer->out.length < BATCH) {
        write_event(answer, "ADDED", answer->states[answer->state_at++], 0);
    }
    if (answer->state_at < answer->state_count) {
        return;
    }
    kl__sim_answer_drop(answer);
    if (answer->watch.marker != 0) {
        write_bookmark(answer, answer->watch.marker, true);
        answer->watch.marker = 0;
    }
}

static void fill_events(kl__sim_answer *answer)
{
    kl__sim_watch *watch = &answer->watch;
    const kl__sim_resource *resource = watch->resource;

    if (watch->cursor < resource->first) {
        watch->ended = true; /* too slow: the client resumes or lists again */
        return;
    }
    while (watch->cursor != resource->next && answer->out.length < BATCH) {
        const kl__sim_event *event =
            kl__sim_resource_event(resource, watch->cursor);

        if (event->version > watch->after) {
            show_event(answer, event);
        }
        watch->cursor++;
    }
}

/* Called when there is no event: sends a bookmark if one is due, ends the watch
 * if its time is over, else sets *wake_ms. */
static void check_timers(kl__sim_answer *answer, int64_t *wake_ms)
{
    kl__sim_watch *watch = &answer->watch;
    int64_t now = cluster_now_ms(answer);
    bool is_over = watch->resource->removed || now >= watch->end_ms;

    /* Also if the clock was moved past both the last bookmark and the end: the
     * client must not resume from a version that is compacted by then. */
    if (watch->bookmarks && !watch->resource->removed &&
        (now >= watch->bookmark_ms ||
         watch->bookmarked != answer->sim->bookmarks)) {
        watch->bookmarked = answer->sim->bookmarks;
        /* A watch of a future version stays silent until the cluster reaches
         * that version. */
        if (answer->sim->version >= watch->after) {
            write_bookmark(answer, answer->sim->version, false);
        }
        schedule_bookmark(answer, now);
    }
    if (is_over) {
        watch->ended = true;
        return;
    }
    *wake_ms = watch->bookmarks ? earlier_of(watch->bookmark_ms, watch->end_ms)
                                : watch->end_ms;
}

/* True once the cluster has reached the version that the watch waits for. */
static bool has_arrived(kl__sim_answer *answer, int64_t *wake_ms)
{
    kl__sim_watch *watch = &answer->watch;
    kl__sim_status status = {0};

    if (answer->sim->version >= watch->await) {
        return true;
    }
    if (cluster_now_ms(answer) >= watch->give_up_ms) {
        kl__sim_status_too_large(&status, watch->await, answer->sim->version);
        end_with(answer, &status);
    }
    *wake_ms = watch->give_up_ms;
    return false;
}

kl_code kl__sim_watch_fill(kl__sim_answer *answer, int64_t *wake_ms,
                           kl_error *err)
{
    kl__sim_watch *watch = &answer->watch;

    if (watch->ended) {
        return KL_OK;
    }
    if (watch->await != 0) {
        if (!has_arrived(answer, wake_ms)) {
            return KL_OK;
        }
        watch->await = 0;
        if (take_snapshot(answer, watch->bookmarks, err) != KL_OK) {
            return KL_ENOMEM;
        }
    }
    fill_initial(answer);
    if (answer->state_at == answer->state_count && !watch->ended) {
        fill_events(answer);
    }
    if (answer->form.shape == KL__SIM_PARTIAL_LIST && answer->out.length != 0) {
        /* No event can be shown as a list: end the watch. */
        kl__buf_reset(&answer->out);
        watch->ended = true;
    }
    if (answer->out.length == 0 && !watch->ended) {
        check_timers(answer, wake_ms);
    }
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a watch");
}
