/* SPDX-License-Identifier: MIT */
/* A decimal is mantissa * 10^exponent. Where both are exact in double, one
 * multiplication or division is correctly rounded (Clinger 1990); 17 digits
 * over a power of ten take one step of exact remainder more; the rest, which
 * is rare in data, goes to strtod. */
#include "data/number.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"

static const double POWER[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                               1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                               1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

enum { EXACT_POWER = 22 };
#define EXACT_INTEGER (UINT64_C(1) << 53)

/* Below this, one digit more still fits 64 bits. */
#define MANTISSA_ROOM UINT64_C(1000000000000000000)

struct decimal {
    uint64_t mantissa;
    int exponent;
    bool negative;
    bool cut; /* digits that are not zero did not fit */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes digits into d; place is 0 before the point and -1 after it. */
static const char *take_digits(const char *p, const char *end, int place,
                               struct decimal *d)
{
    for (; p < end && is_digit(*p); p++) {
        if (d->mantissa < MANTISSA_ROOM) {
            d->mantissa = 10 * d->mantissa + (uint64_t)(*p - '0');
            d->exponent += place;
        } else {
            d->cut |= *p != '0';
            d->exponent += place + 1;
        }
    }
    return p;
}

/* The e+12 at p, or NULL when there is an e without digits. */
static const char *take_exponent(const char *p, const char *end,
                                 struct decimal *d)
{
    if (p == end || (*p != 'e' && *p != 'E')) return p;
    p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !is_digit(*p)) return NULL;
    int e = 0;
    for (; p < end && is_digit(*p); p++)
        if (e < 100000) e = 10 * e + (*p - '0');
    d->exponent += negative ? -e : e;
    return p;
}

static bool take_decimal(const char *p, const char *end, struct decimal *d)
{
    *d = (struct decimal){0};
    d->negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char *whole = p;
    p = take_digits(p, end, 0, d);
    bool some = p > whole;
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        p = take_digits(p, end, -1, d);
        some = some || p > fraction;
    }
    if (!some) return false;
    return take_exponent(p, end, d) == end;
}

/* x = m / power, correctly rounded, unless false. The remainder of the
 * division is exact under fma, so the second quotient is off by a few units
 * in its own last place; when so little decides the rounding, do not. */
static bool divide(uint64_t m, double power, double *x)
{
    double high = (double)m;
    double low = (double)(int64_t)(m - (uint64_t)high);
    double q = high / power;
    double rest = (fma(-q, power, high) + low) / power;
    double doubt = 0x1p-48 * fabs(rest);
    *x = q + rest;
    return q + (rest - doubt) == *x && q + (rest + doubt) == *x;
}

static bool convert(const struct decimal *d, double *x)
{
    uint64_t m = d->mantissa;
    int e = d->exponent;
    if (d->cut || e > EXACT_POWER || e < -EXACT_POWER) return false;
    if (m > EXACT_INTEGER) return e < 0 && divide(m, POWER[-e], x);
    *x = e < 0 ? (double)m / POWER[-e] : (double)m * POWER[e];
    return true;
}

static bool is_word(const char *s, size_t n, const char *word, size_t length)
{
    return n == length && strncasecmp(s, word, length) == 0;
}

/* Printed by C programs, NaN may have a sign. */
static enum number_kind classify(const char *s, size_t n)
{
    if (n == 0 || is_word(s, n, "NA", 2)) return NUMBER_MISSING;
    if (*s == '-' || *s == '+') s++, n--;
    if (is_word(s, n, "NaN", 3)) return NUMBER_MISSING;
    if (is_word(s, n, "inf", 3) || is_word(s, n, "infinity", 8))
        return NUMBER_INFINITE;
    return NUMBER_BAD;
}

enum number_kind number_read(const char *s, size_t n, double *x)
{
    struct decimal d;
    *x = NAN;
    if (!take_decimal(s, s + n, &d)) return classify(s, n);
    if (convert(&d, x)) {
        if (d.negative) *x = -*x;
        return NUMBER_FINITE;
    }
    *x = strtod(s, NULL);
    return isinf(*x) ? NUMBER_HUGE : NUMBER_FINITE;
}

void number_write(double x, char text[static NUMBER_TEXT])
{
    for (int digits = 15; digits <= 17; digits++) {
        int n = snprintf(text, NUMBER_TEXT, "%.*g", digits, x);
        double back;
        if (number_read(text, (size_t)n, &back) != NUMBER_FINITE) continue;
        if (back == x) return;
    }
}
