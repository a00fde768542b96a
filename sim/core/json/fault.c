/*
 * fault.c - see fault.h. A state machine like Go's scanner: it reads byte by
 * byte, and has one state for each place in the grammar. The state that does
 * not allow the next byte decides the message. After the text the machine reads
 * one blank.
 */
#include "sim/core/json/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LEVELS = 10000 /* Go's limit of nesting */ };

typedef enum state {
    VALUE,
    VALUE_OR_END, /* after [ */
    KEY,
    KEY_OR_END, /* after { */
    AFTER_VALUE,
    AFTER_KEY,
    STRING,
    ESCAPE,
    HEX,
    WORD, /* true, false, null */
    MINUS,
    ZERO, /* a leading 0: no digit may follow */
    DIGITS,
    POINT,
    FRACTION,
    EXPONENT,
    EXPONENT_SIGN,
    EXPONENT_DIGITS,
    AFTER_ALL
} state;

typedef struct scan {
    state at;
    bool is_key;      /* the current string is a member's name */
    unsigned hex;     /* digits that \u still needs */
    const char *word; /* the literal that is being read */
    size_t in_word;   /* how many of its bytes have been read */
    size_t depth;
    uint8_t is_array[MOST_LEVELS / 8 + 1]; /* one bit for each level */
    char *out;
} scan;

/* Shows a byte as Go shows a character: Go treats the byte as a code point. */
static void show_byte(char *to, size_t size, unsigned char byte)
{
    static const char escaped[] = "\a\b\t\n\v\f\r\\'";
    static const char letters[] = "abtnvfr\\'";
    const char *found = byte != 0 ? strchr(escaped, byte) : NULL;

    if (found != NULL) {
        snprintf(to, size, "\\%c", letters[found - escaped]);
    } else if (byte < 0x20 || byte == 0x7f) {
        snprintf(to, size, "\\x%02x", byte);
    } else if (byte < 0x7f) {
        snprintf(to, size, "%c", byte);
    } else if (byte <= 0xa0 || byte == 0xad) {
        snprintf(to, size, "\\u%04x", byte);
    } else {
        snprintf(to, size, "%c%c", 0xc0 | byte >> 6, 0x80 | (byte & 0x3f));
    }
}

static bool refuse_byte(scan *self, unsigned char byte, const char *where)
{
    char shown[8];

    show_byte(shown, sizeof(shown), byte);
    snprintf(self->out, KL__JSON_FAULT_SIZE, "invalid character '%s' %s", shown,
             where);
    return false;
}

static bool go_to(scan *self, state next)
{
    self->at = next;
    return true;
}

