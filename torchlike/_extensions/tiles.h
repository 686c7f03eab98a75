/* Matrix products in float32 on processors with AVX-512. The result is computed in tiles of 14 lines and 32 columns, whose sums stay in
   registers. What a tile reads of the right matrix, a panel of 32 columns, is copied first, so that it lies together.

   Each thread computes lines that lie together, as those of an elementwise operation do: it finds them in its own cache, and leaves the result
   there. OpenBLAS copies both matrices for each part of a product, and takes a quarter longer where there are some hundred lines. */

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define TILES __builtin_cpu_supports("avx512f")
#define AVX512 __attribute__((target("avx512f")))

enum { TILE = 14, PANEL = 32, DEPTH = 512, WIDTH = 256, HEIGHT = 112, LINE = DEPTH + 16, PAGE = 1024, PARTS = 4, AHEAD = 8 };
/* A thread copies up to DEPTH lines of WIDTH columns, which fit a core's second cache. Lines that lie a multiple of PAGE numbers apart all fall
   on the same places of the first cache: those of x are copied for that reason, and copied lines are a little longer than DEPTH. PARTS: for
   each thread, so that it can leave some to others. AHEAD: so many lines of a panel before they are needed they are fetched into the first cache. */

/* to[rows, columns] = or += x[rows, depth] times a panel[depth, PANEL]. `rows` is a constant where this is called. */
AVX512 INLINE void tile(int rows, const float *x, Py_ssize_t line, const float *panel, Py_ssize_t depth, float *to, Py_ssize_t to_line, Py_ssize_t columns, int adds) {
    __m512 sums[TILE][2];
    const float *at[(TILE + 2) / 3]; /* every third line: the address of another one is one of these and a multiple of `line` */
    __mmask16 left = (__mmask16)(columns < 16 ? (1 << columns) - 1 : -1), right = (__mmask16)(columns < 32 ? (1 << (columns > 16 ? columns - 16 : 0)) - 1 : -1);
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        sums[i][0] = sums[i][1] = _mm512_setzero_ps();
        if (i % 3 == 0) at[i / 3] = x + i * line;
    }
    for (Py_ssize_t k = 0; k < depth; k++) {
        _mm_prefetch((const char *)(panel + (k + AHEAD) * PANEL), _MM_HINT_T0);
        _mm_prefetch((const char *)(panel + (k + AHEAD) * PANEL + 16), _MM_HINT_T0);
        __m512 a = _mm512_load_ps(panel + k * PANEL), b = _mm512_load_ps(panel + k * PANEL + 16);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            __m512 number = _mm512_set1_ps(at[i / 3][i % 3 * line + k]);
            sums[i][0] = _mm512_fmadd_ps(number, a, sums[i][0]);
            sums[i][1] = _mm512_fmadd_ps(number, b, sums[i][1]);
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        float *out = to + i * to_line;
        if (adds) {
            sums[i][0] = _mm512_add_ps(sums[i][0], _mm512_maskz_loadu_ps(left, out));
            sums[i][1] = _mm512_add_ps(sums[i][1], _mm512_maskz_loadu_ps(right, out + 16));
        }
        _mm512_mask_storeu_ps(out, left, sums[i][0]);
        _mm512_mask_storeu_ps(out + 16, right, sums[i][1]);
    }
}

AVX512 static void tile_of(Py_ssize_t rows, const float *x, Py_ssize_t line, const float *panel, Py_ssize_t depth, float *to, Py_ssize_t to_line, Py_ssize_t columns, int adds) {
#define ROWS(n) case n: tile(n, x, line, panel, depth, to, to_line, columns, adds); break;
    switch (rows) {
        ROWS(1) ROWS(2) ROWS(3) ROWS(4) ROWS(5) ROWS(6) ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12) ROWS(13) ROWS(14)
    }
}

