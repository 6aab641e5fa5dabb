/**
 * POST `/cluster/call`: what another member has this one do for a client of its own
 * (forwarding/leader-call.ts), answered with frames no faster than it reads them. POST
 * `/cluster/stream`: the same, where more follows the call, read no faster than it is taken.
 */
import {Refusal} from '#server/base/errors.ts';
import {answerCall, type FrameSource} from '#server/forwarding/answer-call.ts';
import {
  decodeCall,
  type Frame,
  FrameReader,
  type LeaderCall,
} from '#server/forwarding/leader-call.ts';
import type {Principal} from '#server/security/principal.ts';
import type {Exchange} from '../message/exchange.ts';
import {clusterTokenHeader, forwardedUserHeader, invalidToken} from '../relay/forwarded-headers.ts';
import {callPath, streamPath} from '../relay/http-leader-channel.ts';
import {BatchBody} from '../routes/batch-body.ts';
import type {Route} from '../router.ts';
import {byMember} from './cluster-call.ts';

const framesType = 'application/octet-stream';

export const clusterCallRoutes: readonly Route[] = [
  {path: callPath, operations: {POST: byMember(takeCall)}},
  {path: streamPath, streamsBody: true, operations: {POST: byMember(takeStream)}},
];

async function takeCall(exchange: Exchange): Promise<void> {
  const principal = callerOf(exchange);
  const call = decodeCall(await exchange.body());
  await answer(exchange, principal, call, () => Promise.resolve(undefined));
}

async function takeStream(exchange: Exchange): Promise<void> {
  const principal = callerOf(exchange);
  exchange.allowBody();
  const body = new BatchBody(exchange);
  exchange.onBodyLost = () => body.lose();
  const sent = framesIn(body);
  try {
    const first = await sent();
    if (first?.kind !== 'head') throw new Refusal('request.field', 'no call stands in front');
    await answer(exchange, principal, decodeCall(first.bytes), sent);
  } finally {
    body.close();
  }
}

/** Whom the other member asks for. */
function callerOf(exchange: Exchange): Principal {
  const {gateway} = exchange.context;
  if (gateway === undefined) throw invalidToken();
  const token = exchange.header(clusterTokenHeader) ?? '';
  const user = exchange.header(forwardedUserHeader) ?? '';
  const principal = gateway.principalOf({token, user}, exchange.request.socket);
  exchange.caller = principal;
  return principal;
}

function framesIn(body: BatchBody): FrameSource {
  const frames = new FrameReader();
  return async () => {
    for (;;) {
      const frame = nextOf(frames);
      if (frame !== undefined) return frame;
      const piece = await body.next();
      if (piece === undefined) return undefined;
      frames.add(piece);
    }
  };
}

function nextOf(frames: FrameReader): Frame | undefined {
  try {
    return frames.next();
  } catch (error) {
    throw new Refusal('request.field', 'the body has no frames of a member', {cause: error});
  }
}

async function answer(
  exchange: Exchange,
  principal: Principal,
  call: LeaderCall,
  sent: FrameSource,
): Promise<void> {
  const {context} = exchange;
  const {gateway} = context;
  if (gateway === undefined) throw invalidToken();
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  exchange.response.once('close', onClose);
  const parts = {...context.options, placement: gateway.placement};
  const frames = answerCall(call, {principal, signal: gone.signal}, parts, sent);
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
