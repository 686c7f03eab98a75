/* Loops over arrays of float32, for the operations that run one at a time (`engine/interpreter/fused.py`).

   `run` computes several elementwise operations in one pass. They are listed as instructions over registers: a block of BLOCK elements
   each, which stay in the processor's cache, so that what lies between two operations is neither written to memory nor allocated. A block
   may consist of whole rows, so that what is added up along a row, or the largest of it, goes on in the same pass.
   `reduce` adds up, or finds the largest or the smallest, along the last or the first dimension. `multiply` computes a matrix
   product, `copy` brings elements into their order, `add_rows` adds rows to those of given numbers, and `spread` is the derivative of pooling by
   the largest.

   No result depends on how many threads take part, or on which operations share a pass. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef _WIN32
#include <pthread.h>
#include <time.h>
#define THREADS 1
#else
#define THREADS 0
#endif

#include "../../_extensions/clones.h"
#include "../../_extensions/few_rows.h"

enum { BLOCK = 512, WIDEST = 1024, CHUNK = 32 * BLOCK, MOST_REGISTERS = 80, MOST_INPUTS = 24, MOST_OUTPUTS = 64, MOST_DIMS = 32, ALONE = 32768,
       FEWEST = 8, /* elements of a row */ MOST_INSTRUCTIONS = 256 };

typedef struct { uint8_t code, to, a, b, c; } Instruction;

/* ---- functions of one number, to within a few units of the last place */

