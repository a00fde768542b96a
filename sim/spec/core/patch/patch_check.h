/*
 * patch_check.h - what the specs of patches share: JSON that is parsed.
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

#endif
