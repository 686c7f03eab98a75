/* Matrix products of a few rows in float32: a batch of one or two samples, or the last token of a text, with the weights of a layer.

   Such a product takes as long as it takes to read the weights once. OpenBLAS copies them first where they are transposed, as those of
   `nn.Linear` are, and reads large ones at a third of that speed.

   Of a vector that is longer than the registers of the processor, GCC keeps each part in memory, which takes three to seven times as long.
   So the file includes itself, once for each length of a register (PART numbers). The sums are the same, in the same order. */

#ifdef __GNUC__
#ifndef PART
enum { FEW_ROWS = 8, LANES = 16, LINES = 4 };
typedef float HalfOfLanes __attribute__((vector_size(2 * LANES)));
typedef float QuarterOfLanes __attribute__((vector_size(LANES)));
#ifdef __clang__
#define PICKED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
typedef int PlacesInQuarter __attribute__((vector_size(LANES)));
#define PICKED(a, b, ...) __builtin_shuffle(a, b, (PlacesInQuarter){ __VA_ARGS__ })
#endif

#define BY_ROWS(count, call) switch (count) { case 1: call(1); break; case 2: call(2); break; case 3: call(3); break; default: call(4); }

/* The sums of four quarters, each added up as (0 + 2) + (1 + 3). */
INLINE QuarterOfLanes sums_of(const QuarterOfLanes *q) {
#define PAIRS(a, b) (PICKED(a, b, 0, 1, 4, 5) + PICKED(a, b, 2, 3, 6, 7))
    QuarterOfLanes left = PAIRS(q[0], q[1]), right = PAIRS(q[2], q[3]);
    return PICKED(left, right, 0, 2, 4, 6) + PICKED(left, right, 1, 3, 5, 7);
}

#if defined(__x86_64__) && !defined(__clang__)
#define PART 16
#define OF(name) name##_of_16
#define CLONED __attribute__((target("avx512f")))
#define ROWS_AT_ONCE 4 /* whose sums stay in registers */
#include "few_rows.h"
#endif
#define PART 8
#define OF(name) name##_of_8
#define CLONED CLONES
#define ROWS_AT_ONCE 1
#include "few_rows.h"

#if defined(__x86_64__) && !defined(__clang__)
#define BY_PART(name, ...) (__builtin_cpu_supports("avx512f") ? name##_of_16(__VA_ARGS__) : name##_of_8(__VA_ARGS__))
#else
#define BY_PART(name, ...) name##_of_8(__VA_ARGS__)
#endif
#else
typedef float OF(Part) __attribute__((vector_size(4 * PART), aligned(4), may_alias));
#define PARTS (LANES / PART)
#define PART_AT(p) (*(OF(Part) *)(p))

/* The lanes in four sums: two and two halves, and then quarters. */
INLINE QuarterOfLanes OF(quarter_of)(const OF(Part) *lanes) {
#if PART == 8
    HalfOfLanes half = lanes[0] + lanes[1];
#else
    HalfOfLanes halves[2];
    memcpy(halves, lanes, sizeof halves);
    HalfOfLanes half = halves[0] + halves[1];
#endif
    QuarterOfLanes quarters[2];
    memcpy(quarters, &half, sizeof half);
    return quarters[0] + quarters[1];
}

