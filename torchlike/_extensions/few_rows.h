/* Matrix products of a few rows in float32: a batch of one or two samples, or the last token of a text, with the weights of a layer.

   Such a product takes as long as it takes to read the weights once. OpenBLAS copies them first where they are transposed, as those of
   `nn.Linear` are, and reads large ones at a third of that speed. */

#ifdef __GNUC__
enum { FEW_ROWS = 8, LANES = 16, LINES = 4 };
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef float HalfOfLanes __attribute__((vector_size(2 * LANES)));
typedef float QuarterOfLanes __attribute__((vector_size(LANES)));

#define LANES_AT(p) (*(Lanes *)(p))
#define BY_ROWS(count, call) switch (count) { case 1: call(1); break; case 2: call(2); break; case 3: call(3); break; default: call(4); }

INLINE float sum_of(Lanes value) {
    HalfOfLanes halves[2];
    QuarterOfLanes quarters[2];
    memcpy(halves, &value, sizeof value);
    HalfOfLanes half = halves[0] + halves[1];
    memcpy(quarters, &half, sizeof half);
    QuarterOfLanes quarter = quarters[0] + quarters[1];
    return (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
}

/* `rows` lines of x, each with `columns` lines of y. Both numbers are constants where this is called, so that the sums stay in registers. */
INLINE void dots(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t inner, int rows, int columns) {
    Lanes sums[4][LINES];
    Py_ssize_t k = 0;
    memset(sums, 0, sizeof sums);
    for (; k + LANES <= inner; k += LANES) {
        Lanes b[LINES];
        for (int c = 0; c < columns; c++) {
            __builtin_prefetch(y + (c + columns) * y_line + k);
            b[c] = LANES_AT(y + c * y_line + k);
        }
        for (int r = 0; r < rows; r++) {
            Lanes a = LANES_AT(x + r * x_line + k);
            for (int c = 0; c < columns; c++) sums[r][c] += a * b[c];
        }
    }
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++) {
            float rest = 0.0f;
            for (Py_ssize_t i = k; i < inner; i++) rest += x[r * x_line + i] * y[c * y_line + i];
            to[r * to_line + c] = sum_of(sums[r][c]) + rest;
        }
}

/* x [rows, inner] times the transpose of y [columns, inner]. */
CLONES static void few_by_transposed(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns) {
    for (Py_ssize_t j = 0; j < columns; j += columns - j < LINES ? 1 : LINES)
        for (Py_ssize_t i = 0; i < rows; i += 4) {
#define DOTS(n) dots(x + i * x_line, x_line, y + j * y_line, y_line, to + i * to_line + j, to_line, inner, n, LINES)
#define DOT(n) dots(x + i * x_line, x_line, y + j * y_line, y_line, to + i * to_line + j, to_line, inner, n, 1)
            if (columns - j < LINES) BY_ROWS(rows - i, DOT) else BY_ROWS(rows - i, DOTS)
        }
}

/* Adds `lines` lines of y, each times its factors in x, to `rows` lines. Both numbers are constants where this is called. */
INLINE void add_lines(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t columns, int rows, int lines) {
    Py_ssize_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        Lanes b[LINES];
        for (int k = 0; k < lines; k++) {
            __builtin_prefetch(y + (k + lines) * y_line + j);
            b[k] = LANES_AT(y + k * y_line + j);
        }
        for (int r = 0; r < rows; r++) {
            Lanes sum = LANES_AT(to + r * to_line + j);
            for (int k = 0; k < lines; k++) sum += x[r * x_line + k] * b[k];
            LANES_AT(to + r * to_line + j) = sum;
        }
    }
    for (; j < columns; j++)
        for (int r = 0; r < rows; r++)
            for (int k = 0; k < lines; k++) to[r * to_line + j] += x[r * x_line + k] * y[k * y_line + j];
}

/* x [rows, inner] times y [inner, columns]: line by line of y, as it lies in memory. */
CLONES static void few_by_plain(const float *x, Py_ssize_t x_line, const float *y, Py_ssize_t y_line, float *to, Py_ssize_t to_line, Py_ssize_t rows, Py_ssize_t inner, Py_ssize_t columns) {
    for (Py_ssize_t i = 0; i < rows; i++) memset(to + i * to_line, 0, columns * sizeof *to);
    for (Py_ssize_t k = 0; k < inner; k += inner - k < LINES ? 1 : LINES)
        for (Py_ssize_t i = 0; i < rows; i += 4) {
#define ADD_LINES(n) add_lines(x + i * x_line + k, x_line, y + k * y_line, y_line, to + i * to_line, to_line, columns, n, LINES)
#define ADD_LINE(n) add_lines(x + i * x_line + k, x_line, y + k * y_line, y_line, to + i * to_line, to_line, columns, n, 1)
            if (inner - k < LINES) BY_ROWS(rows - i, ADD_LINE) else BY_ROWS(rows - i, ADD_LINES)
        }
}
#endif