/* to[count, 16] = the transpose of from[lines, count]; up to 16 of each, and zeros for the lines that are missing. */
AVX512 static void transpose(const float *from, Py_ssize_t line, Py_ssize_t lines, Py_ssize_t count, float *to, Py_ssize_t to_line) {
    typedef float Numbers __attribute__((vector_size(64)));
    typedef int Places __attribute__((vector_size(64)));
    Numbers a[16], b[16];
    __mmask16 wanted = (__mmask16)(count < 16 ? (1 << count) - 1 : -1);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) a[i] = i < lines ? (Numbers)_mm512_maskz_loadu_ps(wanted, from + i * line) : (Numbers){ 0 };
/* Exchanges, in each square of 2 n lines and columns, the quarter above with the one on the left. */
#define EXCHANGE(in, out, n, first, second) \
    _Pragma("GCC unroll 16") for (int i = 0; i < 16; i++) \
        if (!(i & n)) out[i] = __builtin_shuffle(in[i], in[i + n], (Places)first), out[i + n] = __builtin_shuffle(in[i], in[i + n], (Places)second);
    EXCHANGE(a, b, 8, ((Places){ 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23 }), ((Places){ 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31 }))
    EXCHANGE(b, a, 4, ((Places){ 0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27 }), ((Places){ 4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31 }))
    EXCHANGE(a, b, 2, ((Places){ 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29 }), ((Places){ 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31 }))
    EXCHANGE(b, a, 1, ((Places){ 0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30 }), ((Places){ 1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31 }))
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        if (i < count) _mm512_storeu_ps(to + i * to_line, (__m512)a[i]);
}

/* So many lines and columns of y, a panel after the other, with zeros in the place of the columns that the last one lacks. */
AVX512 static void copy_panels(const Product *p, const float *y, Py_ssize_t depth, Py_ssize_t columns, float *to) {
    Py_ssize_t line = p->y.line;
    for (Py_ssize_t k = 0; k < depth; k += 16) {
        Py_ssize_t lines = depth - k < 16 ? depth - k : 16;
        for (Py_ssize_t j = 0; j < columns; j += 16) {
            Py_ssize_t n = columns - j < 16 ? columns - j : 16;
            float *square = to + j / PANEL * PANEL * depth + k * PANEL + j % PANEL;
            if (p->y.transposed) transpose(y + j * line + k, line, n, lines, square, PANEL);
            else
                for (Py_ssize_t i = 0; i < lines; i++) _mm512_store_ps(square + i * PANEL, _mm512_maskz_loadu_ps((__mmask16)((1 << n) - 1), y + (k + i) * line + j));
        }
        if ((columns - 1) % PANEL < 16)
            for (Py_ssize_t i = 0; i < lines; i++) _mm512_store_ps(to + (columns - 1) / PANEL * PANEL * depth + (k + i) * PANEL + 16, _mm512_setzero_ps());
    }
}

/* What a thread has copied: panels of y, and lines of x where these lie as columns in memory, or as far apart as said above. What another
   core has written takes several times as long to read, so each thread copies for itself. */
static __thread struct {
    float panels[DEPTH * WIDTH] __attribute__((aligned(64))), lines[HEIGHT * LINE];
    unsigned long tag; /* of the panels: no two products, nor two parts of one with other columns or sums, have the same */
} own;

typedef struct {
    const Product *p;
    Py_ssize_t number, from, until, start, depth; /* the product in the stack, the columns and what is added up now */
    Py_ssize_t rows, columns, above;              /* of a part, and how many parts lie above each other */
    unsigned long tag;                            /* of the first part's panels; those beside it have the next ones */
} Tiles;

