/**
 * The document of the cluster that says who was removed and stays out: `server-removed-peers.json`.
 *
 * A removed server that starts again would ask to be taken in as every server does that is no
 * member, and a scale-down that was cut off would undo itself. The document is an entry of the log
 * like users and groups, so every member knows it, a copy of the state carries it, and releases
 * that do not know it keep it. What cannot be read keeps nobody out, since consensus does not
 * depend on it.
 */
import type {NodeId} from '#server/raft/message.ts';

export const removedDocument = 'server-removed-peers.json';

/** The ids in the document; `bytes` undefined where there is none. */
export function decommissionedIn(bytes: Buffer | undefined): ReadonlySet<NodeId> {
  if (bytes === undefined) return new Set();
  try {
    const {peers} = JSON.parse(bytes.toString('utf8')) as {readonly peers?: unknown};
    const ids: unknown[] = Array.isArray(peers) ? peers : [];
    return new Set(ids.filter(id => typeof id === 'string'));
  } catch {
    return new Set();
  }
}
