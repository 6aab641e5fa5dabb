/**
 * Refusals that come late, at every door: whoever is told that his share is used up, or that there
 * is no place, would otherwise ask again at once, and each of his questions takes as much as one
 * that is answered.
 *
 * The connection waits with its refusal, so it asks nothing else meanwhile, and nothing is kept
 * but a timer. Root never waits. A request that another member relayed is refused at once, since
 * its connection carries the requests of others: the refusal is marked, and that member waits.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import {lateMark} from '../relay/forwarded-headers.ts';

const codes: ReadonlySet<string> = new Set([
  'admission.full',
  'query.memory',
  'query.memory-total',
] satisfies readonly Refusal['code'][]);

/**
 * When the refusal may be told; undefined: now.
 *
 * @param caller - Whose request it is; undefined: nobody has shown who asks, or a member did.
 */
export function lateRefusal(
  context: HttpContext,
  caller: Principal | undefined,
  error: unknown,
): Promise<void> | undefined {
  return isLate(error) ? heldBack(context, caller) : undefined;
}

/** Works like `lateRefusal` for a refusal that the leader has marked. */
export function heldBack(
  {settings, lateTurns, isStopping}: HttpContext,
  caller: Principal | undefined,
): Promise<void> | undefined {
  if (caller === undefined || caller.root || isStopping) return undefined;
  const delay = settings.get('svc.security.failureDelay');
  return delay === 0 ? undefined : lateTurns.after(delay, caller.name);
}

/** What tells the member that relayed a request to wait with the refusal; flat. */
export function lateHeader(error: unknown): readonly string[] {
  return isLate(error) ? [lateMark, 'true'] : [];
}

function isLate(error: unknown): boolean {
  return error instanceof Refusal && codes.has(error.code);
}
