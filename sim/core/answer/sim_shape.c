/*
 * sim_shape.c - see sim_shape.h.
 */
#include "sim/core/answer/sim_shape.h"

#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_convert.h"
#include "sim/core/table/sim_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The version that the view asks for, if its schema differs. */
static const kl__sim_version *other_version(const kl__sim_view *view)
{
    const kl__sim_version *served = kl__sim_kind_version(
        view->kind, view->api_version, strlen(view->api_version));

    return served != NULL && served->differs ? served : NULL;
}

/* Writes a whole object as the view describes it. */
static void write_whole(const kl__sim_state *state, const kl__sim_view *view,
                        kl__buf *out)
{
    const kl__sim_version *other = other_version(view);
    kl__sim_state *shown = NULL;

    if (other != NULL) {
        shown = kl__sim_state_in(state, view->kind, other, NULL);
    }
    kl__sim_state_write(shown != NULL ? shown : state, view, out);
    out->failed |= other != NULL && shown == NULL;
    kl__sim_state_unref(shown);
}

/* Writes the start of a list or object, without its closing brace. */
static void write_kind(const kl__sim_answer *answer, const char *kind,
                       kl__buf *out)
{
    kl__buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"meta.k8s.io/%s\"",
                   kind, answer->form.version);
}

static void write_partial(const kl__sim_answer *answer,
                          const kl__sim_state *state, int64_t version,
                          kl__buf *out)
{
    write_kind(answer, "PartialObjectMetadata", out);
    kl__buf_puts(out, ",\"metadata\":");
    kl__sim_state_write_metadata(state, version, out);
    kl__buf_putc(out, '}');
}

static void write_cells(const kl__sim_answer *answer, const char *version,
                        const kl_value *root, kl__buf *out)
{
    const kl__sim_table table = {.kind = answer->kind,
                                 .version = version,
                                 .now_ms =
                                     kl__sim_clock_unix(&answer->sim->clock)};

    kl__sim_table_cells(&table, root, out);
}

static void write_row(const kl__sim_answer *answer, const kl__sim_view *view,
                      const kl__sim_state *state, kl__buf *out)
{
    kl__sim_view whole = *view;
    kl_doc *doc = kl_doc_parse(state->text, state->length, NULL);

    if (doc == NULL) {
        out->failed = true;
        return;
    }
    kl__buf_puts(out, "{\"cells\":");
    write_cells(answer, view->api_version, kl_doc_root(doc), out);
    kl_doc_unref(doc);
    kl__buf_puts(out, ",\"object\":");
    switch (answer->form.include) {
    case KL__SIM_INCLUDE_METADATA:
        write_partial(answer, state, view->version, out);
        break;
    case KL__SIM_INCLUDE_NONE:
        kl__buf_puts(out, "null");
        break;
    case KL__SIM_INCLUDE_OBJECT:
        whole.bare = false;
        write_whole(state, &whole, out);
        break;
    }
    kl__buf_putc(out, '}');
}

/* Writes a Table up to its rows. */
static void begin_table(const kl__sim_answer *answer, const char *version,
                        const char *metadata, kl__buf *out)
{
    write_kind(answer, "Table", out);
    kl__buf_printf(out, ",\"metadata\":%s,\"columnDefinitions\":", metadata);
    if (answer->form.is_headless) {
        kl__buf_puts(out, "null");
    } else {
        kl__sim_table_columns(answer->kind, version, out);
    }
    kl__buf_puts(out, ",\"rows\":");
}

static void begin_table_of(const kl__sim_answer *answer,
                           const kl__sim_view *view, int64_t version,
                           kl__buf *out)
{
    char metadata[64];

    snprintf(metadata, sizeof(metadata),
             "{\"resourceVersion\":\"%" PRId64 "\"}", version);
    begin_table(answer, view->api_version, metadata, out);
}

void kl__sim_shape_item(const kl__sim_answer *answer,
                        const kl__sim_state *state, kl__buf *out)
{
    switch (answer->form.shape) {
    case KL__SIM_WHOLE:
    case KL__SIM_DISCOVERY: /* has no objects */
        write_whole(state, &answer->view, out);
        break;
    case KL__SIM_PARTIAL:
    case KL__SIM_PARTIAL_LIST:
        write_partial(answer, state, 0, out);
        break;
    case KL__SIM_TABLE:
        write_row(answer, &answer->view, state, out);
        break;
    }
}

void kl__sim_shape_object(const kl__sim_answer *answer,
                          const kl__sim_view *view, const kl__sim_state *state,
                          kl__buf *out)
{
    switch (answer->form.shape) {
    case KL__SIM_WHOLE:
    case KL__SIM_DISCOVERY:
    case KL__SIM_PARTIAL_LIST:
        write_whole(state, view, out);
        break;
    case KL__SIM_PARTIAL:
        write_partial(answer, state, view->version, out);
        break;
    case KL__SIM_TABLE:
        begin_table_of(answer, view,
                       view->version != 0 ? view->version : state->version,
                       out);
        kl__buf_putc(out, '[');
        write_row(answer, view, state, out);
        kl__buf_puts(out, "]}");
        break;
    }
}

static void write_bare_bookmark(const kl__sim_answer *answer,
                                const kl__sim_view *view, const char *metadata,
                                bool partial, kl__buf *out)
{
    if (partial) {
        write_kind(answer, "PartialObjectMetadata", out);
        kl__buf_putc(out, ',');
    } else {
        kl__sim_write_head(view->kind, view->api_version, out);
    }
    kl__buf_printf(out, "\"metadata\":%s}", metadata);
}

void kl__sim_shape_bookmark(const kl__sim_answer *answer,
                            const kl__sim_view *view, const char *metadata,
                            kl__buf *out)
{
    const kl__sim_form *form = &answer->form;
    bool is_end = strstr(metadata, "initial-events-end") != NULL;

    if (form->shape != KL__SIM_TABLE) {
        write_bare_bookmark(answer, view, metadata,
                            form->shape == KL__SIM_PARTIAL, out);
        return;
    }
    begin_table_of(answer, view, view->version, out);
    kl__buf_puts(out, "[{\"cells\":");
    write_cells(answer, view->api_version, NULL, out);
    kl__buf_puts(out, ",\"object\":");
    if (form->include == KL__SIM_INCLUDE_NONE && !is_end) {
        kl__buf_puts(out, "null");
    } else {
        write_bare_bookmark(answer, view, metadata,
                            form->include != KL__SIM_INCLUDE_OBJECT, out);
    }
    kl__buf_puts(out, "}]}");
}

static bool has_no_rows(const kl__sim_answer *answer)
{
    return answer->form.shape == KL__SIM_TABLE && answer->state_count == 0 &&
           kl__sim_table_is_plain(answer->kind);
}

void kl__sim_shape_begin(const kl__sim_answer *answer, const char *metadata,
                         kl__buf *out)
{
    if (answer->form.shape == KL__SIM_TABLE) {
        begin_table(answer, answer->view.api_version, metadata, out);
        kl__buf_puts(out, has_no_rows(answer) ? "null" : "[");
        return;
    }
    write_kind(answer, "PartialObjectMetadataList", out);
    kl__buf_printf(out, ",\"metadata\":%s,\"items\":[", metadata);
}

void kl__sim_shape_end(const kl__sim_answer *answer, kl__buf *out)
{
    kl__buf_puts(out, has_no_rows(answer) ? "}" : "]}");
}
