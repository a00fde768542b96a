/*
 * discovery_fetch.c - asks the two roots of discovery, one after the other, and
 * then for groups by their names. The kind of an answer says which form it has:
 * in the old one it only names the groups and versions to ask for
 * (discovery_versions.c). See discovery_fetch.h.
 */
#include "api/discovery_fetch.h"

#include "api/discovery_parse.h"
#include "api/discovery_versions.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum { ROOTS = 2, MAX_BODY = 64 * 1024 * 1024 };

/* "/api" has the core group, "/apis" the others. */
static const char *const roots[ROOTS] = {"/api", "/apis"};

/* The Accept header: the newest form first; a server uses the first form that
 * it has. */
static const char aggregated_types[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";
static const char plain_type[] = "application/json";

struct kl__fetch {
    kl__survey survey;
    int root;               /* the present one; ROOTS: groups by name */
    kl__buf group;          /* the path of the present group */
    bool has_asked_name;    /* for the group of the name that is looked up */
    size_t former_at;       /* the next group of the former catalogue's */
    bool is_asked;          /* `document` is its answer, or is awaited */
    int refused;            /* roots that may not be seen, or do not exist */
    kl__document document;  /* of the present root */
    kl_doc *doc;            /* its answer, from which `versions` borrows */
    kl__versions *versions; /* NULL: the answer is not of the old form */
};

kl__fetch *kl__fetch_new(const kl__survey *survey)
{
    kl__fetch *self = kl__calloc(1, sizeof(*self));

    if (self != NULL) {
        self->survey = *survey;
        self->document.limit = MAX_BODY;
    }
    return self;
}

/* Drops what is left of a root. */
static void end_root(kl__fetch *self)
{
    kl__versions_free(self->versions);
    self->versions = NULL;
    kl_doc_unref(self->doc);
    self->doc = NULL;
    kl__document_clear(&self->document, &self->survey);
    self->is_asked = false;
}

void kl__fetch_free(kl__fetch *self)
{
    if (self != NULL) {
        end_root(self);
        kl__buf_deinit(&self->group);
        kl__free(self);
    }
}

/* ---- one root ---- */

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

/* The answer is in the old form, or of one group: its versions are to be asked
 * for. */
static kl_code begin_versions(kl__fetch *self, const char *kind, kl_error *err)
{
    const kl_value *answer = kl_doc_root(self->doc);

    self->versions = kl__versions_new(&self->survey);
    if (self->versions == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
    }
    return strcmp(kind, "APIGroup") == 0
               ? add_group(self->versions, answer, err)
               : add_versions(self->versions, answer,
                              strcmp(kind, "APIVersions") == 0, err);
}

/* Takes the answer of a root, or of a group. */
static kl_code take_answer(kl__fetch *self, kl_error *err)
{
    kl_code code = kl__document_parse(&self->document, &self->doc, err);
    const kl_value *answer;
    const char *kind;

    if (code != KL_OK) {
        return code;
    }
    answer = kl_doc_root(self->doc);
    kind = kl__discovery_text(answer, "kind");
    if (strcmp(kind, "APIGroupDiscoveryList") == 0) {
        return kl__discovery_add_groups(self->survey.catalogue,
                                        self->survey.former, answer, err);
    } else if (strcmp(kind, "APIVersions") == 0 ||
               strcmp(kind, "APIGroupList") == 0 ||
               (self->root == ROOTS && strcmp(kind, "APIGroup") == 0)) {
        return begin_versions(self, kind, err);
    } else if (self->root == ROOTS) {
        return KL_OK; /* not a group: as if there were none */
    }
    return kl_error_set(err, KL_EPARSE,
                        "%s answered with kind \"%.60s\": is this a Kubernetes "
                        "API server?",
                        self->document.target, kind);
}

static kl_code ask_root(kl__fetch *self, const char *accept, kl_error *err)
{
    self->is_asked = true;
    self->document.target =
        self->root < ROOTS ? roots[self->root] : self->group.bytes;
    self->document.accept = accept;
    err->code = kl__document_ask(&self->document, &self->survey, err);
    return err->code;
}

/* Asks for a root, and takes what has come. False: there is more to come. */
static bool advance_root(kl__fetch *self, kl_error *err)
{
    kl__document *document = &self->document;

    if (!self->is_asked && ask_root(self, aggregated_types, err) != KL_OK) {
        return true;
    }
    if (!kl__document_take(document, &self->survey, err)) {
        return false;
    }
    if (err->code == KL_OK && document->response.status == 406 &&
        document->accept == aggregated_types) {
        return ask_root(self, plain_type, err) != KL_OK ||
               advance_root(self, err);
    }
    err->code = err->code == KL_OK ? take_answer(self, err) : err->code;
    return true;
}

/* Gets all of one root. False: it goes on when there is news. */
static bool step_root(kl__fetch *self, kl_error *err)
{
    err->code = KL_OK;
    if (self->versions == NULL && !advance_root(self, err)) {
        return kl__clock_now(kl__clock_real()) >= self->survey.deadline_ms;
    }
    return err->code != KL_OK || self->versions == NULL ||
           kl__versions_step(self->versions, err);
}

static bool is_refusal(const kl_error *err)
{
    return err->code != KL_OK &&
           (err->http_status == 403 || err->http_status == 404);
}

/* Gets both roots. False: there is more to come. A 403 or 404 for one of the
 * two is no error: a server may have only one, or a user may see only one. */
static bool step_roots(kl__fetch *self, kl_error *err)
{
    while (self->root < ROOTS) {
        if (!step_root(self, err)) {
            return false;
        }
        end_root(self);
        if (err->code != KL_OK && !is_refusal(err)) {
            return true;
        }
        self->refused += err->code != KL_OK ? 1 : 0;
        self->root++;
    }
    err->code = self->refused == ROOTS ? err->code : KL_OK;
    return true;
}

/* ---- groups by name ---- */

/* The next group to ask for: that of the name; then those that were found in
 * this way before, as the list of groups may still leave them out. NULL: none
 * is left. */
static const char *next_group(kl__fetch *self, size_t *length)
{
    const kl__survey *survey = &self->survey;
    const kl__catalogue *former = survey->former;

    if (!self->has_asked_name) {
        self->has_asked_name = true;
        if (survey->name != NULL) {
            const char *group = kl__catalogue_missing_group(
                survey->catalogue, survey->name, length);

            if (*length > 0) {
                return group;
            }
        }
    }
    while (former != NULL && self->former_at < former->asked.length) {
        const char *group = former->asked.bytes + self->former_at;

        *length = strlen(group);
        self->former_at += *length + 1;
        if (kl__catalogue_has_group(former, group, *length) &&
            !kl__catalogue_has_group(survey->catalogue, group, *length)) {
            return group;
        }
    }
    return NULL;
}

/* Chooses the next group, and notes it. False: none is left, or `err`. */
static bool begin_next_group(kl__fetch *self, kl_error *err)
{
    static const char path[] = "/apis/";
    size_t length;
    const char *group = next_group(self, &length);

    if (group == NULL) {
        return false;
    }
    kl__buf_reset(&self->group);
    kl__buf_printf(&self->group, "%s%.*s", path, (int)length, group);
    err->code =
        self->group.failed
            ? kl_error_set(err, KL_ENOMEM, "out of memory for discovery")
            : kl__catalogue_note_asked(self->survey.catalogue,
                                       self->group.bytes + sizeof(path) - 1,
                                       err);
    return err->code == KL_OK;
}

static bool step_groups(kl__fetch *self, kl_error *err)
{
    while (self->is_asked || begin_next_group(self, err)) {
        if (!step_root(self, err)) {
            return false;
        }
        end_root(self);
        if (err->code != KL_OK && !is_refusal(err)) {
            return true;
        }
        err->code = KL_OK;
    }
    return true;
}

bool kl__fetch_step(kl__fetch *self, kl_error *err)
{
    if (!step_roots(self, err)) {
        return false;
    }
    return err->code != KL_OK || step_groups(self, err);
}

int64_t kl__fetch_look_again_ms(const kl__fetch *self)
{
    int64_t until_ms = self->survey.deadline_ms;
    int64_t look_ms = self->versions != NULL
                          ? kl__versions_look_again_ms(self->versions)
                          : kl__document_look_again_ms(&self->document);

    return look_ms >= 0 && look_ms < until_ms ? look_ms : until_ms;
}
