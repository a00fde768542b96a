/*
 * discovery_fetch.c - sends the requests of discovery; discovery_parse.c reads
 * the answers. The old form needs a request for each group and version: the
 * caller's thread opens some streams, reads them without blocking as the
 * transport brings news, and opens the next ones, so a version that hangs costs
 * only its own resources. The catalogue is filled at the end, in order. See
 * discovery_fetch.h.
 */
#include "api/discovery_fetch.h"

#include "api/discovery_parse.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "json/text.h"
#include "object/status.h"

#include <string.h>

enum {
    AT_ONCE = 16, /* versions that are in flight */
    MOST = 5000,
    EXCERPT = 80,
    MAX_BODY = 64 * 1024 * 1024,
    MAX_VERSION_BODY = 4 * 1024 * 1024,
    MAX_BODIES = 64 * 1024 * 1024,
    SHARE_MS = 5000,    /* the time of one version */
    PATIENCE_MS = 1000, /* the same for one that hung before; or once the group
                           of the name has answered */
    REST_MS = 30000 /* a version that hung is not asked again so long, unless
                       the name that is looked up names its group */
};

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

/* Makes a document of an answer; the caller unrefs it. */
static kl_code read_document(const char *target, const kl__response *response,
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

/* Gets one document of discovery; the caller unrefs it. */
static kl_code get_document(const kl__survey *survey, const char *target,
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
        code = read_document(target, &response, &body, doc, err);
    }
    kl__buf_deinit(&body);
    return code;
}

/* ---- the versions of the old form ---- */

typedef enum progress { UNASKED, IN_FLIGHT, ANSWERED, HUNG } progress;

/* The request for one version. */
typedef struct question {
    const char *group, *version; /* borrowed */
    char *target;                /* NULL before it is asked */
    progress progress;
    bool is_wanted;     /* the name that is looked up names this group */
    int64_t hung_ms;    /* when it hung, on the catalogue's clock; -1: never */
    int64_t sent_ms;    /* on the real clock */
    kl__stream *stream; /* while it is in flight */
    bool has_head;
    kl__response response;
    kl__buf body;
} question;

/* The versions of groups to ask, in the server's order of preference. */
typedef struct inquiry {
    const kl__survey *survey;
    question *questions;
    size_t count, capacity;
    size_t in_flight;
    size_t
        wanted_left; /* versions of the name's group that have not answered */
    bool is_named;   /* the name is of a group of this server */
    size_t bytes;    /* of all bodies */

    kl__mutex mutex; /* rank NEWS; guards the one below */
    kl__cond cond;
    bool has_news;
} inquiry;

static int64_t real_now(void)
{
    return kl__clock_now(kl__clock_real());
}

static kl_code set_no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
}

/* `survey` is borrowed. NULL: out of memory. */
static inquiry *new_inquiry(const kl__survey *survey)
{
    inquiry *self = kl__calloc(1, sizeof(*self));

    if (self != NULL) {
        self->survey = survey;
        kl__mutex_init(&self->mutex, KL__RANK_NEWS);
        kl__cond_init(&self->cond);
    }
    return self;
}

static void close_question(inquiry *self, question *asked, progress result)
{
    kl__stream_close(asked->stream);
    asked->stream = NULL;
    asked->progress = result;
    self->in_flight--;
    self->wanted_left -= asked->is_wanted ? 1 : 0;
}

static void free_inquiry(inquiry *self)
{
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < self->count; i++) {
        question *asked = &self->questions[i];

        if (asked->stream != NULL) {
            close_question(self, asked, UNASKED);
        }
        kl__buf_deinit(&asked->body);
        kl__free(asked->target);
    }
    kl__free(self->questions);
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
    kl__free(self);
}

/* True if the name that is looked up is of this group. */
static bool is_of_group(const kl__survey *survey, const char *group)
{
    size_t length = 0;
    const char *wanted =
        survey->name != NULL ? kl__resource_group(survey->name, &length) : NULL;

    return length != 0 && strncmp(group, wanted, length) == 0;
}

/* Adds a version of a group ("": core). The texts are borrowed. KL_ENOMEM,
 * KL_ETOO_LARGE. */
static kl_code add_question(inquiry *self, const char *group,
                            const char *version, kl_error *err)
{
    const kl__survey *survey = self->survey;
    question *added;

    if (self->count == MOST) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "discovery: the server has more than %d groups and "
                            "versions",
                            MOST);
    }
    if (self->count == self->capacity) {
        size_t capacity = self->capacity != 0 ? self->capacity * 2 : 64;
        question *questions =
            kl__realloc(self->questions, capacity * sizeof(*questions));

        if (questions == NULL) {
            return set_no_memory(err);
        }
        self->questions = questions;
        self->capacity = capacity;
    }
    added = &self->questions[self->count++];
    *added = (question){
        .group = group,
        .version = version,
        .is_wanted = is_of_group(survey, group),
        .hung_ms = kl__catalogue_hung_ms(survey->former, group, version)};
    if (!added->is_wanted && added->hung_ms >= 0 &&
        survey->now_ms - added->hung_ms < REST_MS) {
        added->progress = HUNG;
    }
    self->wanted_left += added->is_wanted ? 1 : 0;
    self->is_named = self->is_named || added->is_wanted;
    return KL_OK;
}

