/*
 * exec_answer.h - parses the output of an exec credential plugin: an
 * ExecCredential in JSON or YAML, with a token or a certificate.
 */
#ifndef KL_CONFIG_EXEC_ANSWER_H
#define KL_CONFIG_EXEC_ANSWER_H

#include "base/buf.h"
#include "config/exec_credential.h"

/* Fills `out`, which is zeroed before; the caller clears it, also after a
 * failure. KL_ECONFIG: the message says what is wrong with the output;
 * KL_ENOMEM. */
kl_code kl__exec_answer_read(const kl__exec *exec, const kl__buf *output,
                             kl__exec_credential *out, kl_error *err);

#endif
