/**
 * Settings that take effect while a server runs are given to it by a command, without a restart;
 * what it was given last stands on its pod.
 */
import {defaultOf, divided, settingsOf} from '#operator/objects/settings.ts';
import type {Action} from '../decision.ts';
import type {Member} from '../members.ts';
import type {Observation} from '../observation.ts';

export function settingActions(
  {cluster}: Observation,
  members: readonly Member[],
  initial: readonly number[],
): readonly Action[] {
  const {dynamic} = divided(settingsOf(cluster, initial));
  const annotation = JSON.stringify(dynamic);
  return members.flatMap(({pod, peerId}): readonly Action[] => {
    if (pod === undefined || !pod.isReady || pod.isTerminating) return [];
    if (pod.settings === undefined || pod.settings === annotation) return [];
    const values = changed(parsed(pod.settings), dynamic);
    return [{kind: 'set-settings', pod: pod.name, peerId, values, annotation}];
  });
}

type Values = Readonly<Record<string, string>>;

/** What differs; what is no longer given goes back to its default. */
function changed(before: Values, now: Values): Values {
  const gone = Object.keys(before).filter(key => now[key] === undefined);
  return {
    ...Object.fromEntries(gone.flatMap(key => pairOf(key, defaultOf(key)))),
    ...Object.fromEntries(Object.entries(now).filter(([key, value]) => before[key] !== value)),
  };
}

function pairOf(key: string, value: string | undefined): readonly (readonly [string, string])[] {
  return value === undefined ? [] : [[key, value]];
}

function parsed(text: string): Values {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Values) : {};
  } catch {
    // Somebody else wrote there: everything is given once more.
    return {};
  }
}
