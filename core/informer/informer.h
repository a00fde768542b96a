/*
 * informer.h (internal) - an informer over a given kl__list_watch instead of a
 * client's, shared with no other handle. The specs use it.
 */
#ifndef KL_INFORMER_INFORMER_H
#define KL_INFORMER_INFORMER_H

#include "api/list_watch.h"
#include "base/clock.h"
#include "informer/shared_informer.h"
#include "kubelua/informer.h"

/* Opens a handle. Takes the source, also when it fails. `clock` NULL: the real
 * one. `options->resource` is only a name; scope and selectors are ignored.
 * NULL: KL_ENOMEM, KL_EIO. */
kl_informer *kl__informer_over(kl__list_watch *source, kl__clock *clock,
                               const kl_informer_options *options,
                               kl_error *err);

/* Fills the figures of the shared informer. False: the handle is closed, or was
 * opened before a fork(). Thread-safe. */
bool kl__informer_figures_get(const kl_informer *informer,
                              kl__informer_figures *figures);

#endif
