/*
 * sim_list.c - see sim_list.h: LIST. Chooses the version and the page, and
 * writes the list's own members before and after the items. sim_options.c has
 * the rules of the parameters.
 */
#include "sim/core/answer/sim_list.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_plan.h"
#include "sim/core/answer/sim_shape.h"
#include "sim/core/answer/sim_status.h"

#include <inttypes.h>
#include <string.h>

/* One page of a list: what it has to contain, and what was found (without the
 * states, which the answer keeps). */
typedef struct list_page {
    int64_t version;  /* the list's resourceVersion */
    int64_t asked;    /* the version to read; < 0: the latest */
    int64_t limit;    /* 0: none */
    char *start;      /* keys before this one are not in the page */
    char *after;      /* the key before the page, from the token; NULL: none */
    char *last;       /* the last key of the page, if more follow */
    size_t remaining; /* items after the page; 0: the page is the last */
    bool is_exact;    /* exactly version `asked` */
    bool is_continued;
} list_page;

static bool is_equal_text(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static kl_code refuse_expired(kl__sim_answer *answer, const list_page *page,
                              kl_error *err)
{
    static const char too_old[] =
        "The provided continue parameter is too old to display a consistent "
        "list result. You can start a new list without the continue parameter, "
        "or use the continue token in this response to retrieve the remainder "
        "of the results. Continuing with the provided token results in an "
        "inconsistent list - objects that were created, modified, or deleted "
        "between the time the first chunk was returned and now may show up in "
        "the list.";
    kl__sim_status status = {.code = 410, .reason = "Expired"};
    kl__buf token = {0};
    kl_code code;

    if (!page->is_continued) {
        return kl__sim_refuse(
            answer, 410, "Expired", err,
            "The resourceVersion for the provided list is too old.");
    }
    kl__sim_token_write(-1, page->after, &token);
    if (token.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
    }
    status.token = token.bytes;
    memcpy(status.message, too_old, sizeof(too_old));
    code = kl__sim_answer_status(answer, &status, err);
    kl__buf_deinit(&token);
    return code;
}

/* Reads the continue token into the page. False: the answer is a refusal, or an
 * error (*code). */
static bool take_token(list_page *page, kl__sim_answer *answer,
                       const kl__sim_options *options, kl_code *code,
                       kl_error *err)
{
    const char *name_space = answer->selection.name_space;
    kl__sim_token token;
    kl_error why;

    *code = kl__sim_token_read(options->token, &token, &why);
    if (*code == KL_ENOMEM) {
        *code = kl_error_set(err, KL_ENOMEM, "%s", why.message);
        return false;
    }
    if (*code == KL_OK && options->at != 0) {
        kl__free(token.start);
        *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                               "specifying resource version is not allowed "
                               "when using continue");
        return false;
    }
    if (*code != KL_OK) {
        *code =
            kl__sim_refuse(answer, 400, "BadRequest", err, "%s", why.message);
        return false;
    }
    page->is_continued = true;
    page->is_exact = token.version > 0;
    page->asked = token.version;
    /* No key contains a byte 1, so this text sorts directly after the last
     * key. */
    page->start = name_space != NULL
                      ? kl__strprintf("%s/%s\001", name_space, token.start)
                      : kl__strprintf("%s\001", token.start);
    page->after = token.start;
    return true;
}

/* True if a list selects one object by its name; such a list has no pages. */
static bool is_of_one(const kl__sim_answer *answer)
{
    const kl__sim_selection *selection = &answer->selection;
    bool is_everywhere = kl__sim_kind_is(answer->kind, KL__SIM_NAMESPACED) &&
                         selection->name_space == NULL;

    for (size_t i = 0; i < selection->term_count && !is_everywhere; i++) {
        if (selection->terms[i].field == KL__SIM_TERM_NAME &&
            selection->terms[i].equals) {
            return true;
        }
    }
    return false;
}

/* Fills the page from the options. False: the answer is a refusal, or an error
 * (*code). */
static bool plan_page(list_page *page, kl__sim_answer *answer,
                      const kl__sim_options *options, kl_code *code,
                      kl_error *err)
{
    const char *name_space = answer->selection.name_space;

    page->limit = options->limit > 0 ? options->limit : 0;
    page->asked = -1;
    if (*options->token != '\0') {
        if (!take_token(page, answer, options, code, err)) {
            return false;
        }
    } else {
        page->start = name_space != NULL ? kl__strprintf("%s/", name_space)
                                         : kl__strdup("");
        if (options->at != 0) {
            page->asked = options->at;
            page->is_exact = is_equal_text(options->match, "Exact") ||
                             (*options->match == '\0' && page->limit != 0);
        }
    }
    if (is_equal_text(options->version, "0") || is_of_one(answer)) {
        page->limit = 0; /* from version 0 the watch cache ignores limit */
    }
    if (page->start == NULL) {
        *code = kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        return false;
    }
    return true;
}

/* True while a state is in the collection that is listed. */
static bool is_within(const char *name_space, const kl__sim_state *state)
{
    return name_space == NULL ||
           (kl__sim_state_namespace(state) == strlen(name_space) &&
            memcmp(state->key, name_space, strlen(name_space)) == 0);
}

