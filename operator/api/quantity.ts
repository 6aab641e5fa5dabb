/**
 * Kubernetes quantities as numbers, as far as volumes need them: bytes, exact for whole units.
 *
 * Source: apimachinery's resource.Quantity; the exponent form is not accepted by our schemas.
 */

const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  m: 0.001,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Bytes, or whatever the quantity counts; NaN for what is none. */
export function quantityValue(text: string): number {
  const [, digits = '', unit = ''] =
    /^([0-9]+|[0-9]*\.[0-9]+)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$/.exec(text) ?? [];
  if (digits === '') return Number.NaN;
  return Number(digits) * (FACTORS[unit] ?? Number.NaN);
}
