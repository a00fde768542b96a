/*
 * patch_check.h - what the specs of patches share: a patch is applied and the
 * JSON that comes out, or the refusal, compared.
 */
#ifndef KL_SPEC_PATCH_CHECK_H
#define KL_SPEC_PATCH_CHECK_H

#include "sim_play.h"
#include "sim/core/json/edit.h"
#include "sim/core/patch/members.h"
#include "sim/core/patch/patch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct patch_case {
    const char *target;
    const char *patch;
    const char *result; /* as JSON or YAML; NULL: refused */
    int status;         /* of a refusal */
    const char *why;    /* in its message; NULL: any */
} patch_case;

typedef kl_code (*patch_fn)(kl__edit *edit, kl__node *target, kl__node *patch,
                            kl_error *err);

static inline kl__node *patch_parse(kl__edit *edit, const char *json)
{
    kl_error err = {0};
    kl__node *node;

    json = sim_json(json);
    node = kl__edit_parse(edit, json, strlen(json), &err);

    if (node == NULL) {
        fail_msg("%s: %s", json, err.message);
    }
    return node;
}

static inline void patch_check(const patch_case *expected, patch_fn run)
{
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(&err);
    kl__node *target = patch_parse(edit, expected->target);
    kl__node *patch = patch_parse(edit, expected->patch);
    kl_code code = run(edit, target, patch, &err);
    char *json;

    if (expected->result == NULL) {
        if (code == KL_OK || err.http_status != expected->status ||
            (expected->why != NULL &&
             strcmp(err.message, expected->why) != 0)) {
            fail_msg("%s with %s: %d %s", expected->target, expected->patch,
                     err.http_status, err.message);
        }
        kl__edit_free(edit);
        return;
    }
    if (code != KL_OK) {
        fail_msg("%s with %s: %s", expected->target, expected->patch,
                 err.message);
    }
    json = kl__node_json(target, NULL, &err);
    assert_non_null(json);
    if (strcmp(json, sim_json(expected->result)) != 0) {
        fail_msg("%s with %s: %s instead of %s", expected->target,
                 expected->patch, json, expected->result);
    }
    free(json);
    kl__edit_free(edit);
}

static inline void patch_check_all(const patch_case *cases, size_t count,
                                   patch_fn run)
{
    for (size_t i = 0; i < count; i++) {
        patch_check(&cases[i], run);
    }
}

#define PATCH_CHECK_ALL(cases, run) \
    patch_check_all(cases, sizeof(cases) / sizeof((cases)[0]), run)

#endif
