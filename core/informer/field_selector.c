/*
 * field_selector.c - see field_selector.h. The grammar is that of
 * apimachinery's fields package: field, one of = == !=, value.
 */
#include "informer/field_selector.h"

#include <stdbool.h>
#include <string.h>

/* The length of a term: up to a comma that is not escaped. */
static size_t term_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0' && text[length] != ',') {
        length += text[length] == '\\' && text[length + 1] != '\0' ? 2 : 1;
    }
    return length;
}

/* True if the value is well formed: a backslash stands only before a comma, an
 * equals sign or a backslash. */
static bool is_value(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '=') {
            return false;
        }
        if (text[i] == '\\' &&
            (++i == length || strchr("\\,=", text[i]) == NULL)) {
            return false;
        }
    }
    return true;
}

static bool is_term(const char *text, size_t length)
{
    const char *equals = memchr(text, '=', length);
    size_t field, value;

    if (equals == NULL) {
        return false;
    }
    field = (size_t)(equals - text);
    value = field + 1;
    if (value < length && text[value] == '=') {
        value++;
    } else if (field > 0 && text[field - 1] == '!') {
        field--;
    }
    return field > 0 && memchr(text, '\\', field) == NULL &&
           is_value(text + value, length - value);
}

kl_code kl__field_selector_check(const char *text, kl_error *err)
{
    while (text != NULL && *text != '\0') {
        size_t length = term_length(text);

        if (length > 0 && !is_term(text, length)) {
            return kl_error_set(err, KL_EINVAL,
                                "field selector: \"%.*s\" is not of the form "
                                "field=value or field!=value",
                                (int)(length < 200 ? length : 200), text);
        }
        text += length;
        text += *text == ',';
    }
    return KL_OK;
}
