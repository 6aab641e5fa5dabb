/**
 * Signatures of the mathematical functions: `math.*`, and `math_*` with the names of Java's Math.
 */
import type {FunctionSignature} from '../functions.ts';
import {scalarRow} from '../signature.ts';

export const mathFunctions: readonly FunctionSignature[] = [
  scalarRow(
    'math.round(number, places?, mode?)',
    'Rounded to so many decimal places, half up unless named.',
    ['math.round(2.567, 1)', '2.6'],
  ),
  scalarRow('math.sinh(number)', 'The hyperbolic sine.', ['math.sinh(0)', '0.0']),
  scalarRow('math.cosh(number)', 'The hyperbolic cosine.', ['math.cosh(0)', '1.0']),
  scalarRow('math.tanh(number)', 'The hyperbolic tangent.', ['math.tanh(0)', '0.0']),
  scalarRow('math.sigmoid(number)', 'The logistic function.', ['math.sigmoid(0)', '0.5']),
  scalarRow('math.sigmoidPrime(number)', 'The slope of the logistic function.', [
    'math.sigmoidPrime(0)',
    '0.25',
  ]),
  scalarRow('math.maxLong()', 'The greatest whole number of 64 bits.', [
    'math.maxLong()',
    '9223372036854775807',
  ]),
  scalarRow('math.minLong()', 'The least whole number of 64 bits.', [
    'math.minLong()',
    '-9223372036854775808',
  ]),
  scalarRow('math.maxDouble()', 'The greatest floating-point number.', [
    'math.maxDouble()',
    '1.7976931348623157e+308',
  ]),
  scalarRow('math_acos(number)', 'The arccosine.', ['math_acos(1)', '0.0']),
  scalarRow('math_asin(number)', 'The arcsine.', ['math_asin(0)', '0.0']),
  scalarRow('math_atan(number)', 'The arctangent.', ['math_atan(0)', '0.0']),
  scalarRow('math_cbrt(number)', 'The cube root.', ['math_cbrt(27)', '3.0']),
  scalarRow('math_ceil(number)', 'The least whole number that is not less.', [
    'math_ceil(2.1)',
    '3.0',
  ]),
  scalarRow('math_cos(number)', 'The cosine.', ['math_cos(0)', '1.0']),
  scalarRow('math_cosh(number)', 'The hyperbolic cosine.', ['math_cosh(0)', '1.0']),
  scalarRow('math_exp(number)', 'e to the power of the number.', ['math_exp(0)', '1.0']),
  scalarRow('math_expm1(number)', 'e to the power of the number, less 1.', [
    'math_expm1(0)',
    '0.0',
  ]),
  scalarRow('math_floor(number)', 'The greatest whole number that is not greater.', [
    'math_floor(2.9)',
    '2.0',
  ]),
  scalarRow('math_log(number)', 'The natural logarithm.', ['math_log(1)', '0.0']),
  scalarRow('math_log10(number)', 'The logarithm to base 10.', ['math_log10(100)', '2.0']),
  scalarRow('math_log1p(number)', 'The natural logarithm of the number and 1.', [
    'math_log1p(0)',
    '0.0',
  ]),
  scalarRow('math_rint(number)', 'The nearest whole number, of two the even one.', [
    'math_rint(2.5)',
    '2.0',
  ]),
  scalarRow('math_signum(number)', '-1, 0 or 1.', ['math_signum(-3)', '-1.0']),
  scalarRow('math_sin(number)', 'The sine.', ['math_sin(0)', '0.0']),
  scalarRow('math_sinh(number)', 'The hyperbolic sine.', ['math_sinh(0)', '0.0']),
  scalarRow('math_sqrt(number)', 'The square root.', ['math_sqrt(16)', '4.0']),
  scalarRow('math_tan(number)', 'The tangent.', ['math_tan(0)', '0.0']),
  scalarRow('math_tanh(number)', 'The hyperbolic tangent.', ['math_tanh(0)', '0.0']),
  scalarRow('math_toDegrees(number)', 'An angle in radians as degrees.', [
    'math_toDegrees(0)',
    '0.0',
  ]),
  scalarRow('math_toRadians(number)', 'An angle in degrees as radians.', [
    'math_toRadians(0)',
    '0.0',
  ]),
  scalarRow('math_atan2(y, x)', 'The angle of a point.', ['math_atan2(0, 1)', '0.0']),
  scalarRow('math_hypot(left, right)', 'The root of the sum of both squares.', [
    'math_hypot(3, 4)',
    '5.0',
  ]),
  scalarRow('math_pow(base, exponent)', 'The first to the power of the second.', [
    'math_pow(2, 0.5)',
    '1.4142135623730951',
  ]),
  scalarRow('math_IEEEremainder(dividend, divisor)', 'The remainder to the nearest multiple.', [
    'math_IEEEremainder(5, 3)',
    '-1.0',
  ]),
  scalarRow('math_copySign(number, sign)', 'The first with the sign of the second.', [
    'math_copySign(3, -1)',
    '-3.0',
  ]),
  scalarRow('math_abs(number)', 'The number without its sign.', ['math_abs(-3)', '3']),
  scalarRow('math_min(left, right)', 'The lesser of two numbers.', ['math_min(3, 7)', '3']),
  scalarRow('math_max(left, right)', 'The greater of two numbers.', ['math_max(3, 7)', '7']),
  scalarRow('math_round(number)', 'The nearest whole number, halves upwards.', [
    'math_round(2.5)',
    '3',
  ]),
  scalarRow('math_floorDiv(dividend, divisor)', 'The quotient rounded down.', [
    'math_floorDiv(-7, 2)',
    '-4',
  ]),
  scalarRow('math_floorMod(dividend, divisor)', 'The remainder with the sign of the divisor.', [
    'math_floorMod(-7, 3)',
    '2',
  ]),
  scalarRow('math_random()', 'A random number from 0 to below 1.', ['math_random() < 1', 'true'], {
    needs: 'random',
    deterministic: false,
  }),
];
