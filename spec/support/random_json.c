/*
 * random_json.c - see random_json.h.
 */
#include "random_json.h"

#include "xorshift.h"

#include <stdbool.h>
#include <string.h>

const char *const random_json_names[] = {
    "\"a\"",
    "\"b\"",
    "\"\"",
    "\"nodeName\"",
    "\"\\u0061\"",
    "\"a\\u0000b\"",
    "\"\\\"}\"",
    "\"\\\\\"",
    "\"a.b/c\"",
    "\"\\ud83d\\ude00\"",
    "\"\\u00e9\\n\"",
    "\"\xc3\xa9\\n\"",
    "\"a\\\\\\\"b\"",
    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
    NULL};
const char *const random_json_atoms[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "12",
    "-7",
    "1.5",
    "-0.0",
    "1e3",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "1e400",
    "0.1e-400",
    "123456789012345678901234567890.5",
    "{}",
    "[]",
    "\"\"",
    "\"Running\"",
    "\"a\\\\\"",
    "\"\\\"]}\"",
    "\"\\u0000\"",
    "\"{[{[\"",
    "\"\\b\\f\\n\\r\\t\\/\\\"\\\\\"",
    "\"\\uD83D\\uDE00x\"",
    "\"\xf0\x9f\x98\x80\"",
    "\"\\u20ac\\u00AF\\u007f\"",
    "\"a text that is longer than a block of "
    "64 bytes, with [brackets} in it\"",
    NULL};

static size_t put(char *out, const char *const *from)
{
    size_t count = 0;
    const char *text;

    while (from[count] != NULL) {
        count++;
    }
    text = from[next_random() % count];
    memcpy(out, text, strlen(text));
    return strlen(text);
}

size_t random_json(char *out, size_t room)
{
    bool is_object = next_random() % 2 == 0;
    size_t used = 1;

    if (room < 400 || next_random() % 3 == 0) {
        return put(out, random_json_atoms);
    }
    out[0] = is_object ? '{' : '[';
    while (next_random() % 8 != 0 && room - used > 300) {
        out[used] = ',';
        used += used > 1 ? 1 : 0;
        if (is_object) {
            used += put(out + used, random_json_names);
            out[used++] = ':';
        }
        used += random_json(out + used, (room - used) / 2);
    }
    out[used++] = is_object ? '}' : ']';
    return used;
}
