/*
 * link.h - one connection of load.c: the part of HTTP/1.1 that two servers
 * need.
 */
#ifndef BENCH_LINK_H
#define BENCH_LINK_H

#include <stdbool.h>
#include <stddef.h>

typedef struct link link_t;

typedef struct link_target {
    bool has_tls;
    char host[64];
    char port[8];
    const char *token; /* "": none */
} link_target;

/* False: no URL of the form http[s]://host:port. */
bool link_parse(link_target *target, const char *url, const char *token);

link_t *link_open(const link_target *target); /* NULL: it fails */
void link_close(link_t *link);
int link_fd(const link_t *link);

bool link_send(link_t *link, const char *method, const char *path,
               const char *body);
/* Reads one whole HTTP response; returns the status and the body's length. */
bool link_receive(link_t *link, int *status, size_t *length);
/* Reads the head of a stream, which must be a 200. */
bool link_begin(link_t *link);
/* True if bytes were read that link_lines has not seen yet. */
bool link_has_more(const link_t *link);
/* Reads once what has arrived of a stream, and counts its events (lines of
 * JSON, not those of chunks). False: the stream has ended. */
bool link_lines(link_t *link, size_t *lines);

#endif
