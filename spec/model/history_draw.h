/*
 * history_draw.h - what the files share that draw histories: history.c the
 * mixture, history_scenes.c what chance alone would not bring together.
 */
#ifndef KL_SPEC_MODEL_HISTORY_DRAW_H
#define KL_SPEC_MODEL_HISTORY_DRAW_H

#include "history.h"

/* Draws: any number; below a bound; yes with so many percent; one of some. */
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

/* Scenes, at the beginning or, of a crowd, at the end of a history. */
void draw_long_list(drawing *self, history *out);
void draw_rush(drawing *self, history *out);
void draw_late_loop(drawing *self, history *out);
void draw_leaving(drawing *self, history *out);
void draw_crowd_again(history *out);

#endif
