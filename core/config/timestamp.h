/*
 * timestamp.h - moments as Kubernetes writes them (RFC 3339).
 */
#ifndef KL_CONFIG_TIMESTAMP_H
#define KL_CONFIG_TIMESTAMP_H

#include "base/for_sim.h"

#include <stdbool.h>
#include <stdint.h>

/* "2030-01-02T03:04:05.678+01:00" as milliseconds since 1970; false: it is not
 * of that form. */
KL__FOR_SIM bool kl__timestamp_parse(const char *text, int64_t *ms);

/* What the wall clock says, in the same unit. */
int64_t kl__timestamp_now(void);

#endif