INLINE float of_bits(int32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
INLINE int32_t bits_of(float x) { int32_t bits; memcpy(&bits, &x, 4); return bits; }
INLINE float greater(float a, float b) { return (a > b) | (a != a) ? a : b; } /* NaN where one of them is */
INLINE float lesser(float a, float b) { return (a < b) | (a != a) ? a : b; }

INLINE float exponential(float x) {
    x = x > 89.0f ? 89.0f : x; /* these comparisons keep NaN */
    x = x < -104.0f ? -104.0f : x;
    float n = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    int32_t power = bits_of(n) - 0x4b400000;
    n -= 12582912.0f;
    float r = (x - n * 0.693145752f) - n * 1.42860677e-6f; /* the logarithm of two in two parts */
    float p = ((((1.395080717e-03f * r + 8.369073115e-03f) * r + 4.166620106e-02f) * r + 1.666651731e-01f) * r + 0.5f) * r * r + r + 1.0f;
    int32_t half = power >> 1; /* two factors, as one may be beyond the range of exponents */
    return p * of_bits((half + 127) << 23) * of_bits((power - half + 127) << 23);
}

INLINE float logarithm(float x) {
    int tiny = x < 1.17549435e-38f;
    float y = tiny ? x * 8388608.0f : x; /* 2^23 */
    int32_t bits = bits_of(y), power = (bits - 0x3f3504f3) >> 23; /* from the square root of a half on */
    float f = of_bits(bits - power * 8388608) - 1.0f, e = (float)power - (tiny ? 23.0f : 0.0f);
    float p = 6.748308660e-02f;
    p = p * f - 1.167787654e-01f;
    p = p * f + 1.188864554e-01f;
    p = p * f - 1.240527941e-01f;
    p = p * f + 1.421945105e-01f;
    p = p * f - 1.666800837e-01f;
    p = p * f + 2.000212372e-01f;
    p = p * f - 2.500000946e-01f;
    p = p * f + 3.333331254e-01f;
    float s = f * f;
    float value = ((p * f * s + e * 1.42860677e-6f) - 0.5f * s) + f + e * 0.693145752f;
    value = x == INFINITY ? x : value;
    value = x == 0.0f ? -INFINITY : value;
    return x < 0.0f || x != x ? NAN : value;
}

INLINE float tangent(float x) { /* hyperbolic */
    float s = x * x, t = x < 0.0f ? -x : x;
    float p = 2.096683460e-03f;
    p = p * s - 8.127855109e-03f;
    p = p * s + 2.168117666e-02f;
    p = p * s - 5.394331466e-02f;
    p = p * s + 1.333317987e-01f;
    p = p * s - 3.333333017e-01f;
    float large = 1.0f - 2.0f / (exponential(2.0f * t) + 1.0f);
    return t < 0.625f ? x + x * s * p : (x < 0.0f ? -large : large);
}

/* The quotient of polynomials in `engine/interpreter/special.py`, in float64 and rounded once. */
INLINE float error_function(float x) {
    double t = x > 4.0f ? 4.0f : x < -4.0f ? -4.0f : x; /* beyond, it is one in float32 */
    double s = t * t;
    double p = 6.7914780590384e-06;
    p = p * s + 0.0004112813045485287;
    p = p * s + 0.004226508281610703;
    p = p * s + 0.055749640807614444;
    p = p * s + 0.19287897858078268;
    p = p * s + 1.1283791699717554;
    double q = 2.6049178605203296e-07;
    q = q * s + 7.256474465640942e-05;
    q = q * s + 0.0014212153475987083;
    q = q * s + 0.016295186697317266;
    q = q * s + 0.11749551038281322;
    q = q * s + 0.5042679779877721;
    q = q * s + 1.0;
    return (float)(t * p / q);
}

/* What is left of a when b is taken from it as often as possible. Where the quotient is below 2^29, all steps are exact in double: one that
   is no whole number is 2^-24 away from it, or more, so that it is not rounded to it. */
INLINE float remainder_of_near(float a, float b) {
    double x = fabsf(a), y = fabsf(b);
    return copysignf((float)(x - trunc(x / y) * y), a);
}

/* Whether all quotients are below 2^29, and no number is infinite or NaN. */
INLINE int are_near(const float *a, const float *b, int count) {
    int far = 0;
    for (int i = 0; i < count; i++) far |= !(fabsf(a[i]) < 536870912.0f * fabsf(b[i])) | !(fabsf(b[i]) <= FLT_MAX);
    return !far;
}

/* In the order of `fused.py`. A mask has all bits of a float set, or none. */
enum Code {
    ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM,
    NEGATE, ABSOLUTE, SQUARE, SQUARE_ROOT, RECIPROCAL, EXP, LOG, TANH, ERF, LOGISTIC,
    LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, AND, OR, XOR, NOT, SELECT, TO_FLOAT,
    FLOOR, CEIL, ROUND, SIGN, IS_FINITE, REMAINDER, PLUS_ZERO, ROW_SUM, ROW_MAXIMUM, ROW_MINIMUM, SPREAD,
    BY_ROW, ROW_BY = BY_ROW + MINIMUM + 1, /* added to the first six: the second operand, or the first, has one element for each row */
    ONCE_A_ROW = 64, OF_ROWS = 128, /* added to a code; and to the register of an array that has one element for each row */
};

/* ---- rows */

enum { WIDE = 64, NARROW = 16, PIECE = 4096, BAND = 256, ROWS = 64, GROUP = 16 };

#define JOIN(a, b) (code == ADD ? (a) + (b) : code == MAXIMUM ? greater(a, b) : lesser(a, b))

/* In so many sums that need nothing of each other, joined in pairs at the end. `lanes` and `code` are constants where it is called. */
INLINE float in_lanes(const float *x, Py_ssize_t count, int lanes, int code) {
    float lane[WIDE];
    Py_ssize_t i = lanes;
    for (int l = 0; l < lanes; l++) lane[l] = x[l];
    for (; i + lanes <= count; i += lanes)
        for (int l = 0; l < lanes; l++) lane[l] = JOIN(lane[l], x[i + l]);
    for (int l = 0; i < count; i++, l++) lane[l] = JOIN(lane[l], x[i]);
    for (int half = lanes / 2; half; half /= 2)
        for (int l = 0; l < half; l++) lane[l] = JOIN(lane[l], lane[l + half]);
    return lane[0];
}

INLINE float one_row(const float *x, Py_ssize_t count, int code) {
    if (count >= 8 * WIDE) return in_lanes(x, count, WIDE, code);
    if (count >= NARROW) return in_lanes(x, count, NARROW, code);
    float one = x[0];
    for (Py_ssize_t i = 1; i < count; i++) one = JOIN(one, x[i]);
    return one;
}

/* As `in_lanes`, for GROUP short rows, whose lanes are joined side by side. */
INLINE void group_of_rows(const float *x, Py_ssize_t count, int code, float *to) {
    float lanes[NARROW][GROUP];
    for (int r = 0; r < GROUP; r++, x += count) {
        float lane[NARROW];
        int32_t missing[NARROW] = { 0 }; /* where NaN was met: the comparisons pass over it, so that each takes one instruction */
        Py_ssize_t i = NARROW;
        memcpy(lane, x, sizeof lane);
        for (; i + NARROW <= count; i += NARROW)
            AS_A_LOOP for (int l = 0; l < NARROW; l++) {
                float value = x[i + l];
                if (code == ADD) lane[l] += value;
                else {
                    missing[l] |= value != value;
                    lane[l] = (code == MAXIMUM ? value >= lane[l] : value <= lane[l]) ? value : lane[l]; /* the later zero, as JOIN */
                }
            }
        for (int l = 0; l < NARROW; l++) lanes[l][r] = missing[l] ? NAN : lane[l];
        for (int l = 0; i < count; i++, l++) lanes[l][r] = JOIN(lanes[l][r], x[i]);
    }
    for (int half = NARROW / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            AS_A_LOOP for (int r = 0; r < GROUP; r++) lanes[l][r] = JOIN(lanes[l][r], lanes[l + half][r]);
    memcpy(to, lanes[0], sizeof lanes[0]);
}

INLINE void all_rows(const float *x, Py_ssize_t rows, Py_ssize_t columns, int code, float *to) {
    Py_ssize_t r = 0;
    if (columns >= NARROW && columns < 8 * WIDE)
        for (; r + GROUP <= rows; r += GROUP) group_of_rows(x + r * columns, columns, code, to + r);
    for (; r < rows; r++) to[r] = one_row(x + r * columns, columns, code);
}

CLONES static void along(const float *x, Py_ssize_t rows, Py_ssize_t columns, int code, float *to) {
    if (code == ADD) {
        all_rows(x, rows, columns, ADD, to);
        for (Py_ssize_t r = 0; r < rows; r++) to[r] += 0.0f; /* a sum is no negative zero */
    } else if (code == MAXIMUM) all_rows(x, rows, columns, MAXIMUM, to);
    else all_rows(x, rows, columns, MINIMUM, to);
}

/* ---- one pass */

#define EACH(value) { INDEPENDENT for (int i = 0; i < count; i++) d[i] = (value); break; }
#define MASK(value) { INDEPENDENT for (int i = 0; i < count; i++) m[i] = -(int32_t)(value); break; }
#define BITS(value) { INDEPENDENT for (int i = 0; i < count; i++) m[i] = (value); break; }

/* `x`: the operand that has all elements; `v`: that of the row. */
#define EACH_ROW(value) { \
    for (int r = 0; r < rows; r++, d += columns, x += columns) { \
        const float v = of_rows[r]; \
        INDEPENDENT for (int i = 0; i < columns; i++) d[i] = (value); \
    } \
    break; }

INLINE void repeat(int32_t value, int32_t *to, int count) {
    int i = 0;
    for (; i + NARROW <= count; i += NARROW) for (int l = 0; l < NARROW; l++) to[i + l] = value;
    if (i && i < count) for (int l = 0; l < NARROW; l++) to[count - NARROW + l] = value; /* some once more */
    else for (; i < count; i++) to[i] = value;
}

/* Of a block that consists of so many rows. A register holds its elements, or one for each row. */
CLONES static void compute(const Instruction *instruction, int instructions, float *const *registers, int elements, int rows, int columns) {
    for (; instructions--; instruction++) {
        int count = instruction->code & ONCE_A_ROW ? rows : elements;
        float *d = registers[instruction->to];
        const float *a = registers[instruction->a], *b = registers[instruction->b], *c = registers[instruction->c];
        int32_t *m = (int32_t *)d;
        const int32_t *ma = (const int32_t *)a, *mb = (const int32_t *)b, *mc = (const int32_t *)c;
        const float *x = instruction->code < ROW_BY ? a : b, *of_rows = instruction->code < ROW_BY ? b : a;
        switch (instruction->code & ~ONCE_A_ROW) {
        case ADD: EACH(a[i] + b[i])
        case SUBTRACT: EACH(a[i] - b[i])
        case MULTIPLY: EACH(a[i] * b[i])
        case DIVIDE: EACH(a[i] / b[i])
        case MAXIMUM: EACH(greater(a[i], b[i]))
        case MINIMUM: EACH(lesser(a[i], b[i]))
        case NEGATE: BITS(ma[i] ^ INT32_MIN)
        case ABSOLUTE: BITS(ma[i] & INT32_MAX)
        case SQUARE: EACH(a[i] * a[i])
        case SQUARE_ROOT: EACH(sqrtf(a[i]))
        case RECIPROCAL: EACH(1.0f / a[i])
        case EXP: EACH(exponential(a[i]))
        case LOG: EACH(logarithm(a[i]))
        case TANH: EACH(tangent(a[i]))
        case ERF: EACH(error_function(a[i]))
        case LOGISTIC: EACH(1.0f / (exponential(-a[i]) + 1.0f))
        case LESS: MASK(a[i] < b[i])
        case LESS_EQUAL: MASK(a[i] <= b[i])
        case EQUAL: MASK(a[i] == b[i])
        case NOT_EQUAL: MASK(a[i] != b[i])
        case AND: BITS(ma[i] & mb[i])
        case OR: BITS(ma[i] | mb[i])
        case XOR: BITS(ma[i] ^ mb[i])
        case NOT: BITS(~ma[i])
        case SELECT: BITS(mb[i] ^ ((mb[i] ^ mc[i]) & ma[i]))
        case TO_FLOAT: BITS(ma[i] & 0x3f800000) /* the bits of 1.0 */
        case FLOOR: EACH(floorf(a[i]))
        case CEIL: EACH(ceilf(a[i]))
        case ROUND: EACH(rintf(a[i]))
        case SIGN: EACH(a[i] > 0.0f ? 1.0f : a[i] < 0.0f ? -1.0f : a[i])
        case IS_FINITE: MASK(fabsf(a[i]) <= FLT_MAX)
        case REMAINDER:
            if (are_near(a, b, count)) EACH(remainder_of_near(a[i], b[i]))
            EACH(fmodf(a[i], b[i]))
        case PLUS_ZERO: EACH(a[i] + 0.0f) /* which takes the sign of a zero away, as adding up does */
        case ROW_SUM: along(a, rows, columns, ADD, d); break;
        case ROW_MAXIMUM: along(a, rows, columns, MAXIMUM, d); break;
        case ROW_MINIMUM: along(a, rows, columns, MINIMUM, d); break;
        case SPREAD:
            for (int r = 0; r < rows; r++, m += columns) repeat(ma[r], m, columns);
            break;
        case BY_ROW + ADD: EACH_ROW(x[i] + v)
        case BY_ROW + SUBTRACT: EACH_ROW(x[i] - v)
        case BY_ROW + MULTIPLY: EACH_ROW(x[i] * v)
        case BY_ROW + DIVIDE: EACH_ROW(x[i] / v)
        case BY_ROW + MAXIMUM: EACH_ROW(greater(x[i], v))
        case BY_ROW + MINIMUM: EACH_ROW(lesser(x[i], v))
        case ROW_BY + ADD: EACH_ROW(v + x[i])
        case ROW_BY + SUBTRACT: EACH_ROW(v - x[i])
        case ROW_BY + MULTIPLY: EACH_ROW(v * x[i])
        case ROW_BY + DIVIDE: EACH_ROW(v / x[i])
        case ROW_BY + MAXIMUM: EACH_ROW(greater(v, x[i]))
        case ROW_BY + MINIMUM: EACH_ROW(lesser(v, x[i]))
        }
    }
}

typedef struct {
    char *data;
    int kind;      /* 'f', or '?' of bytes */
    int in_order;  /* the elements lie one after the other, in the order of the result */
    int dims;      /* else: as few as describe it */
    Py_ssize_t size[MOST_DIMS], stride[MOST_DIMS];
    int place;     /* the register */
    int of_rows;   /* it has one element for each row */
} Operand;

typedef struct {
    Operand inputs[MOST_INPUTS], outputs[MOST_OUTPUTS];
    int inputs_count, outputs_count, registers, instructions;
    const Instruction *instruction;
    Py_ssize_t elements;
    int columns, block; /* of a row, 1 without rows; the elements of a block: whole rows */
    Py_ssize_t part;    /* the elements of a part of the work: whole blocks */
} Pass;

CLONES static void masks_of(const char *from, int count, int32_t *masks) {
    for (int i = 0; i < count; i++) masks[i] = -(int32_t)(from[i] != 0);
}

/* Brings a part of an input into a register: what is broadcast is repeated, what lies apart is collected, booleans become masks. */
static void load(const Operand *input, Py_ssize_t start, int count, float *to) {
    Py_ssize_t at[MOST_DIMS];
    const char *from = input->data;
    int last = input->dims - 1;
    for (int d = last; d >= 0; d--) {
        at[d] = start % input->size[d];
        start /= input->size[d];
        from += at[d] * input->stride[d];
    }
    while (count) {
        Py_ssize_t run = last < 0 ? count : input->size[last] - at[last], stride = last < 0 ? 0 : input->stride[last];
        if (run > count) run = count;
        if (input->kind == '?') {
            int32_t *masks = (int32_t *)to;
            if (stride == 1) masks_of(from, (int)run, masks);
            else for (Py_ssize_t i = 0; i < run; i++) masks[i] = -(int32_t)(from[i * stride] != 0);
        } else if (stride == 4) {
#ifdef __GNUC__
            if (last > 0) for (int ahead = 0; ahead < 256; ahead += 64) __builtin_prefetch(from + 4 * input->stride[last - 1] + ahead);
#endif
            memcpy(to, from, (size_t)run * 4);
        } else if (!stride) {
            float value;
            memcpy(&value, from, 4);
            for (Py_ssize_t i = 0; i < run; i++) to[i] = value;
        } else {
            for (Py_ssize_t i = 0; i < run; i++) memcpy(to + i, from + i * stride, 4);
        }
        to += run;
        count -= (int)run;
        if (!count) return;
        from -= at[last] * stride; /* to the beginning of the next row */
        at[last] = 0;
        for (int d = last - 1; d >= 0; d--) {
            from += input->stride[d];
            if (++at[d] < input->size[d]) break;
            from -= input->size[d] * input->stride[d];
            at[d] = 0;
        }
    }
}

static void pass(void *job, Py_ssize_t number) {
    const Pass *pass = job;
    float *registers[MOST_REGISTERS];
    int block = pass->block;
#ifdef _MSC_VER
    float memory[MOST_REGISTERS * WIDEST];
#else
    float memory[pass->registers * block]; /* as few as there are: the stack of a thread may be small */
#endif
    Py_ssize_t begin = number * pass->part, end = begin + pass->part < pass->elements ? begin + pass->part : pass->elements;
    for (int r = 0; r < pass->registers; r++) registers[r] = memory + r * block;
    for (Py_ssize_t start = begin; start < end; start += block) {
        int count = end - start < block ? (int)(end - start) : block, rows = count / pass->columns;
        for (int i = 0; i < pass->inputs_count; i++) {
            const Operand *input = &pass->inputs[i];
            float *to = memory + input->place * block;
            if (input->of_rows) load(input, start / pass->columns, rows, to);
            else if (input->in_order) registers[input->place] = (float *)input->data + start;
            else if (input->dims || start == begin) load(input, start, input->dims ? count : block, to);
        }
        for (int i = 0; i < pass->outputs_count; i++)
            if (pass->outputs[i].in_order) registers[pass->outputs[i].place] = (float *)pass->outputs[i].data + start;
        compute(pass->instruction, pass->instructions, registers, count, rows, pass->columns);
        for (int i = 0; i < pass->outputs_count; i++) {
            const Operand *output = &pass->outputs[i];
            const float *from = registers[output->place];
            Py_ssize_t first = output->of_rows ? start / pass->columns : start;
            int made = output->of_rows ? rows : count;
            if (output->kind == '?') {
                const int32_t *masks = (const int32_t *)from;
                for (int e = 0; e < made; e++) output->data[first + e] = (char)(masks[e] & 1);
            } else if (!output->in_order) {
                memcpy((float *)output->data + first, from, (size_t)made * 4);
            }
        }
    }
}

/* ---- reductions */

typedef struct { const float *x; float *to; int code; Py_ssize_t rows, columns, step; } Reduction;

/* Halves what is longer than a piece, so that the error of a sum grows with the logarithm of its length. */
static float row(const float *x, Py_ssize_t count, int code) {
    float a, b;
    if (count <= PIECE) {
        along(x, 1, count, code, &a);
        return a;
    }
    Py_ssize_t half = (count / 2 + WIDE - 1) / WIDE * WIDE;
    a = row(x, half, code);
    b = row(x + half, count - half, code);
    return JOIN(a, b);
}

static void rows(void *job, Py_ssize_t number) {
    const Reduction *r = job;
    Py_ssize_t start = number * r->step, end = start + r->step < r->rows ? start + r->step : r->rows;
    if (r->columns <= PIECE) along(r->x + start * r->columns, end - start, r->columns, r->code, r->to + start);
    else for (Py_ssize_t i = start; i < end; i++) r->to[i] = row(r->x + i * r->columns, r->columns, r->code);
}

CLONES static void add_row(float *to, const float *x, int count, int code) {
    if (code == ADD) { INDEPENDENT for (int i = 0; i < count; i++) to[i] += x[i]; }
    else if (code == MAXIMUM) { INDEPENDENT for (int i = 0; i < count; i++) to[i] = greater(to[i], x[i]); }
    else { INDEPENDENT for (int i = 0; i < count; i++) to[i] = lesser(to[i], x[i]); }
}

static void band(const float *x, Py_ssize_t count, Py_ssize_t columns, int width, int code, float *to) {
    if (count <= ROWS) {
        memcpy(to, x, (size_t)width * 4);
        for (Py_ssize_t i = 1; i < count; i++) add_row(to, x + i * columns, width, code);
        return;
    }
    float other[BAND];
    Py_ssize_t half = count / 2;
    band(x, half, columns, width, code, to);
    band(x + half * columns, count - half, columns, width, code, other);
    add_row(to, other, width, code);
}

static void bands(void *job, Py_ssize_t number) {
    const Reduction *r = job;
    Py_ssize_t start = number * BAND, width = r->columns - start < BAND ? r->columns - start : BAND;
    band(r->x + start, r->rows, r->columns, (int)width, r->code, r->to + start);
}

/* ---- products of matrices, by the library that NumPy computes them with */

#include "../../_extensions/product.h"

enum { LONG = 1 << 22, ELEMENTS_OF_PART = 65536, MOST_PARTS = 16, ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

#define GEMM(size, number) ((void (*)(int, int, int, size, size, size, number, const void *, size, const void *, size, number, void *, size))p->function)
#define CALL(size, number) GEMM(size, number)(ROW_MAJOR, p->x.transposed ? TRANSPOSED : PLAIN, p->y.transposed ? TRANSPOSED : PLAIN, \
    (size)rows, (size)columns, (size)p->inner, 1, x, (size)p->x.line, y, (size)p->y.line, 0, to, (size)p->columns)

static const char *matrix_of(const Matrix *m, Py_ssize_t number) { return m->data + number / m->inner * m->outer + number % m->inner * m->stride; }

static void multiply_part(const Product *p, Py_ssize_t number, Py_ssize_t row, Py_ssize_t rows, Py_ssize_t column, Py_ssize_t columns) {
    Py_ssize_t item = p->doubles ? 8 : 4;
    const char *x = matrix_of(&p->x, number) + row * item * (p->x.transposed ? 1 : p->x.line);
    const char *y = matrix_of(&p->y, number) + column * item * (p->y.transposed ? p->y.line : 1);
    char *to = p->to + ((number * p->rows + row) * p->columns + column) * item;
    if (p->wide && p->doubles) CALL(int64_t, double);
    else if (p->wide) CALL(int64_t, float);
    else if (p->doubles) CALL(int, double);
    else CALL(int, float);
}

static void products(void *job, Py_ssize_t number) {
    const Product *p = job;
    Py_ssize_t start = number * p->step, whole = p->stack > 1 ? p->stack : p->by_rows ? p->rows : p->columns;
    Py_ssize_t count = whole - start < p->step ? whole - start : p->step;
    if (p->stack > 1)
        for (Py_ssize_t i = 0; i < count; i++) multiply_part(p, start + i, 0, p->rows, 0, p->columns);
    else if (p->by_rows) multiply_part(p, 0, start, count, 0, p->columns);
    else multiply_part(p, 0, 0, p->rows, start, count);
}

/* ---- threads: those that wait take parts of the work of the one that calls */

static int wanted = 1;

#if THREADS
/* In microseconds: for how long a thread waits awake, also where another library's threads wait on the same cores; and the work for which those
   who sleep are woken. ROUNDS_BESIDE: so many rounds of work after that library has computed, its threads may be awake. */
enum { MOST_THREADS = 16, AWAKE = 300, AWAKE_BESIDE = 80, WORTH_WAKING = 50, ROUNDS_BESIDE = 32 };

static struct {
    pthread_mutex_t mutex, busy;
    pthread_cond_t wake;
    int started, sleeping;
    int threads;           /* that may take part, the one that calls among them */
    int round;             /* of the work; odd while there is some */
    int beside;            /* for how many rounds more another library's threads may be awake */
    int inside;            /* threads that may still read what follows */
    void (*part)(void *, Py_ssize_t);
    void *job;
    struct { Py_ssize_t next, end; char apart[48]; } share[MOST_THREADS]; /* of each thread: a line of the cache */
} pool = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

/* A thread begins with the parts of its own share, then takes what others have left. So it mostly reads what it has written before, in the
   operation of which this is the result: what another core has written takes several times as long to read. */
static void take_parts(int thread) {
    for (int i = 0; i < pool.threads; i++) {
        int of = (thread + i) % pool.threads;
        for (;;) {
            Py_ssize_t number = __atomic_fetch_add(&pool.share[of].next, 1, __ATOMIC_RELAXED);
            if (number >= pool.share[of].end) break;
            pool.part(pool.job, number);
        }
    }
}

/* `number`: of this thread, from 1 on. More may have been started than are wanted now. */
static void *helper(void *number) {
    int seen = 0;
    for (;;) {
        int round = __atomic_load_n(&pool.round, __ATOMIC_ACQUIRE);
        /* By the clock: on some processors a pause takes 10 ns, on others 60. */
        double until = microseconds() + (__atomic_load_n(&pool.beside, __ATOMIC_RELAXED) ? AWAKE_BESIDE : AWAKE);
        for (int polls = 1; (round == seen || !(round & 1)) && (polls % 64 || microseconds() < until); polls++) {
            pause_briefly();
            round = __atomic_load_n(&pool.round, __ATOMIC_ACQUIRE);
        }
        if (round == seen || !(round & 1)) {
            pthread_mutex_lock(&pool.mutex);
            pool.sleeping++;
            while ((round = pool.round) == seen || !(round & 1)) pthread_cond_wait(&pool.wake, &pool.mutex);
            pool.sleeping--;
            pthread_mutex_unlock(&pool.mutex);
        }
        seen = round;
        __atomic_fetch_add(&pool.inside, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&pool.round, __ATOMIC_SEQ_CST) == round && (intptr_t)number < pool.threads) take_parts((int)(intptr_t)number); /* else it has ended */
        __atomic_fetch_sub(&pool.inside, 1, __ATOMIC_SEQ_CST);
    }
    return 0;
}

