/** What a user may do with the types of a database, asked before data is touched. */
import type {DatabaseAccess} from '#server/access/decide.ts';
import {type RecordRight, recordRights} from '#server/access/rights.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Security} from '#server/security/security.ts';

export const words: Readonly<Record<RecordRight, string>> = {
  createRecord: 'create',
  readRecord: 'read',
  updateRecord: 'update',
  deleteRecord: 'delete',
};

/** Asks for rights on types and remembers what is allowed. */
export class TypeGuard {
  readonly access: DatabaseAccess;
  readonly #user: string;
  readonly #allowed = new Set<string>();

  constructor(access: DatabaseAccess, user: string) {
    this.access = access;
    this.#user = user;
  }

  /** @throws {Refusal} `security.denied`. */
  require(right: RecordRight, type: string): void {
    const key = `${right} ${type}`;
    if (this.#allowed.has(key)) return;
    if (!this.access.allowsOnType(right, type)) {
      throw new Refusal(
        'security.denied',
        `User '${this.#user}' is not allowed to ${words[right]} records of type '${type}'`,
        {detail: {right, type}},
      );
    }
    this.#allowed.add(key);
  }

  /** Whether the right is given on each of the types. */
  allowsAll(right: RecordRight, types: readonly string[]): boolean {
    return types.every(type => this.access.allowsOnType(right, type));
  }
}

/**
 * Whether a type is told to somebody who lists the schema: he may do something with its records, or
 * change the schema.
 */
export function isShownTo(access: DatabaseAccess, type: string): boolean {
  return (
    access.allows('updateSchema') || recordRights.some(right => access.allowsOnType(right, type))
  );
}

/** What asks for rights as they are when it is called; undefined: everything is allowed. */
export type CurrentGuard = () => TypeGuard | undefined;

/**
 * What somebody may do in a database, as it is at each call: what he has begun may take hours.
 *
 * @returns Throws `security.denied` for one who may do nothing there any more.
 */
export function currentGuard(
  security: Pick<Security, 'access' | 'current' | 'generation'>,
  who: Principal,
  database: string,
): CurrentGuard {
  let asked = {generation: -1, guard: undefined as TypeGuard | undefined};
  return () => {
    const {generation} = security;
    if (asked.generation === generation && who.expiresAt === undefined) return asked.guard;
    const principal = security.current(who);
    const access = security.access(principal, database);
    if (access === undefined) {
      const message = `User '${principal.name}' has not access to the database`;
      throw new Refusal('security.denied', message);
    }
    const guard = principal.root ? undefined : new TypeGuard(access, principal.name);
    asked = {generation, guard};
    return guard;
  };
}
