/*
 * indent.c - see indent.h. Strings are copied as they are; all other characters
 * are handled one by one.
 */
#include "sim/core/json/indent.h"

static void begin_line(kl__buf *out, size_t depth)
{
    kl__buf_putc(out, '\n');
    for (size_t i = 0; i < depth; i++) {
        kl__buf_puts(out, "  ");
    }
}

/* The length of the string that begins at `at`, with its quotes. */
static size_t measure_string(const char *at, size_t length)
{
    size_t used = 1;

    while (used < length && at[used] != '"') {
        used += at[used] == '\\' ? 2 : 1;
    }
    return used < length ? used + 1 : length;
}

/* True if the object or array that begins at `at` is empty. */
static bool is_container_empty(const char *at, size_t length)
{
    return length > 1 && (at[1] == '}' || at[1] == ']');
}

void kl__indent(kl__buf *out, const char *json, size_t length)
{
    size_t depth = 0;

    for (size_t i = 0; i < length; i++) {
        size_t string = 0;

        switch (json[i]) {
        case '"':
            string = measure_string(json + i, length - i);
            kl__buf_append(out, json + i, string);
            i += string - 1;
            break;
        case '{':
        case '[':
            kl__buf_putc(out, json[i]);
            if (is_container_empty(json + i, length - i)) {
                kl__buf_putc(out, json[++i]);
            } else {
                begin_line(out, ++depth);
            }
            break;
        case '}':
        case ']':
            depth -= depth != 0;
            begin_line(out, depth);
            kl__buf_putc(out, json[i]);
            break;
        case ',':
            kl__buf_putc(out, ',');
            begin_line(out, depth);
            break;
        case ':':
            kl__buf_puts(out, ": ");
            break;
        default:
            kl__buf_putc(out, json[i]);
            break;
        }
    }
}
