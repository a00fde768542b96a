/*
 * targets.h - every fuzz target by its name: its code is targets/NAME.c, its
 * corpus is corpus/NAME.
 */
#ifndef KL_FUZZ_TARGETS_H
#define KL_FUZZ_TARGETS_H

#include <stddef.h>

#define FUZZ_TARGETS(X) \
    X(frames)           \
    X(objects)          \
    X(values)           \
    X(writer)           \
    X(yaml)             \
    X(kubeconfig)       \
    X(credentials)      \
    X(selectors)        \
    X(discovery)        \
    X(streams)          \
    X(status)           \
    X(fields)           \
    X(http)             \
    X(gzip)             \
    X(pack)             \
    X(shared)           \
    X(sim)              \
    X(listen)           \
    X(patches)          \
    X(definitions)

/* Runs one input through a target; a broken property aborts. */
#define FUZZ_PROTOTYPE(name) void fuzz_##name(const char *bytes, size_t length);
FUZZ_TARGETS(FUZZ_PROTOTYPE)
#undef FUZZ_PROTOTYPE

#endif
