/*
 * fiber.h - stacks, and the jump from one to another. What runs on them, and
 * when, is schedule.c's.
 */
#ifndef KL_SPEC_MODEL_FIBER_H
#define KL_SPEC_MODEL_FIBER_H

#include <stddef.h>

typedef struct fiber {
    void *stack;      /* its lowest byte, above a guard page; NULL: the
                         process's own stack */
    size_t size;      /* of the stack */
    void *at;         /* where it stands while another runs */
    void *fake_stack; /* AddressSanitizer's */
} fiber;

/* Gives it a stack, once, and sets it to call `entry`, which must not return,
 * when it is jumped to. Again: whatever was on the stack is gone. Aborts when
 * out of memory. */
void fiber_make(fiber *self, void (*entry)(void));

/* Stands still in `from`, the one that runs, and runs on in `to`. */
void fiber_jump(fiber *from, fiber *to);

/* The first thing that `entry` calls; `from` is where the jump came from. */
void fiber_begun(fiber *from);

#endif
