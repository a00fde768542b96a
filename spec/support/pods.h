/*
 * pods.h - objects for specs, in a line.
 */
#ifndef KL_SPEC_PODS_H
#define KL_SPEC_PODS_H

#include "kubelua/informer.h"

/* What a pod is made of; NULL and 0 leave a field out. */
typedef struct pod_text {
    const char *name_space;
    const char *name;
    const char *uid;
    int version;
    const char *node;
    const char *label; /* the value of label "app" */
} pod_text;

/* A pod with one reference; NULL when out of memory. */
kl_object *pod_make(const pod_text *text);

/* The pod "web/NAME" of that UID and version. */
kl_object *pod(const char *name, const char *uid, int version);

/* The pod of that namespace, name (UID and label "app" too) and node. */
kl_object *pod_on(const char *name_space, const char *name, const char *node,
                  int version);

/* A list of `count` pods that takes their references; asserts memory. */
kl_object_list pod_list(size_t count, ...);

/* The object of a text; fails the test where the text is none. One reference
 * for the caller. `options` may be NULL. */
kl_object *object_of(const char *json, const kl_object_options *options);

/* Asserts that the object of a text is kept as `expected`. */
void object_becomes(const char *json, const kl_object_options *options,
                    const char *expected);

#endif
