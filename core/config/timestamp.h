/*
 * timestamp.h - parses the times that Kubernetes writes (RFC 3339).
 */
#ifndef KL_CONFIG_TIMESTAMP_H
#define KL_CONFIG_TIMESTAMP_H

#include "base/for_sim.h"

#include <stdbool.h>
#include <stdint.h>

/* Converts "2030-01-02T03:04:05.678+01:00" to milliseconds since 1970. False:
 * the text has another form. */
KL__FOR_SIM bool kl__timestamp_parse(const char *text, int64_t *ms);

/* The wall clock's time, in milliseconds since 1970. */
int64_t kl__timestamp_now(void);

#endif
