/**
 * Volumes: they grow with the spec, whatever state the pods are in, and claims of members that were
 * scaled away are marked or deleted.
 *
 * A full disk is the usual reason to grow one, so nothing here waits for a healthy pod. The claim
 * templates of a stateful set cannot change: once the claims are as the spec says, the set is made
 * anew around its pods.
 */
import {quantityValue} from '#operator/api/quantity.ts';
import {claimsOf} from '#operator/objects/stateful-set.ts';
import {names} from '#operator/objects/names.ts';
import type {Action} from '../decision.ts';
import type {Observation, SetFacts} from '../observation.ts';

export function volumeActions(observed: Observation, set: SetFacts): readonly Action[] {
  return [...growth(observed, set), ...leftovers(observed, set)];
}

/** Claims that are smaller than the spec wants, by name. */
export function growing({cluster, claims}: Observation): readonly string[] {
  const sizes = new Map<string, string>(claimsOf(cluster).map(({volume, size}) => [volume, size]));
  return claims
    .filter(({volume, capacity, isOrphaned}) => {
      const size = sizes.get(volume);
      return !isOrphaned && size !== undefined && isSmaller(capacity, size);
    })
    .map(({name}) => name);
}

function growth(observed: Observation, set: SetFacts): readonly Action[] {
  const {cluster, claims} = observed;
  const wishes = claimsOf(cluster);
  const actions: Action[] = [];
  for (const {volume, size} of wishes) {
    for (const claim of claims) {
      const isOurs = claim.volume === volume && !claim.isOrphaned && !claim.isTerminating;
      // A claim that has no volume yet cannot grow; it is tried again once it has.
      if (!isOurs || claim.capacity === undefined || !isSmaller(claim.requested, size)) continue;
      actions.push({kind: 'grow-claim', name: claim.name, size});
    }
  }
  if (actions.length > 0 || set.isTerminating) return actions;
  const isSame =
    wishes.length === set.claimSizes.size &&
    wishes.every(({volume, size}) => {
      const has = set.claimSizes.get(volume);
      return has !== undefined && quantityValue(has) === quantityValue(size);
    });
  if (isSame) return [];
  return [{kind: 'recreate-set', name: names.statefulSet(cluster), uid: set.uid}];
}

function isSmaller(one: string | undefined, other: string): boolean {
  return one !== undefined && quantityValue(one) < quantityValue(other);
}

/** Claims beyond the last ordinal whose pod is gone. */
function leftovers({cluster, claims, pods}: Observation, set: SetFacts): readonly Action[] {
  const isDeleted = cluster.spec.storage.retention.whenScaled === 'Delete';
  // With no pods at all the cluster sleeps, and everything is kept.
  if (set.replicas === 0) return [];
  return claims.flatMap((claim): readonly Action[] => {
    const {name, uid, ordinal, isOrphaned, isTerminating} = claim;
    const isUsed = ordinal < set.replicas;
    if (isUsed) return isOrphaned ? [{kind: 'mark-claim', name, isOrphaned: false}] : [];
    if (isTerminating || pods.some(pod => pod.ordinal === ordinal)) return [];
    if (isDeleted) return [{kind: 'delete-claim', name, uid}];
    return isOrphaned ? [] : [{kind: 'mark-claim', name, isOrphaned: true}];
  });
}
