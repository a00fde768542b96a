/*
 * pods.h - Pods and other objects for specs, made in one line; and objects that
 * are alike, with packers for them.
 */
#ifndef KL_SPEC_PODS_H
#define KL_SPEC_PODS_H

#include "kubelua/informer.h"
#include "object/object.h"

#include <stddef.h>

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

/* ---- packing ---- */

enum {
    PACK_CROWD = 100000, /* objects: enough of them to be worth a dictionary */
    PACK_LENGTH = 3000   /* length of one object's text */
};

/* Object number `i` of a family, whose objects are alike. */
kl_object *pack_plain(const char *family, unsigned i, size_t length);

/* An object as of the family "shop", but of the kind W of example.com/v1. */
kl_object *pack_of_another_kind(void);
/* Asserts that it reads as that object, whether it is packed or not. */
void pack_expect_of_another_kind(kl_object *object);

/* A small object of random text, which zstd stops packing in the middle because
 * it does not get smaller. */
kl_object *pack_random(void);

/* Object number `i` of the family "shop", packed by the packer. */
kl_object *pack_one(kl__packer *packer, unsigned i);

/* A group setup: packers of this program have the usual limits, with
 * KUBELUA_RETRAIN in the environment too. */
int pack_choose_usual_limits(void **state);

/* A teardown: fails if an object, a tree or the memory of a young text is left.
 */
int pack_expect_nothing_lives(void **state);

/* A packer that has a dictionary for the family "shop". */
kl__packer *pack_trained(void);

/* Asserts that the packed object equals the plain one. */
void pack_expect_same(kl_object *object, kl_object *plain);

#endif
