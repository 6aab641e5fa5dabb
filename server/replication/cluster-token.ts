/**
 * The token that the servers of a cluster share, by which they know each other.
 *
 * Given by a setting, read from a file, or derived from the cluster's name and the password of
 * root; what is derived is kept nowhere. It is never said to anybody: peers prove that they know
 * it (handshake.ts), and only requests between servers carry it, in a header.
 *
 * Source: docs/cluster-connections.md.
 */
import {createHash, pbkdf2, timingSafeEqual} from 'node:crypto';
import {promisify} from 'node:util';
import {Refusal} from '#server/base/errors.ts';

export interface ClusterTokenSources {
  /** `svc.ha.clusterToken`; empty for none. */
  readonly given: string;
  /** `svc.ha.clusterTokenPath`, read only without the one above; empty for none. */
  readonly path: string;
  readonly readFile: (path: string) => string;
  /** `svc.ha.clusterName`. */
  readonly clusterName: string;
  /** Undefined where it is not known in clear, as on a restart without the setting. */
  readonly rootPassword: string | undefined;
}

const settings = 'svc.ha.clusterToken, svc.ha.clusterTokenPath';
/** The token is as strong as the password behind it: whoever guesses has to work for it. */
const iterations = 210_000;
const keyBytes = 32;
const pbkdf2Async = promisify(pbkdf2);

/**
 * The token of this server's cluster. Deriving it takes some tenths of a second, on another thread.
 *
 * @throws {Refusal} `start.refused`: the file cannot be read or is empty, or nothing is known to
 *   derive it from.
 */
export async function clusterToken(sources: ClusterTokenSources): Promise<string> {
  const {given, path, clusterName, rootPassword} = sources;
  if (given !== '') return given;
  if (path !== '') return tokenOf(path, sources.readFile);
  if (rootPassword === undefined || rootPassword === '') {
    throw new Refusal(
      'start.refused',
      `the servers of a cluster need a token: give one (${settings}), or the same password of ` +
        'root to each (svc.server.rootPassword, svc.server.rootPasswordPath)',
    );
  }
  const salt = `svc cluster token\0${clusterName}`;
  const key = await pbkdf2Async(rootPassword, salt, iterations, keyBytes, 'sha256');
  return key.toString('base64url');
}

/** Compares in a time that tells nothing about either. */
export function isSameToken(left: string, right: string): boolean {
  return timingSafeEqual(digest(left), digest(right));
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token, 'utf8').digest();
}

function tokenOf(path: string, readFile: (path: string) => string): string {
  let token: string;
  try {
    token = readFile(path).trim();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal('start.refused', `cannot read svc.ha.clusterTokenPath: ${reason}`);
  }
  if (token !== '') return token;
  throw new Refusal('start.refused', `the file ${path} is empty (svc.ha.clusterTokenPath)`);
}
