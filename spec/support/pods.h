/*
 * pods.h - Pods and other objects for specs, made in one line.
 */
#ifndef KL_SPEC_PODS_H
#define KL_SPEC_PODS_H

#include "kubelua/informer.h"

/* The fields of a pod; NULL and 0 leave a field out. */
typedef struct pod_text {
    const char *name_space;
    const char *name;
    const char *uid;
    int version;
    const char *node;
    const char *label; /* value of the label "app" */
} pod_text;

/* A pod with one reference for the caller; NULL when out of memory. */
kl_object *pod_make(const pod_text *text);

/* The pod "web/NAME" with that UID and version. */
kl_object *pod(const char *name, const char *uid, int version);

/* The pod with that namespace, name (also its UID and label "app") and node. */
kl_object *pod_on(const char *name_space, const char *name, const char *node,
                  int version);

/* A list of `count` pods, whose references it takes; asserts that there is
 * memory for it. */
kl_object_list pod_list(size_t count, ...);

/* The object of a JSON text; fails the test if it is malformed. One reference
 * for the caller. `options` may be NULL. */
kl_object *object_of(const char *json, const kl_object_options *options);

/* Asserts that the object of a JSON text is stored as `expected`. */
void object_becomes(const char *json, const kl_object_options *options,
                    const char *expected);

#endif
