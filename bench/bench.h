/* bench/bench.h — a figure beside its floor.
 *
 *     BENCH(.name = "uuid4 and its text", .product = uuid_new, .floor = bare_random, .times = 200000, .goal_ns = 100);
 *
 * Floor and product run in turns, so that a slow moment of the machine meets both. The figures are medians of CPU time;
 * the ratio is the median of the ratios of neighbours. One row a figure: name, value, floor, ratio, goal, ok or MISSED.
 * A missed goal is printed, and is no failure: time is no test.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BENCH_ROUNDS = 31 };

struct bench {
    const char *name;
    void (*product)(unsigned times); /* does the thing `times` times */
    void (*floor)(unsigned times);   /* the least it could cost; NULL: none is known */
    unsigned times;                  /* in one round */
    double bytes;                    /* that one time moves: the figure is GB/s. 0: it is nanoseconds for one */
    double goal_ns, goal_ratio;      /* 0: none; the ratio is to be at most that, of GB/s at least */
};

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

static inline double bench_once(void (*fn)(unsigned), unsigned times)
{
    double from = bench_cpu_ns();
    fn(times);
    return (bench_cpu_ns() - from) / times;
}

static inline void bench_row(const struct bench *b, double ns, double floor_ns, double ratio)
{
    bool speed = b->bytes > 0;
    double value = speed ? b->bytes / ns : ns, low = floor_ns > 0 && speed ? b->bytes / floor_ns : floor_ns;
    if (speed && ratio > 0)
        ratio = 1 / ratio;
    bool ok = (b->goal_ns <= 0 || ns <= b->goal_ns) &&
              (b->goal_ratio <= 0 || (speed ? ratio >= b->goal_ratio : ratio <= b->goal_ratio));
    (void)printf("%-28s %9.2f %-4s", b->name, value, speed ? "GB/s" : "ns");
    (void)(low > 0 ? printf("  floor %9.2f  ratio %6.2f  goal", low, ratio) : printf("  %30s  goal", ""));
    if (b->goal_ns > 0)
        (void)printf(" <= %.0f ns", b->goal_ns);
    if (b->goal_ratio > 0)
        (void)printf(" %s %.2f", speed ? ">=" : "<=", b->goal_ratio);
    (void)printf("%s\n", b->goal_ns <= 0 && b->goal_ratio <= 0 ? " none" : ok ? "  ok" : "  MISSED");
}

static inline double bench_median(double *v)
{
    qsort(v, BENCH_ROUNDS, sizeof v[0], bench_by_value);
    return v[BENCH_ROUNDS / 2];
}

static inline void bench_run(const struct bench *b)
{
    double product[BENCH_ROUNDS], floor[BENCH_ROUNDS] = {0}, ratio[BENCH_ROUNDS] = {0};
    b->product(b->times / 10 + 1); /* warm */
    for (int i = 0; i < BENCH_ROUNDS; i++) {
        if (b->floor)
            floor[i] = bench_once(b->floor, b->times);
        product[i] = bench_once(b->product, b->times);
        if (floor[i] > 0)
            ratio[i] = product[i] / floor[i];
    }
    bench_row(b, bench_median(product), bench_median(floor), bench_median(ratio));
}

#define BENCH(...) bench_run(&(struct bench){__VA_ARGS__})

/* Keeps the compiler from dropping what is measured. */
static inline void bench_keep(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}
