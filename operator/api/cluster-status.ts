/**
 * The status of a SvcCluster: what the operator saw and what it is about, for people and for the
 * next operator.
 *
 * Everything that can be seen again is derived anew in every pass. What cannot is `initialMembers`
 * (who began the cluster), `storage.lastGood`, the identity of claims that members had, and the
 * times of `operation`: losing those makes the operator wait longer, never act sooner.
 */
import {words} from '#server/base/words.ts';
import {conditionList} from './conditions.ts';
import {
  flag,
  integer,
  listOf,
  object,
  oneOf,
  optional,
  quantity,
  text,
  time,
  type ValueOf,
} from './schema.ts';

const count = (says: string) => integer({says, min: 0, max: 1_000});
const long = (says: string) =>
  integer({says, min: -1, max: Number.MAX_SAFE_INTEGER, format: 'int64'});
const word = (says: string) => text({says, maxLength: 256});
const sentence = (says: string) => text({says, maxLength: 1_024});

export const phases = [
  ...words('Pending Creating Recovering Running Upgrading Scaling Healing Stalled Degraded'),
  ...words('QuorumLost Paused Hibernated Invalid'),
];

const member = object(
  {says: 'A member, or a pod that is to become one.'},
  {
    ordinal: count('Number of its pod.'),
    pod: word('Name of its pod.'),
    peerId: word('Its name in consensus.'),
    role: oneOf(['leader', 'follower', 'joining', 'absent'], {says: 'What it does now.'}),
    inConfiguration: flag({says: 'Whether a majority says that it is a member.'}),
    ready: flag({says: 'Whether its pod is ready.'}),
    lag: optional(long('Entries that it lacks; absent while nobody knows.')),
    version: optional(word('Release that it runs.')),
    templateHash: optional(word('What its pod was made from.')),
    claimUid: optional(word('Identity of the claim with its data.')),
    message: optional(sentence('What is wrong with it.')),
  },
);

const operation = object(
  {says: 'What is under way.'},
  {
    type: oneOf(['Upgrade', 'ScaleUp', 'ScaleDown', 'Replace', 'Recovery'], {says: 'What it is.'}),
    step: word('Where it stands.'),
    target: optional(word('The pod that it is about.')),
    startedAt: time({says: 'When it began.'}),
    stepStartedAt: time({says: 'When this step began for this target.'}),
    blockedBy: listOf({says: 'Predicates that hold it back.', max: 16}, word('A predicate.')),
    message: sentence('What it waits for.'),
  },
);

const recovery = object(
  {says: 'How the beginning out of backups goes, or went.'},
  {
    phase: oneOf(['Restoring', 'Restored', 'Completed', 'Failed'], {says: 'Where it stands.'}),
    databases: listOf(
      {says: 'The databases that are wanted.', max: 64, keys: ['name']},
      object(
        {says: 'A database.'},
        {
          name: text({says: 'Its name.', maxLength: 128}),
          phase: oneOf(['Pending', 'Restored', 'Failed'], {says: 'Where it stands.'}),
          error: optional(sentence('Why it cannot be restored.')),
        },
      ),
    ),
    retry: optional(sentence('The text of svc.io/retry-recovery that was acted upon.')),
  },
);

export const clusterStatus = object(
  {says: 'What the cluster is.'},
  {
    observedGeneration: optional(long('Generation of the spec that this speaks of.')),
    phase: optional(oneOf(phases, {says: 'All of it in one word.'})),
    conditions: optional(conditionList),
    replicas: optional(count('Pods that exist.')),
    readyReplicas: optional(count('Pods that are ready.')),
    selector: optional(sentence('Selector of the pods, for the scale subresource.')),
    version: optional(word('Lowest release that runs.')),
    targetVersion: optional(word('Release that the spec wants.')),
    templateHash: optional(word('What the pods should be made from.')),
    leader: optional(word('Pod that leads.')),
    term: optional(long('Term of the leader.')),
    voters: optional(count('Members with a vote.')),
    members: optional(listOf({says: 'By ordinal.', max: 32, keys: ['pod']}, member)),
    operation: optional(operation),
    initialMembers: optional(
      listOf(
        {says: 'Peer ids of those that began the cluster; frozen.', max: 9},
        word('A peer id.'),
      ),
    ),
    clusterName: optional(word('Name that the cluster began with.')),
    hibernatedReplicas: optional(count('Size to which it wakes up.')),
    storage: optional(
      object(
        {says: 'The volumes.'},
        {
          requested: quantity({says: 'Size that the spec wants.'}),
          lastGood: optional(quantity({says: 'Largest size that every volume has.'})),
          resizing: listOf({says: 'Claims that grow.', max: 64}, word('A claim.')),
        },
      ),
    ),
    certificates: optional(
      listOf(
        {says: 'Certificates that the operator made.', max: 4, keys: ['name']},
        object(
          {says: 'One of them.'},
          {name: word('Its Secret.'), notAfter: time({says: 'Its end.'})},
        ),
      ),
    ),
    recovery: optional(recovery),
    endpoints: optional(
      object(
        {says: 'Where clients connect.'},
        {rw: word('Host and port for writes.'), ro: word('Host and port for reads.')},
      ),
    ),
    lastBackup: optional(
      object(
        {says: 'The last backup that ended.'},
        {name: word('The SvcBackup.'), time: time({says: 'When.'}), result: word('How.')},
      ),
    ),
  },
);

export type ClusterStatus = ValueOf<typeof clusterStatus>;
export type ClusterPhase = (typeof phases)[number];
export type RecoveryStatus = NonNullable<ClusterStatus['recovery']>;
export type MemberStatus = NonNullable<ClusterStatus['members']>[number];
export type OperationStatus = NonNullable<ClusterStatus['operation']>;
