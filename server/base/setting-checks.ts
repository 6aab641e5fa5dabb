/**
 * What settings must be to each other. A single value is checked by its row; here is what only two
 * of them together can break. Each refusal names both, with their values.
 */
import {isClusterWanted} from './cluster-wanted.ts';
import {Refusal} from './errors.ts';
import type {Settings} from './setting-values.ts';
import type {SettingKey} from './settings.ts';

/** The first must be at least the second, and `more`. */
interface Bound {
  readonly greater: NumericKey;
  readonly lesser: NumericKey;
  readonly more?: number;
  readonly why: string;
}

type NumericKey = {
  [Key in SettingKey]: ReturnType<typeof Settings.prototype.get<Key>> extends number ? Key : never;
}[SettingKey];

const frameBytes = 64 * 1024;

const clusterBounds: readonly Bound[] = [
  {
    greater: 'svc.ha.electionTimeoutMax',
    lesser: 'svc.ha.electionTimeoutMin',
    why: 'each member draws its time between the two',
  },
  {
    greater: 'svc.ha.writeBufferSize',
    lesser: 'svc.ha.appendBufferSize',
    more: 8,
    why: 'the largest entry must fit into what waits to be sent',
  },
  {
    greater: 'svc.ha.grpcMessageSizeMax',
    lesser: 'svc.ha.appendBufferSize',
    more: frameBytes,
    why: 'the largest entry must fit into a message',
  },
  {
    greater: 'svc.ha.groupCommitMaxQueuedBytes',
    lesser: 'svc.ha.grpcMessageSizeMax',
    why: 'the largest message must fit into what waits for a quorum',
  },
];

/** Everything that settings break together; nothing of a cluster on a single server. */
export function contradictions(settings: Settings): readonly Refusal[] {
  if (!isClusterWanted(settings)) return [];
  const refused: Refusal[] = [];
  for (const {greater, lesser, more = 0, why} of clusterBounds) {
    const least = settings.get(lesser) + more;
    if (settings.get(greater) < least) refused.push(refusal(settings, greater, lesser, least, why));
  }
  const suffix = settings.get('svc.ha.k8sSuffix');
  if (suffix !== '' && !suffix.startsWith('.')) {
    refused.push(
      new Refusal('setting.value', `svc.ha.k8sSuffix is '${suffix}': it begins with a dot`, {
        detail: {key: 'svc.ha.k8sSuffix', value: suffix},
      }),
    );
  }
  return refused;
}

function refusal(
  settings: Settings,
  greater: NumericKey,
  lesser: NumericKey,
  least: number,
  why: string,
): Refusal {
  const [high, low] = [settings.get(greater), settings.get(lesser)];
  return new Refusal(
    'setting.value',
    `${greater} is ${high} and ${lesser} is ${low}: ${greater} must be at least ${least}, ` +
      `because ${why}`,
    {detail: {key: greater, value: high, other: lesser, otherValue: low, least}},
  );
}
