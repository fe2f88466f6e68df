/* bench/bench.h — a figure beside its floor.
 *
 * Floor and product run in turns, so that a slow moment of the machine meets both; the medians of their CPU time are
 * compared. One row a figure: name, value, floor, ratio, goal, ok or MISSED.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_ROUNDS = 31 };

/* Runs the thing `times` times. */
typedef void bench_fn(unsigned times);

static inline double bench_cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int bench_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double bench_median(double *v)
{
    qsort(v, BENCH_ROUNDS, sizeof v[0], bench_by_value);
    return v[BENCH_ROUNDS / 2];
}

static inline double bench_once(bench_fn *fn, unsigned times)
{
    double from = bench_cpu_ns();
    fn(times);
    return (bench_cpu_ns() - from) / times;
}

/* Nanoseconds for one. Goals of 0 are none; true when those given are met. */
static inline bool bench_ns(const char *name, bench_fn *product, bench_fn *floor, unsigned times, double goal_ns,
                            double goal_ratio)
{
    double p[BENCH_ROUNDS], f[BENCH_ROUNDS] = {0};
    product(times / 10 + 1); /* warm */
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        if (floor)
            f[i] = bench_once(floor, times);
        p[i] = bench_once(product, times);
    }
    double value = bench_median(p), low = bench_median(f), ratio = floor ? value / low : 0;
    bool   ok = (goal_ns <= 0 || value <= goal_ns) && (goal_ratio <= 0 || ratio <= goal_ratio);
    (void)printf("%-28s %9.1f ns    floor %9.1f  ratio %6.2f  goal ", name, value, low, ratio);
    if (goal_ns > 0)
        (void)printf("<= %.0f ns ", goal_ns);
    if (goal_ratio > 0)
        (void)printf("<= %.2f ", goal_ratio);
    (void)printf("%s\n", goal_ns <= 0 && goal_ratio <= 0 ? "none" : ok ? " ok" : " MISSED");
    return ok;
}

#endif
