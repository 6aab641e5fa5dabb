/**
 * How long a peer takes to answer a ping, as this process sees it: the network there and back, and
 * whatever both processes had to do first. Of the last hundred answers.
 */
const samplesMax = 100;

export interface RoundTripFigures {
  /** The middle one. */
  readonly medianMs: number;
  readonly p99Ms: number;
}

export class RoundTrips {
  /** Oldest first. */
  readonly #samples: number[] = [];
  #askedAt: number | undefined;

  /** A question that is not answered yet counts from its beginning. */
  asked(now: number): void {
    this.#askedAt ??= now;
  }

  answered(now: number): void {
    if (this.#askedAt === undefined) return;
    this.#samples.push(now - this.#askedAt);
    this.#askedAt = undefined;
    if (this.#samples.length > samplesMax) this.#samples.shift();
  }

  /** The connection is another one: what was asked over the old one is not answered any more. */
  interrupted(): void {
    this.#askedAt = undefined;
  }

  /** Undefined before the first answer. */
  get figures(): RoundTripFigures | undefined {
    const sorted = this.#samples.toSorted((one, other) => one - other);
    const at = (share: number): number | undefined => sorted[Math.ceil(share * sorted.length) - 1];
    const [medianMs, p99Ms] = [at(0.5), at(0.99)];
    return medianMs === undefined || p99Ms === undefined ? undefined : {medianMs, p99Ms};
  }
}