/* A child process has none of its parent's threads, and what they held is held for ever. */
static void after_fork(void) {
    pthread_mutex_init(&pool.mutex, 0);
    pthread_mutex_init(&pool.busy, 0);
    pthread_cond_init(&pool.wake, 0);
    pool.started = pool.sleeping = pool.inside = pool.round = 0;
}

/* Computes parts without those who sleep, until what is left would take longer than it takes to wake them. Returns how many it has
   computed. Here the time may decide, since no result depends on who computes a part. */
static Py_ssize_t begin_alone(void (*part)(void *, Py_ssize_t), void *job, Py_ssize_t parts) {
    double start = microseconds();
    for (Py_ssize_t done = 0; done < parts;) {
        part(job, done++);
        if ((microseconds() - start) / (double)done * (double)(parts - done) > WORTH_WAKING) return done;
    }
    return parts;
}

/* `wakes`: whether those who sleep are woken at once. */
static void share(void (*part)(void *, Py_ssize_t), void *job, Py_ssize_t parts, int wakes) {
    int threads = wanted < parts ? wanted : (int)parts;
    Py_ssize_t done = 0;
    if (threads > 1 && !wakes && (__atomic_load_n(&pool.sleeping, __ATOMIC_RELAXED) || pool.started < threads - 1)) done = begin_alone(part, job, parts);
    if (threads < 2 || done >= parts - 1 || pthread_mutex_trylock(&pool.busy)) {
        for (; done < parts; done++) part(job, done);
        return;
    }
    pthread_mutex_lock(&pool.mutex);
    for (; pool.started < threads - 1; pool.started++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, helper, (void *)(intptr_t)(pool.started + 1))) break;
        pthread_detach(thread);
    }
    pool.threads = threads;
    pool.part = part;
    pool.job = job;
    for (int t = 0; t < threads; t++) {
        pool.share[t].next = parts * t / threads < done ? done : parts * t / threads;
        pool.share[t].end = parts * (t + 1) / threads;
    }
    if (pool.beside) __atomic_fetch_sub(&pool.beside, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&pool.round, 1, __ATOMIC_SEQ_CST);
    if (pool.sleeping) pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.mutex);
    take_parts(0);
    __atomic_fetch_add(&pool.round, 1, __ATOMIC_SEQ_CST); /* who has not begun does not begin any more */
    while (__atomic_load_n(&pool.inside, __ATOMIC_SEQ_CST)) pause_briefly();
    pthread_mutex_unlock(&pool.busy);
}
#else
static void share(void (*part)(void *, Py_ssize_t), void *job, Py_ssize_t parts, int wakes) {
    (void)wakes;
    for (Py_ssize_t i = 0; i < parts; i++) part(job, i);
}
#endif

