/*
 * fiber.h - stacks, and the jump from one to another. schedule.c decides what
 * runs on them, and when.
 */
#ifndef KL_SPEC_MODEL_FIBER_H
#define KL_SPEC_MODEL_FIBER_H

#include <stddef.h>

typedef struct fiber {
    void *stack; /* its lowest byte, above a guard page; NULL: the
                    process's own stack */
    size_t size; /* of the stack */
    /* its stack pointer or context while another fiber runs */
    void *at;
    void *fake_stack; /* AddressSanitizer's */
} fiber;

/* Gives a fiber a stack, and makes the next jump to it call `entry`, which must
 * not return. A second call keeps the stack, and forgets what was on it. Aborts
 * when out of memory. */
void fiber_make(fiber *self, void (*entry)(void));

/* Stops `from`, the running fiber, and continues `to`. */
void fiber_jump(fiber *from, fiber *to);

/* `entry` calls this first; `from` is the fiber that jumped to it. */
void fiber_begun(fiber *from);

#endif
