/*
 * exec_answer.h - what an exec credential plugin wrote: an ExecCredential, in
 * JSON or YAML, becomes a token or a certificate.
 */
#ifndef KL_CONFIG_EXEC_ANSWER_H
#define KL_CONFIG_EXEC_ANSWER_H

#include "base/buf.h"
#include "config/exec_credential.h"

/* Fills `out`, which is zeroed; to be cleared in any case. KL_ECONFIG with what
 * is wrong with the answer, KL_ENOMEM. */
kl_code kl__exec_answer_read(const kl__exec *exec, const kl__buf *output,
                             kl__exec_credential *out, kl_error *err);

#endif
