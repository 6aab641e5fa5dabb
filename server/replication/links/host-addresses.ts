/**
 * What the names of peers resolve to, remembered for a short while: a pod that moved is found soon,
 * and a name that failed is asked again each time.
 *
 * Source: docs/cluster-connections.md.
 */
import type {Clock} from '#server/platform/clock.ts';

/** Every address of a host; rejects when it cannot be told. */
export type HostLookUp = (host: string) => Promise<readonly string[]>;

const rememberedMs = 30_000;

interface Found {
  readonly addresses: readonly string[];
  readonly at: number;
}

export class HostAddresses {
  readonly #clock: Clock;
  readonly #lookUp: HostLookUp;
  readonly #found = new Map<string, Found>();

  constructor(clock: Clock, lookUp: HostLookUp) {
    this.#clock = clock;
    this.#lookUp = lookUp;
  }

  /** One address at least. @throws {Error} Of the look-up, or when it found none. */
  async resolve(host: string): Promise<readonly string[]> {
    const known = this.#found.get(host);
    if (known !== undefined && this.#clock.monotonic() - known.at < rememberedMs) {
      return known.addresses;
    }
    const addresses = await this.#lookUp(host);
    if (addresses.length === 0) throw new Error(`${host} has no address`);
    this.#found.set(host, {addresses, at: this.#clock.monotonic()});
    return addresses;
  }

  forget(host: string): void {
    this.#found.delete(host);
  }
}
