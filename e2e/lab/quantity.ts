/** Amounts of bytes as Kubernetes writes them: `320Mi`, `1.5G`, `1000`. */

const units: Readonly<Record<string, number>> = {
  '': 1,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
};

/** Rounded up, as Kubernetes does. @throws {RangeError} for anything else. */
export function bytesOf(quantity: string): number {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([A-Za-z]*)$/.exec(quantity) ?? [];
  const factor = units[unit];
  if (number === '' || factor === undefined) throw new RangeError(`'${quantity}' is no quantity`);
  return Math.ceil(Number(number) * factor);
}