/* Keeps the states of the page, and counts those after it. */
static kl_code collect_page(list_page *page, kl__sim_answer *answer,
                            kl__sim_resource *resource, kl_error *err)
{
    const kl__sim_selection *selection = &answer->selection;
    size_t limit = page->limit != 0 ? (size_t)page->limit : SIZE_MAX;
    const kl__sim_state *last = NULL;
    kl__sim_state *state;
    kl__sim_walk walk;

    if (kl__sim_walk_begin(&walk, resource, page->start, page->version, err) !=
        KL_OK) {
        return KL_ENOMEM;
    }
    while ((state = kl__sim_walk_next(&walk)) != NULL &&
           is_within(selection->name_space, state)) {
        if (answer->state_count == limit) {
            page->remaining++;
        } else if (kl__sim_selection_matches(selection, state)) {
            if (kl__sim_answer_keep(answer, state, err) != KL_OK) {
                kl__sim_walk_end(&walk);
                return KL_ENOMEM;
            }
            last = state;
        }
    }
    kl__sim_walk_end(&walk);
    if (page->remaining != 0) {
        page->last =
            kl__strdup(selection->name_space != NULL ? last->name : last->key);
        if (page->last == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        }
    }
    return KL_OK;
}

/* Writes the value of metadata. With a selector (`picky`) it has no
 * remainingItemCount. `sorted`: members in the order of custom resources. */
static void write_metadata(const list_page *page, bool sorted, bool picky,
                           kl__buf *out)
{
    kl__buf_putc(out, '{');
    if (!sorted) {
        kl__buf_printf(out, "\"resourceVersion\":\"%" PRId64 "\"",
                       page->version);
    }
    if (sorted || page->last != NULL) {
        kl__buf_puts(out, sorted ? "\"continue\":\"" : ",\"continue\":\"");
        if (page->last != NULL) {
            kl__sim_token_write(page->version, page->last, out);
        }
        kl__buf_putc(out, '"');
    }
    if (page->last != NULL && !picky) {
        kl__buf_printf(out, ",\"remainingItemCount\":%zu", page->remaining);
    }
    if (sorted) {
        kl__buf_printf(out, ",\"resourceVersion\":\"%" PRId64 "\"",
                       page->version);
    }
    kl__buf_putc(out, '}');
}

/* Writes the start and end of a list of metadata or rows. */
static kl_code frame_shape(const list_page *page, kl__sim_answer *answer,
                           bool picky, kl_error *err)
{
    kl__buf metadata = {0};
    bool failed;

    write_metadata(page, false, picky, &metadata);
    if (!metadata.failed) {
        kl__sim_shape_begin(answer, metadata.bytes, &answer->out);
    }
    kl__sim_shape_end(answer, &answer->tail);
    failed = metadata.failed || answer->out.failed || answer->tail.failed;
    kl__buf_deinit(&metadata);
    return !failed ? KL_OK
                   : kl_error_set(err, KL_ENOMEM, "out of memory for a list");
}

/* Writes the text before the items, and keeps the text after them in
 * answer->tail. */
static kl_code frame_list(const list_page *page, kl__sim_answer *answer,
                          const kl__sim_kind *kind, kl_error *err)
{
    const char *version = answer->ask.route.version;
    const char *slash = *kind->group != '\0' ? "/" : "";
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);
    bool picky = kl__sim_selection_is_picky(&answer->selection);

    if (answer->form.shape == KL__SIM_PARTIAL) {
        kl__sim_answer_drop(answer);
        return kl__sim_refuse_shape(answer, true, err);
    }
    answer->view = (kl__sim_view){answer->kind, version, !is_custom, 0};
    kl__sim_answer_json(answer, 200);
    if (answer->form.shape != KL__SIM_WHOLE) {
        return frame_shape(page, answer, picky, err);
    }
    if (is_custom) {
        kl__buf_printf(&answer->out, "{\"apiVersion\":\"%s%s%s\",\"items\":[",
                       kind->group, slash, version);
        kl__buf_printf(&answer->tail,
                       "],\"kind\":\"%s\",\"metadata\":", kind->list_kind);
        write_metadata(page, true, picky, &answer->tail);
        kl__buf_puts(&answer->tail, "}");
    } else {
        kl__buf_printf(&answer->out,
                       "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\","
                       "\"metadata\":",
                       kind->list_kind, kind->group, slash, version);
        write_metadata(page, false, picky, &answer->out);
        kl__buf_puts(&answer->out, ",\"items\":[");
        kl__buf_puts(&answer->tail, "]}");
    }
    return !answer->out.failed && !answer->tail.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a list");
}

static kl_code list_resource(list_page *page, kl__sim_answer *answer,
                             kl__sim_resource *resource, kl_error *err)
{
    kl_sim *sim = answer->sim;
    kl_code code;

    if (page->asked > sim->version) {
        kl__sim_status status = {0};

        if (kl__sim_answer_await(answer, page->asked)) {
            return KL_OK;
        }
        kl__sim_status_too_large(&status, page->asked, sim->version);
        return kl__sim_answer_status(answer, &status, err);
    }
    page->version = page->is_exact ? page->asked : sim->version;
    if (page->version < resource->floor || kl__sim_plan_expires(answer)) {
        return refuse_expired(answer, page, err);
    }
    code = collect_page(page, answer, resource, err);
    return code == KL_OK ? frame_list(page, answer, answer->kind, err) : code;
}

kl_code kl__sim_list(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err)
{
    kl__sim_options options;
    list_page page = {0};
    kl_code code = KL_OK;

    if (kl__sim_options_read(&options, answer, resource->kind, false, &code,
                             err) &&
        plan_page(&page, answer, &options, &code, err)) {
        code = list_resource(&page, answer, resource, err);
    }
    kl__free(page.start);
    kl__free(page.after);
    kl__free(page.last);
    return code;
}

kl_code kl__sim_list_kept(kl__sim_answer *answer, const kl__sim_kind *kind,
                          kl_error *err)
{
    list_page page = {.version = answer->sim->version};

    return frame_list(&page, answer, kind, err);
}
