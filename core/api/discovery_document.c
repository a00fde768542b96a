/*
 * discovery_document.c - asks for one document of discovery and takes its
 * answer as it comes. See discovery_document.h.
 */
#include "api/discovery_document.h"

#include "json/text.h"
#include "object/status.h"

enum { EXCERPT = 80 };

/* The request; `accept` is its only header. */
static kl__request request_of(const kl__document *self, kl__header *accept)
{
    *accept = (kl__header){"Accept", self->accept};
    return (kl__request){.method = "GET",
                         .target = self->target,
                         .headers = accept,
                         .header_count = 1,
                         .is_brief = self->is_brief};
}

static kl_code send_request(kl__document *self, const kl__survey *survey,
                            kl_error *err)
{
    kl__header accept;
    kl__request request = request_of(self, &accept);
    /* Of many answers at the same time, only the ends are of interest. */
    kl__stream_hook hook = {
        .wake = survey->wake, .arg = survey->arg, .at_end = self->is_brief};
    kl_code code = kl__client_send(survey->client, &request, survey->cancel,
                                   &self->sent, err);

    self->has_head = false;
    if (code == KL_OK) {
        (void)kl__stream_set_hook(self->sent.stream, &hook);
    }
    return code;
}

kl_code kl__document_ask(kl__document *self, const kl__survey *survey,
                         kl_error *err)
{
    kl__document_close(self, survey);
    kl__buf_reset(&self->body);
    self->was_retried = false;
    return send_request(self, survey, err);
}

static void close_stream(kl__document *self)
{
    kl__stream_close(self->sent.stream);
    self->sent.stream = NULL;
}

/* Takes the head of the answer; after a 401, perhaps that of a second one. */
static kl_code take_head(kl__document *self, const kl__survey *survey,
                         kl_error *err)
{
    kl__header accept;
    kl__request request = request_of(self, &accept);
    kl_code code = kl__client_head(survey->client, &request, &self->sent, 0,
                                   survey->cancel, &self->response, err);

    if (code != KL_OK) {
        return code;
    }
    if (!self->was_retried &&
        kl__client_may_retry(survey->client, &self->sent, &self->response,
                             survey->cancel)) {
        self->was_retried = true;
        close_stream(self);
        code = send_request(self, survey, err);
        return code == KL_OK ? take_head(self, survey, err) : code;
    }
    self->has_head = true;
    return KL_OK;
}

bool kl__document_take(kl__document *self, const kl__survey *survey,
                       kl_error *err)
{
    err->code = self->has_head ? KL_OK : take_head(self, survey, err);
    if (err->code == KL_OK) {
        err->code = kl__client_read_all(self->sent.stream, self->limit, 0,
                                        survey->cancel, &self->body, err);
    }
    if (err->code == KL_ETIMEOUT && self->sent.stream != NULL) {
        return false;
    }
    close_stream(self);
    return true;
}

static kl_code set_not_json(const kl__document *self, kl_error *err)
{
    const kl__buf *body = &self->body;
    char excerpt[EXCERPT];

    kl__text_excerpt(excerpt, sizeof(excerpt),
                     body->bytes != NULL ? body->bytes : "", body->length);
    return kl_error_set(err, KL_EPARSE,
                        "%s did not answer with JSON but with \"%s\": is the "
                        "server's address right, or is there a proxy or login "
                        "page in between?",
                        self->target, excerpt);
}

kl_code kl__document_parse(const kl__document *self, kl_doc **doc,
                           kl_error *err)
{
    const kl__response *response = &self->response;
    const kl__buf *body = &self->body;

    *doc = NULL;
    if (response->status >= 400) {
        return kl__status_error(response->status, body->bytes, body->length,
                                response->retry_after_ms, err);
    }
    if (kl__client_check_redirect(response, err) != KL_OK) {
        return KL_EPARSE;
    }
    if (response->status != 200) {
        return kl_error_set(err, KL_EPARSE,
                            "%s answered with HTTP status %d: is the server's "
                            "address right?",
                            self->target, response->status);
    }
    *doc =
        kl_doc_parse(body->bytes != NULL ? body->bytes : "", body->length, err);
    if (*doc == NULL) {
        return err->code == KL_EPARSE ? set_not_json(self, err) : err->code;
    }
    if (kl_value_type(kl_doc_root(*doc)) != KL_OBJECT) {
        kl_doc_unref(*doc);
        *doc = NULL;
        return set_not_json(self, err);
    }
    return KL_OK;
}

int64_t kl__document_look_again_ms(const kl__document *self)
{
    return self->sent.stream != NULL
               ? kl__stream_look_again_ms(self->sent.stream)
               : -1;
}

void kl__document_close(kl__document *self, const kl__survey *survey)
{
    kl__header accept;
    kl__request request = request_of(self, &accept);
    kl_error why;

    if (self->sent.stream == NULL) {
        return;
    }
    if (self->has_head) {
        close_stream(self);
        return;
    }
    kl_error_set(&why, KL_ECANCELED, "the answer is not awaited any more");
    kl__client_give_up(survey->client, &request, &self->sent, &why);
}

void kl__document_clear(kl__document *self, const kl__survey *survey)
{
    kl__document_close(self, survey);
    kl__buf_deinit(&self->body);
}
