/*
 * sim_select.c - see sim_select.h.
 */
#include "sim/core/answer/sim_select.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/convert.h"

#include <string.h>

void kl__sim_selection_deinit(kl__sim_selection *selection)
{
    for (size_t i = 0; i < selection->term_count; i++) {
        kl__free(selection->terms[i].value);
    }
    kl__free(selection->terms);
    kl__free(selection->name_space);
    kl_selector_free(selection->labels);
    memset(selection, 0, sizeof(*selection));
}

/* The end of a term: the next comma without a backslash before it. */
static char *term_end(char *text)
{
    while (*text != '\0' && *text != ',') {
        text += *text == '\\' && text[1] != '\0' ? 2 : 1;
    }
    return text;
}

/* Where the operator of a term is; NULL: there is none. */
static char *find_sign(char *term)
{
    for (; *term != '\0'; term++) {
        if (*term == '\\' && term[1] != '\0') {
            term++;
        } else if (*term == '=' || (*term == '!' && term[1] == '=')) {
            return term;
        }
    }
    return NULL;
}

/* Removes the backslashes of escapes. */
static void unescape_text(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        if (*text == '\\' && text[1] != '\0') {
            text++;
        }
        *to++ = *text;
    }
    *to = '\0';
}

/* The index of a field in the stored kind, which may have another name for it;
 * < 0: there is none. */
static int number_of(const kl__sim_selectable *of, const char *name)
{
    const kl__conversion *conversion =
        of->asked == of->stored
            ? NULL
            : kl__convert_find(of->asked->group, of->asked->kind, NULL);
    const kl__sim_field *field = kl__sim_kind_field(of->asked, name);

    if (field != NULL && conversion != NULL && conversion->label != NULL) {
        field = kl__sim_kind_field(of->stored, conversion->label(name));
    }
    return field != NULL ? (int)(field - of->stored->fields) : -1;
}

static kl_code find_field(kl__sim_term *term, const kl__sim_selectable *of,
                          const char *name, kl_error *err)
{
    int number = number_of(of, name);

    if (strcmp(name, "metadata.name") == 0) {
        term->field = KL__SIM_TERM_NAME;
    } else if (strcmp(name, "metadata.namespace") == 0) {
        term->field = KL__SIM_TERM_NAMESPACE;
    } else if (number >= 0) {
        term->field = number;
    } else if (kl__sim_kind_is(of->asked, KL__SIM_OWN_FIELDS)) {
        return kl_error_set(err, KL_EINVAL, "field label not supported: %s",
                            name);
    } else {
        return kl_error_set(err, KL_EINVAL,
                            "\"%s\" is not a known field selector: only "
                            "\"metadata.name\", \"metadata.namespace\"",
                            name);
    }
    return KL_OK;
}

/* Adds one term; `text` is changed. */
static kl_code add_term(kl__sim_selection *selection,
                        const kl__sim_selectable *of, char *text, kl_error *err)
{
    kl__sim_term *term = &selection->terms[selection->term_count];
    char *sign = find_sign(text);
    char *value;

    if (sign == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "invalid selector: '%s'; can't understand '%s'",
                            text, text);
    }
    if (sign == text && sign[*sign == '!' || sign[1] == '=' ? 2 : 1] == '\0') {
        return KL_OK; /* "=" without name and value selects everything */
    }
    term->equals = *sign != '!';
    value = sign + (sign[1] == '=' ? 2 : 1);
    *sign = '\0';
    if (find_field(term, of, text, err) != KL_OK) {
        return KL_EINVAL;
    }
    unescape_text(value);
    term->value = kl__strdup(value);
    if (term->value == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a selector");
    }
    selection->term_count++;
    return KL_OK;
}

kl_code kl__sim_selection_fields(kl__sim_selection *selection,
                                 const kl__sim_selectable *of, const char *text,
                                 kl_error *err)
{
    char *copy = kl__strdup(text);
    size_t most = 1;
    kl_code code = KL_OK;

    for (const char *at = text; *at != '\0'; at++) {
        most += *at == ',';
    }
    selection->terms = kl__calloc(most, sizeof(*selection->terms));
    if (copy == NULL || selection->terms == NULL) {
        kl__free(copy);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a selector");
    }
    for (char *at = copy, *end; code == KL_OK && *at != '\0'; at = end) {
        end = term_end(at);
        if (*end == ',') {
            *end++ = '\0';
        }
        if (*at != '\0') {
            code = add_term(selection, of, at, err);
        }
    }
    kl__free(copy);
    return code;
}

kl_code kl__sim_selection_name(kl__sim_selection *selection, const char *name,
                               kl_error *err)
{
    kl__sim_term *terms =
        kl__realloc(selection->terms,
                    (selection->term_count + 1) * sizeof(*selection->terms));
    char *value = kl__strdup(name);

    if (terms != NULL) {
        selection->terms = terms;
    }
    if (terms == NULL || value == NULL) {
        kl__free(value);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a selector");
    }
    terms[selection->term_count++] =
        (kl__sim_term){KL__SIM_TERM_NAME, true, value};
    return KL_OK;
}

bool kl__sim_selection_is_picky(const kl__sim_selection *selection)
{
    return selection->term_count != 0 ||
           (selection->labels != NULL &&
            !kl_selector_is_empty(selection->labels));
}

static bool term_matches(const kl__sim_term *term, const kl__sim_state *state)
{
    size_t length;

    if (term->field >= 0) {
        /* A state that was stored before its CRD named the field has no value
         * for it. */
        const char *value = (size_t)term->field < state->field_count
                                ? state->fields[term->field]
                                : "";

        return (strcmp(value, term->value) == 0) == term->equals;
    }
    if (term->field == KL__SIM_TERM_NAME) {
        return (strcmp(state->name, term->value) == 0) == term->equals;
    }
    length = kl__sim_state_namespace(state);
    return (strlen(term->value) == length &&
            memcmp(state->key, term->value, length) == 0) == term->equals;
}

bool kl__sim_selection_matches(const kl__sim_selection *selection,
                               const kl__sim_state *state)
{
    const kl_doc *labels = state->labels;

    if (selection->name_space != NULL) {
        size_t length = strlen(selection->name_space);

        if (kl__sim_state_namespace(state) != length ||
            memcmp(state->key, selection->name_space, length) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < selection->term_count; i++) {
        if (!term_matches(&selection->terms[i], state)) {
            return false;
        }
    }
    return selection->labels == NULL ||
           kl_selector_matches(selection->labels,
                               labels != NULL ? kl_doc_root(labels) : NULL);
}
