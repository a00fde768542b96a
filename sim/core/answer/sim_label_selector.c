/*
 * sim_label_selector.c - says why a label selector does not parse, in
 * kube-apiserver's words (sim_labels.h). It reads the selector a second time,
 * only to find the first fault; kl_selector_parse is the parser that requests
 * use.
 */
#include "sim/core/answer/sim_labels.h"

#include "base/buf.h"
#include "object/selector.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct reading {
    const char *at; /* the current token */
    size_t length;  /* its length; 0 at the end */
    char *message;
    size_t size;
} reading;

static void advance_token(reading *self)
{
    static const char space[] = " \t\r\n";

    self->at += self->length;
    self->at += strspn(self->at, space);
    self->length = strcspn(self->at, " \t\r\n=!(),<>");
    if (self->length == 0 && *self->at != '\0') {
        bool is_pair =
            strncmp(self->at, "==", 2) == 0 || strncmp(self->at, "!=", 2) == 0;

        self->length = is_pair ? 2 : 1;
    }
}

static bool is_current_token(const reading *self, const char *token)
{
    return strlen(token) == self->length &&
           memcmp(self->at, token, self->length) == 0;
}

static bool is_selector_word(const reading *self)
{
    return self->length > 0 && strchr("=!(),<>", *self->at) == NULL;
}

/* Sets the message "found ..., expected ..."; returns false. */
static bool report_found(const reading *self, bool in_requirement,
                         const char *expected)
{
    snprintf(self->message, self->size, "%sfound '%.*s'%s",
             in_requirement ? "unable to parse requirement: " : "",
             (int)self->length, self->at, expected);
    return false;
}

/* Sets the message for an invalid key or value; returns false. */
static bool report_invalid(const reading *self, const char *path,
                           const char *text, const kl__sim_faults *faults)
{
    size_t used = (size_t)snprintf(self->message, self->size,
                                   "unable to parse requirement: %s: Invalid "
                                   "value: \"%.100s\": ",
                                   path, text);

    for (size_t i = 0; i < faults->count && used < self->size; i++) {
        used += (size_t)snprintf(self->message + used, self->size - used,
                                 "%s%s", i > 0 ? "; " : "", faults->texts[i]);
    }
    return false;
}

/* Copies the current word, cut if it is too long. */
static void take_word(const reading *self, char *word, size_t size)
{
    snprintf(word, size, "%.*s", (int)self->length, self->at);
}

static bool check_value(const reading *self, const char *key)
{
    char value[512], path[600];
    kl__sim_faults faults;

    take_word(self, value, sizeof(value));
    faults = kl__sim_value_faults(value);
    if (faults.count == 0) {
        return true;
    }
    snprintf(path, sizeof(path), "values[0][%s]", key);
    return report_invalid(self, path, value, &faults);
}

static bool read_set(reading *self, const char *key)
{
    advance_token(self);
    if (!is_current_token(self, "(")) {
        return report_found(self, true, " expected: '('");
    }
    advance_token(self);
    if (is_current_token(self, ")")) {
        return true;
    }
    if (!is_selector_word(self) && !is_current_token(self, ",")) {
        return report_found(self, true, ", expected: ',', ')' or identifier");
    }
    while (!is_current_token(self, ")")) {
        if (is_selector_word(self)) {
            if (!check_value(self, key)) {
                return false;
            }
            advance_token(self);
            if (!is_current_token(self, ",") && !is_current_token(self, ")")) {
                return report_found(self, true, ", expected: ',' or ')'");
            }
        } else if (!is_current_token(self, ",")) {
            return report_found(self, true, ", expected: ',', or identifier");
        }
        if (is_current_token(self, ",")) {
            advance_token(self);
        }
    }
    return true;
}

static bool read_exact(reading *self, const char *key, bool is_bound)
{
    static const kl__sim_faults no_integer = {
        {"for 'Gt', 'Lt' operators, the value must be an integer"}, 1};
    char value[512] = "";
    int64_t number;
    reading next = *self;

    advance_token(&next);
    if (next.length > 0 && !is_current_token(&next, ",")) {
        *self = next;
        if (!is_selector_word(self)) {
            return report_found(self, true, ", expected: identifier");
        }
        take_word(self, value, sizeof(value));
    }
    if (is_bound && !kl__label_integer(value, &number)) {
        return report_invalid(self, "values[0]", value, &no_integer);
    }
    return *value == '\0' || check_value(self, key);
}

static bool read_operation(reading *self, const char *key)
{
    if (is_current_token(self, "in") || is_current_token(self, "notin")) {
        return read_set(self, key);
    }
    if (is_current_token(self, "=") || is_current_token(self, "==") ||
        is_current_token(self, "!=")) {
        return read_exact(self, key, false);
    }
    if (is_current_token(self, ">") || is_current_token(self, "<")) {
        return read_exact(self, key, true);
    }
    return report_found(self, true, ", expected: in, notin, =, ==, !=, gt, lt");
}

/* Reads one requirement; its last token is then the current one. */
static bool read_requirement(reading *self)
{
    bool negated = is_current_token(self, "!");
    kl__sim_faults faults;
    char key[512];
    reading next;

    if (negated) {
        advance_token(self);
    }
    if (!is_selector_word(self)) {
        return report_found(self, true, ", expected: identifier");
    }
    take_word(self, key, sizeof(key));
    faults = kl__sim_key_faults(key);
    if (faults.count > 0) {
        return report_invalid(self, "<nil>", key, &faults);
    }
    next = *self;
    advance_token(&next);
    if (negated || next.length == 0 || is_current_token(&next, ",")) {
        return true;
    }
    *self = next;
    return read_operation(self, key);
}

void kl__sim_selector_fault(const char *selector, char *message, size_t size)
{
    reading self = {selector, 0, message, size};

    advance_token(&self);
    while (self.length > 0) {
        if (!is_selector_word(&self) && !is_current_token(&self, "!")) {
            report_found(&self, false,
                         ", expected: !, identifier, or 'end of string'");
            return;
        }
        if (!read_requirement(&self)) {
            return;
        }
        advance_token(&self);
        if (self.length == 0) {
            return;
        }
        if (!is_current_token(&self, ",")) {
            report_found(&self, false, ", expected: ',' or 'end of string'");
            return;
        }
        advance_token(&self);
        if (!is_selector_word(&self) && !is_current_token(&self, "!")) {
            report_found(&self, false, ", expected: identifier after ','");
            return;
        }
    }
}
