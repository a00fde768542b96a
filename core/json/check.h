/*
 * check.h - the results of checking an object while skip.c searches its end: is
 * it valid JSON, and where do its outermost members begin. The check builds no
 * tree. It does not decide about texts with whitespace or bytes above ASCII:
 * then `is_sure` is false and the caller parses the object with yyjson.
 */
#ifndef KL_JSON_CHECK_H
#define KL_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A Pod has 5 members, and 10 to 15 in its metadata. With more members than
 * fit, `is_sure` is false. */
enum { KL__OUTLINE_KEYS = 48 };

/* The members of an object and of its member "metadata", in the order of the
 * text. */
typedef struct kl__outline {
    /* True: the text is valid JSON and ASCII, has no whitespace outside of
     * strings, and `keys` has all its members. */
    bool is_sure;
    size_t count;
    struct {
        size_t at;  /* offset of the opening quote of the name */
        bool is_in; /* a member of "metadata", not of the object */
    } keys[KL__OUTLINE_KEYS];
} kl__outline;

/* What the check carries from one block to the next. Each mask is 1 or 0 and
 * stands for bit 0 of the next block: 1 if the last byte of this block was what
 * the comment says. */
typedef struct kl__check {
    uint64_t start;  /* a bracket that opens, a colon or a comma */
    uint64_t open;   /* a bracket that opens */
    uint64_t member; /* an opening brace, or a comma in an object */
    uint64_t key;    /* part of a member's name, such as its closing quote */
    uint64_t scalar; /* a byte of a number, or of true, false or null */
    size_t scalar_length;
    uint64_t hex;       /* bits at which \u needs its four digits */
    uint64_t first_hex; /* the first of the four */
} kl__check;

#endif