static void note_news(void *arg)
{
    inquiry *self = arg;

    kl__mutex_lock(&self->mutex);
    self->has_news = true;
    kl__cond_signal(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

/* When the time of a question in flight is over. */
static int64_t end_of_share(const inquiry *self, const question *asked)
{
    bool is_short =
        asked->hung_ms >= 0 || (self->is_named && self->wanted_left == 0);

    return asked->sent_ms +
           (is_short && !asked->is_wanted ? PATIENCE_MS : SHARE_MS);
}

static int64_t earlier(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static void wait_for_news(inquiry *self)
{
    int64_t till_ms = self->survey->deadline_ms;

    for (size_t i = 0; i < self->count; i++) {
        const question *asked = &self->questions[i];

        if (asked->progress == IN_FLIGHT) {
            int64_t look_ms = kl__stream_look_again_ms(asked->stream);

            till_ms = earlier(till_ms, end_of_share(self, asked));
            till_ms = look_ms >= 0 ? earlier(till_ms, look_ms) : till_ms;
        }
    }
    kl__mutex_lock(&self->mutex);
    while (!self->has_news &&
           kl__cond_wait(&self->cond, &self->mutex, till_ms)) {
    }
    self->has_news = false;
    kl__mutex_unlock(&self->mutex);
}

/* Asks for a version. */
static kl_code open_question(inquiry *self, question *asked, kl_error *err)
{
    const kl__survey *survey = self->survey;
    kl__header header = {"Accept", "application/json"};
    kl__request request = {.method = "GET",
                           .headers = &header,
                           .header_count = 1,
                           .is_brief = true};
    kl__stream_hook hook = {.wake = note_news, .arg = self, .at_end = true};
    kl__buf target = {0};
    kl__sent sent;
    kl_code code;

    kl__buf_printf(&target, "%s%s/%s",
                   asked->group[0] != '\0' ? "/apis/" : "/api", asked->group,
                   asked->version);
    asked->target = kl__buf_take(&target, NULL);
    if (asked->target == NULL) {
        return set_no_memory(err);
    }
    request.target = asked->target;
    code =
        kl__client_send(survey->client, &request, survey->cancel, &sent, err);
    if (code != KL_OK) {
        return code;
    }
    asked->stream = sent.stream;
    asked->progress = IN_FLIGHT;
    asked->sent_ms = real_now();
    self->in_flight++;
    (void)kl__stream_set_hook(asked->stream, &hook);
    return KL_OK;
}

/* Reads what has arrived. KL_OK: that was all; KL_ETIMEOUT: not yet. */
static kl_code read_stream(inquiry *self, question *asked, kl_error *err)
{
    kl_code code = KL_OK;

    if (!asked->has_head) {
        code =
            kl__stream_response(asked->stream, &asked->response, 0, NULL, err);
        if (code == KL_OK) {
            asked->has_head = true;
            kl__client_warn(self->survey->client, &asked->response);
        }
    }
    return code == KL_OK ? kl__client_read_all(asked->stream, MAX_VERSION_BODY,
                                               0, NULL, &asked->body, err)
                         : code;
}

/* Moves a question in flight forward. A failed connection is no answer of one
 * group: it ends discovery. */
static kl_code read_question(inquiry *self, question *asked, kl_error *err)
{
    kl_code code = read_stream(self, asked, err);

    if (code == KL_ETIMEOUT) {
        if (real_now() >= end_of_share(self, asked)) {
            asked->hung_ms = self->survey->now_ms;
            close_question(self, asked, HUNG);
        }
        return KL_OK;
    }
    close_question(self, asked, ANSWERED);
    self->bytes += asked->body.length;
    if (code == KL_OK && self->bytes > MAX_BODIES) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "discovery: the answers are larger than %d bytes",
                            MAX_BODIES);
    }
    return code;
}

/* The next version to ask: the group of the name comes first, and what has hung
 * before comes last. NULL: none is left. */
static question *next_question(inquiry *self)
{
    question *next = NULL, *doubtful = NULL;

    for (size_t i = 0; i < self->count; i++) {
        question *each = &self->questions[i];

        if (each->progress != UNASKED) {
            continue;
        }
        if (each->is_wanted) {
            return each;
        }
        if (each->hung_ms >= 0) {
            doubtful = doubtful != NULL ? doubtful : each;
        } else {
            next = next != NULL ? next : each;
        }
    }
    return next != NULL ? next : doubtful;
}

static kl_code open_questions(inquiry *self, kl_error *err)
{
    kl_code code = KL_OK;

    while (code == KL_OK && self->in_flight < AT_ONCE) {
        question *next = next_question(self);

        if (next == NULL) {
            break;
        }
        code = open_question(self, next, err);
    }
    return code;
}

static kl_code read_questions(inquiry *self, kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < self->count; i++) {
        if (self->questions[i].progress == IN_FLIGHT) {
            code = read_question(self, &self->questions[i], err);
        }
    }
    return code;
}

