/*
 * discovery_fetch.c - sends the requests of discovery; discovery_parse.c reads
 * the answers. See discovery_fetch.h.
 */
#include "api/discovery_fetch.h"

#include "api/discovery_parse.h"
#include "base/clock.h"
#include "json/text.h"
#include "kubelua/value.h"
#include "object/status.h"

#include <string.h>

enum { MAX_BODY = 64 * 1024 * 1024, TIMEOUT_MS = 30000, EXCERPT = 80 };

/* The Accept header: the newest form first; a server uses the first form that
 * it has. */
static const char aggregated_types[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

typedef struct fetch {
    kl_client *client;
    kl__catalogue *catalogue;
    kl__cancel *cancel;
} fetch;

static kl_code set_not_json(const char *target, const kl__buf *body,
                            kl_error *err)
{
    char excerpt[EXCERPT];

    kl__text_excerpt(excerpt, sizeof(excerpt),
                     body->bytes != NULL ? body->bytes : "", body->length);
    return kl_error_set(err, KL_EPARSE,
                        "%s did not answer with JSON but with \"%s\": is the "
                        "server's address right, or is there a proxy or login "
                        "page in between?",
                        target, excerpt);
}

/* Checks the status of an answer and parses its body. */
static kl_code read_answer(const char *target, const kl__response *response,
                           const kl__buf *body, kl_doc **doc, kl_error *err)
{
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
                            target, response->status);
    }
    *doc =
        kl_doc_parse(body->bytes != NULL ? body->bytes : "", body->length, err);
    if (*doc == NULL) {
        return err->code == KL_EPARSE ? set_not_json(target, body, err)
                                      : err->code;
    }
    if (kl_value_type(kl_doc_root(*doc)) != KL_OBJECT) {
        kl_doc_unref(*doc);
        *doc = NULL;
        return set_not_json(target, body, err);
    }
    return KL_OK;
}

/* Gets one document; the caller unrefs it. */
static kl_code get_document(const fetch *self, const char *target,
                            const char *accept, kl_doc **doc, kl_error *err)
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + TIMEOUT_MS;
    kl__header header = {"Accept", accept};
    kl__request request = {.method = "GET",
                           .target = target,
                           .headers = &header,
                           .header_count = 1};
    kl__response response;
    kl__stream *stream;
    kl__buf body = {0};
    kl_code code = kl__client_open(self->client, &request, deadline_ms,
                                   self->cancel, &stream, &response, err);

    *doc = NULL;
    if (code != KL_OK) {
        return code;
    }
    code = kl__client_read_all(stream, MAX_BODY, deadline_ms, self->cancel,
                               &body, err);
    kl__stream_close(stream);
    if (code == KL_OK) {
        code = read_answer(target, &response, &body, doc, err);
    }
    kl__buf_deinit(&body);
    return code;
}

/* True if the failure is one of this request alone: the server answered with an
 * error, or too late. Then the discovery of other groups goes on. */
static bool is_answer(const kl_error *err)
{
    return err->http_status != 0 || err->code == KL_EPARSE ||
           err->code == KL_ETIMEOUT;
}

/* Asks for the resources of one group ("": core) and version. */
static kl_code add_version(const fetch *self, const char *group,
                           const char *version, kl_error *err)
{
    kl__buf target = {0};
    kl_doc *doc;
    kl_code code;

    kl__buf_printf(&target, "%s%s/%s", group[0] != '\0' ? "/apis/" : "/api",
                   group, version);
    if (target.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
    }
    code = get_document(self, target.bytes, "application/json", &doc, err);
    if (code == KL_OK) {
        code = kl__discovery_add_version(self->catalogue, group, version,
                                         kl_doc_root(doc), err);
        kl_doc_unref(doc);
    } else if (is_answer(err)) {
        code =
            kl__catalogue_add_unreachable(self->catalogue, group, version, err);
    }
    kl__buf_deinit(&target);
    return code;
}

/* Asks for a group in the old form: its preferred version, then the others. */
static kl_code add_group(const fetch *self, const kl_value *group,
                         kl_error *err)
{
    const char *name = kl__discovery_text(group, "name");
    const char *preferred =
        kl__discovery_text(kl_value_get(group, "preferredVersion"), "version");
    const kl_value *versions = kl_value_get(group, "versions"), *version;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    if (preferred[0] != '\0') {
        code = add_version(self, name, preferred, err);
    }
    while (code == KL_OK &&
           (version = kl_value_next(versions, &iter, NULL)) != NULL) {
        const char *text = kl__discovery_text(version, "version");

        if (strcmp(text, preferred) != 0) {
            code = add_version(self, name, text, err);
        }
    }
    return code;
}

static kl_code add_core_versions(const fetch *self, const kl_value *versions,
                                 kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *version;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (version = kl_value_next(versions, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(version, NULL);

        if (text != NULL) {
            code = add_version(self, "", text, err);
        }
    }
    return code;
}

static kl_code add_old_groups(const fetch *self, const kl_value *groups,
                              kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *group;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (group = kl_value_next(groups, &iter, NULL)) != NULL) {
        code = add_group(self, group, err);
    }
    return code;
}

/* Asks one of the two roots: "/api" with the core group, "/apis" with the
 * others. The kind of the answer says which form it has. */
static kl_code add_root(const fetch *self, const char *root, kl_error *err)
{
    const kl_value *answer;
    const char *kind;
    kl_doc *doc;
    kl_code code = get_document(self, root, aggregated_types, &doc, err);

    if (code != KL_OK && err->http_status == 406) {
        code = get_document(self, root, "application/json", &doc, err);
    }
    if (code != KL_OK) {
        return code;
    }
    answer = kl_doc_root(doc);
    kind = kl__discovery_text(answer, "kind");
    if (strcmp(kind, "APIGroupDiscoveryList") == 0) {
        code = kl__discovery_add_groups(self->catalogue, answer, err);
    } else if (strcmp(kind, "APIVersions") == 0) {
        code = add_core_versions(self, kl_value_get(answer, "versions"), err);
    } else if (strcmp(kind, "APIGroupList") == 0) {
        code = add_old_groups(self, kl_value_get(answer, "groups"), err);
    } else {
        code = kl_error_set(err, KL_EPARSE,
                            "%s answered with kind \"%.60s\": is this a "
                            "Kubernetes API server?",
                            root, kind);
    }
    kl_doc_unref(doc);
    return code;
}

kl_code kl__discovery_fetch(kl_client *client, kl__catalogue *catalogue,
                            kl__cancel *cancel, kl_error *err)
{
    static const char *const roots[] = {"/api", "/apis"};
    fetch self = {client, catalogue, cancel};
    int refused = 0;

    /* A 403 or 404 for one of the two is no error: a server may have only one,
     * or a user may see only one. */
    for (int i = 0; i < 2; i++) {
        kl_code code = add_root(&self, roots[i], err);

        if (code != KL_OK && err->http_status != 403 &&
            err->http_status != 404) {
            return code;
        }
        refused += code != KL_OK ? 1 : 0;
    }
    return refused == 2 ? err->code : KL_OK;
}
