/*
 * history_scenes.c - scenes that would hardly occur by chance; and the
 * functions that draw numbers.
 */
#include "history_draw.h"

/* splitmix64 (Steele, Lea, Flood). */
uint64_t draw_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

int draw_below(uint64_t *state, int bound)
{
    return (int)(draw_next(state) % (uint64_t)bound);
}

bool draw_chance(uint64_t *state, int percent)
{
    return draw_below(state, 100) < percent;
}

int draw_pick(uint64_t *state, const int *choices, size_t count)
{
    return choices[draw_below(state, (int)count)];
}

void draw_append(history *self, const op *what)
{
    if (self->count < HISTORY_OPS_MAX) {
        self->ops[self->count++] = *what;
    }
}

/* A list in small pages that takes long while objects change: its continue
 * token expires, so its pages are of several versions. */
void draw_long_list(drawing *self, history *out)
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
void draw_rush(drawing *self, history *out)
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
void draw_late_loop(drawing *self, history *out)
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
void draw_leaving(drawing *self, history *out)
{
    draw_append(out, &(op){.type = OP_ARM, .a = ARMED_REMOVE_SELF, .b = 5});
    draw_append(out, &(op){.type = OP_BURST, .a = 4, .b = 2});
    draw_append(out, &(op){.type = OP_PASS, .a = draw_below(&self->state, 60)});
    draw_append(out, &(op){.type = OP_CLOSE});
}

/* Most objects of a crowd change while the watch is down, the rest do not:
 * the relist takes too many steps to apply under the lock, and indexes must
 * follow. */
void draw_crowd_again(history *out)
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
