/*
 * informer.h (internal) - an informer over a source of one's own, shared with
 * nobody: for specs, and for what is not read through a client.
 */
#ifndef KL_INFORMER_INFORMER_H
#define KL_INFORMER_INFORMER_H

#include "api/list_watch.h"
#include "base/clock.h"
#include "kubelua/informer.h"

/* Takes the source, also when it fails. `clock`: NULL is the real one. Of the
 * options `resource` is its name, and scope and selectors do not matter. The
 * handle is like any other. NULL: KL_ENOMEM, KL_EIO. */
kl_informer *kl__informer_over(kl__list_watch *source, kl__clock *clock,
                               const kl_informer_options *options,
                               kl_error *err);

#endif
