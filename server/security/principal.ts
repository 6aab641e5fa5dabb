/** Who asks, as every request carries it through the server. */
import type {Subject} from '#server/access/decide.ts';

/** Who asks. Made by `Security` only. */
export interface Principal extends Subject {
  readonly name: string;
  /** Milliseconds since 1970 after which it is nobody any more; absent: never. */
  readonly expiresAt?: number;
}
