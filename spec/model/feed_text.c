/*
 * feed_text.c - see feed_text.h.
 */
#include "feed_text.h"

#include "server.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int64_t feed_text_version(const char *text, const char **after)
{
    static const char name[] = "\"resourceVersion\"";
    const char *found = strstr(text, name);

    if (found == NULL) {
        return -1;
    }
    found += sizeof(name) - 1;
    found += strspn(found, " \t\r\n:\"");
    if (after != NULL) {
        *after = found;
    }
    return server_real_version(strtoll(found, NULL, 10));
}

char *feed_text_end(char *text)
{
    char open[32];
    bool is_string = false;
    size_t depth = 0;

    for (; *text != '\0'; text++) {
        if (is_string && *text == '\\' && text[1] != '\0') {
            text++;
        } else if (*text == '"') {
            is_string = !is_string;
        } else if (!is_string && (*text == '{' || *text == '[')) {
            open[depth++ % sizeof(open)] = *text == '{' ? '}' : ']';
        } else if (!is_string && (*text == '}' || *text == ']')) {
            if (*text != open[--depth % sizeof(open)]) {
                return NULL;
            }
            if (depth == 0) {
                return text + 1;
            }
        }
    }
    return NULL;
}
