/** Whether the settings make a server a member of a cluster. */
import type {Settings} from './setting-values.ts';

/**
 * Whether this server is a member of a cluster: `svc.ha.enabled` where it is said, else whether
 * there is a list of members.
 */
export function isClusterWanted(settings: Settings): boolean {
  if (settings.origin('svc.ha.enabled') !== 'default') return settings.get('svc.ha.enabled');
  return settings.get('svc.ha.serverList').trim() !== '';
}
