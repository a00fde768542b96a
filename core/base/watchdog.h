/*
 * watchdog.h - what specs need of the watchdog beyond the public header.
 */
#ifndef KL_BASE_WATCHDOG_H
#define KL_BASE_WATCHDOG_H

#include "base/clock.h"
#include "kubelua/watchdog.h"

/* As kl_watchdog_start, on that clock, which outlives the watchdog. */
kl_watchdog *kl__watchdog_start(const kl_watchdog_options *options,
                                kl__clock *clock, kl_error *err);

#endif
