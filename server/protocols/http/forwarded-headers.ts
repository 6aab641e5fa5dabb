/**
 * The headers by which members of a cluster speak to each other over HTTP.
 *
 * Source: specification, "Authentication" 4; reference 1.3 and 1.5.
 */
import {PlainFailure} from './failure.ts';

export const clusterTokenHeader = 'x-svc-cluster-token';
export const forwardedUserHeader = 'x-svc-forwarded-user';
export const forwardedMark = 'x-svc-forwarded-to-leader';

/** Names of users may hold any character, headers may not. */
export function encodedUser(name: string): string {
  return encodeURIComponent(name);
}

/** Undefined for what `encodedUser` never makes. */
export function decodedUser(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Also what a server alone answers: it has no token that could be right. */
export function invalidToken(): PlainFailure {
  return new PlainFailure(401, 'Invalid cluster token', {showsRequestId: true});
}