/* give_way(): threads of another library are about to compute, on the cores that ours would keep busy with waiting. */
static PyObject *give_way(PyObject *self, PyObject *nothing) {
    (void)self, (void)nothing;
#if THREADS
    __atomic_store_n(&pool.beside, ROUNDS_BESIDE, __ATOMIC_RELAXED);
#endif
    Py_RETURN_NONE;
}

/* Whether a product takes so long that threads are worth waking for it. Its parts may be two, so the first of them does not show that in
   time. */
static int is_long(const Product *p) {
    return (double)p->rows * (double)p->columns * (double)p->inner * (double)p->stack > LONG;
}

#include "../../_extensions/tiles.h"

#ifdef __GNUC__
static void few_rows(void *job, Py_ssize_t number) {
    const Product *p = job;
    Py_ssize_t start = number * p->step, whole = p->y.transposed ? p->columns : p->inner;
    Py_ssize_t count = whole - start < p->step ? whole - start : p->step;
    const float *x = (const float *)p->x.data, *y = (const float *)p->y.data + start * p->y.line;
    float *to = (float *)p->to;
    if (p->y.transposed) BY_PART(few_by_transposed, x, p->x.line, y, p->y.line, to + start, p->columns, p->rows, p->inner, count);
    else BY_PART(few_by_plain, x + start, p->x.line, y, p->y.line, number ? p->others + (number - 1) * p->rows * p->columns : to, p->columns, p->rows, count, p->columns);
}

