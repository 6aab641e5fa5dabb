/** How many commands that nobody waits for may run at once, shared out among users. */
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';

const placesMax = 256;
const placesMaxOfUser = 128;

/** What root takes is beside the places of all users. */
export class BackgroundPlaces {
  readonly #byUser = new Map<string, number>();
  #ofUsers = 0;

  /** Answers how to leave. @throws {Refusal} `admission.full`. */
  enter({name, root}: Principal): () => void {
    const own = this.#byUser.get(name) ?? 0;
    const isFull = root ? own >= placesMax : own >= placesMaxOfUser || this.#ofUsers >= placesMax;
    if (isFull) {
      throw new Refusal('admission.full', 'Too many commands run in the background; try again');
    }
    this.#count({name, root}, 1);
    return () => this.#count({name, root}, -1);
  }

  #count({name, root}: Pick<Principal, 'name' | 'root'>, by: 1 | -1): void {
    if (!root) this.#ofUsers += by;
    const own = (this.#byUser.get(name) ?? 0) + by;
    if (own > 0) this.#byUser.set(name, own);
    else this.#byUser.delete(name);
  }
}
