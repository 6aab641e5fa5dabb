/**
 * POST `/cluster/call`: what another member has this one do for a client of its own
 * (forwarding/leader-call.ts), answered with frames no faster than it reads them.
 */
import {answerCall} from '#server/forwarding/answer-call.ts';
import {decodeCall} from '#server/forwarding/leader-call.ts';
import type {Exchange} from '../message/exchange.ts';
import {clusterTokenHeader, forwardedUserHeader, invalidToken} from '../relay/forwarded-headers.ts';
import {callPath} from '../relay/http-leader-channel.ts';
import type {Route} from '../router.ts';
import {byMember} from './cluster-call.ts';

const framesType = 'application/octet-stream';

export const clusterCallRoutes: readonly Route[] = [
  {path: callPath, operations: {POST: byMember(takeCall)}},
];

async function takeCall(exchange: Exchange): Promise<void> {
  const {context} = exchange;
  const {gateway} = context;
  if (gateway === undefined) throw invalidToken();
  const token = exchange.header(clusterTokenHeader) ?? '';
  const user = exchange.header(forwardedUserHeader) ?? '';
  const principal = gateway.principalOf({token, user}, exchange.request.socket);
  exchange.caller = principal;
  const call = decodeCall(await exchange.body());
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  exchange.response.once('close', onClose);
  const parts = {...context.options, placement: gateway.placement};
  const frames = answerCall(call, {principal, signal: gone.signal}, parts);
  try {
    let last = await frames.next();
    exchange.startStream(200, framesType);
    while (last.done !== true) {
      await exchange.write(last.value);
      last = await frames.next();
    }
    exchange.response.off('close', onClose);
    await exchange.endStream();
  } finally {
    await frames.return();
  }
}
