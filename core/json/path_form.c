/*
 * path_form.c - see path_form.h.
 */
#include "json/path_form.h"

#include <stdio.h>
#include <string.h>

/* A rewrite in progress. `right` has a fixed size, and text that does not fit
 * is cut: it is only used in an error message. */
typedef struct rewriting {
    const char *text;
    const char *at;
    bool is_jsonpath; /* "{.a}", "$.a", ".a": indexes count from 0 */
    bool is_foreign;
    size_t foreign_at;
    char *right;
    size_t size;
    size_t length;
} rewriting;

static void put_byte(rewriting *self, char byte)
{
    if (self->length + 1 < self->size) {
        self->right[self->length++] = byte;
        self->right[self->length] = '\0';
    }
}

static void put_text(rewriting *self, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        put_byte(self, text[i]);
    }
}

static void note_foreign(rewriting *self, const char *at)
{
    if (!self->is_foreign) {
        self->is_foreign = true;
        self->foreign_at = (size_t)(at - self->text);
    }
}

/* The end of a name without quotes. A backslash escapes the byte behind it. */
static const char *end_of_name(const char *at)
{
    while (*at != '\0' && strchr(".[]}", *at) == NULL) {
        at += *at == '\\' && at[1] != '\0' ? 2 : 1;
    }
    return at;
}

/* Writes ["a.b/c"], without the backslashes. */
static void put_quoted(rewriting *self, const char *from, const char *end)
{
    put_text(self, "[\"", 2);
    for (; from < end; from++) {
        if (*from != '\\') {
            put_byte(self, *from);
        }
    }
    put_text(self, "\"]", 2);
}

/* True if the path written so far ends in metadata.labels or
 * metadata.annotations. The values in both are strings, so the rest of the path
 * is one key. */
static bool is_behind_labels(const rewriting *self)
{
    static const char *const maps[] = {"metadata.labels",
                                       "metadata.annotations"};

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        size_t length = strlen(maps[i]);

        if (self->length >= length &&
            strcmp(self->right + self->length - length, maps[i]) == 0 &&
            (self->length == length ||
             self->right[self->length - length - 1] == '.')) {
            return true;
        }
    }
    return false;
}

/* `end` is where a name ends. Behind labels, the name is the beginning of a key
 * with dots, which look like separators: returns the end of the whole key. */
static const char *end_of_label(const rewriting *self, const char *end)
{
    if (!is_behind_labels(self)) {
        return end;
    }
    while (*end == '.') {
        end = end_of_name(end + 1);
    }
    return end;
}

static void put_name(rewriting *self)
{
    const char *name = self->at;
    const char *end = end_of_name(name);
    const char *label_end = end_of_label(self, end);
    const char *backslash = memchr(name, '\\', (size_t)(label_end - name));

    if (label_end != end || backslash != NULL) {
        note_foreign(self, backslash != NULL ? backslash : end);
        put_quoted(self, name, label_end);
    } else {
        put_text(self, self->length > 0 ? "." : "", self->length > 0 ? 1 : 0);
        put_text(self, name, (size_t)(end - name));
    }
    self->at = label_end;
}

/* "[0]" in JSONPath is "[1]" in our form; quotes and * are the same. */
static void put_bracket(rewriting *self)
{
    const char *from = self->at;
    size_t digits = strspn(from + 1, "0123456789");
    char quote = from[1] == '"' || from[1] == '\'' ? from[1] : '\0';
    unsigned number;

    if (self->is_jsonpath && digits > 0 && digits < 9 &&
        sscanf(from + 1, "%u", &number) == 1) {
        char text[16];
        int length = snprintf(text, sizeof(text), "[%u", number + 1);

        put_text(self, text, (size_t)length);
        self->at += 1 + digits;
        return;
    }
    self->at += quote != '\0' ? 2 : 1;
    while (*self->at != '\0' && *self->at != (quote != '\0' ? quote : ']')) {
        self->at += *self->at == '\\' && self->at[1] != '\0' ? 2 : 1;
    }
    self->at += quote != '\0' && *self->at == quote ? 1 : 0;
    put_text(self, from, (size_t)(self->at - from));
}

bool kl__path_is_foreign(const char *text, size_t *at, char *right, size_t size)
{
    rewriting self = {.text = text, .at = text, .right = right, .size = size};

    right[0] = '\0';
    self.at += strspn(text, "{$.");
    if (self.at != text) {
        self.is_jsonpath = true;
        note_foreign(&self, text);
    }
    while (*self.at != '\0') {
        if (*self.at == '[') {
            put_bracket(&self);
        } else if (*self.at == ']') {
            put_byte(&self, *self.at++);
        } else if (*self.at == '.' || *self.at == '}') {
            self.at++;
        } else {
            put_name(&self);
        }
    }
    *at = self.foreign_at;
    return self.is_foreign;
}
