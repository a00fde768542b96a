/*
 * sim_accept.c - see sim_accept.h. A real server's router reads Accept too, and
 * refuses with a message of its own; this one refuses with the handler's.
 */
#include "sim/core/answer/sim_accept.h"

#include "sim/core/answer/sim_answer.h"
#include "sim/core/answer/sim_status.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLAUSES = 32 };

/* A text within the header. */
typedef struct accept_word {
    const char *text;
    size_t length;
} accept_word;

typedef struct accept_clause {
    accept_word type;    /* "application" */
    accept_word subtype; /* "json" */
    accept_word parameters;
    double quality;
} accept_clause;

static bool is_word_equal(accept_word word, const char *text)
{
    return word.length == strlen(text) &&
           memcmp(word.text, text, word.length) == 0;
}

static accept_word trim_word(const char *text, size_t length)
{
    while (length != 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length != 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    return (accept_word){text, length};
}

/* Cuts the text before the next `mark` off the rest, and returns it. */
static accept_word cut_word(accept_word *rest, char mark)
{
    const char *end = memchr(rest->text, mark, rest->length);
    size_t length = end != NULL ? (size_t)(end - rest->text) : rest->length;
    accept_word taken = trim_word(rest->text, length);
    size_t used = length + (end != NULL);

    rest->text += used;
    rest->length -= used;
    return taken;
}

/* The next parameter; false at the end. */
static bool take_parameter(accept_word *rest, accept_word *name,
                           accept_word *value)
{
    accept_word pair;

    if (rest->length == 0) {
        return false;
    }
    pair = cut_word(rest, ';');
    *name = cut_word(&pair, '=');
    *value = trim_word(pair.text, pair.length);
    if (value->length >= 2 && value->text[0] == '"') {
        *value = (accept_word){value->text + 1, value->length - 2};
    }
    return true;
}

static accept_clause read_clause(accept_word text)
{
    accept_word media = cut_word(&text, ';'), name, value, rest = text;
    accept_clause read = {.parameters = text, .quality = 1};

    read.type = cut_word(&media, '/');
    read.subtype = trim_word(media.text, media.length);
    if (is_word_equal(read.type, "*") && read.subtype.length == 0) {
        read.subtype = read.type;
    }
    while (take_parameter(&rest, &name, &value)) {
        if (is_word_equal(name, "q")) {
            read.quality = strtod(value.text, NULL);
        }
    }
    return read;
}

/* How specific a clause is (2: no wildcard). Of clauses with the same quality,
 * the most specific comes first. */
static int rank_clause(const accept_clause *clause)
{
    return is_word_equal(clause->type, "*")      ? 0
           : is_word_equal(clause->subtype, "*") ? 1
                                                 : 2;
}

static bool comes_before(const accept_clause *a, const accept_clause *b)
{
    return a->quality != b->quality ? a->quality > b->quality
                                    : rank_clause(a) > rank_clause(b);
}

/* Reads the clauses of the header, the preferred clause first. Returns how
 * many. */
static size_t read_clauses(const char *accept, accept_clause *clauses)
{
    accept_word rest = {accept, strlen(accept)};
    size_t count = 0;

    while (rest.length != 0 && count < MAX_CLAUSES) {
        accept_clause next = read_clause(cut_word(&rest, ','));
        size_t at = count++;

        while (at > 0 && comes_before(&next, &clauses[at - 1])) {
            clauses[at] = clauses[at - 1];
            at--;
        }
        clauses[at] = next;
    }
    return count;
}

/* What the parameters of a clause ask for. */
typedef struct accept_wish {
    bool converts;
    accept_word kind;
    accept_word group;
    accept_word version;
    accept_word stream;
    bool pretty;
} accept_wish;

static accept_wish read_wish(accept_word parameters)
{
    accept_wish wish = {0};
    accept_word name, value;

    while (take_parameter(&parameters, &name, &value)) {
        if (is_word_equal(name, "as")) {
            wish.kind = value;
            wish.converts = true;
        } else if (is_word_equal(name, "g")) {
            wish.group = value;
            wish.converts = true;
        } else if (is_word_equal(name, "v")) {
            wish.version = value;
            wish.converts = true;
        } else if (is_word_equal(name, "stream")) {
            wish.stream = value;
        } else if (is_word_equal(name, "pretty")) {
            wish.pretty = is_word_equal(value, "1");
        }
    }
    return wish;
}

/* The shape that the parameters ask for; false: there is no such shape. */
static bool find_shape(const accept_wish *wish, kl__sim_form *form)
{
    if (!wish->converts) {
        return true;
    }
    if (!is_word_equal(wish->group, "meta.k8s.io") ||
        (!is_word_equal(wish->version, "v1") &&
         !is_word_equal(wish->version, "v1beta1"))) {
        return false;
    }
    form->version = is_word_equal(wish->version, "v1") ? "v1" : "v1beta1";
    if (is_word_equal(wish->kind, "Table")) {
        form->shape = KL__SIM_TABLE;
        return true;
    }
    if (is_word_equal(wish->kind, "PartialObjectMetadata")) {
        form->shape = KL__SIM_PARTIAL;
    } else if (is_word_equal(wish->kind, "PartialObjectMetadataList")) {
        form->shape = KL__SIM_PARTIAL_LIST;
    } else {
        return false;
    }
    return true;
}

static bool fits_clause(const accept_clause *clause, const char *subtype)
{
    return is_word_equal(clause->type, "*")
               ? is_word_equal(clause->subtype, "*")
               : is_word_equal(clause->type, "application") &&
                     (is_word_equal(clause->subtype, "*") ||
                      is_word_equal(clause->subtype, subtype));
}

/* True if an answer can be what the parameters ask for. */
static bool can_be(const accept_wish *wish, unsigned takes, kl__sim_form *form)
{
    if (wish->stream.length != 0 && !is_word_equal(wish->stream, "watch")) {
        return false;
    }
    if ((takes & KL__SIM_GROUPS) != 0 && wish->converts) {
        form->shape = KL__SIM_DISCOVERY;
        return is_word_equal(wish->group, "apidiscovery.k8s.io") &&
               is_word_equal(wish->version, "v2") &&
               is_word_equal(wish->kind, "APIGroupDiscoveryList");
    }
    if ((takes & KL__SIM_SHAPES) == 0) {
        return !wish->converts;
    }
    return find_shape(wish, form);
}

static bool is_parameter_true(const char *text)
{
    static const char *const trues[] = {"1", "t", "T", "true", "TRUE", "True"};

    for (size_t i = 0; i < sizeof(trues) / sizeof(trues[0]); i++) {
        if (strcmp(text, trues[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* True if the answer is to be indented: the parameter `pretty` asks for it, or
 * (without that parameter) User-Agent names curl, Wget or a browser. */
static bool wants_pretty(const kl__sim_ask *ask)
{
    static const char *const people[] = {"curl", "Wget", "Mozilla/5.0"};
    const char *given = kl__sim_parameter_get(ask, "pretty");

    if (given != NULL && *given != '\0') {
        return is_parameter_true(given);
    }
    for (size_t i = 0; i < sizeof(people) / sizeof(people[0]); i++) {
        if (strncmp(ask->user_agent, people[i], strlen(people[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool kl__sim_accept_read(const kl__sim_ask *ask, unsigned takes,
                         kl__sim_form *form)
{
    accept_clause clauses[MAX_CLAUSES];
    size_t count = read_clauses(ask->accept, clauses);

    *form = (kl__sim_form){.version = "v1", .pretty = wants_pretty(ask)};
    if (*ask->accept == '\0') {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const accept_wish wish = read_wish(clauses[i].parameters);
        kl__sim_form tried = *form;

        if (fits_clause(&clauses[i], "json") && can_be(&wish, takes, &tried)) {
            *form = tried;
            form->pretty = form->pretty || wish.pretty;
            return true;
        }
    }
    return false;
}

int kl__sim_accept_subtype(const kl__sim_ask *ask, const char *const *names)
{
    accept_clause clauses[MAX_CLAUSES];
    size_t count = read_clauses(ask->accept, clauses);

    for (size_t i = 0; i < count; i++) {
        for (int at = 0; names[at] != NULL; at++) {
            if (fits_clause(&clauses[i], names[at])) {
                return at;
            }
        }
    }
    return *ask->accept == '\0' ? 0 : -1;
}

void kl__sim_accept_error(kl__sim_answer *answer)
{
    if (!kl__sim_accept_read(&answer->ask, 0, &answer->form)) {
        answer->form.pretty = true; /* no clause fits: indented JSON */
    }
}

static kl_code refuse_accept(kl__sim_answer *answer, unsigned takes,
                             kl_error *err)
{
    return kl__sim_refuse(
        answer, 406, "NotAcceptable", err,
        "only the following media types are accepted: application/json%s",
        (takes & KL__SIM_STREAM) != 0 ? ";stream=watch" : "");
}

static bool read_include(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    static const char *const names[] = {"Metadata", "None", "Object"};
    const char *given = kl__sim_parameter_get(&answer->ask, "includeObject");

    if (given == NULL || *given == '\0') {
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(given, names[i]) == 0) {
            answer->form.include = (kl__sim_include)i;
            return true;
        }
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "Unable to convert to Table as requested: "
                           "includeObject: Invalid value: \"%.100s\": must be "
                           "'Metadata', 'Object', 'None', or empty",
                           given);
    return false;
}

bool kl__sim_accept(kl__sim_answer *answer, unsigned takes, kl_code *code,
                    kl_error *err)
{
    if (!kl__sim_accept_read(&answer->ask, takes, &answer->form)) {
        *code = refuse_accept(answer, takes, err);
        return false;
    }
    return answer->form.shape != KL__SIM_TABLE ||
           read_include(answer, code, err);
}

kl_code kl__sim_refuse_shape(kl__sim_answer *answer, bool is_list,
                             kl_error *err)
{
    return kl__sim_refuse(answer, 406, "NotAcceptable", err,
                          "you requested PartialObjectMetadata%s, but the "
                          "requested object is %s",
                          is_list ? "" : "List",
                          is_list ? "a list" : "not a list");
}
