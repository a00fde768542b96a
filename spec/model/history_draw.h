/*
 * history_draw.h - shared by the files that draw histories: history.c (the
 * mixture) and history_scenes.c (scenes that would hardly occur by chance).
 */
#ifndef KL_SPEC_MODEL_HISTORY_DRAW_H
#define KL_SPEC_MODEL_HISTORY_DRAW_H

#include "history.h"

/* Draws a number; a number below a bound; true with a chance of `percent`; one
 * of some choices. */
uint64_t draw_next(uint64_t *state);
int draw_below(uint64_t *state, int bound);
bool draw_chance(uint64_t *state, int percent);
int draw_pick(uint64_t *state, const int *choices, size_t count);
#define PICK(state, ...)                         \
    draw_pick(state, (const int[]){__VA_ARGS__}, \
              sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

typedef struct drawing {
    uint64_t state;
    int weights[OP_TYPES];
    int total;
} drawing;

/* The arguments of an operation, by its type. */
void draw_arguments(drawing *self, op *what);
/* Appends an operation, if there is room. */
void draw_append(history *self, const op *what);

/* Scenes. draw_crowd_again appends to the end of a history, the others to its
 * beginning. */
void draw_long_list(drawing *self, history *out);
void draw_rush(drawing *self, history *out);
void draw_late_loop(drawing *self, history *out);
void draw_leaving(drawing *self, history *out);
void draw_crowd_again(history *out);

#endif
