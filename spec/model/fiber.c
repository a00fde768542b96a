/*
 * fiber.c - see fiber.h. A jump saves on the stack the registers that a called
 * function must keep, and exchanges the stack pointers. It needs no system
 * call, unlike swapcontext, which is used on processors other than x86-64 and
 * AArch64.
 */
#include "fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK_SIZE = 1024 * 1024 };
#else
enum { STACK_SIZE = 256 * 1024 };
#endif

#if defined(__x86_64__)
void exchange_stacks(void **from, void *to);
__asm__(".text\n"
        ".type exchange_stacks, @function\n"
        "exchange_stacks:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size exchange_stacks, . - exchange_stacks\n");

/* Prepares a stack that looks as if `entry` had been interrupted before its
 * first instruction. */
static void prepare(fiber *self, void (*entry)(void))
{
    uint64_t *top = (uint64_t *)((char *)self->stack + self->size) - 3;

    memset(top - 7, 0, 10 * sizeof(*top));
    top[-1] = (uint64_t)(uintptr_t)entry;
    self->at = top - 7;
}
#elif defined(__aarch64__)
void exchange_stacks(void **from, void *to);
__asm__(".text\n"
        ".type exchange_stacks, %function\n"
        "exchange_stacks:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size exchange_stacks, . - exchange_stacks\n");

static void prepare(fiber *self, void (*entry)(void))
{
    uint64_t *top = (uint64_t *)((char *)self->stack + self->size) - 20;

    memset(top, 0, 20 * sizeof(*top));
    top[11] = (uint64_t)(uintptr_t)entry; /* x30: ret jumps to it */
    self->at = top;
}
#else
#include <ucontext.h>

/* `at` points to a ucontext_t, made once for each fiber and kept. */
static ucontext_t *context_of(void **at)
{
    if (*at == NULL) {
        *at = calloc(1, sizeof(ucontext_t));
        if (*at == NULL) {
            abort();
        }
    }
    return *at;
}

static void exchange_stacks(void **from, void *to)
{
    swapcontext(context_of(from), to);
}

static void prepare(fiber *self, void (*entry)(void))
{
    ucontext_t *context = context_of(&self->at);

    getcontext(context);
    context->uc_stack.ss_sp = self->stack;
    context->uc_stack.ss_size = self->size;
    makecontext(context, entry, 0);
}
#endif

void fiber_make(fiber *self, void (*entry)(void))
{
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);

    if (self->stack == NULL) {
        char *block = mmap(NULL, guard + STACK_SIZE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

        if (block == MAP_FAILED || mprotect(block, guard, PROT_NONE) != 0) {
            abort();
        }
        self->stack = block + guard;
        self->size = STACK_SIZE;
    }
#ifdef HAS_ASAN
    __asan_unpoison_memory_region(self->stack, self->size);
    self->fake_stack = NULL;
#endif
    prepare(self, entry);
}

void fiber_jump(fiber *from, fiber *to)
{
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->size);
#endif
    exchange_stacks(&from->at, to->at);
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

void fiber_begun(fiber *from)
{
#ifdef HAS_ASAN
    const void *stack;
    size_t size;

    __sanitizer_finish_switch_fiber(NULL, &stack, &size);
    /* the process's own stack: the sanitizer tells its bounds */
    if (from->stack == NULL) {
        from->stack = (void *)(uintptr_t)stack;
        from->size = size;
    }
#else
    (void)from;
#endif
}
