/**
 * The token that the servers of a cluster share, by which they know each other.
 *
 * Given by a setting, read from a file, or derived from the cluster's name and the password of
 * root; what is derived is kept nowhere. It is never said to anybody: peers prove that they know
 * it (handshake.ts), and only requests between servers carry it, in a header.
 *
 * Source: docs/cluster-connections.md.
 */
import {pbkdf2} from 'node:crypto';
import {promisify} from 'node:util';
import {reasonOf, Refusal} from '#server/base/errors.ts';

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

/** The token of a cluster, and while it changes those that others may come with. */
export interface ClusterTokens {
  /** The token by which this server proves itself. */
  readonly token: string;
  /** Tokens by which others may prove themselves besides. */
  readonly alsoAccepted: readonly string[];
}

/**
 * The tokens of this server's cluster. Deriving one takes some tenths of a second, on another
 * thread.
 *
 * @throws {Refusal} `start.refused`: the file cannot be read or is empty, or nothing is known to
 *   derive it from.
 */
export async function clusterTokens(sources: ClusterTokenSources): Promise<ClusterTokens> {
  const {given, path, clusterName, rootPassword} = sources;
  if (given !== '') return {token: given, alsoAccepted: []};
  if (path !== '') return tokensIn(path, sources.readFile);
  if (rootPassword === undefined || rootPassword === '') {
    throw new Refusal(
      'start.refused',
      `the servers of a cluster need a token: give one (${settings}), or the same password of ` +
        'root to each (svc.server.rootPassword, svc.server.rootPasswordPath)',
    );
  }
  const salt = `svc cluster token\0${clusterName}`;
  const key = await pbkdf2Async(rootPassword, salt, iterations, keyBytes, 'sha256');
  return {token: key.toString('base64url'), alsoAccepted: []};
}

/** One a line; the first is this server's own. */
function tokensIn(path: string, readFile: (path: string) => string): ClusterTokens {
  let lines: readonly string[];
  try {
    lines = readFile(path).split('\n');
  } catch (error) {
    throw new Refusal('start.refused', `cannot read svc.ha.clusterTokenPath: ${reasonOf(error)}`);
  }
  const [token, ...alsoAccepted] = lines.map(line => line.trim()).filter(line => line !== '');
  if (token !== undefined) return {token, alsoAccepted};
  throw new Refusal('start.refused', `the file ${path} is empty (svc.ha.clusterTokenPath)`);
}
