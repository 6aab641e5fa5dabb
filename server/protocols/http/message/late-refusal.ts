/**
 * Refusals that come late: whoever is told that his share is used up, or that there is no place,
 * would otherwise ask again at once, and each of his questions takes as much as one that is
 * answered.
 *
 * The connection waits with its refusal, so it asks nothing else meanwhile, and nothing is kept
 * but a timer. Root never waits. What another member relayed is told at once: its connection
 * carries the requests of others.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';

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
  {settings, options, isStopping}: HttpContext,
  caller: Principal | undefined,
  error: unknown,
): Promise<void> | undefined {
  if (caller === undefined || caller.root || isStopping) return undefined;
  if (!(error instanceof Refusal) || !codes.has(error.code)) return undefined;
  const delay = settings.get('svc.security.failureDelay');
  if (delay === 0) return undefined;
  return new Promise(resolve => void options.timers.after(delay, resolve));
}
