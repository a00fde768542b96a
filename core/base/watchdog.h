/*
 * watchdog.h - starts a watchdog on a given clock, for specs. Programs use
 * kubelua/watchdog.h.
 */
#ifndef KL_BASE_WATCHDOG_H
#define KL_BASE_WATCHDOG_H

#include "base/clock.h"
#include "kubelua/watchdog.h"

/* As kl_watchdog_start, on `clock`, which must outlive the watchdog. */
kl_watchdog *kl__watchdog_start(const kl_watchdog_options *options,
                                kl__clock *clock, kl_error *err);

#endif
