/*
 * discovery_fetch.c - sends the requests of discovery; discovery_parse.c reads
 * the answers. See discovery_fetch.h.
 */
#include "api/discovery_fetch.h"

#include "api/discovery_parse.h"
#include "api/discovery_versions.h"
#include "json/text.h"
#include "object/status.h"

#include <string.h>

enum { MAX_BODY = 64 * 1024 * 1024, EXCERPT = 80 };

/* The Accept header: the newest form first; a server uses the first form that
 * it has. */
static const char aggregated_types[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

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

kl_code kl__discovery_read(const char *target, const kl__response *response,
                           const kl__buf *body, kl_doc **doc, kl_error *err)
{
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

kl_code kl__discovery_get(const kl__survey *survey, const char *target,
                          const char *accept, kl_doc **doc, kl_error *err)
{
    kl__header header = {"Accept", accept};
    kl__request request = {.method = "GET",
                           .target = target,
                           .headers = &header,
                           .header_count = 1};
    kl__response response;
    kl__stream *stream;
    kl__buf body = {0};
    kl_code code =
        kl__client_open(survey->client, &request, survey->deadline_ms,
                        survey->cancel, &stream, &response, err);

    *doc = NULL;
    if (code != KL_OK) {
        return code;
    }
    code = kl__client_read_all(stream, MAX_BODY, survey->deadline_ms,
                               survey->cancel, &body, err);
    kl__stream_close(stream);
    if (code == KL_OK) {
        code = kl__discovery_read(target, &response, &body, doc, err);
    }
    kl__buf_deinit(&body);
    return code;
}

/* Adds a group in the old form: its preferred version, then the others. */
static kl_code add_group(kl__versions *versions, const kl_value *group,
                         kl_error *err)
{
    const char *name = kl__discovery_text(group, "name");
    const char *preferred =
        kl__discovery_text(kl_value_get(group, "preferredVersion"), "version");
    const kl_value *list = kl_value_get(group, "versions"), *version;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    if (preferred[0] != '\0') {
        code = kl__versions_add(versions, name, preferred, err);
    }
    while (code == KL_OK &&
           (version = kl_value_next(list, &iter, NULL)) != NULL) {
        const char *text = kl__discovery_text(version, "version");

        if (strcmp(text, preferred) != 0) {
            code = kl__versions_add(versions, name, text, err);
        }
    }
    return code;
}

/* Adds the versions of the core group, or those of the other groups. */
static kl_code add_versions(kl__versions *versions, const kl_value *answer,
                            bool is_core, kl_error *err)
{
    const kl_value *list =
        kl_value_get(answer, is_core ? "versions" : "groups");
    kl_value_iter iter = {0};
    const kl_value *item;
    kl_code code = KL_OK;

    while (code == KL_OK && (item = kl_value_next(list, &iter, NULL)) != NULL) {
        const char *text = is_core ? kl_value_string(item, NULL) : NULL;

        if (text != NULL) {
            code = kl__versions_add(versions, "", text, err);
        } else if (!is_core) {
            code = add_group(versions, item, err);
        }
    }
    return code;
}

/* Asks for the versions that an answer in the old form names. */
static kl_code ask_versions(const kl__survey *survey, const kl_value *answer,
                            bool is_core, kl_error *err)
{
    kl__versions *versions = kl__versions_new(survey);
    kl_code code =
        versions != NULL
            ? add_versions(versions, answer, is_core, err)
            : kl_error_set(err, KL_ENOMEM, "out of memory for discovery");

    if (code == KL_OK) {
        code = kl__versions_ask(versions, err);
    }
    kl__versions_free(versions);
    return code;
}

/* Asks one of the two roots: "/api" with the core group, "/apis" with the
 * others. The kind of the answer says which form it has. */
static kl_code add_root(const kl__survey *self, const char *root, kl_error *err)
{
    const kl_value *answer;
    const char *kind;
    kl_doc *doc;
    kl_code code = kl__discovery_get(self, root, aggregated_types, &doc, err);

    if (code != KL_OK && err->http_status == 406) {
        code = kl__discovery_get(self, root, "application/json", &doc, err);
    }
    if (code != KL_OK) {
        return code;
    }
    answer = kl_doc_root(doc);
    kind = kl__discovery_text(answer, "kind");
    if (strcmp(kind, "APIGroupDiscoveryList") == 0) {
        code = kl__discovery_add_groups(self->catalogue, self->former, answer,
                                        err);
    } else if (strcmp(kind, "APIVersions") == 0) {
        code = ask_versions(self, answer, true, err);
    } else if (strcmp(kind, "APIGroupList") == 0) {
        code = ask_versions(self, answer, false, err);
    } else {
        code = kl_error_set(err, KL_EPARSE,
                            "%s answered with kind \"%.60s\": is this a "
                            "Kubernetes API server?",
                            root, kind);
    }
    kl_doc_unref(doc);
    return code;
}

kl_code kl__discovery_fetch(const kl__survey *survey, kl_error *err)
{
    static const char *const roots[] = {"/api", "/apis"};
    int refused = 0;

    /* A 403 or 404 for one of the two is no error: a server may have only one,
     * or a user may see only one. */
    for (int i = 0; i < 2; i++) {
        kl_code code = add_root(survey, roots[i], err);

        if (code != KL_OK && err->http_status != 403 &&
            err->http_status != 404) {
            return code;
        }
        refused += code != KL_OK ? 1 : 0;
    }
    return refused == 2 ? err->code : KL_OK;
}