/* `rows` lines of x, each with `columns` lines of y: LINES, or one. Both numbers are constants where this is called. */
INLINE void OF(dots)(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t inner, int rows, int columns) {
    OF(Part) sums[ROWS_AT_ONCE][LINES][PARTS];
    Py_ssize_t k = 0;
    memset(sums, 0, sizeof sums);
    for (; k + LANES <= inner; k += LANES)
        for (int part = 0; part < PARTS; part++) {
            Py_ssize_t at = k + part * PART;
            OF(Part) a[ROWS_AT_ONCE];
            for (int r = 0; r < rows; r++) a[r] = PART_AT(x + r * x_line + at);
            for (int c = 0; c < columns; c++) {
                if (part == 0) __builtin_prefetch(y + (c + columns) * y_line + at);
                OF(Part) b = PART_AT(y + c * y_line + at);
                for (int r = 0; r < rows; r++) sums[r][c][part] += a[r] * b;
            }
        }
    for (int r = 0; r < rows; r++) {
        QuarterOfLanes quarters[LINES] = { { 0 } }, whole;
        float rest[LINES] = { 0 };
        for (int c = 0; c < columns; c++) quarters[c] = OF(quarter_of)(sums[r][c]);
        for (int c = 0; c < columns; c++)
            for (Py_ssize_t i = k; i < inner; i++) rest[c] += x[r * x_line + i] * y[c * y_line + i];
        memcpy(&whole, rest, sizeof rest);
        whole += sums_of(quarters);
        memcpy(to + r * to_line, &whole, columns * sizeof *to);
    }
}

/* x [rows, inner] times the transpose of y [columns, inner]. */
CLONED static void OF(few_by_transposed)(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns) {
    for (Py_ssize_t j = 0; j < columns; j += columns - j < LINES ? 1 : LINES)
        for (Py_ssize_t i = 0; i < rows; i += ROWS_AT_ONCE) {
#define DOTS(n) OF(dots)(x + i * x_line, x_line, y + j * y_line, y_line, to + i * to_line + j, to_line, inner, n < ROWS_AT_ONCE ? n : ROWS_AT_ONCE, LINES)
#define DOT(n) OF(dots)(x + i * x_line, x_line, y + j * y_line, y_line, to + i * to_line + j, to_line, inner, n < ROWS_AT_ONCE ? n : ROWS_AT_ONCE, 1)
            if (columns - j < LINES) BY_ROWS(rows - i, DOT) else BY_ROWS(rows - i, DOTS)
        }
}

/* Adds `lines` lines of y, each times its factors in x, to `rows` lines. Both numbers are constants where this is called. */
INLINE void OF(add_lines)(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t columns, int rows, int lines) {
    Py_ssize_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        OF(Part) b[LINES][PARTS], sum[PARTS];
        for (int k = 0; k < lines; k++) {
            __builtin_prefetch(y + (k + lines) * y_line + j);
            for (int part = 0; part < PARTS; part++) b[k][part] = PART_AT(y + k * y_line + j + part * PART);
        }
        for (int r = 0; r < rows; r++) {
            for (int part = 0; part < PARTS; part++) sum[part] = PART_AT(to + r * to_line + j + part * PART);
            for (int k = 0; k < lines; k++)
                for (int part = 0; part < PARTS; part++) sum[part] += x[r * x_line + k] * b[k][part];
            for (int part = 0; part < PARTS; part++) PART_AT(to + r * to_line + j + part * PART) = sum[part];
        }
    }
    for (; j < columns; j++)
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < lines; k++) to[r * to_line + j] += x[r * x_line + k] * y[k * y_line + j];
}

/* x [rows, inner] times y [inner, columns]: line by line of y, as it lies in memory. */
CLONED static void OF(few_by_plain)(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns) {
    for (Py_ssize_t i = 0; i < rows; i++) memset(to + i * to_line, 0, columns * sizeof *to);
    for (Py_ssize_t k = 0; k < inner; k += inner - k < LINES ? 1 : LINES)
        for (Py_ssize_t i = 0; i < rows; i += 4) {
#define ADD_LINES(n) OF(add_lines)(x + i * x_line + k, x_line, y + k * y_line, y_line, to + i * to_line, to_line, columns, n, LINES)
#define ADD_LINE(n) OF(add_lines)(x + i * x_line + k, x_line, y + k * y_line, y_line, to + i * to_line, to_line, columns, n, 1)
            if (inner - k < LINES) BY_ROWS(rows - i, ADD_LINE) else BY_ROWS(rows - i, ADD_LINES)
        }
}
#undef PART
#undef PARTS
#undef PART_AT
#undef OF
#undef CLONED
#undef ROWS_AT_ONCE
#undef DOTS
#undef DOT
#undef ADD_LINES
#undef ADD_LINE
#endif
#endif