static bool is_space(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool is_digit(unsigned char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_hex(unsigned char byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'f') ||
           (byte >= 'A' && byte <= 'F');
}

static bool is_in_array(const scan *self)
{
    const size_t level = self->depth - 1;

    return (self->is_array[level / 8] >> level % 8 & 1) != 0;
}

static bool open_level(scan *self, unsigned char byte)
{
    const size_t level = self->depth;
    const uint8_t bit = (uint8_t)(1u << level % 8);

    if (level >= MOST_LEVELS) {
        return refuse_byte(self, byte, "exceeded max depth");
    }
    self->depth++;
    if (byte == '[') {
        self->is_array[level / 8] |= bit;
        return go_to(self, VALUE_OR_END);
    }
    self->is_array[level / 8] &= (uint8_t)~bit;
    return go_to(self, KEY_OR_END);
}

static bool close_level(scan *self)
{
    self->depth--;
    return go_to(self, self->depth > 0 ? AFTER_VALUE : AFTER_ALL);
}

static bool end_value(scan *self)
{
    return go_to(self, self->depth > 0 ? AFTER_VALUE : AFTER_ALL);
}

static bool begin_value(scan *self, unsigned char byte)
{
    static const char *const words[] = {"true", "false", "null"};

    if (byte == '{' || byte == '[') {
        return open_level(self, byte);
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (byte == (unsigned char)*words[i]) {
            self->word = words[i];
            self->in_word = 1;
            return go_to(self, WORD);
        }
    }
    switch (byte) {
    case '"':
        self->is_key = false;
        return go_to(self, STRING);
    case '-':
        return go_to(self, MINUS);
    case '0':
        return go_to(self, ZERO);
    default:
        return is_digit(byte)
                   ? go_to(self, DIGITS)
                   : refuse_byte(self, byte, "looking for beginning of value");
    }
}

static bool begin_key(scan *self, unsigned char byte)
{
    if (byte != '"') {
        return refuse_byte(self, byte,
                           "looking for beginning of object key string");
    }
    self->is_key = true;
    return go_to(self, STRING);
}

/* Takes a byte between values, where white space is allowed. */
static bool take_between(scan *self, unsigned char byte)
{
    if (is_space(byte)) {
        return true;
    }
    switch (self->at) {
    case VALUE_OR_END:
        return byte == ']' ? close_level(self) : begin_value(self, byte);
    case KEY_OR_END:
        return byte == '}' ? close_level(self) : begin_key(self, byte);
    case KEY:
        return begin_key(self, byte);
    case AFTER_KEY:
        return byte == ':' ? go_to(self, VALUE)
                           : refuse_byte(self, byte, "after object key");
    case AFTER_ALL:
        return refuse_byte(self, byte, "after top-level value");
    case AFTER_VALUE:
        if (byte == ',') {
            return go_to(self, is_in_array(self) ? VALUE : KEY);
        }
        if (byte == (is_in_array(self) ? ']' : '}')) {
            return close_level(self);
        }
        return refuse_byte(self, byte,
                           is_in_array(self) ? "after array element"
                                             : "after object key:value pair");
    default:
        return begin_value(self, byte);
    }
}

static bool take_string(scan *self, unsigned char byte)
{
    if (self->at == ESCAPE) {
        self->hex = 4;
        return byte == 'u' ? go_to(self, HEX)
               : byte != '\0' && strchr("bfnrt\\/\"", byte) != NULL
                   ? go_to(self, STRING)
                   : refuse_byte(self, byte, "in string escape code");
    }
    if (self->at == HEX) {
        if (!is_hex(byte)) {
            return refuse_byte(self, byte,
                               "in \\u hexadecimal character escape");
        }
        return --self->hex > 0 || go_to(self, STRING);
    }
    if (byte == '"') {
        return self->is_key ? go_to(self, AFTER_KEY) : end_value(self);
    }
    if (byte == '\\') {
        return go_to(self, ESCAPE);
    }
    return byte >= 0x20 || refuse_byte(self, byte, "in string literal");
}

static bool take_word(scan *self, unsigned char byte)
{
    const char wanted = self->word[self->in_word];
    char where[48];

    if (byte != (unsigned char)wanted) {
        snprintf(where, sizeof(where), "in literal %s (expecting '%c')",
                 self->word, wanted);
        return refuse_byte(self, byte, where);
    }
    self->in_word++;
    return self->word[self->in_word] != '\0' || end_value(self);
}

/* Takes the byte after a number that may end here. */
static bool after_number(scan *self, unsigned char byte)
{
    end_value(self);
    return take_between(self, byte);
}

static bool take_exponent(scan *self, unsigned char byte)
{
    if (self->at == EXPONENT && (byte == '+' || byte == '-')) {
        return go_to(self, EXPONENT_SIGN);
    }
    if (is_digit(byte)) {
        return go_to(self, EXPONENT_DIGITS);
    }
    return self->at == EXPONENT_DIGITS
               ? after_number(self, byte)
               : refuse_byte(self, byte, "in exponent of numeric literal");
}

static bool take_number(scan *self, unsigned char byte)
{
    const bool is_exponent = byte == 'e' || byte == 'E';

    switch (self->at) {
    case MINUS:
        return byte == '0'      ? go_to(self, ZERO)
               : is_digit(byte) ? go_to(self, DIGITS)
                                : refuse_byte(self, byte, "in numeric literal");
    case POINT:
        return is_digit(byte)
                   ? go_to(self, FRACTION)
                   : refuse_byte(self, byte,
                                 "after decimal point in numeric literal");
    case DIGITS:
    case FRACTION:
        if (is_digit(byte)) {
            return true;
        }
        break;
    case ZERO:
        break;
    default:
        return take_exponent(self, byte);
    }
    if (byte == '.' && self->at != FRACTION) {
        return go_to(self, POINT);
    }
    return is_exponent ? go_to(self, EXPONENT) : after_number(self, byte);
}

static bool take_byte(scan *self, unsigned char byte)
{
    switch (self->at) {
    case STRING:
    case ESCAPE:
    case HEX:
        return take_string(self, byte);
    case WORD:
        return take_word(self, byte);
    case MINUS:
    case ZERO:
    case DIGITS:
    case POINT:
    case FRACTION:
    case EXPONENT:
    case EXPONENT_SIGN:
    case EXPONENT_DIGITS:
        return take_number(self, byte);
    default:
        return take_between(self, byte);
    }
}

const char *kl__json_fault(const char *json, size_t length, char *out)
{
    scan self = {.at = VALUE, .out = out};

    for (size_t i = 0; i < length; i++) {
        if (!take_byte(&self, (unsigned char)json[i])) {
            return out;
        }
    }
    if (self.at != AFTER_ALL && !take_byte(&self, ' ')) {
        return out;
    }
    if (self.at == AFTER_ALL) {
        return NULL;
    }
    snprintf(out, KL__JSON_FAULT_SIZE, "unexpected end of JSON input");
    return out;
}
