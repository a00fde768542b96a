/*
 * discovery_versions.c - asks for groups and versions one by one: some streams
 * are open at a time, are read as the transport brings news, and the next ones
 * are opened, so a version that hangs costs only its own resources. The
 * catalogue is filled at the end, in order. See discovery_versions.h.
 */
#include "api/discovery_versions.h"

#include "api/discovery_parse.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

enum {
    AT_ONCE = 16, /* versions that are in flight */
    MOST = 5000,
    MAX_BODY = 4 * 1024 * 1024,
    MAX_BODIES = 64 * 1024 * 1024,
    SHARE_MS = 5000,    /* the time of one version */
    PATIENCE_MS = 1000, /* the same for one that hung before; or once the group
                           of the name has answered */
    REST_MS = 30000 /* a version that hung is not asked again so long, unless
                       the name that is looked up names its group */
};

typedef enum progress {
    UNASKED,
    IN_FLIGHT,
    HUNG,
    ANSWERED,
    ASKED_AGAIN /* after a 401 */
} progress;

/* The request for one version. */
typedef struct question {
    const char *group, *version; /* borrowed */
    char *target;                /* NULL before it is asked */
    progress progress;
    bool is_wanted;  /* the name that is looked up names this group */
    int64_t hung_ms; /* when it hung, on the catalogue's clock; -1: never */
    kl__document document;
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
    bool is_asked;   /* all have answered or hang: the catalogue is filled */
    size_t filled;   /* so many of them are in it */
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
    }
    return self;
}

void kl__versions_free(kl__versions *self)
{
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < self->count; i++) {
        kl__document_clear(&self->questions[i].document, self->survey);
        kl__free(self->questions[i].target);
    }
    kl__free(self->questions);
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

static bool reserve_question(kl__versions *self)
{
    size_t capacity = self->capacity != 0 ? self->capacity * 2 : 64;
    question *questions;

    if (self->count < self->capacity) {
        return true;
    }
    questions = kl__realloc(self->questions, capacity * sizeof(*questions));
    if (questions == NULL) {
        return false;
    }
    self->questions = questions;
    self->capacity = capacity;
    return true;
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
    if (!reserve_question(self)) {
        return set_no_memory(err);
    }
    added = &self->questions[self->count++];
    *added = (question){
        .group = group,
        .version = version,
        .is_wanted = is_of_group(survey, group),
        .hung_ms = kl__catalogue_hung_ms(survey->former, group, version),
        .document = {
            .accept = "application/json", .limit = MAX_BODY, .is_brief = true}};
    if (!added->is_wanted && added->hung_ms >= 0 &&
        survey->now_ms - added->hung_ms < REST_MS) {
        added->progress = HUNG;
    }
    self->wanted_left += added->is_wanted ? 1 : 0;
    self->is_named = self->is_named || added->is_wanted;
    return KL_OK;
}

/* When the time of a question in flight is over. */
static int64_t end_of_share(const kl__versions *self, const question *asked)
{
    bool is_short =
        asked->hung_ms >= 0 || (self->is_named && self->wanted_left == 0);

    return asked->document.sent.began_ms +
           (is_short && !asked->is_wanted ? PATIENCE_MS : SHARE_MS);
}

/* ---- asking ---- */

/* Asks for a version. */
static kl_code open_question(kl__versions *self, question *asked, kl_error *err)
{
    kl__buf target = {0};
    kl_code code;

    kl__buf_printf(&target, "%s%s/%s",
                   asked->group[0] != '\0' ? "/apis/" : "/api", asked->group,
                   asked->version);
    asked->target = kl__buf_take(&target, NULL);
    if (asked->target == NULL) {
        return set_no_memory(err);
    }
    asked->document.target = asked->target;
    code = kl__document_ask(&asked->document, self->survey, err);
    if (code == KL_OK) {
        asked->progress = IN_FLIGHT;
        self->in_flight++;
    }
    return code;
}

static void end_question(kl__versions *self, question *asked, progress result)
{
    kl__document_close(&asked->document, self->survey);
    asked->progress = result;
    self->in_flight--;
    self->wanted_left -= asked->is_wanted ? 1 : 0;
}

