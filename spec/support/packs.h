/*
 * packs.h - objects that are alike, and packers for them.
 */
#ifndef KL_SPEC_PACKS_H
#define KL_SPEC_PACKS_H

#include "object/object.h"

#include <stddef.h>

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
