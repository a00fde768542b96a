/*
 * atomic_points.h - included before every file of the core in the model:
 * another strand may run before and after each atomic operation. Races around
 * an atomic happen between it and the code next to it, not within it.
 */
#ifndef KL_SPEC_MODEL_ATOMIC_POINTS_H
#define KL_SPEC_MODEL_ATOMIC_POINTS_H

#include <stdatomic.h>

void schedule_point(void);

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit

#ifdef __clang__
#define POINTS_LOAD __c11_atomic_load
#define POINTS_STORE __c11_atomic_store
#define POINTS_ADD __c11_atomic_fetch_add
#define POINTS_SUB __c11_atomic_fetch_sub
#else
#define POINTS_LOAD __atomic_load_n
#define POINTS_STORE __atomic_store_n
#define POINTS_ADD __atomic_fetch_add
#define POINTS_SUB __atomic_fetch_sub
#endif

#define POINTS_AROUND(type, operation) \
    __extension__({                    \
        type points_result;            \
        schedule_point();              \
        points_result = (operation);   \
        schedule_point();              \
        points_result;                 \
    })

#define atomic_load_explicit(object, order)               \
    POINTS_AROUND(__typeof__(POINTS_LOAD(object, order)), \
                  POINTS_LOAD(object, order))
#define atomic_fetch_add_explicit(object, value, order)         \
    POINTS_AROUND(__typeof__(POINTS_ADD(object, value, order)), \
                  POINTS_ADD(object, value, order))
#define atomic_fetch_sub_explicit(object, value, order)         \
    POINTS_AROUND(__typeof__(POINTS_SUB(object, value, order)), \
                  POINTS_SUB(object, value, order))
#define atomic_store_explicit(object, value, order) \
    __extension__({                                 \
        schedule_point();                           \
        POINTS_STORE(object, value, order);         \
        schedule_point();                           \
    })

#define atomic_load(object) atomic_load_explicit(object, memory_order_seq_cst)
#define atomic_store(object, value) \
    atomic_store_explicit(object, value, memory_order_seq_cst)
#define atomic_fetch_add(object, value) \
    atomic_fetch_add_explicit(object, value, memory_order_seq_cst)
#define atomic_fetch_sub(object, value) \
    atomic_fetch_sub_explicit(object, value, memory_order_seq_cst)

#endif
