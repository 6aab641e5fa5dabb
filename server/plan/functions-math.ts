/**
 * Signatures of the mathematical functions: `math.*`, and `math_*` with the names of Java's Math.
 */
import type {FunctionSignature} from './functions.ts';
import {scalarRow} from './signature.ts';

const one = [1, 1] as const;
const two = [2, 2] as const;

/** Names of functions of one double. */
export const mathOfOne = [
  'acos',
  'asin',
  'atan',
  'cbrt',
  'ceil',
  'cos',
  'cosh',
  'exp',
  'expm1',
  'floor',
  'log',
  'log10',
  'log1p',
  'rint',
  'signum',
  'sin',
  'sinh',
  'sqrt',
  'tan',
  'tanh',
  'toDegrees',
  'toRadians',
] as const;

/** Names of functions of two doubles. */
export const mathOfTwo = ['atan2', 'hypot', 'pow', 'IEEEremainder', 'copySign'] as const;

export const mathFunctions: readonly FunctionSignature[] = [
  scalarRow('math.round', [1, 3], 'Rounded to so many decimal places, half up unless named.'),
  scalarRow('math.sinh', one, 'The hyperbolic sine.'),
  scalarRow('math.cosh', one, 'The hyperbolic cosine.'),
  scalarRow('math.tanh', one, 'The hyperbolic tangent.'),
  scalarRow('math.sigmoid', one, 'The logistic function.'),
  scalarRow('math.sigmoidPrime', one, 'The slope of the logistic function.'),
  scalarRow('math.maxLong', [0, 0], 'The greatest whole number of 64 bits.'),
  scalarRow('math.minLong', [0, 0], 'The least whole number of 64 bits.'),
  scalarRow('math.maxDouble', [0, 0], 'The greatest floating-point number.'),
  ...mathOfOne.map(name => scalarRow(`math_${name}`, one, `The function ${name} of a number.`)),
  ...mathOfTwo.map(name => scalarRow(`math_${name}`, two, `The function ${name} of two numbers.`)),
  scalarRow('math_abs', one, 'The number without its sign.'),
  scalarRow('math_min', two, 'The lesser of two numbers.'),
  scalarRow('math_max', two, 'The greater of two numbers.'),
  scalarRow('math_round', one, 'The nearest whole number, halves upwards.'),
  scalarRow('math_floorDiv', two, 'The quotient rounded down.'),
  scalarRow('math_floorMod', two, 'The remainder with the sign of the divisor.'),
  scalarRow('math_random', [0, 0], 'A random number from 0 to below 1.', {
    needs: 'random',
    deterministic: false,
  }),
];
