/**
 * How many cases passed, failed and were skipped, and the line in which a run says so. The line is
 * what programs read: nothing else of a run has its form.
 */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export function noCounts(): Counts {
  return {passed: 0, failed: 0, skipped: 0};
}

export function sumOf(parts: readonly Readonly<Counts>[]): Counts {
  const total = noCounts();
  for (const {passed, failed, skipped} of parts) {
    total.passed += passed;
    total.failed += failed;
    total.skipped += skipped;
  }
  return total;
}

export function closingLine({passed, failed, skipped}: Readonly<Counts>): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
