/**
 * Logins that this server keeps, for the members that clients bring their tokens to.
 *
 * Between members alone, who show the cluster's token; the token of the login comes in the body, so
 * that no log of paths has it. Why: security/member-logins.ts.
 */
import {byMember} from './cluster-call.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkFields, textField} from '../message/json-body.ts';
import type {Route} from '../router.ts';

export const clusterLoginRoutes: readonly Route[] = [
  {path: '/cluster/auth-session', operations: {POST: byMember(tell), DELETE: byMember(end)}},
];

async function tell(exchange: Exchange): Promise<void> {
  const kept = exchange.context.security.keptLogin(await tokenIn(exchange));
  if (kept === undefined) throw unknownLogin();
  exchange.answerJson(200, kept);
}

async function end(exchange: Exchange): Promise<void> {
  if (!exchange.context.security.endKeptLogin(await tokenIn(exchange))) throw unknownLogin();
  exchange.answerEmpty(204);
}

async function tokenIn(exchange: Exchange): Promise<string> {
  const body = await exchange.jsonBody();
  if (body !== undefined) checkFields(body, ['token']);
  const token = body && textField(body, 'token');
  if (token === undefined) throw new PlainFailure(400, "Field 'token' is required");
  return token;
}

function unknownLogin(): PlainFailure {
  return new PlainFailure(404, 'No such login', {detail: 'It has ended, or is kept elsewhere'});
}