/* A product of a few rows with a matrix, in parts that are lines of the matrix one after the other: as many as it takes long to read them.
   False: it is another product. */
static int multiply_few(Product *p) {
    if (p->stack > 1 || p->rows > FEW_ROWS || p->by_rows || p->doubles || p->x.transposed) return 0;
    Py_ssize_t whole = p->y.transposed ? p->columns : p->inner, size = p->rows * p->columns;
    Py_ssize_t parts = p->inner * p->columns / ELEMENTS_OF_PART + 1;
    parts = parts < MOST_PARTS ? parts : MOST_PARTS;
    p->step = ((whole + parts - 1) / parts + LANES - 1) / LANES * LANES;
    parts = (whole + p->step - 1) / p->step;
    p->others = 0;
    if (!p->y.transposed && parts > 1 && !(p->others = malloc((parts - 1) * size * sizeof *p->others))) return 0;
    share(few_rows, p, parts, 0);
    if (p->others)
        for (Py_ssize_t part = 0; part < parts - 1; part++) add_row((float *)p->to, p->others + part * size, (int)size, ADD);
    free(p->others);
    return 1;
}
#else
static int multiply_few(Product *p) {
    (void)p;
    return 0;
}
#endif

static void share_without_lock(void (*part)(void *, Py_ssize_t), void *job, Py_ssize_t parts, Py_ssize_t elements) {
    if (elements < ALONE) {
        for (Py_ssize_t i = 0; i < parts; i++) part(job, i);
        return;
    }
    Py_BEGIN_ALLOW_THREADS
    share(part, job, parts, 0);
    Py_END_ALLOW_THREADS
}

/* How many elements a part has, in units of so many. Threads get as many parts each, so that none waits for one that has another part to do. */
static Py_ssize_t elements_of_part(Py_ssize_t elements, Py_ssize_t unit) {
    Py_ssize_t units = (elements + unit - 1) / unit, parts = (elements / CHUNK / wanted + 1) * wanted;
    return ((units + parts - 1) / parts + !units) * unit;
}

/* ---- for Python */

/* The letter of the elements' type; NumPy puts a sign before it where an array is not aligned. */
static int kind_of(const Py_buffer *view) {
    const char *format = view->format ? view->format : "B";
    return *format == '=' || *format == '^' || *format == '@' ? format[1] : format[0];
}

static int describe(Operand *operand, const Py_buffer *view, int ndim, const Py_ssize_t *shape) {
    int shift = ndim - view->ndim, dims = 0;
    if (shift < 0 || ndim > MOST_DIMS) return 0;
    operand->kind = kind_of(view);
    if (view->itemsize != (operand->kind == '?' ? 1 : 4) || (operand->kind != 'f' && operand->kind != '?')) return 0;
    operand->data = view->buf;
    Py_ssize_t expected = view->itemsize;
    int in_order = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        Py_ssize_t size = shape[d], own = d < shift ? 1 : view->shape[d - shift];
        if (own != size && own != 1) return 0;
        if (size == 1) continue;
        Py_ssize_t stride = own == 1 ? 0 : view->strides[d - shift];
        if (stride != expected) in_order = 0;
        expected *= size;
        /* Dimensions are met from the last one on; they stand in the reverse order until all are known. */
        if (dims && operand->stride[dims - 1] * operand->size[dims - 1] == stride) operand->size[dims - 1] *= size;
        else {
            operand->size[dims] = size;
            operand->stride[dims++] = stride;
        }
    }
    if (dims == 1 && !operand->stride[0]) dims = 0; /* one number */
    for (int i = 0; i < dims / 2; i++) {
        Py_ssize_t size = operand->size[i], stride = operand->stride[i];
        operand->size[i] = operand->size[dims - 1 - i];
        operand->stride[i] = operand->stride[dims - 1 - i];
        operand->size[dims - 1 - i] = size;
        operand->stride[dims - 1 - i] = stride;
    }
    operand->dims = dims;
    operand->in_order = in_order && operand->kind == 'f' && (uintptr_t)view->buf % 4 == 0;
    return 1;
}

/* ---- operands that are the same along the last dimensions, as the numbers of channels are: those dimensions are a row */

