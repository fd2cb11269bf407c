/* Numbers, into a parameter of another width, exactly or not at all. */
#include <math.h>

#include "hot.h"

/* A float of 8 or 16 bits. Those that are IEEE's end in infinities; of the others
 * one has none but a NaN of each sign, the rest (fnuz) none, and no negative zero. */
typedef struct narrow_float {
  uint8_t exponent_bits, mantissa_bits, bias;
  bool has_zero_sign;
  uint16_t largest, infinity, nan; /* the bits of each; infinity 0: none */
} narrow_float;

static const narrow_float half = {5, 10, 15, true, 0x7bff, 0x7c00, 0x7e00};
static const narrow_float bfloat = {8, 7, 127, true, 0x7f7f, 0x7f80, 0x7fc0};
static const narrow_float float8[] = {
    {3, 4, 3, true, 0x6f, 0x70, 0x78},  /* e3m4 */
    {4, 3, 7, true, 0x77, 0x78, 0x7c},  /* e4m3 */
    {4, 3, 11, false, 0x7f, 0, 0x80},   /* e4m3b11fnuz */
    {4, 3, 7, true, 0x7e, 0, 0x7f},     /* e4m3fn */
    {4, 3, 8, false, 0x7f, 0, 0x80},    /* e4m3fnuz */
    {5, 2, 15, true, 0x7b, 0x7c, 0x7e}, /* e5m2 */
    {5, 2, 16, false, 0x7f, 0, 0x80},   /* e5m2fnuz */
};

static const narrow_float *narrow_format(uint8_t format) {
  if (format >= DL_FORMAT_FLOAT8) return &float8[format - DL_FORMAT_FLOAT8];
  return format == DL_FORMAT_BFLOAT ? &bfloat : &half;
}

static uint64_t shift_to_even(uint64_t value, int shift) {
  uint64_t kept = value >> shift, rest = value & ((1ull << shift) - 1), middle = 1ull << (shift - 1);
  return kept + (rest > middle || (rest == middle && (kept & 1)));
}

/* Rounds to nearest even, once. DL_PRECISION: the type holds no such value. */
static int32_t narrow(const narrow_float *f, double value, uint32_t *result) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = (uint32_t)(bits >> 63) << (f->exponent_bits + f->mantissa_bits);
  if (isnan(value)) {
    *result = f->has_zero_sign ? sign | f->nan : f->nan;
    return DL_OK;
  }
  if (isinf(value)) {
    *result = sign | f->infinity;
    return f->infinity != 0 ? DL_OK : DL_PRECISION;
  }
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + f->bias;
  uint64_t mantissa = (bits & 0xfffffffffffff) | 1ull << 52;
  int shift = 52 - f->mantissa_bits;
  uint64_t rounded = 0;
  if (exponent > 0) { /* a carry out of the mantissa raises the exponent, as it should */
    rounded = ((uint64_t)(exponent - 1) << f->mantissa_bits) + shift_to_even(mantissa, shift);
  } else if (shift + 1 - exponent <= 54) { /* subnormal: the implicit bit moves into view */
    rounded = shift_to_even(mantissa, shift + 1 - exponent);
  }
  if (rounded > f->largest) return DL_PRECISION;
  *result = (uint32_t)rounded | (rounded != 0 || f->has_zero_sign ? sign : 0);
  return DL_OK;
}

static double widen(const narrow_float *f, uint32_t bits) {
  int exponent = (int)(bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1));
  double mantissa = bits & ((1u << f->mantissa_bits) - 1);
  double value = exponent ? ldexp(mantissa + (double)(1u << f->mantissa_bits), exponent - f->bias - f->mantissa_bits)
                          : ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
  return bits >> (f->exponent_bits + f->mantissa_bits) & 1 ? -value : value;
}

/* put_float writes value into a float of the format; exact asks for no rounding. */
static int32_t put_float(uint8_t *to, uint8_t format, uint32_t size, double value, bool exact) {
  double back = value;
  if (size == 8) {
    memcpy(to, &value, 8);
  } else if (size == 4) {
    float f = (float)value;
    back = f;
    if (isinf(f) && !isinf(value)) return DL_PRECISION;
    memcpy(to, &f, 4);
  } else {
    uint32_t bits;
    int32_t reason = narrow(narrow_format(format), value, &bits);
    if (reason != DL_OK) return reason;
    if (isfinite(value)) back = widen(narrow_format(format), bits);
    dl_store(to, size, bits);
  }
  return exact && back != value ? DL_PRECISION : DL_OK;
}

static bool is_float(uint8_t format) {
  return format == DL_FORMAT_FLOAT || format == DL_FORMAT_BFLOAT || format >= DL_FORMAT_FLOAT8;
}

static int32_t put_bits(uint8_t *to, uint32_t size, uint64_t value) {
  dl_store(to, size, value);
  return DL_OK;
}

/* An integer as sign and magnitude's two's complement: INT and UINT meet here. */
static int32_t put_wide(uint8_t *to, uint8_t format, uint32_t size, uint64_t value, bool negative) {
  uint32_t bits = 8 * size;
  bool fits_unsigned = !negative && (size >= 8 || value >> bits == 0);
  bool fits_signed =
      negative ? size >= 8 || (int64_t)value >= -(INT64_C(1) << (bits - 1)) : value >> (size >= 8 ? 63 : bits - 1) == 0;
  switch (format) {
    case DL_FORMAT_BOOL:
      return !negative && value <= 1 ? put_bits(to, size, value) : DL_RANGE;
    case DL_FORMAT_SIGNED:
      return fits_signed ? put_bits(to, size, value) : DL_RANGE;
    case DL_FORMAT_UNSIGNED:
      return fits_unsigned ? put_bits(to, size, value) : DL_RANGE;
    case DL_FORMAT_BITS:
    case DL_FORMAT_ADDRESS:
      return fits_signed || fits_unsigned ? put_bits(to, size, value) : DL_RANGE;
    default: {
      if (!is_float(format)) return DL_KIND;
      double d = negative ? (double)(int64_t)value : (double)value;
      uint64_t magnitude = negative ? -value : value;
      int low = magnitude ? __builtin_ctzll(magnitude) : 0;
      if (magnitude >> low >> 53) return DL_PRECISION; /* more digits than a double has */
      return put_float(to, format, size, d, true);
    }
  }
}

int32_t dl_put_integer(uint8_t *to, uint8_t format, uint32_t size, int64_t value) {
  return put_wide(to, format, size, (uint64_t)value, value < 0);
}

int32_t dl_put_scalar(uint8_t *to, uint8_t format, uint32_t size, const dlaunch_arg *arg) {
  switch (arg->kind) {
    case DLAUNCH_ARG_INT:
      return put_wide(to, format, size, arg->value.u, arg->value.i < 0);
    case DLAUNCH_ARG_UINT:
      return put_wide(to, format, size, arg->value.u, false);
    case DLAUNCH_ARG_BOOL:
      return arg->value.u <= 1 ? put_wide(to, format, size, arg->value.u, false) : DL_RANGE;
    case DLAUNCH_ARG_FLOAT:
      if (!is_float(format)) return DL_KIND;
      return put_float(to, format, size, arg->value.f, false);
    case DLAUNCH_ARG_BYTES:
      if (arg->size != size) return DL_BYTES;
      if (arg->value.bytes == NULL) return DL_NULL;
      memcpy(to, arg->value.bytes, size);
      return DL_OK;
    default:
      return DL_KIND;
  }
}
