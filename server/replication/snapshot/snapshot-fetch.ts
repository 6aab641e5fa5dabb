/**
 * Takes a snapshot of another member from the first request to the last rename: asks whom to
 * fetch from, tries again where that may help, and hands over what is complete.
 *
 * A peer that cannot be asked, breaks off or is busy is asked again after a pause that doubles,
 * or another one is: who it is, is looked up each time. What was received stays staged, so each
 * attempt has less to do. What cannot be a snapshot is not asked for again.
 */
import {Corruption, reasonOf} from '#server/base/errors.ts';
import {retryDelayMs} from '#server/base/retry-delay.ts';
import type {Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type Downloaded, type DownloadOptions, downloadSnapshot} from './download.ts';
import {PeerFailure, type PeerEndpoint, PeerRequests} from './peer-requests.ts';

export interface SnapshotFetchOptions
  extends Omit<DownloadOptions, 'requests' | 'atLeast' | 'only' | 'signal'> {
  /** Where to fetch from now; a text says why from nobody. */
  readonly source: () => PeerEndpoint | string;
  readonly timers: Timers;
  readonly logger: Logger;
  /** `svc.ha.snapshotInstallRetries`: attempts after the first one. */
  readonly retries: number;
  /** `svc.ha.snapshotInstallRetryBaseMs`: before the second one; doubled each time. */
  readonly retryBaseMs: number;
  /** `svc.ha.snapshotDownloadTimeout`: how long a connection may bring nothing. */
  readonly idleMs: number;
}

export interface SnapshotRequest {
  readonly atLeast: number;
  /** One database; all of them without it. */
  readonly only?: string;
  readonly signal?: AbortSignal;
}

/**
 * Everything is staged and durable when it resolves.
 *
 * @throws {PeerFailure} of the last attempt.
 * @throws {Corruption} when what a peer gave cannot be a snapshot.
 */
export async function fetchSnapshot(
  options: SnapshotFetchOptions,
  requested: SnapshotRequest,
): Promise<Downloaded> {
  const {timers, logger, retries, retryBaseMs} = options;
  const delays = {firstMs: retryBaseMs, mostMs: Number.POSITIVE_INFINITY};
  for (let attempt = 0; ; attempt++) {
    try {
      return await fetchOnce(options, requested);
    } catch (error) {
      const isFinal = error instanceof Corruption || requested.signal?.aborted === true;
      logger.log('warn', 'snapshot.fetch-failed', {attempt: attempt + 1, reason: reasonOf(error)});
      if (isFinal || attempt >= retries || !(error instanceof PeerFailure)) throw error;
    }
    await pause(timers, retryDelayMs(delays, attempt), requested.signal);
  }
}

/** Ends early when the fetch is given up. */
async function pause(timers: Timers, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>(resolve => {
    const cancel = timers.after(ms, resolve);
    signal?.addEventListener('abort', () => {
      cancel();
      resolve();
    });
  });
  signal?.throwIfAborted();
}

async function fetchOnce(
  options: SnapshotFetchOptions,
  requested: SnapshotRequest,
): Promise<Downloaded> {
  const endpoint = options.source();
  if (typeof endpoint === 'string') throw new PeerFailure(endpoint);
  const {logger} = options;
  const requests = new PeerRequests(endpoint, options.idleMs);
  const from = `${endpoint.host}:${endpoint.port}`;
  logger.log('info', 'snapshot.fetching', {from, atLeast: requested.atLeast});
  try {
    const downloaded = await downloadSnapshot({...options, ...requested, requests});
    logger.log('info', 'snapshot.fetched', {from, ...downloaded.figures});
    return downloaded;
  } finally {
    requests.close();
  }
}