/* Asks until all have answered or hang, or the deadline is over. */
static kl_code run_questions(inquiry *self, kl_error *err)
{
    const kl__survey *survey = self->survey;

    for (;;) {
        kl_code code = open_questions(self, err);
        size_t in_flight = self->in_flight;

        if (code != KL_OK || in_flight == 0) {
            return code;
        }
        code = read_questions(self, err);
        if (code != KL_OK) {
            return code;
        }
        if (kl__cancel_fired(survey->cancel)) {
            return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
        }
        if (real_now() >= survey->deadline_ms) {
            return KL_OK;
        }
        if (self->in_flight == in_flight) {
            wait_for_news(self);
        }
    }
}

/* Adds what was known of a version without an answer. */
static kl_code add_former(const inquiry *self, const question *asked,
                          kl_error *err)
{
    const kl__survey *survey = self->survey;
    kl_code code = kl__catalogue_add_unreachable(
        survey->catalogue, asked->group, asked->version, err);

    return code == KL_OK ? kl__catalogue_keep(survey->catalogue, survey->former,
                                              asked->group, asked->version, err)
                         : code;
}

static kl_code add_answer(const inquiry *self, const question *asked,
                          kl_error *err)
{
    const kl__survey *survey = self->survey;
    kl_doc *doc;
    /* after a 401 there may be new credentials */
    kl_code code =
        asked->response.status == 401
            ? get_document(survey, asked->target, "application/json", &doc, err)
            : read_document(asked->target, &asked->response, &asked->body, &doc,
                            err);

    if (code == KL_OK) {
        code = kl__discovery_add_version(survey->catalogue, asked->group,
                                         asked->version, kl_doc_root(doc), err);
        kl_doc_unref(doc);
    } else if (err->http_status != 0 || code == KL_EPARSE ||
               code == KL_ETIMEOUT) {
        code = add_former(self, asked, err);
    }
    return code;
}

/* Adds a version that has not answered: it hangs, or had no time. */
static kl_code add_silent(const inquiry *self, question *asked, kl_error *err)
{
    kl__catalogue *catalogue = self->survey->catalogue;
    kl_code code = add_former(self, asked, err);

    if (asked->progress == IN_FLIGHT &&
        real_now() - asked->sent_ms >= PATIENCE_MS) {
        asked->hung_ms = self->survey->now_ms;
        asked->progress = HUNG; /* its stream is closed by free_inquiry */
    }
    if (asked->progress != HUNG) {
        catalogue->is_partial = true;
        return code;
    }
    return code == KL_OK
               ? kl__catalogue_add_hung(catalogue, asked->group, asked->version,
                                        asked->hung_ms, err)
               : code;
}

static kl_code fill_catalogue(inquiry *self, kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < self->count; i++) {
        question *asked = &self->questions[i];

        code = asked->progress == ANSWERED ? add_answer(self, asked, err)
                                           : add_silent(self, asked, err);
    }
    return code;
}

/*
 * Asks for all of them, and adds the answers to the survey's catalogue, in
 * order. Of a version that hangs or fails, what was known is added. As
 * kl__discovery_fetch.
 */
static kl_code ask_questions(inquiry *self, kl_error *err)
{
    kl__cancel_hook hook = {.wake = note_news, .arg = self};
    kl_code code;

    if (!kl__cancel_add(self->survey->cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    code = run_questions(self, err);
    kl__cancel_remove(self->survey->cancel, &hook);
    return code == KL_OK ? fill_catalogue(self, err) : code;
}

/* ---- the two roots ---- */

/* The Accept header: the newest form first; a server uses the first form that
 * it has. */
static const char aggregated_types[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json";

/* Adds a group in the old form: its preferred version, then the others. */
static kl_code add_group(inquiry *versions, const kl_value *group,
                         kl_error *err)
{
    const char *name = kl__discovery_text(group, "name");
    const char *preferred =
        kl__discovery_text(kl_value_get(group, "preferredVersion"), "version");
    const kl_value *list = kl_value_get(group, "versions"), *version;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    if (preferred[0] != '\0') {
        code = add_question(versions, name, preferred, err);
    }
    while (code == KL_OK &&
           (version = kl_value_next(list, &iter, NULL)) != NULL) {
        const char *text = kl__discovery_text(version, "version");

        if (strcmp(text, preferred) != 0) {
            code = add_question(versions, name, text, err);
        }
    }
    return code;
}

/* Adds the versions of the core group, or those of the other groups. */
static kl_code add_versions(inquiry *versions, const kl_value *answer,
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
            code = add_question(versions, "", text, err);
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
    inquiry *versions = new_inquiry(survey);
    kl_code code =
        versions != NULL
            ? add_versions(versions, answer, is_core, err)
            : kl_error_set(err, KL_ENOMEM, "out of memory for discovery");

    if (code == KL_OK) {
        code = ask_questions(versions, err);
    }
    free_inquiry(versions);
    return code;
}

/* Asks one of the two roots: "/api" with the core group, "/apis" with the
 * others. The kind of the answer says which form it has. */
static kl_code add_root(const kl__survey *self, const char *root, kl_error *err)
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