/* Moves a question in flight forward. A failed connection is no answer of one
 * group: it ends discovery. */
static kl_code read_question(kl__versions *self, question *asked, kl_error *err)
{
    if (!kl__document_take(&asked->document, self->survey, err)) {
        if (real_now() >= end_of_share(self, asked)) {
            asked->hung_ms = self->survey->now_ms;
            end_question(self, asked, HUNG);
        }
        return KL_OK;
    }
    end_question(self, asked, ANSWERED);
    self->bytes += asked->document.body.length;
    if (err->code == KL_OK && self->bytes > MAX_BODIES) {
        kl_error_set(err, KL_ETOO_LARGE,
                     "discovery: the answers are larger than %d bytes",
                     MAX_BODIES);
    }
    return err->code;
}

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

/* Asks until all have answered or hang, or the deadline is over. False: it goes
 * on when there is news. */
static bool ask_questions(kl__versions *self, kl_error *err)
{
    const kl__survey *survey = self->survey;
    size_t in_flight;

    do {
        err->code = open_questions(self, err);
        in_flight = self->in_flight;
        if (err->code == KL_OK && in_flight != 0) {
            err->code = read_questions(self, err);
        }
        if (err->code == KL_OK && kl__cancel_fired(survey->cancel)) {
            kl_error_set(err, KL_ECANCELED, "the call was cancelled");
        }
        if (err->code != KL_OK || in_flight == 0 ||
            real_now() >= survey->deadline_ms) {
            return true;
        }
    } while (self->in_flight != in_flight);
    return false;
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

/* Adds the answer of a version; `err->code` says how that was read. */
static kl_code add_answer(const kl__versions *self, const question *asked,
                          kl_error *err)
{
    kl_doc *doc = NULL;
    kl_code code = err->code;

    if (code == KL_OK) {
        code = kl__document_parse(&asked->document, &doc, err);
    }
    if (code == KL_OK) {
        code = kl__discovery_add_version(self->survey->catalogue, asked->group,
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
        real_now() - asked->document.sent.began_ms >= PATIENCE_MS) {
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

/* After a 401 there may be new credentials: asks once more. False: it has not
 * answered yet. */
static bool ask_again(kl__versions *self, question *asked, kl_error *err)
{
    if (asked->progress == ANSWERED) {
        asked->progress = ASKED_AGAIN;
        err->code = kl__document_ask(&asked->document, self->survey, err);
    }
    return err->code != KL_OK ||
           kl__document_take(&asked->document, self->survey, err) ||
           real_now() >= self->survey->deadline_ms;
}

/* Adds one version. False: it has not answered yet. */
static bool add_version(kl__versions *self, question *asked, kl_error *err)
{
    bool was_refused =
        asked->progress == ANSWERED && asked->document.response.status == 401;

    if (was_refused || asked->progress == ASKED_AGAIN) {
        if (!ask_again(self, asked, err)) {
            return false;
        }
    }
    err->code = asked->progress >= ANSWERED ? add_answer(self, asked, err)
                                            : add_silent(self, asked, err);
    return true;
}

bool kl__versions_step(kl__versions *self, kl_error *err)
{
    err->code = KL_OK;
    self->is_asked = self->is_asked || ask_questions(self, err);
    if (!self->is_asked) {
        return false;
    }
    while (err->code == KL_OK && self->filled < self->count) {
        if (!add_version(self, &self->questions[self->filled], err)) {
            err->code = KL_OK;
            return false;
        }
        self->filled++;
    }
    return true;
}

static int64_t earlier(int64_t one, int64_t other)
{
    return other >= 0 && other < one ? other : one;
}

int64_t kl__versions_look_again_ms(const kl__versions *self)
{
    int64_t until_ms = self->survey->deadline_ms;

    for (size_t i = 0; i < self->count; i++) {
        const question *asked = &self->questions[i];
        bool is_new = asked->progress == IN_FLIGHT && !self->is_asked;

        if (is_new || asked->progress == ASKED_AGAIN) {
            until_ms =
                earlier(until_ms, kl__document_look_again_ms(&asked->document));
        }
        if (is_new) {
            until_ms = earlier(until_ms, end_of_share(self, asked));
        }
    }
    return until_ms;
}
