/*
 * status.h - what the state of an informer is called, and why it is not synced.
 */
#ifndef KL_INFORMER_STATUS_H
#define KL_INFORMER_STATUS_H

#include "base/buf.h"
#include "kubelua/informer.h"

/* Appends, for people, what an informer that has not synced is at, and the last
 * error, which names its remedy. */
void kl__status_reason(const kl_informer_status *status, kl__buf *out);

/* Notes the exec plugin of the client, if it runs now, in the status of an
 * informer that is at something and has no answer: it waits for that. */
void kl__status_plugin(kl_informer_status *status, kl_client *client);

#endif