static Py_ssize_t common_divisor(Py_ssize_t a, Py_ssize_t b) {
    while (b) {
        Py_ssize_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* For how many elements, one after the other, an input is the same: 0 where it is not, or is throughout. */
static Py_ssize_t run_of(const Operand *input) {
    int last = input->dims - 1;
    return input->kind == 'f' && !input->of_rows && last > 0 && !input->stride[last] ? input->size[last] : 0;
}

/* The elements of a row: as many as divide all such runs, and fit into a block. 1 where these would be too few. */
static int row_of_runs(const Pass *work) {
    Py_ssize_t common = 0;
    for (int i = 0; i < work->inputs_count; i++) common = common_divisor(common, run_of(&work->inputs[i]));
    for (Py_ssize_t rows = (common + WIDEST - 1) / WIDEST; rows && common / rows >= FEWEST; rows++)
        if (common % rows == 0) return (int)(common / rows);
    return 1;
}

/* Rewrites the instructions for registers that have one element for each row, as inputs with such runs do if `runs`: what is computed of these alone
   is computed once a row, and a sum or a product with one reads it there. Returns how many instructions there are; 0 where they would be too many. */
static int once_a_row(Pass *work, Instruction *made, int runs) {
    uint8_t of_row[MOST_REGISTERS] = { 0 }, spread[MOST_REGISTERS] = { 0 };
    int count = 0, registers = work->registers;
    for (int i = 0; i < work->inputs_count; i++) {
        const Operand *input = &work->inputs[i];
        Py_ssize_t run = runs ? run_of(input) : 0;
        of_row[input->place] = input->of_rows || (run && run % work->columns == 0);
    }
    for (int i = 0; i < work->instructions; i++) {
        Instruction each = work->instruction[i];
        int code = each.code & ~ONCE_A_ROW, is_taken_of_rows = code >= ROW_SUM && code <= ROW_MINIMUM, written = 0;
        uint8_t *operands[] = { &each.a, &each.b, &each.c }; /* the first stands in the place of those that are not needed */
        int all = of_row[each.a] && of_row[each.b] && of_row[each.c], any = of_row[each.a] || of_row[each.b] || of_row[each.c];
        for (int o = 0; o < work->outputs_count; o++) written |= work->outputs[o].place == each.to;
        if (each.code & ONCE_A_ROW || code == SPREAD || !any) ;
        else if (all && !written && !is_taken_of_rows) each.code |= ONCE_A_ROW;
        else if (!all && code <= MINIMUM) each.code = (uint8_t)(code + (of_row[each.b] ? BY_ROW : ROW_BY));
        else
            for (int o = 0; o < 3; o++) {
                uint8_t row = *operands[o];
                if (!of_row[row]) continue;
                if (!spread[row]) {
                    if (registers == MOST_REGISTERS || count == MOST_INSTRUCTIONS) return 0;
                    made[count++] = (Instruction){ SPREAD, (uint8_t)registers, row, row, row };
                    spread[row] = (uint8_t)registers++;
                }
                *operands[o] = spread[row];
            }
        if (count == MOST_INSTRUCTIONS) return 0;
        made[count++] = each;
        of_row[each.to] = each.code & ONCE_A_ROW || is_taken_of_rows;
        spread[each.to] = 0;
    }
    work->registers = registers;
    return count;
}

/* Gives a pass rows, if that saves something. Returns 0 where the code has more registers than there are. */
static int find_rows(Pass *work, Instruction *made) {
    int given = work->columns;
    if (given == 1 && (work->columns = row_of_runs(work)) == 1) return 1;
    int runs = 1, count = once_a_row(work, made, runs);
    if (!count && given == 1) {
        work->columns = 1;
        return 1;
    }
    if (!count) count = once_a_row(work, made, runs = 0);
    for (int i = 0; runs && i < work->inputs_count; i++) {
        Operand *input = &work->inputs[i];
        Py_ssize_t run = run_of(input);
        if (!run || run % work->columns) continue;
        input->of_rows = 1;
        input->size[input->dims - 1] /= work->columns;
        if (run == work->columns) input->dims--;
    }
    work->instruction = made;
    work->instructions = count;
    return count > 0;
}

/* Whether an instruction names a register as an operand after another register is written for the first time. The same instruction may do
   both. */
static int is_read_later(const Pass *work, int read, int written) {
    int later = 0;
    for (int i = 0; i < work->instructions; i++) {
        const Instruction *each = &work->instruction[i];
        if (later && (each->a == read || each->b == read || each->c == read)) return 1;
        later = later || each->to == written;
    }
    return 0;
}

/* run(code, shape, outputs, *inputs). `code`: registers, inputs, outputs, the columns of a row in two bytes, the registers of inputs and of
   outputs, the instructions. */
static PyObject *run(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    if (count < 3 || !PyBytes_Check(arguments[0]) || !PyTuple_Check(arguments[1]) || !PyList_Check(arguments[2])) {
        PyErr_SetString(PyExc_TypeError, "run(code, shape, outputs, *inputs)");
        return 0;
    }
    const uint8_t *code = (const uint8_t *)PyBytes_AS_STRING(arguments[0]);
    Py_ssize_t inputs = count - 3, outputs = PyList_GET_SIZE(arguments[2]), size = PyBytes_GET_SIZE(arguments[0]);
    Py_ssize_t instructions = size - 5 - inputs - outputs, ndim = PyTuple_GET_SIZE(arguments[1]), shape[MOST_DIMS], of_rows[MOST_DIMS], last = 1;
    if (size < 5 || code[0] > MOST_REGISTERS || code[1] != inputs || code[2] != outputs || inputs > MOST_INPUTS || outputs > MOST_OUTPUTS
        || !outputs || instructions <= 0 || instructions % (Py_ssize_t)sizeof(Instruction) || ndim > MOST_DIMS) {
        PyErr_SetString(PyExc_ValueError, "the code does not fit the arrays");
        return 0;
    }
    Pass work;
    Py_buffer views[MOST_INPUTS + MOST_OUTPUTS];
    Py_ssize_t held = 0;
    work.elements = 1;
    for (Py_ssize_t d = 0; d < ndim; d++) {
        shape[d] = PyLong_AsSsize_t(PyTuple_GET_ITEM(arguments[1], d));
        if (PyErr_Occurred()) return 0;
        work.elements *= shape[d];
    }
    work.columns = code[3] + 256 * code[4];
    int fits = work.columns && work.columns <= WIDEST && work.elements >= 0 && work.elements % work.columns == 0;
    for (Py_ssize_t d = ndim - 1; d >= 0; d--) {
        of_rows[d] = last < work.columns ? 1 : shape[d];
        last *= shape[d];
    }
    work.registers = code[0];
    work.inputs_count = (int)inputs;
    work.outputs_count = (int)outputs;
    work.instruction = (const Instruction *)(code + 5 + inputs + outputs);
    work.instructions = (int)(instructions / (Py_ssize_t)sizeof(Instruction));
    for (; held < inputs + outputs; held++) {
        int is_output = held < outputs;
        PyObject *array = is_output ? PyList_GET_ITEM(arguments[2], held) : arguments[3 + held - outputs];
        Py_buffer *view = &views[held];
        if (PyObject_GetBuffer(array, view, is_output ? PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE : PyBUF_STRIDES | PyBUF_FORMAT)) goto end;
        Operand *operand = is_output ? &work.outputs[held] : &work.inputs[held - outputs];
        int place = is_output ? code[5 + inputs + held] : code[5 + held - outputs];
        operand->of_rows = place & OF_ROWS;
        operand->place = place & ~OF_ROWS;
        /* What is written for each row lies in order, in as many dimensions as there are. */
        fits = fits && operand->place < work.registers
            && (is_output && operand->of_rows ? describe(operand, view, view->ndim, view->shape) : describe(operand, view, (int)ndim, operand->of_rows ? of_rows : shape));
        if (operand->of_rows) operand->in_order = 0;
        if (is_output) fits = fits && PyBuffer_IsContiguous(view, 'C') && view->len == work.elements / (operand->of_rows ? work.columns : 1) * view->itemsize;
    }
    for (int i = 0; i < work.instructions; i++) {
        const Instruction *each = &work.instruction[i];
        fits = fits && (each->code & ~ONCE_A_ROW) <= SPREAD && each->to < code[0] && each->a < code[0] && each->b < code[0] && each->c < code[0];
    }
    Instruction made[MOST_INSTRUCTIONS];
    if (!fits || !find_rows(&work, made)) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto end;
    }
    int rows = WIDEST / work.columns;
    if (rows > GROUP) rows -= rows % GROUP;
    work.block = work.columns == 1 ? BLOCK : rows * work.columns;
    work.part = elements_of_part(work.elements, work.block);
    /* An output over an input is written when the input has been read: at once, or from a register after all instructions. */
    for (Py_ssize_t o = 0; o < outputs; o++)
        for (Py_ssize_t i = 0; i < inputs; i++)
            if (work.outputs[o].data == work.inputs[i].data && is_read_later(&work, work.inputs[i].place, work.outputs[o].place)) work.outputs[o].in_order = 0;
    for (Py_ssize_t o = 1; o < outputs; o++) /* of one register, which the first of them takes the place of */
        for (Py_ssize_t other = 0; other < o; other++)
            if (work.outputs[o].place == work.outputs[other].place) work.outputs[o].in_order = 0;
    share_without_lock(pass, &work, (work.elements + work.part - 1) / work.part, work.elements);
end:
    for (Py_ssize_t i = 0; i < held; i++) PyBuffer_Release(&views[i]);
    if (PyErr_Occurred()) return 0;
    Py_RETURN_NONE;
}

static void copy_part(void *job, Py_ssize_t number) {
    const Pass *work = job;
    Py_ssize_t start = number * work->part, left = work->elements - start;
    load(&work->inputs[0], start, left < work->part ? (int)left : (int)work->part, (float *)work->outputs[0].data + start);
}

/* copy(to, x): the elements of x, of the same shape, one after the other. */
static PyObject *copy(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer to, x;
    Pass work;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "copy(to, x)");
        return 0;
    }
    if (PyObject_GetBuffer(arguments[0], &to, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE)) return 0;
    if (PyObject_GetBuffer(arguments[1], &x, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyBuffer_Release(&to);
        return 0;
    }
    work.elements = to.len / 4;
    work.part = elements_of_part(work.elements, BLOCK);
    work.outputs[0].data = to.buf;
    if (kind_of(&to) != 'f' || to.ndim != x.ndim || memcmp(to.shape, x.shape, to.ndim * sizeof *to.shape) || kind_of(&x) != 'f' || !describe(&work.inputs[0], &x, to.ndim, to.shape))
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    else share_without_lock(copy_part, &work, (work.elements + work.part - 1) / work.part, work.elements);
    PyBuffer_Release(&to);
    PyBuffer_Release(&x);
    if (PyErr_Occurred()) return 0;
    Py_RETURN_NONE;
}

