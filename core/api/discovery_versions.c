/*
 * discovery_versions.c - see discovery_versions.h. The caller's thread opens
 * some streams, reads them without blocking as the transport brings news, and
 * opens the next ones. The catalogue is filled at the end, in order.
 */
#include "api/discovery_versions.h"

#include "api/discovery_parse.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <string.h>

enum {
    AT_ONCE = 16,
    MOST = 5000,
    MAX_BODY = 4 * 1024 * 1024,
    MAX_BODIES = 64 * 1024 * 1024,
    SHARE_MS = 5000,    /* the time of one version */
    PATIENCE_MS = 1000, /* the same for one that hung before; or once the group
                           of the name has answered */
    REST_MS = 30000 /* a version that hung is not asked again so long, unless
                       the name that is looked up names its group */
};

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

struct kl__versions {
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
};

static int64_t real_now(void)
{
    return kl__clock_now(kl__clock_real());
}

static kl_code set_no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
}

kl__versions *kl__versions_new(const kl__survey *survey)
{
    kl__versions *self = kl__calloc(1, sizeof(*self));

    if (self != NULL) {
        self->survey = survey;
        kl__mutex_init(&self->mutex, KL__RANK_NEWS);
        kl__cond_init(&self->cond);
    }
    return self;
}

static void close_question(kl__versions *self, question *asked, progress result)
{
    kl__stream_close(asked->stream);
    asked->stream = NULL;
    asked->progress = result;
    self->in_flight--;
    self->wanted_left -= asked->is_wanted ? 1 : 0;
}

void kl__versions_free(kl__versions *self)
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

kl_code kl__versions_add(kl__versions *self, const char *group,
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

/* ---- news ---- */

static void note_news(void *arg)
{
    kl__versions *self = arg;

    kl__mutex_lock(&self->mutex);
    self->has_news = true;
    kl__cond_signal(&self->cond);
    kl__mutex_unlock(&self->mutex);
}

/* When the time of a question in flight is over. */
static int64_t end_of_share(const kl__versions *self, const question *asked)
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

static void wait_for_news(kl__versions *self)
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

/* ---- one question ---- */

/* Asks for a version. */
static kl_code open_question(kl__versions *self, question *asked, kl_error *err)
{
    const kl__survey *survey = self->survey;
    kl__header header = {"Accept", "application/json"};
    kl__request request = {.method = "GET",
                           .headers = &header,
                           .header_count = 1,
                           .is_brief = true};
    kl__stream_hook hook = {.wake = note_news, .arg = self, .at_end = true};
    kl__buf target = {0};

    kl__buf_printf(&target, "%s%s/%s",
                   asked->group[0] != '\0' ? "/apis/" : "/api", asked->group,
                   asked->version);
    asked->target = kl__buf_take(&target, NULL);
    if (asked->target == NULL) {
        return set_no_memory(err);
    }
    request.target = asked->target;
    asked->stream =
        kl__client_start(survey->client, &request, survey->cancel, err);
    if (asked->stream == NULL) {
        return err->code;
    }
    asked->progress = IN_FLIGHT;
    asked->sent_ms = real_now();
    self->in_flight++;
    (void)kl__stream_set_hook(asked->stream, &hook);
    return KL_OK;
}

/* Reads what has arrived. KL_OK: that was all; KL_ETIMEOUT: not yet. */
static kl_code read_stream(kl__versions *self, question *asked, kl_error *err)
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
    return code == KL_OK ? kl__client_read_all(asked->stream, MAX_BODY, 0, NULL,
                                               &asked->body, err)
                         : code;
}

/* Moves a question in flight forward. A failed connection is no answer of one
 * group: it ends discovery. */
static kl_code read_question(kl__versions *self, question *asked, kl_error *err)
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

/* ---- all questions ---- */

/* The next version to ask: the group of the name comes first, and what has hung
 * before comes last. NULL: none is left. */
static question *next_question(kl__versions *self)
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

static kl_code open_questions(kl__versions *self, kl_error *err)
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

static kl_code read_questions(kl__versions *self, kl_error *err)
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
static kl_code run_questions(kl__versions *self, kl_error *err)
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

/* ---- the catalogue ---- */

/* Adds what was known of a version without an answer. */
static kl_code add_former(const kl__versions *self, const question *asked,
                          kl_error *err)
{
    const kl__survey *survey = self->survey;
    kl_code code = kl__catalogue_add_unreachable(
        survey->catalogue, asked->group, asked->version, err);

    return code == KL_OK ? kl__catalogue_keep(survey->catalogue, survey->former,
                                              asked->group, asked->version, err)
                         : code;
}

static kl_code add_answer(const kl__versions *self, const question *asked,
                          kl_error *err)
{
    const kl__survey *survey = self->survey;
    kl_doc *doc;
    /* after a 401 there may be new credentials */
    kl_code code = asked->response.status == 401
                       ? kl__discovery_get(survey, asked->target,
                                           "application/json", &doc, err)
                       : kl__discovery_read(asked->target, &asked->response,
                                            &asked->body, &doc, err);

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
static kl_code add_silent(const kl__versions *self, question *asked,
                          kl_error *err)
{
    kl__catalogue *catalogue = self->survey->catalogue;
    kl_code code = add_former(self, asked, err);

    if (asked->progress == IN_FLIGHT &&
        real_now() - asked->sent_ms >= PATIENCE_MS) {
        asked->hung_ms = self->survey->now_ms;
        asked->progress = HUNG; /* its stream is closed by kl__versions_free */
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

static kl_code fill_catalogue(kl__versions *self, kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < self->count; i++) {
        question *asked = &self->questions[i];

        code = asked->progress == ANSWERED ? add_answer(self, asked, err)
                                           : add_silent(self, asked, err);
    }
    return code;
}

kl_code kl__versions_ask(kl__versions *self, kl_error *err)
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
