/**
 * When a cluster takes the formats of a newer release: once every member of the configuration is
 * known to read them, whether it is up at the moment or not. Until then the leader of the newer
 * release writes what the others read, so members may be replaced one by one, and back.
 *
 * Source: docs/design/0014-formats-and-migration.md.
 */
import type {ClusterState} from './cluster.ts';

/** Members that do not read formats of `level`, or are not known to; sorted. */
export function membersBehind({peers}: Pick<ClusterState, 'peers'>, level: number): string[] {
  return peers
    .filter(({inConfiguration, formats}) => inConfiguration && !(formats && formats.to >= level))
    .map(({id}) => id)
    .toSorted();
}
