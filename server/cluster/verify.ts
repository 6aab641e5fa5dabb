/**
 * Whether all members hold the same of a database: the digests of each at one place of the log,
 * held against this one's.
 *
 * A part of a database (the records of a bucket, an index; integrity/digest.ts) is a file of the
 * answer, since that is what callers know; members whose contents are equal may lay them out in
 * different files. Nothing is called consistent that was not compared.
 *
 * Source: docs/cluster.md.
 */

/** A part of a database: `type` is its kind. */
export interface VerifiedFile {
  readonly name: string;
  readonly checksum: number;
  readonly size: number;
  readonly type: string;
}

/** What one member says of its copy. */
export interface LocalDigest {
  readonly localServer: string;
  readonly files: readonly VerifiedFile[];
}

/** Another member: its digest, or why there is none. */
export interface PeerDigest {
  readonly peerId: string;
  readonly httpAddress: string | undefined;
  readonly digest: LocalDigest | {readonly error: string};
}

export interface Mismatch {
  readonly file: string;
  readonly type: string;
  readonly localChecksum: number | 'MISSING';
  readonly remoteChecksum: number | 'MISSING';
}

export interface VerifiedPeer {
  readonly peerId: string;
  readonly httpAddress: string | null;
  readonly status: 'CONSISTENT' | 'INCONSISTENT' | 'ERROR';
  readonly matchingFiles: number;
  readonly mismatchedFiles: number;
  readonly mismatches?: readonly Mismatch[];
  readonly error?: string;
  /** Always 0: time series are compared like all other parts, and nothing is left out. */
  readonly uncomparedSealedStores: 0;
  readonly incompleteSealedStores: 0;
}

export type OverallStatus = 'ALL_CONSISTENT' | 'INCONSISTENCY_DETECTED' | 'VERIFICATION_INCOMPLETE';

export interface VerifyResult extends LocalDigest {
  readonly database: string;
  readonly localPeerId: string;
  readonly localChecksums: Readonly<Record<string, number>>;
  readonly peers: readonly VerifiedPeer[];
  readonly incompleteSealedStores: 0;
  readonly overallStatus: OverallStatus;
}

/** The answer of the member that asked all others. */
export function verifyResult(
  about: {readonly database: string; readonly localPeerId: string},
  local: LocalDigest,
  peers: readonly PeerDigest[],
): VerifyResult {
  const verified = peers.map(peer => verifiedPeer(local, peer));
  return {
    ...about,
    ...local,
    localChecksums: checksumsOf(local),
    peers: verified,
    incompleteSealedStores: 0,
    overallStatus: overallStatus(verified),
  };
}

/** Checksums by name, as another member asks for them. */
export function checksumsOf({files}: LocalDigest): Record<string, number> {
  return Object.fromEntries(files.map(({name, checksum}) => [name, checksum]));
}

function overallStatus(peers: readonly VerifiedPeer[]): OverallStatus {
  if (peers.some(({status}) => status === 'INCONSISTENT')) return 'INCONSISTENCY_DETECTED';
  if (peers.some(({status}) => status === 'ERROR')) return 'VERIFICATION_INCOMPLETE';
  return 'ALL_CONSISTENT';
}

function verifiedPeer(local: LocalDigest, peer: PeerDigest): VerifiedPeer {
  const {peerId, digest} = peer;
  const head = {peerId, httpAddress: peer.httpAddress ?? null};
  const sealed = {uncomparedSealedStores: 0, incompleteSealedStores: 0} as const;
  if ('error' in digest) {
    const none = {matchingFiles: 0, mismatchedFiles: 0, error: digest.error};
    return {...head, status: 'ERROR', ...none, ...sealed};
  }
  const mismatches = mismatchesOf(local, digest);
  const remoteNames = new Set(digest.files.map(({name}) => name));
  const common = local.files.filter(({name}) => remoteNames.has(name)).length;
  const differing = mismatches.filter(
    ({localChecksum, remoteChecksum}) =>
      localChecksum !== 'MISSING' && remoteChecksum !== 'MISSING',
  ).length;
  return {
    ...head,
    status: mismatches.length === 0 ? 'CONSISTENT' : 'INCONSISTENT',
    matchingFiles: common - differing,
    mismatchedFiles: mismatches.length,
    ...(mismatches.length > 0 && {mismatches}),
    ...sealed,
  };
}

function mismatchesOf(local: LocalDigest, remote: LocalDigest): Mismatch[] {
  const theirs = new Map(remote.files.map(file => [file.name, file]));
  const ours = new Set(local.files.map(({name}) => name));
  const found: Mismatch[] = [];
  for (const {name: file, type, checksum: localChecksum, size} of local.files) {
    const other = theirs.get(file);
    if (other?.checksum === localChecksum && other.size === size) continue;
    found.push({file, type, localChecksum, remoteChecksum: other?.checksum ?? 'MISSING'});
  }
  for (const {name: file, type, checksum: remoteChecksum} of remote.files) {
    if (!ours.has(file)) found.push({file, type, localChecksum: 'MISSING', remoteChecksum});
  }
  return found;
}
