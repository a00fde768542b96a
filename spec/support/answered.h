/*
 * answered.h - a list, watch or resolve that is begun, and whose answer is
 * awaited.
 */
#ifndef KL_SPEC_ANSWERED_H
#define KL_SPEC_ANSWERED_H

#include "api/list_watch.h"

/* `code` is what kl__list_watch_resolve, kl__list_watch_list or
 * kl__list_watch_watch has returned. If it is KL_OK, blocks until the answer
 * has come or has failed. */
static inline kl_code answered(kl_code code, kl__list_watch *source,
                               kl__cancel *cancel, kl_error *err)
{
    if (code == KL_OK) {
        while (!kl__list_watch_answer(source, -1, cancel, err)) {
        }
        code = err->code;
    }
    return code;
}

#endif
