/**
 * What is refused of a head before anything else is looked at: whatever the next reader on its way,
 * such as a proxy, may have read differently, and bodies that we would have to take apart.
 */
import type {IncomingMessage} from 'node:http';
import {
  clusterTokenHeader,
  forwardedMark,
  forwardedUserHeader,
} from '../relay/forwarded-headers.ts';
import {conversationHeader, sessionHeader} from '../protocol-names.ts';
import {declaredLength} from './body.ts';
import type {Exchange} from './exchange.ts';
import {PlainFailure} from './failure.ts';

/** Headers of which node takes the first one or all, where another reader takes the last. */
const single = [
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'origin',
  'sec-fetch-site',
  'x-request-id',
  sessionHeader,
  conversationHeader,
  clusterTokenHeader,
  forwardedMark,
  forwardedUserHeader,
];

/**
 * Nothing more is taken from a connection whose head is in doubt.
 *
 * @throws {PlainFailure} 400 for a header that stands twice, 501 for an unknown transfer coding.
 */
export function checkHead({request, response}: Exchange): void {
  const {headers, headersDistinct} = request;
  const repeated = single.find(name => (headersDistinct[name]?.length ?? 0) > 1);
  if (repeated !== undefined) {
    response.shouldKeepAlive = false;
    throw new PlainFailure(400, 'Repeated header', {
      detail: `The header ${repeated} stands more than once, and may be read in two ways`,
    });
  }
  const coding = headers['transfer-encoding'];
  // A body in a coding that we do not take apart would be read as something else.
  if (coding === undefined || coding.toLowerCase() === 'chunked') return;
  response.shouldKeepAlive = false;
  throw new PlainFailure(501, 'Transfer coding not supported', {detail: 'Send chunked, or none'});
}

/**
 * Bodies are taken as they are: nothing is decompressed for whoever asks, so that a few bytes never
 * become many.
 *
 * @throws {PlainFailure} 415 for a body in any coding.
 */
export function checkContentCoding(request: IncomingMessage): void {
  const coding = request.headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return;
  if (declaredLength(request) === 0) return;
  throw new PlainFailure(415, 'Content coding not supported', {
    detail: `Send the body as it is, without Content-Encoding: ${coding.slice(0, 80)}`,
    headers: ['Accept-Encoding', 'identity'],
  });
}
