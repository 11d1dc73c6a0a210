/* adze-bench: what adze costs, measured in this process.
 *
 * Times are medians and minima over many rounds after a warm-up. Nothing here fails for being slow.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static int bench_info(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return printf("%s\n%s\n", adz_build_info(), adz_matmul_precision_info()) < 0;
}

/* Becomes the program adze-bits, which the tests' samples are part of. */
static int bench_bits(int argc, char **argv)
{
    (void)argc;
#ifdef BITS_PROGRAM
    execv(BITS_PROGRAM, argv - 1);
    perror(BITS_PROGRAM);
#else
    (void)argv;
    fputs("adze-bench: bits needs the tests' samples: meson configure -Dtests=true\n", stderr);
#endif
    return EXIT_FAILURE;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    { "op", bench_op },
    { "toy", bench_toy },
    { "mlp", bench_mlp },
    { "epoch", bench_epoch },
    { "deep", bench_deep },
    { "derivatives", bench_derivatives },
    { "ffn-step", bench_ffn_step },
    { "loops", bench_loops },
    { "info", bench_info },
    { "bits", bench_bits },
};

static int usage(int status)
{
    fputs(
        "usage: adze-bench op NAME|all [--size N] [--threads N] [--json]  one operator, on rows of 64\n"
        "       adze-bench toy [--steps N] [--captured] [--rounds] [--start FILE] [--json]\n"
        "                Linear(1,32) ReLU Linear(32,1), batch 32, SGD\n"
        "       adze-bench mlp [--steps N] [--captured] [--rounds] [--start FILE] [--json]\n"
        "       adze-bench epoch [--steps N] [--rounds] [--json]\n"
        "                the network of uci-regression, Adam\n"
        "       adze-bench deep [--ops N] [--json]      a chain of N additions\n"
        "       adze-bench derivatives jacobian|jacobians|hvp|pinn [--steps N] [--captured] [--rounds]\n"
        "                [--start FILE] [--json]  derivatives that solvers need\n"
        "       adze-bench loops ROW [--steps N] [--captured|--written] [--rounds] [--start FILE] [--json]\n"
        "                loops of many small steps, which bench/loops.c names\n"
        "       adze-bench ffn-step [--batch N] [--seq N] [--d-model N] [--d-ff N] [--depth N] [--gated]\n"
        "                [--activation relu|gelu|silu] [--dropout P] [--optimizer sgd|adamw]\n"
        "                [--precision f32|bf16] [--mode train|infer] [--threads N] [--steps N]\n"
        "                [--captured] [--rounds] [--start FILE] [--json]  one step of a\n"
        "                feed-forward network\n"
        "       adze-bench info\n"
        "       adze-bench bits [--threads N] [--compare FILE] [ROW...]\n"
        "                a SHA-256 of each of many small trainings; docs/reproducibility.md\n"
        "--captured replays a plan of the step (adze/plan.h); --rounds runs a round for every line of standard input; --start saves weights and data\n"
        "before the first step, so that another program can start from them.\n",
        status == EXIT_SUCCESS ? stdout : stderr);
    return status;
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* JSON has a decimal point in every country */
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        return usage(argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS);
    }
    adz_on_error(end_on_error, "adze-bench");
    adz_manual_seed(1);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; ++i) {
        if (strcmp(commands[i].name, argv[1]) == 0) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    return usage(EXIT_FAILURE);
}
