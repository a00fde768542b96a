/*
 * answered.h - a request, or a list, watch or resolve that is begun, and whose
 * answer is awaited.
 */
#ifndef KL_SPEC_ANSWERED_H
#define KL_SPEC_ANSWERED_H

#include "api/client.h"
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

/* Sends a request and blocks until its head has come. The caller closes
 * `stream`, which is NULL after a failure. `err` is not NULL. */
static inline kl_code opened(kl_client *client, const kl__request *request,
                             kl__cancel *cancel, kl__stream **stream,
                             kl__response *response, kl_error *err)
{
    kl__sent sent;
    kl_code code = kl__client_send(client, request, cancel, &sent, err);

    if (code == KL_OK) {
        code =
            kl__client_head(client, request, &sent, -1, cancel, response, err);
    }
    *stream = sent.stream;
    return code;
}

#endif