/* reduce(code, to, x, rows, along_first): of x as so many rows, with a result for each column if it is along the first dimension. */
static PyObject *reduce(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer to, x;
    if (count != 5) {
        PyErr_SetString(PyExc_TypeError, "reduce(code, to, x, rows, along_first)");
        return 0;
    }
    Reduction work;
    work.code = (int)PyLong_AsLong(arguments[0]);
    work.rows = PyLong_AsSsize_t(arguments[3]);
    int along_first = PyObject_IsTrue(arguments[4]);
    if (PyErr_Occurred()) return 0;
    if (PyObject_GetBuffer(arguments[1], &to, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | PyBUF_WRITABLE)) return 0;
    if (PyObject_GetBuffer(arguments[2], &x, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyBuffer_Release(&to);
        return 0;
    }
    Py_ssize_t elements = x.len / 4, results = to.len / 4;
    work.x = x.buf;
    work.to = to.buf;
    int floats = x.format && to.format && x.format[0] == 'f' && to.format[0] == 'f';
    if (!floats || work.rows < 1 || elements < 1 || elements % work.rows
        || results != (along_first ? elements / work.rows : work.rows)) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
    } else {
        work.columns = elements / work.rows;
        if (!along_first) {
            work.step = CHUNK / work.columns + 1;
            share_without_lock(rows, &work, (work.rows + work.step - 1) / work.step, elements);
        } else {
            share_without_lock(bands, &work, (work.columns + BAND - 1) / BAND, elements);
        }
    }
    PyBuffer_Release(&to);
    PyBuffer_Release(&x);
    if (PyErr_Occurred()) return 0;
    Py_RETURN_NONE;
}

/* Whether the library can read these matrices as they lie. */
static int as_matrix(Matrix *matrix, const Py_buffer *view, Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t stack) {
    int n = view->ndim;
    if (n < 2 || n > 4 || view->shape[n - 2] != rows || view->shape[n - 1] != columns) return 0;
    matrix->inner = n > 2 ? view->shape[n - 3] : 1;
    matrix->outer = n > 3 ? view->strides[0] : 0;
    if ((n > 3 ? view->shape[0] : 1) * matrix->inner != stack || !stack) return 0;
    Py_ssize_t down = view->strides[n - 2], across = view->strides[n - 1], item = view->itemsize;
    matrix->data = view->buf;
    matrix->stride = n > 2 ? view->strides[n - 3] : 0;
    matrix->transposed = !(across == item && down >= columns * item && down % item == 0);
    if (matrix->transposed && !(down == item && across >= rows * item && across % item == 0)) return 0;
    matrix->line = (matrix->transposed ? across : down) / item;
    return 1;
}

/* The functions of the library that tell and change how many threads it has. They belong to the process: where two threads compute products
   at once, the one may find another number than it has set. Products are the same then, and take longer. */
static struct { int (*threads)(void); void (*set_threads)(int); } library;

/* use_library(threads, set_threads): the addresses of these functions. */
static PyObject *use_library(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "use_library(threads, set_threads)");
        return 0;
    }
    void *threads = PyLong_AsVoidPtr(arguments[0]), *set_threads = PyLong_AsVoidPtr(arguments[1]);
    if (PyErr_Occurred()) return 0;
    library.threads = (int (*)(void))threads;
    library.set_threads = (void (*)(int))set_threads;
    Py_RETURN_NONE;
}

/* Describes the product of two arrays as they lie. 0: the library cannot read them. */
static int prepare(Product *work, const Py_buffer *to, const Py_buffer *x, const Py_buffer *y) {
    int n = to->ndim, kind = to->format ? to->format[0] : 0;
    if ((kind != 'f' && kind != 'd') || !x->format || !y->format || x->format[0] != kind || y->format[0] != kind || !work->function) return 0;
    if ((n != 2 && n != 3) || (x->ndim != n && (n != 3 || x->ndim != 4)) || (y->ndim != n && (n != 3 || y->ndim != 4))) return 0;
    if (!PyBuffer_IsContiguous(to, 'C') || !to->len) return 0;
    work->doubles = kind == 'd';
    work->to = to->buf;
    work->stack = n == 3 ? to->shape[0] : 1;
    work->rows = to->shape[n - 2];
    work->columns = to->shape[n - 1];
    work->inner = x->shape[x->ndim - 1];
    work->by_rows = work->rows >= work->columns;
    return work->inner > 0 && as_matrix(&work->x, x, work->rows, work->inner, work->stack) && as_matrix(&work->y, y, work->inner, work->columns, work->stack);
}

/* In so many parts of at least so many rows or columns; a single part leaves the product to the caller's thread. */
static void multiply_prepared(Product *work, Py_ssize_t parts, Py_ssize_t least) {
    Py_ssize_t whole = work->stack > 1 ? work->stack : work->by_rows ? work->rows : work->columns;
    work->step = (whole + parts - 1) / parts;
    if (work->stack == 1 && work->step < least) work->step = least;
    if (multiply_few(work) || multiply_by_tiles(work, parts)) return;
    int threads = library.threads ? library.threads() : 1;
    if (threads != 1) library.set_threads(1);
    share(products, work, (whole + work->step - 1) / work->step, is_long(work));
    if (threads != 1) library.set_threads(threads);
}

static const Products for_tapes = { prepare, multiply_prepared, &wanted };

/* multiply(function, wide, parts, least, to, x, y): a product, or a stack of them; x and y may hold the stack in two dimensions. What the
   library computes has so many parts of at least so many rows or columns. False: the library cannot read matrices that lie like this. */
static PyObject *multiply(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer views[3];
    Py_ssize_t held = 0;
    int taken = 0;
    Product work;
    if (count != 7) {
        PyErr_SetString(PyExc_TypeError, "multiply(function, wide, parts, least, to, x, y)");
        return 0;
    }
    work.function = PyLong_AsVoidPtr(arguments[0]);
    work.wide = PyObject_IsTrue(arguments[1]);
    Py_ssize_t parts = PyLong_AsSsize_t(arguments[2]), least = PyLong_AsSsize_t(arguments[3]);
    if (PyErr_Occurred()) return 0;
    for (; held < 3; held++)
        if (PyObject_GetBuffer(arguments[4 + held], &views[held], PyBUF_STRIDES | PyBUF_FORMAT | (held ? 0 : PyBUF_WRITABLE))) goto end;
    taken = parts > 0 && prepare(&work, &views[0], &views[1], &views[2]);
    if (taken) {
        Py_BEGIN_ALLOW_THREADS
        multiply_prepared(&work, parts, least);
        Py_END_ALLOW_THREADS
    }
end:
    while (held) PyBuffer_Release(&views[--held]);
    if (PyErr_Occurred()) return 0;
    return PyBool_FromLong(taken);
}

