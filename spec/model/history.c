/*
 * history.c - draws histories. Each one leaves some kinds of operation out and
 * has more of others ("swarm testing"). So some histories have combinations
 * that a uniform mixture would never have.
 */
#include "history.h"

#include <stdio.h>
#include <string.h>

typedef struct drawing {
    uint64_t state;
    int weights[OP_TYPES];
    int total;
} drawing;

/* The arguments of an operation, by its type. */
static void draw_arguments(drawing *self, op *what);
/* splitmix64 (Steele, Lea, Flood). */
static uint64_t draw_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int draw_below(uint64_t *state, int bound)
{
    return (int)(draw_next(state) % (uint64_t)bound);
}

static bool draw_chance(uint64_t *state, int percent)
{
    return draw_below(state, 100) < percent;
}

static int draw_pick(uint64_t *state, const int *choices, size_t count)
{
    return choices[draw_below(state, (int)count)];
}

#define PICK(state, ...)                         \
    draw_pick(state, (const int[]){__VA_ARGS__}, \
              sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

/* Appends an operation, if there is room. */
static void draw_append(history *self, const op *what)
{
    if (self->count < HISTORY_OPS_MAX) {
        self->ops[self->count++] = *what;
    }
}

/* ---- scenes that would hardly occur by chance ---- */

/* A list in small pages that takes long while objects change: its continue
 * token expires, so its pages are of several versions. */
static void draw_long_list(drawing *self, history *out)
{
    uint64_t *state = &self->state;
    bool compacts = draw_chance(state, 50); /* else only tokens expire */

    out->switches.no_streaming_list = true;
    out->switches.page_size = 1 + draw_below(state, 2);
    draw_append(out, &(op){.type = OP_CREATE});
    draw_append(out, &(op){.type = OP_CREATE, .key = 4});
    draw_append(out, &(op){.type = OP_DELAY, .b = 400, .c = 9});
    draw_append(out, &(op){.type = OP_OPEN});
    draw_append(out, &(op){.type = OP_ADD_HANDLER,
                           .b = draw_below(state, HANDLER_KINDS),
                           .c = (int)(draw_next(state) & 0xffff)});
    draw_append(out, &(op){.type = OP_PASS, .a = 1000});
    for (int i = 0; i < 5; i++) {
        op what = {.type = (op_type)PICK(state, OP_BURST, OP_BURST, OP_RECREATE,
                                         OP_CREATE)};

        draw_arguments(self, &what);
        draw_append(out,
                    &(op){.type = OP_PASS, .a = 300 + draw_below(state, 150)});
        draw_append(out, &what);
        if (compacts) {
            draw_append(out, &(op){.type = OP_COMPACT});
        }
    }
}

/* All fibers make calls at the same time. */
static void draw_rush(drawing *self, history *out)
{
    static const op_type calls[] = {OP_ADD_HANDLER, OP_ADD_INDEX, OP_QUERY,
                                    OP_QUERY, OP_REMOVE_HANDLER};

    for (int i = 0; i < 3; i++) {
        op burst = {.type = OP_BURST};

        draw_arguments(self, &burst);
        draw_append(out, &burst);
        for (int hand = 1; hand <= HISTORY_HANDS; hand++) {
            op what = {.type = calls[draw_below(&self->state, 5)],
                       .hand = hand};

            draw_arguments(self, &what);
            draw_append(out, &what);
        }
        draw_append(out,
                    &(op){.type = OP_PASS, .a = draw_below(&self->state, 3)});
    }
}

/* A loop that is paused: resyncs wait in the backlog, then changes of the same
 * objects. */
static void draw_late_loop(drawing *self, history *out)
{
    int kind = PICK(&self->state, HANDLER_PULLED_COALESCING,
                    HANDLER_PULLED_COALESCING, HANDLER_PULLED);

    draw_append(out,
                &(op){.type = OP_ADD_HANDLER, .slot = 1, .b = kind, .c = 5});
    draw_append(out, &(op){.type = OP_PASS, .a = 400});
    draw_append(out, &(op){.type = OP_PAUSE_LOOP});
    draw_append(out, &(op){.type = OP_PASS,
                           .a = 1000 + draw_below(&self->state, 20000)});
    draw_append(out, &(op){.type = OP_BURST, .a = 6, .b = 2});
    draw_append(out, &(op){.type = OP_PASS, .a = 30});
    draw_append(out, &(op){.type = OP_RESUME_LOOP});
    draw_append(out, &(op){.type = OP_PASS, .a = 30});
}

/* A handler removes itself while its informer is being closed. */
static void draw_leaving(drawing *self, history *out)
{
    draw_append(out, &(op){.type = OP_ARM, .a = ARMED_REMOVE_SELF, .b = 5});
    draw_append(out, &(op){.type = OP_BURST, .a = 4, .b = 2});
    draw_append(out, &(op){.type = OP_PASS, .a = draw_below(&self->state, 60)});
    draw_append(out, &(op){.type = OP_CLOSE});
}

/* Most objects of a crowd change while the watch is down, the rest do not:
 * the relist takes too many steps to apply under the lock, and indexes must
 * follow. */
static void draw_crowd_again(history *out)
{
    static const op tail[] = {
        {.type = OP_ADD_INDEX},      {.type = OP_PASS, .a = 3000},
        {.type = OP_REFUSE, .c = 1}, {.type = OP_CROWD, .a = 1080},
        {.type = OP_COMPACT},        {.type = OP_PASS, .a = 9000}};
    size_t length = sizeof(tail) / sizeof(tail[0]);

    if (out->count + length > HISTORY_OPS_MAX) {
        out->count = HISTORY_OPS_MAX - length;
    }
    for (size_t i = 0; i < length; i++) {
        draw_append(out, &tail[i]);
    }
}

/* How often each kind of operation is drawn, in a uniform mixture. */
static const int weights[OP_TYPES] = {
    [OP_CREATE] = 10,     [OP_UPDATE] = 12,
    [OP_DELETE] = 6,      [OP_RECREATE] = 5,
    [OP_BURST] = 5,       [OP_BREAK] = 6,
    [OP_END] = 2,         [OP_FREEZE] = 2,
    [OP_RUBBISH] = 2,     [OP_ERROR_EVENT] = 4,
    [OP_STATUS] = 4,      [OP_REFUSE] = 3,
    [OP_DELAY] = 2,       [OP_COMPACT] = 5,
    [OP_RESTORE] = 1,     [OP_UPGRADE] = 1,
    [OP_STORM] = 1,       [OP_PASS] = 16,
    [OP_OPEN] = 3,        [OP_CLOSE] = 2,
    [OP_ADD_HANDLER] = 6, [OP_REMOVE_HANDLER] = 3,
    [OP_ADD_INDEX] = 3,   [OP_QUERY] = 14,
    [OP_WAIT] = 2,        [OP_WAKE] = 1,
    [OP_HOLD] = 3,        [OP_RELEASE] = 3,
    [OP_PAUSE_LOOP] = 2,  [OP_RESUME_LOOP] = 2,
    [OP_ARM] = 4,         [OP_CLOSE_CLIENT] = 1};

static void draw_weights(drawing *self)
{
    for (int i = 0; i < OP_TYPES; i++) {
        int factor = PICK(&self->state, 0, 1, 1, 1, 5);

        /* Without these two, nothing would happen. */
        factor = factor == 0 && (i == OP_PASS || i == OP_UPDATE) ? 1 : factor;
        self->weights[i] = weights[i] * factor;
        self->total += self->weights[i];
    }
}

static op_type draw_type(drawing *self)
{
    int left = draw_below(&self->state, self->total);
    int type = 0;

    while (left >= self->weights[type]) {
        left -= self->weights[type++];
    }
    return (op_type)type;
}

static int draw_ms(uint64_t *state)
{
    switch (draw_below(state, 8)) {
    case 0:
        return 0;
    case 1:
    case 2:
        return draw_below(state, 20);
    case 3:
    case 4:
        return draw_below(state, 1000);
    case 5:
    case 6:
        return draw_below(state, 6000);
    default:
        return draw_below(state, draw_chance(state, 20) ? 200000 : 30000);
    }
}

/* True for calls that a user may make on any thread. */
static bool is_for_hands(op_type type)
{
    switch (type) {
    case OP_OPEN:
    case OP_CLOSE:
    case OP_ADD_HANDLER:
    case OP_REMOVE_HANDLER:
    case OP_ADD_INDEX:
    case OP_QUERY:
    case OP_WAIT:
    case OP_CLOSE_CLIENT:
        return true;
    default:
        return false;
    }
}

/* The arguments of a fault: `a` bytes or a target, `b` a status or ms, `c` how
 * often or how long. */
static void draw_fault(uint64_t *state, op *what)
{
    switch (what->type) {
    case OP_ERROR_EVENT:
        what->b = PICK(state, 410, 410, 410, 500, 429, 503, 504);
        break;
    case OP_STATUS:
        what->a = PICK(state, SERVER_ANY, SERVER_LIST, SERVER_WATCH,
                       SERVER_WATCH, SERVER_DISCOVERY);
        what->b = PICK(state, 401, 403, 404, 410, 410, 429, 500, 503, 504);
        what->c = 1 + draw_below(state, 4);
        break;
    case OP_STORM:
        what->b = PICK(state, 0, 401, 403, 429, 500, 503);
        break;
    case OP_DELAY:
        what->a = SERVER_ANY;
        what->b = PICK(state, 10, 500, 5000, 45000);
        what->c = 1 + draw_below(state, 3);
        break;
    case OP_REFUSE:
        what->c = 1 + draw_below(state, 4);
        break;
    default:
        what->a = PICK(state, 0, 0, 1, 30, 200, 700);
        what->a += what->a > 1 ? draw_below(state, what->a) : 0;
        /* 1: on open streams; 0: on the next answer */
        what->c = PICK(state, 1, 1, 0);
        break;
    }
}

/* Draws mostly the first informer, so that much happens to one informer. */
static int draw_informer(uint64_t *state)
{
    return draw_chance(state, 65) ? 0 : draw_below(state, HISTORY_INFORMERS);
}

static int draw_handler(uint64_t *state)
{
    return draw_chance(state, 50) ? 0 : draw_below(state, HISTORY_HANDLERS);
}

/* Draws the arguments of a user's call. */
static void draw_call(uint64_t *state, op *what)
{
    switch (what->type) {
    case OP_OPEN:
        what->slot = draw_below(state, HISTORY_INFORMERS);
        what->a = draw_below(state, HISTORY_SCOPES);
        break;
    case OP_ADD_HANDLER:
        what->slot = draw_below(state, HISTORY_HANDLERS);
        what->a = draw_informer(state);
        what->b = draw_below(state, HANDLER_KINDS);
        what->c = (int)(draw_next(state) & 0xffff);
        break;
    case OP_ARM:
        what->slot = draw_handler(state);
        what->a = 1 + draw_below(state, ARMED_ACTIONS - 1);
        what->b = draw_below(state, HISTORY_HANDLERS);
        what->c = (int)(draw_next(state) & 0xffff);
        break;
    case OP_REMOVE_HANDLER:
    case OP_HOLD:
    case OP_RELEASE:
        what->slot = draw_handler(state);
        break;
    default:
        what->slot = draw_informer(state);
        what->a = PICK(state, 0, 100, 5000, 100000); /* the timeout of a wait */
        what->b = draw_below(state, 6);
        what->c = draw_below(state, 4);
        break;
    }
}

static void draw_arguments(drawing *self, op *what)
{
    uint64_t *state = &self->state;

    what->key = draw_below(state, draw_chance(state, 60) ? 3 : HISTORY_KEYS);
    switch (what->type) {
    case OP_PASS:
        what->a = draw_ms(state);
        break;
    case OP_BURST:
        what->a = 2 + draw_below(state, 12);
        what->b = 1 + draw_below(state, 3);
        break;
    case OP_COMPACT:
        what->a = PICK(state, 0, 0, 0, 1, 3);
        break;
    case OP_RESTORE:
        what->a = 1 + draw_below(state, 6);
        break;
    case OP_UPGRADE:
        what->a = draw_below(state, 4);
        break;
    case OP_CREATE:
    case OP_UPDATE:
    case OP_RECREATE:
        what->a = draw_below(state, 4); /* the node, or none */
        what->b = draw_below(state, 3); /* the app, or none */
        break;
    default:
        if (what->type < OP_PASS) {
            draw_fault(state, what);
        } else {
            draw_call(state, what);
        }
        break;
    }
}

/* Begins with some objects, an informer and a handler: without them there is
 * nothing to check. Now and then there is a crowd of objects, so that a relist
 * takes too many steps to apply under the lock (transaction.h: is_aside). */
static void draw_beginning(drawing *self, history *out)
{
    uint64_t *state = &self->state;
    int objects = draw_below(state, 6);

    for (int i = 0; i < objects; i++) {
        op create = {.type = OP_CREATE};

        draw_arguments(self, &create);
        draw_append(out, &create);
    }
    if (draw_below(state, 400) == 0) {
        out->switches.server.chunk_max = 0;
        out->switches.server.delay_max_ms = 0;
        draw_append(
            out, &(op){.type = OP_CROWD, .a = 1040 + draw_below(state, 160)});
    }
    if (draw_chance(state, 6)) {
        draw_long_list(self, out);
        return;
    }
    draw_append(out, &(op){.type = OP_OPEN,
                           .a = draw_chance(state, 70)
                                    ? 0
                                    : draw_below(state, HISTORY_SCOPES)});
    draw_append(out, &(op){.type = OP_ADD_HANDLER,
                           .b = draw_below(state, HANDLER_KINDS),
                           .c = (int)(draw_next(state) & 0xffff)});
    if (draw_chance(state, 20)) {
        draw_append(out, &(op){.type = OP_WAIT, .hand = 1, .a = 5000});
    }
    if (draw_chance(state, 60)) {
        draw_append(out,
                    &(op){.type = OP_PASS, .a = 200 + draw_below(state, 4000)});
    }
    if (draw_chance(state, 40)) {
        draw_append(out,
                    &(op){.type = OP_ADD_INDEX, .b = draw_below(state, 3)});
    }
    if (draw_chance(state, 12)) {
        draw_rush(self, out);
    } else if (draw_chance(state, 6)) {
        draw_late_loop(self, out);
    } else if (draw_chance(state, 4)) {
        draw_leaving(self, out);
    }
}

static void draw_server(uint64_t *state, server_options *out)
{
    *out = (server_options){
        .streaming = draw_chance(state, 65)
                         ? SERVER_STREAMS
                         : (server_streaming)draw_below(state, 4),
        .future = (server_future)draw_below(state, 3),
        .no_bookmarks = draw_chance(state, 30),
        .rv_after_items = draw_chance(state, 25),
        .cached_lists = draw_chance(state, 25),
        .bookmark_ms = PICK(state, 0, 0, 200, 5000),
        .watch_ms = PICK(state, 0, 0, 0, 300, 3000, 20000),
        .chunk_max = (size_t)PICK(state, 0, 0, 0, 700, 64, 1),
        .delay_max_ms = PICK(state, 0, 0, 5, 50),
        .fault_per_mille = PICK(state, 0, 0, 0, 20, 150),
    };
    if (out->chunk_max == 1) {
        /* byte by byte, many bookmarks would take too long */
        out->bookmark_ms = 0;
    }
}

static void draw_switches(uint64_t *state, switches *out)
{
    *out = (switches){
        .preemptions = PICK(state, 0, 3, 20, 200, -1, -1),
        .spurious_per_mille = PICK(state, 0, 0, 10),
        .hurry_per_mille = PICK(state, 0, 0, 0, 2, 10),
        .no_streaming_list = draw_chance(state, 30),
        .page_size = PICK(state, 0, 0, 1, 2, 3),
        .idle_ms = PICK(state, 0, 0, 5000, 20000),
        .resync_ms = PICK(state, 0, 0, 0, 700, 5000, 30000),
        .ending = (ending)draw_below(state, ENDINGS),
    };
    if (out->hurry_per_mille > 0 && out->resync_ms > 0) {
        out->resync_ms = 30000;
    }
    draw_server(state, &out->server);
}

static bool is_crowded_already(const history *what)
{
    for (size_t i = 0; i < what->count; i++) {
        if (what->ops[i].type == OP_CROWD) {
            return true;
        }
    }
    return false;
}

/* Draws the switches that were added later. They come from a stream of their
 * own, so that otherwise a seed still means the same history. */
static void draw_additions(uint64_t seed, switches *out)
{
    uint64_t state = seed ^ UINT64_C(0x9e3779b97f4a7c15);

    out->server.lists_apart = draw_chance(&state, 6);
    out->server.wordless = PICK(&state, 0, 0, 0, 0, 6);
    out->packing =
        (packing)PICK(&state, PACKING_OFF, PACKING_ON, PACKING_ALWAYS);
    out->young_ms = PICK(&state, 0, 1, 300, 3000, 60000);
    out->server.lends = draw_chance(&state, 60);
    out->acts_per_mille = PICK(&state, 0, 0, 0, 20, 150);
    out->unreadable_per_mille = PICK(&state, 0, 0, 0, 100, 400);
    out->discovers = draw_chance(&state, 30);
}

void history_draw(history *self, uint64_t seed)
{
    drawing draw = {.state = seed};
    bool is_crowded;
    size_t count;

    *self = (history){.seed = seed};
    draw_switches(&draw.state, &self->switches);
    draw_additions(seed, &self->switches);
    draw_weights(&draw);
    draw_beginning(&draw, self);
    is_crowded = is_crowded_already(self);
    count = self->count + 6 + (size_t)draw_below(&draw.state, 32);
    while (self->count < count && self->count < HISTORY_OPS_MAX) {
        op what = {.type = draw_type(&draw)};

        draw_arguments(&draw, &what);
        if (is_for_hands(what.type) && draw_chance(&draw.state, 50)) {
            what.hand = 1 + draw_below(&draw.state, HISTORY_HANDS);
        }
        draw_append(self, &what);
    }
    if (is_crowded) {
        draw_crowd_again(self);
    }
}

static void simplify(switches *what, unsigned simpler)
{
    server_options *served = &what->server;

    if (simpler & SIMPLER_SPURIOUS) {
        what->spurious_per_mille = 0;
    }
    if (simpler & SIMPLER_HURRY) {
        what->hurry_per_mille = 0;
    }
    if (simpler & SIMPLER_CHUNKS) {
        served->chunk_max = 0;
    }
    if (simpler & SIMPLER_DELAYS) {
        served->delay_max_ms = 0;
    }
    if (simpler & SIMPLER_DRAWN_FAULTS) {
        served->fault_per_mille = 0;
    }
    if (simpler & SIMPLER_PAGES) {
        what->page_size = 0;
    }
    if (simpler & SIMPLER_RESYNC) {
        what->resync_ms = 0;
    }
    if (simpler & SIMPLER_WATCH_END) {
        served->watch_ms = 0;
    }
    if (simpler & SIMPLER_STREAMING) {
        what->no_streaming_list = true;
    }
    if (simpler & SIMPLER_PACKING) {
        what->packing = PACKING_OFF;
        what->young_ms = 0;
    }
    if (simpler & SIMPLER_TURNS) {
        served->lends = false;
    }
    if (simpler & SIMPLER_READABLE) {
        what->unreadable_per_mille = 0;
    }
}

void history_apply(history *self, const history_cut *cut)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->count; i++) {
        if (cut->mask & (UINT64_C(1) << i)) {
            self->ops[kept] = self->ops[i];
            self->ops[kept].hand =
                cut->simpler & SIMPLER_HANDS ? 0 : self->ops[i].hand;
            kept++;
        }
    }
    self->count = kept;
    simplify(&self->switches, cut->simpler);
    if (cut->preemptions >= 0) {
        self->switches.preemptions = cut->preemptions;
    }
}
