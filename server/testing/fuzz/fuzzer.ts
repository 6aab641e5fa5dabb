/**
 * What every target of `make fuzz` is, and how bytes are spoilt.
 *
 * A step makes one input from the seed and feeds it; whatever it throws is a finding.
 */
import type {SeededRandom} from '#server/simulation/seeded-random.ts';

/** One target, fed until the time is over. */
export interface Fuzzer {
  /** Inputs of a step, where they are fed many at once. Default: one. */
  readonly inputsAtOnce?: number;
  /** One input, or as many as are fed at once. @throws whatever the fed part must never throw. */
  step(): Promise<void> | void;
  /** Waits for what was begun and has not ended. */
  finish?(): Promise<void>;
  /** One line at the end. */
  summary(): string;
  close?(): Promise<void>;
}

const telling = [0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x20, 0x22, 0x5c, 0x0a, 0x0d, 0x7b, 0x5b];

/** A copy of `bytes` with one to four changes: bits, bytes, words, cuts, repetitions. */
export function spoilt(random: SeededRandom, bytes: Uint8Array): Buffer {
  let out = Buffer.from(bytes);
  for (let left = 1 + random.below(4); left > 0 && out.length > 0; left--) {
    const at = random.below(out.length);
    const length = 1 + random.below(Math.min(16, out.length - at));
    switch (random.below(6)) {
      case 0:
        out[at] = (out[at] as number) ^ (1 << random.below(8));
        break;
      case 1:
        out[at] = random.pick(telling);
        break;
      case 2:
        out.fill(random.pick(telling), at, at + length);
        break;
      case 3:
        out = Buffer.concat([out.subarray(0, at), out.subarray(at + length)]);
        break;
      case 4:
        out = Buffer.concat([out.subarray(0, at + length), out.subarray(at)]);
        break;
      default:
        out = out.subarray(0, at);
    }
  }
  return out;
}