/* Adds up a part of so many lines and columns. A thread takes parts that lie above each other one after the other, and copies the panels once. */
AVX512 static void tiles_part(void *job, Py_ssize_t number) {
    const Tiles *t = job;
    const Product *p = t->p;
    const float *x = (const float *)matrix_of(&p->x, t->number), *y = (const float *)matrix_of(&p->y, t->number);
    Py_ssize_t from = t->from + number / t->above * t->columns, until = from + t->columns < t->until ? from + t->columns : t->until, copied = 0, first = 0;
    Py_ssize_t row = number % t->above * t->rows, last = row + t->rows < p->rows ? row + t->rows : p->rows, depth = t->depth, n;
    float *to = (float *)p->to + t->number * p->rows * p->columns;
    int copies = p->x.transposed || p->x.line % PAGE == 0;
    if (own.tag != t->tag + (unsigned long)(number / t->above)) {
        copy_panels(p, p->y.transposed ? y + from * p->y.line + t->start : y + t->start * p->y.line + from, depth, until - from, own.panels);
        own.tag = t->tag + (unsigned long)(number / t->above);
    }
    for (Py_ssize_t left = (last - row + TILE - 1) / TILE; left; row += n, left--) {
        n = (last - row + left - 1) / left; /* the tiles have about as many lines each */
        const float *lines = x + row * p->x.line + t->start;
        if (copies) {
            if (row + n > copied) {
                first = row, copied = last - row < HEIGHT ? last : row + HEIGHT;
                for (Py_ssize_t i = row; i < copied && !p->x.transposed; i++) memcpy(own.lines + (i - row) * LINE, x + i * p->x.line + t->start, (size_t)depth * 4);
                for (Py_ssize_t k = 0; k < depth && p->x.transposed; k += 16)
                    for (Py_ssize_t i = row; i < copied; i += 16)
                        transpose(x + (t->start + k) * p->x.line + i, p->x.line, depth - k < 16 ? depth - k : 16, copied - i < 16 ? copied - i : 16, own.lines + (i - row) * LINE + k, LINE);
            }
            lines = own.lines + (row - first) * LINE;
        }
        for (Py_ssize_t j = from; j < until; j += PANEL)
            tile_of(n, lines, copies ? LINE : p->x.line, own.panels + (j - from) * depth, depth, to + row * p->columns + j, p->columns, until - j < PANEL ? until - j : PANEL, t->start > 0);
    }
}

/* One product of a stack in so many parts, which threads share if there are several. */
static void multiply_one(const Product *p, Py_ssize_t number, Py_ssize_t parts) {
    static unsigned long tags = 1;
    Py_ssize_t blocks = (p->inner + DEPTH - 1) / DEPTH, depth = ((p->inner + blocks - 1) / blocks + 15) / 16 * 16, tiles = (p->rows + TILE - 1) / TILE;
    Py_ssize_t width = DEPTH * WIDTH / depth / PANEL * PANEL;
    Tiles t = { .p = p, .number = number };
    Py_ssize_t shares = tiles < parts ? tiles : parts; /* of as many lines each, though the tiles get a line less: else one thread waits */
    t.rows = (p->rows + shares - 1) / shares;
    t.above = (p->rows + t.rows - 1) / t.rows;
    for (; t.from < p->columns; t.from = t.until) {
        t.until = t.from + width < p->columns ? t.from + width : p->columns;
        Py_ssize_t panels = (t.until - t.from + PANEL - 1) / PANEL, beside = t.above < parts ? (parts + t.above - 1) / t.above : 1;
        t.columns = PANEL * ((panels + beside - 1) / beside);
        beside = (t.until - t.from + t.columns - 1) / t.columns;
        for (t.start = 0; t.start < p->inner; t.start += depth) {
            t.depth = p->inner - t.start < depth ? p->inner - t.start : depth;
            t.tag = __atomic_fetch_add(&tags, (unsigned long)beside, __ATOMIC_RELAXED);
            if (parts > 1) share(tiles_part, &t, t.above * beside, is_long(p));
            else tiles_part(&t, 0);
        }
    }
}

static void stacked_part(void *job, Py_ssize_t number) {
    const Product *p = job;
    for (Py_ssize_t i = number * p->step; i < number * p->step + p->step && i < p->stack; i++) multiply_one(p, i, 1);
}

/* False: this processor has no AVX-512, or it is not a product in float32. */
static int multiply_by_tiles(Product *p, Py_ssize_t parts) {
    if (p->doubles || !TILES) return 0;
    if (parts > 1) parts = PARTS * wanted;
    if (p->stack > 1) {
        p->step = (p->stack + parts - 1) / parts;
        share(stacked_part, p, (p->stack + p->step - 1) / p->step, is_long(p));
    } else multiply_one(p, 0, parts);
    return 1;
}
#else
static int multiply_by_tiles(Product *p, Py_ssize_t parts) {
    (void)p, (void)parts;
    return 0;
}
#endif