/* add_rows(to, numbers, rows): adds each row to the one of `to` that has its number, one after the other. False, and nothing is added:
   there is no row of that number. */
static PyObject *add_rows(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer views[3];
    Py_ssize_t held = 0;
    int taken = 0;
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "add_rows(to, numbers, rows)");
        return 0;
    }
    for (; held < 3; held++)
        if (PyObject_GetBuffer(arguments[held], &views[held], PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (held ? 0 : PyBUF_WRITABLE))) goto end;
    const Py_buffer *to = &views[0], *numbers = &views[1], *rows = &views[2];
    taken = kind_of(to) == 'f' && kind_of(rows) == 'f' && (kind_of(numbers) == 'l' || kind_of(numbers) == 'q') && numbers->itemsize == 8
            && to->ndim == 2 && rows->ndim == 2 && numbers->ndim == 1 && to->shape[1] == rows->shape[1] && numbers->shape[0] == rows->shape[0];
    if (!taken) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto end;
    }
    const int64_t *number = numbers->buf;
    Py_ssize_t width = to->shape[1], all = rows->shape[0];
    for (Py_ssize_t i = 0; i < all; i++) taken = taken && number[i] >= 0 && number[i] < to->shape[0];
    if (taken) {
        Py_BEGIN_ALLOW_THREADS
        for (Py_ssize_t i = 0; i < all; i++) add_row((float *)to->buf + number[i] * width, (const float *)rows->buf + i * width, (int)width, ADD);
        Py_END_ALLOW_THREADS
    }
end:
    while (held) PyBuffer_Release(&views[--held]);
    if (PyErr_Occurred()) return 0;
    return PyBool_FromLong(taken);
}

typedef struct {
    float *to;
    const float *image, *numbers;
    Py_ssize_t height, width, rows, columns; /* of an image, and of its windows */
    Py_ssize_t kernel[2], stride[2], before[2];
} Windows;

enum { MOST_WINDOWS = 128 };

/* Where in a line of the image the largest element of each window is so far. `step`: from a window to the next; `at`: of the first element. */
CLONES static void compare(float *best, int32_t *found, const float *line, int32_t at, Py_ssize_t step, int count) {
    INDEPENDENT for (int i = 0; i < count; i++) {
        float value = line[i * step];
        int better = (found[i] < 0) | (value > best[i]) | (value != value);
        best[i] = better ? value : best[i];
        found[i] = better ? at + (int32_t)(i * step) : found[i];
    }
}

/* The windows of one image, one after the other. A program adds the images of all places from the last to the first, which is the same. */
static void spread_image(void *job, Py_ssize_t number) {
    const Windows *w = job;
    const float *image = w->image + number * w->height * w->width, *numbers = w->numbers + number * w->rows * w->columns;
    float *to = w->to + number * w->height * w->width, best[MOST_WINDOWS];
    int32_t found[MOST_WINDOWS];
    Py_ssize_t step = w->stride[1];
    for (Py_ssize_t row = 0; row < w->rows; row++) {
        Py_ssize_t top = row * w->stride[0] - w->before[0];
        for (Py_ssize_t first = 0, end; first < w->columns; first = end) {
            end = w->columns - first > MOST_WINDOWS ? first + MOST_WINDOWS : w->columns;
            for (Py_ssize_t i = 0; i < end - first; i++) best[i] = 0.0f, found[i] = -1;
            for (Py_ssize_t y = top < 0 ? 0 : top; y < top + w->kernel[0] && y < w->height; y++)
                for (Py_ssize_t place = 0; place < w->kernel[1]; place++) {
                    /* Of the windows whose element at this place is within the image. */
                    Py_ssize_t x = place - w->before[1], from = x < 0 ? (step - 1 - x) / step : 0, until = w->width > x ? (w->width - x + step - 1) / step : 0;
                    if (from < first) from = first;
                    if (until > end) until = end;
                    Py_ssize_t at = y * w->width + x + from * step;
                    if (until > from) compare(best + from - first, found + from - first, image + at, (int32_t)at, step, (int)(until - from));
                }
            for (Py_ssize_t i = 0; i < end - first; i++)
                if (found[i] >= 0) to[found[i]] += numbers[row * w->columns + first + i];
        }
    }
}

/* spread(to, image, numbers, height and width of a window, the steps, the room before the image): adds to an array, where the image has the
   largest element of each window (the first one, or the last NaN), a number for each. */
static PyObject *spread(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
    (void)self;
    Py_buffer views[3];
    Py_ssize_t held = 0, numbers[6];
    Windows work;
    if (count != 9) {
        PyErr_SetString(PyExc_TypeError, "spread(to, image, numbers, and six numbers)");
        return 0;
    }
    for (int i = 0; i < 6; i++) numbers[i] = PyLong_AsSsize_t(arguments[3 + i]);
    if (PyErr_Occurred()) return 0;
    for (; held < 3; held++)
        if (PyObject_GetBuffer(arguments[held], &views[held], PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (held ? 0 : PyBUF_WRITABLE))) goto end;
    const Py_buffer *to = &views[0], *image = &views[1], *there = &views[2];
    int fit = 1;
    for (int i = 0; i < 3; i++) fit = fit && kind_of(&views[i]) == 'f' && views[i].ndim == 3 && views[i].shape[0] == to->shape[0];
    for (int i = 0; fit && i < 2; i++) {
        work.kernel[i] = numbers[i], work.stride[i] = numbers[2 + i], work.before[i] = numbers[4 + i];
        fit = to->shape[1 + i] == image->shape[1 + i] && work.kernel[i] > 0 && work.stride[i] > 0 && work.before[i] >= 0;
    }
    if (!fit || to->shape[1] * to->shape[2] > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto end;
    }
    work.to = to->buf, work.image = image->buf, work.numbers = there->buf;
    work.height = to->shape[1], work.width = to->shape[2], work.rows = there->shape[1], work.columns = there->shape[2];
    share_without_lock(spread_image, &work, to->shape[0], to->len / 4);
end:
    while (held) PyBuffer_Release(&views[--held]);
    if (PyErr_Occurred()) return 0;
    Py_RETURN_NONE;
}

/* set_threads(number): how many take part, the caller among them. */
static PyObject *set_threads(PyObject *self, PyObject *number) {
    (void)self;
    long threads = PyLong_AsLong(number);
    if (threads == -1 && PyErr_Occurred()) return 0;
#if THREADS
    wanted = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : (int)threads;
#endif
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    { "run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, 0 },
    { "reduce", (PyCFunction)(void (*)(void))reduce, METH_FASTCALL, 0 },
    { "copy", (PyCFunction)(void (*)(void))copy, METH_FASTCALL, 0 },
    { "multiply", (PyCFunction)(void (*)(void))multiply, METH_FASTCALL, 0 },
    { "use_library", (PyCFunction)(void (*)(void))use_library, METH_FASTCALL, 0 },
    { "add_rows", (PyCFunction)(void (*)(void))add_rows, METH_FASTCALL, 0 },
    { "spread", (PyCFunction)(void (*)(void))spread, METH_FASTCALL, 0 },
    { "set_threads", set_threads, METH_O, 0 },
    { "give_way", give_way, METH_NOARGS, 0 },
    { 0 },
};

static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "elements", 0, -1, methods };

PyMODINIT_FUNC PyInit_elements(void) {
#if THREADS
    if (pthread_atfork(0, 0, after_fork)) return PyErr_NoMemory();
#endif
    PyObject *elements = PyModule_Create(&module), *capsule = PyCapsule_New((void *)&for_tapes, PRODUCTS, 0);
    if (!elements || !capsule || PyModule_AddObjectRef(elements, "products", capsule)) Py_CLEAR(elements);
    Py_XDECREF(capsule);
    return elements;
}
