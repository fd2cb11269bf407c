/* Numbers, into a parameter of another width, exactly or not at all. */
#include <math.h>
#include <string.h>

#include "exec.h"

/* narrow rounds to nearest even, once, into a float of fewer bits. */
static uint32_t narrow(double value, int exponent_bits, int mantissa_bits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint32_t sign = (uint32_t)(bits >> 63) << (exponent_bits + mantissa_bits);
  uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t mantissa = bits & 0xfffffffffffff;
  if (exponent == 0x7ff) return sign | infinity | (mantissa ? 1u << (mantissa_bits - 1) : 0);
  if (exponent == 0) return sign; /* far below the smallest subnormal of any narrow type */
  mantissa |= 1ull << 52;
  exponent += (1 << (exponent_bits - 1)) - 1 - 1023;
  int shift = 52 - mantissa_bits;
  if (exponent <= 0) { /* subnormal: the implicit bit moves into view */
    shift += 1 - exponent;
    exponent = 1;
    if (shift > 54) return sign;
    uint64_t kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return sign | (uint32_t)kept;
  }
  uint64_t kept = mantissa >> shift, rest = mantissa & ((1ull << shift) - 1), half = 1ull << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  /* a carry out of the mantissa raises the exponent, as it should */
  uint32_t result = ((uint32_t)(exponent - 1) << mantissa_bits) + (uint32_t)kept;
  return sign | (result < infinity ? result : infinity);
}

static double widen(uint32_t bits, int exponent_bits, int mantissa_bits) {
  int exponent = (int)(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  double mantissa = bits & ((1u << mantissa_bits) - 1);
  int bias = (1 << (exponent_bits - 1)) - 1;
  double value = exponent ? ldexp(mantissa + (double)(1u << mantissa_bits), exponent - bias - mantissa_bits)
                          : ldexp(mantissa, 1 - bias - mantissa_bits);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -value : value;
}

/* put_float writes value into a float of the format; exact asks for no rounding. */
static int32_t put_float(uint8_t *to, uint8_t format, uint32_t size, double value, bool exact) {
  double back;
  bool overflows;
  if (size == 8) {
    memcpy(to, &value, 8);
    return DL_OK;
  }
  if (size == 4) {
    float f = (float)value;
    back = f;
    overflows = isinf(f) && !isinf(value);
    memcpy(to, &f, 4);
  } else {
    int exponent_bits = format == DL_FORMAT_BFLOAT ? 8 : 5, mantissa_bits = 15 - exponent_bits;
    uint16_t bits = (uint16_t)narrow(value, exponent_bits, mantissa_bits);
    overflows = (bits & 0x7fff) == ((1u << exponent_bits) - 1) << mantissa_bits && isfinite(value);
    back = overflows || !isfinite(value) ? value : widen(bits, exponent_bits, mantissa_bits);
    memcpy(to, &bits, 2);
  }
  return overflows || (exact && back != value) ? DL_PRECISION : DL_OK;
}

static int32_t put_bits(uint8_t *to, uint32_t size, uint64_t value) {
  memcpy(to, &value, size); /* little-endian: the low bytes come first */
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
    case DL_FORMAT_FLOAT:
    case DL_FORMAT_BFLOAT: {
      double d = negative ? (double)(int64_t)value : (double)value;
      uint64_t magnitude = negative ? -value : value;
      int low = magnitude ? __builtin_ctzll(magnitude) : 0;
      if (magnitude >> low >> 53) return DL_PRECISION; /* more digits than a double has */
      return put_float(to, format, size, d, true);
    }
    default:
      return DL_KIND;
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
      if (format != DL_FORMAT_FLOAT && format != DL_FORMAT_BFLOAT) return DL_KIND;
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
