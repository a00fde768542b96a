/*
 * kubeconfigs.h - kubeconfigs for specs: written, loaded, refused; and those
 * whose user runs an exec credential plugin, a small shell script.
 */
#ifndef KL_SPEC_KUBECONFIGS_H
#define KL_SPEC_KUBECONFIGS_H

#include "base/buf.h"
#include "kubelua/config.h"

/* "-----BEGIN CERTIFICATE-----\n" in base64. */
#define KUBECONFIG_PEM "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

/* One test in a temporary folder, see temp_files.h. */
#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, temp_files_setup, temp_files_teardown)

/* Loads a config; if that fails, fails the test with its message. */
kl_config *config_load(const kl_config_options *options);

/* Asserts that loading fails with KL_ECONFIG and a message that contains the
 * text. */
void assert_config_error(const kl_config_options *options, const char *message);

/* Writes a kubeconfig with one context, of a cluster "c" and a user "u", both
 * given as YAML maps on one line. Returns its path. */
const char *kubeconfig_write(const char *cluster, const char *user);

/* kubeconfig_write, then assert_config_error for that file. */
void assert_entry_error(const char *cluster, const char *user,
                        const char *message);

/* ---- plugins ---- */

#define PLUGIN_CLUSTER "{server: \"https://s:6443\"}"
#define PLUGIN_V1 "client.authentication.k8s.io/v1"

/* The JSON of an ExecCredential with that status. */
#define PLUGIN_ANSWER(status)                                  \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" PLUGIN_V1 \
    "\",\"status\":{" status "}}"

/* A config whose user runs the script "plugin" in the temporary folder, with
 * that body; each run adds a line to the file "runs". `more`: further fields of
 * "exec", after a comma. */
kl_config *plugin_config(const char *body, const char *more);

/* The same with a script that prints an ExecCredential with that status. */
kl_config *plugin_answering(const char *status);

/* Asserts that a request gets one header, with this value. */
void assert_authorization(kl_config *config, const char *value);

/* Asserts that getting credentials fails with that code and message; takes the
 * config. */
void assert_credentials_refused(kl_config *config, kl_code code,
                                const char *message);

/* The content of a file in the folder; owned by the caller. */
kl__buf temp_read(const char *name);

#endif
