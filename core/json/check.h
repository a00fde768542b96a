/*
 * check.h - whether what skip.c runs over is JSON, sixty-four bytes at a time
 * and without a tree, and where its outermost members begin. It may be unsure,
 * of whitespace, of what is not ASCII: then a parser has to say.
 */
#ifndef KL_JSON_CHECK_H
#define KL_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A Pod has five members and 10 to 15 in its metadata; more than fit make it
 * unsure. */
enum { KL__OUTLINE_KEYS = 48 };

/* The members of an object and of its member "metadata", in their order. */
typedef struct kl__outline {
    /* The text is valid JSON, ASCII, without whitespace outside of strings; and
     * every name of a member is among the keys. */
    bool is_sure;
    size_t count;
    struct {
        size_t at;  /* the opening quote of its name */
        bool is_in; /* the object that is the last one's value before it */
    } keys[KL__OUTLINE_KEYS];
} kl__outline;

/* What went before: each is 1 or 0, as bit 0 of the next block sees it. */
typedef struct kl__check {
    uint64_t brace;  /* { */
    uint64_t list;   /* [ */
    uint64_t member; /* a comma in an object */
    uint64_t value;  /* a colon, or a comma in an array */
    uint64_t key;    /* the closing quote of a member's name */
    uint64_t done;   /* of a value that is a string, array or object */
    uint64_t scalar; /* a byte of a number or word */
    size_t scalar_length;
    uint64_t in_key;    /* the string that is open is a member's name */
    uint64_t hex;       /* bits at which \u wants its digits */
    uint64_t first_hex; /* the first of four */
} kl__check;

#endif
