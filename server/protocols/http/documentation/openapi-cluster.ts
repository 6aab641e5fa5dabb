/** The routes of the cluster, as openapi.ts describes them. */
import type {Row} from './openapi-row.ts';

const tag = 'Cluster';

export const clusterRows: readonly Row[] = [
  {
    at: 'get /cluster',
    tag,
    summary: 'Status of the cluster',
    description:
      'Leader, members and how they do, indices, alerts with what to do. With presence=true the ' +
      'leader adds which databases each member holds. Root only.',
    answers: [200, 400, 401, 403, 503],
  },
  {
    at: 'post /cluster/peer',
    tag,
    summary: 'Add a member',
    description: 'Adds a server that runs and waits for it. Leader only, root only.',
    body: {
      type: 'object',
      required: ['peerId', 'address'],
      properties: {
        peerId: {type: 'string', example: 'db3_2434'},
        address: {type: 'string', example: 'db3:2434:2480'},
        name: {type: 'string'},
        priority: {type: 'integer', minimum: 0, default: 0},
      },
    },
    answers: [200, 400, 401, 403, 409, 503],
  },
  {
    at: 'delete /cluster/peer/{peerId}',
    tag,
    summary: 'Remove a member',
    description:
      'Refused when too few of the others answer, unless force=true. Leader only, root only.',
    answers: [200, 400, 401, 403, 409, 503],
  },
  {
    at: 'post /cluster/leader',
    tag,
    summary: 'Hand the leadership over',
    description: 'To the given member, or to whom consensus chooses. Leader only, root only.',
    body: {
      type: 'object',
      properties: {
        peerId: {type: 'string'},
        timeoutMs: {type: 'integer', default: 30_000, maximum: 600_000},
      },
    },
    answers: [200, 400, 401, 403, 409, 503],
  },
  {
    at: 'post /cluster/stepdown',
    tag,
    summary: 'Step down',
    description: 'Hands over to the fittest member. Leader only, root only.',
    answers: [200, 400, 401, 403, 409, 503],
  },
  {
    at: 'post /cluster/leave',
    tag,
    summary: 'Leave the cluster',
    description:
      'This server hands over if it leads, and is removed; with force=true although too few of ' +
      'the others answer. Root only.',
    answers: [200, 400, 401, 403, 409, 503],
  },
  {
    at: 'post /cluster/resync/{database}',
    tag,
    summary: "Take the leader's copy",
    description:
      'Replaces the copy of this follower, of a database that is not available too. Root only.',
    answers: [200, 400, 401, 403, 404, 503],
  },
  {
    at: 'post /cluster/verify/{database}',
    tag,
    summary: 'Compare the copies',
    description:
      'The leader compares what all members hold at one place of the log, while clients write; ' +
      'another member tells what it holds itself. Root only.',
    answers: [200, 400, 401, 403, 404, 503],
  },
  {
    at: 'post /cluster/digest/{database}',
    tag,
    summary: 'What a member holds of a database',
    description: 'Between members: needs X-Svc-Cluster-Token.',
    answers: [200, 400, 401, 404],
  },
  {
    at: 'post /ha/checkpoint',
    tag,
    summary: 'Hold a snapshot',
    description: 'Between members: a manifest of files, kept until it is released or idle.',
    answers: [200, 400, 401, 503],
  },
  {
    at: 'get /ha/checkpoint/{hold}/{id}/{file}',
    tag,
    summary: 'Fetch a file of a snapshot',
    description: 'Between members: from any byte on, with Range: bytes=n-.',
    answers: [200, 206, 304, 401, 404],
  },
  {
    at: 'delete /ha/checkpoint/{hold}',
    tag,
    summary: 'Release a snapshot',
    description: 'Between members.',
    answers: [204, 401],
  },
  {
    at: 'get /ha/snapshot/{database}',
    tag,
    summary: 'A database as an archive',
    description: 'Between members: one ZIP archive, from the leader.',
    answers: [200, 401, 404, 409, 503],
  },
  {
    at: 'get /ha/snapshot/{database}/checksums',
    tag,
    summary: 'Checksums of that archive',
    description: 'Between members: the CRC-32 of each of its files.',
    answers: [200, 401, 404, 409, 503],
  },
  {
    at: 'post /cluster/bootstrap-state',
    tag,
    summary: 'What a member holds of each database',
    description:
      'Between members: a fingerprint of the contents, and the entry of the log up to which they ' +
      'stand. Reads all databases.',
    answers: [200, 401, 503],
  },
  {
    at: 'post /cluster/capabilities',
    tag,
    summary: 'What a member reads and holds',
    description: 'Between members: needs X-Svc-Cluster-Token.',
    answers: [200, 401],
  },
  {
    at: 'post /cluster/call',
    tag,
    summary: 'What the leader does for a client of another member',
    description:
      'Between members: a call of the session service as bytes, answered with frames as they ' +
      'are made.',
    answers: [200, 400, 401, 413, 503],
  },
  {
    at: 'post /cluster/stream',
    tag,
    summary: 'What the leader does for a client of another member, with what follows',
    description:
      'Between members: a call whose values follow it, such as the records of a load; each part ' +
      'of them is answered when it was taken.',
    answers: [200, 400, 401, 503],
  },
  {
    at: 'post /cluster/auth-session',
    tag,
    summary: 'Whose login a token is',
    description: 'Between members: tells the user of a login that this member keeps.',
    answers: [200, 400, 401, 404],
  },
  {
    at: 'delete /cluster/auth-session',
    tag,
    summary: 'End a login that this member keeps',
    description: 'Between members: for a client that logs out at another one.',
    answers: [204, 400, 401, 404],
  },
  {
    at: 'post /cluster/security-seed',
    tag,
    summary: 'Write users, groups and tokens again',
    description:
      'Between members: needs X-Svc-Cluster-Token. With the digests of a member that doubts its ' +
      'copies the leader writes those that differ. Leader only.',
    answers: [200, 400, 401, 409],
  },
];
