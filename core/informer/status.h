/*
 * status.h - an informer's state in words, and the reason why it has not
 * synced.
 */
#ifndef KL_INFORMER_STATUS_H
#define KL_INFORMER_STATUS_H

#include "base/buf.h"
#include "kubelua/informer.h"

/* Appends what an informer that has not synced is doing, and its last error
 * with the remedy, for a message. */
void kl__status_reason(const kl_informer_status *status, kl__buf *out);

/* Fills the plugin fields of a status with the client's exec plugin, if one
 * runs now. The caller has found that the informer has no answer, so the
 * informer waits for the plugin. */
void kl__status_plugin(kl_informer_status *status, kl_client *client);

#endif
