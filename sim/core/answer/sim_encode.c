/*
 * sim_encode.c - see sim_encode.h. A list is normally encoded piece by piece
 * while it is read. Indented it is encoded as a whole: this form is for people
 * to read, so such lists are small.
 */
#include "sim/core/answer/sim_encode.h"

#include "sim/core/json/indent.h"
#include "sim/core/answer/sim_shape.h"

#include <stdint.h>
#include <string.h>

enum {
    BATCH = 64 * 1024,         /* a list is made in pieces of this size */
    MIN_GZIP_SIZE = 128 * 1024 /* kube-apiserver compresses no smaller body */
};

/* Writes the next items to `out`, about a batch of them (or all), and after the
 * last one the end of the list. */
static void write_items(kl__sim_answer *answer, size_t limit, kl__buf *out)
{
    while (answer->state_at < answer->state_count && out->length < limit) {
        const kl__sim_state *state = answer->states[answer->state_at];

        kl__buf_puts(out, answer->state_at != 0 ? "," : "");
        kl__sim_shape_item(answer, state, out);
        answer->state_at++;
    }
    if (answer->state_at == answer->state_count && answer->tail.length != 0) {
        kl__buf_append(out, answer->tail.bytes, answer->tail.length);
        kl__buf_puts(out, "\n");
        kl__buf_reset(&answer->tail);
    }
}

static kl_code encode_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

kl_code kl__sim_encode_list(kl__sim_answer *answer, kl_error *err)
{
    kl__buf *out = &answer->out;

    if (answer->gzip == NULL) {
        write_items(answer, BATCH, out);
        return !out->failed ? KL_OK : encode_out_of_memory(err);
    }
    while (out->length == 0 && answer->tail.length != 0) {
        write_items(answer, BATCH, &answer->plain);
        out->failed = out->failed || answer->plain.failed;
        if (out->failed) {
            return encode_out_of_memory(err);
        }
        kl__deflate_add(answer->gzip, answer->plain.bytes, answer->plain.length,
                        answer->tail.length == 0, out);
        kl__buf_reset(&answer->plain);
    }
    return !out->failed ? KL_OK : encode_out_of_memory(err);
}

/* True if the client accepts gzip and the body is large enough. The length of
 * an item in another shape is only known once it is made. */
static bool wants_gzip(kl__sim_answer *answer)
{
    const kl__sim_ask *ask = &answer->ask;
    size_t length = answer->out.length;

    if (ask->is_local || answer->direct ||
        strstr(ask->accept_encoding, "gzip") == NULL) {
        return false;
    }
    if (answer->form.shape != KL__SIM_WHOLE) {
        write_items(answer, MIN_GZIP_SIZE + 1, &answer->out);
        return answer->out.length > MIN_GZIP_SIZE;
    }
    for (size_t i = 0; i < answer->state_count && length <= MIN_GZIP_SIZE;
         i++) {
        length += answer->states[i]->length;
    }
    return length > MIN_GZIP_SIZE;
}

/* Compresses the bytes that are ready; the rest of a list is compressed while
 * it is read. */
static kl_code begin_gzip(kl__sim_answer *answer, kl_error *err)
{
    kl__buf packed = {0};

    answer->gzip = kl__deflate_new();
    if (answer->gzip == NULL) {
        return encode_out_of_memory(err);
    }
    kl__deflate_add(answer->gzip, answer->out.bytes, answer->out.length,
                    answer->tail.length == 0, &packed);
    kl__buf_deinit(&answer->out);
    answer->out = packed;
    return !packed.failed ? KL_OK : encode_out_of_memory(err);
}

static void write_pretty(const kl__sim_answer *answer, kl__buf *pretty)
{
    size_t length = answer->out.length;

    length -= length != 0 && answer->out.bytes[length - 1] == '\n';
    kl__indent(pretty, answer->out.bytes, length);
}

/* Indents the whole body. */
static kl_code encode_whole(kl__sim_answer *answer, kl_error *err)
{
    kl__buf encoded = {0};

    write_items(answer, SIZE_MAX, &answer->out);
    kl__sim_answer_drop(answer);
    if (answer->out.failed) {
        return encode_out_of_memory(err);
    }
    if (answer->out.length == 0) {
        return KL_OK;
    }
    write_pretty(answer, &encoded);
    if (encoded.failed) {
        kl__buf_deinit(&encoded);
        return encode_out_of_memory(err);
    }
    kl__buf_deinit(&answer->out);
    answer->out = encoded;
    return KL_OK;
}

kl_code kl__sim_encode(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_form *form = &answer->form;
    kl_code code = KL_OK;

    if (answer->watch.resource != NULL ||
        strcmp(answer->content_type, "application/json") != 0) {
        return KL_OK;
    }
    if (form->shape == KL__SIM_DISCOVERY) {
        answer->content_type = "application/json;g=apidiscovery.k8s.io;v=v2;"
                               "as=APIGroupDiscoveryList";
    }
    if (form->pretty) {
        code = encode_whole(answer, err);
    }
    return code == KL_OK && wants_gzip(answer) ? begin_gzip(answer, err) : code;
}
