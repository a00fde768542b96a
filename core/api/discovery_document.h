/*
 * discovery_document.h - one document of discovery: sends its request, and
 * takes what has come of the answer, without waiting for it.
 */
#ifndef KL_API_DISCOVERY_DOCUMENT_H
#define KL_API_DISCOVERY_DOCUMENT_H

#include "api/catalogue.h"
#include "api/client.h"
#include "kubelua/value.h"

/* What is asked, and for what. */
typedef struct kl__survey {
    kl_client *client;
    kl__catalogue *catalogue;    /* empty; it is filled */
    const kl__catalogue *former; /* what was known; NULL: nothing */
    const char *name;    /* that is looked up: its group is asked first, and
                            the others have less time. NULL: none */
    int64_t deadline_ms; /* on the real clock */
    int64_t now_ms;      /* on the clock of kl__catalogue_hung_ms */
    kl__cancel *cancel;
    /* Called when an answer has come, as in kl__stream_hook; `cancel` does not
     * call it. */
    void (*wake)(void *arg);
    void *arg;
} kl__survey;

typedef struct kl__document {
    /* Set by the user, then constant. */
    const char *target; /* borrowed */
    const char *accept; /* static */
    size_t limit;       /* in bytes; a larger body is KL_ETOO_LARGE */
    bool is_brief;      /* as in kl__request */

    /* Only read by the user. */
    kl__sent sent; /* without a stream: it is not awaited */
    bool has_head;
    bool was_retried; /* after a 401 */
    kl__response response;
    kl__buf body;
} kl__document;

/* Sends the request, perhaps once more. It may have to wait for credentials.
 * `err` is not NULL, here and below. As kl__client_send. */
kl_code kl__document_ask(kl__document *document, const kl__survey *survey,
                         kl_error *err);

/* Takes what has come. False: there is more to come, call again. True: it is
 * not awaited any more; `err->code` KL_OK: all has come, whatever the status
 * is. After a 401 it asks again if there are new credentials. As
 * kl__client_head and kl__client_read_all. */
bool kl__document_take(kl__document *document, const kl__survey *survey,
                       kl_error *err);

/* Makes JSON of an answer that has come; the caller unrefs it. HTTP errors are
 * codes: kl__status_error. KL_EPARSE, KL_ENOMEM. */
kl_code kl__document_parse(const kl__document *document, kl_doc **doc,
                           kl_error *err);

/* When to look again, if the survey is not woken; < 0: no need. */
int64_t kl__document_look_again_ms(const kl__document *document);

/* Does not await it any more. */
void kl__document_close(kl__document *document, const kl__survey *survey);

/* The same, and frees the body. */
void kl__document_clear(kl__document *document, const kl__survey *survey);

#endif
