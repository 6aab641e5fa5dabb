/**
 * Specs that a person may write or not, with what the API server says of them: every rule of the
 * resources is broken here, which a test holds.
 */
export type Fields = Readonly<Record<string, unknown>>;

export const shortest = {version: '26.11.1', storage: {size: '10Gi'}};

/** New clusters, by what is said beside the shortest spec. */
export const accepted: Readonly<Record<string, Fields>> = {
  'the shortest spec': {},
  'five members': {replicas: 5},
  'priorities by ordinal': {ha: {priorities: {0: 10, 2: 1}}},
  'a database from the start': {bootstrap: {initialize: {databases: ['shop']}}},
  'a copy of another cluster': {
    bootstrap: {recovery: {url: 'https://example.org/backup', databases: ['shop']}},
  },
  'settings of the server': {settings: {'svc.txRetries': '5'}},
};

/** Cases with the words of the refusal; undefined takes a field away. */
export const refused: Readonly<Record<string, readonly [Fields, RegExp]>> = {
  'no version': [{version: undefined}, /spec\.version: Required value/],
  'a version of another form': [{version: 'latest'}, /spec\.version/],
  'no members': [{replicas: 0}, /spec\.replicas/],
  'ten members': [{replicas: 10}, /spec\.replicas/],
  'a text for a number': [{replicas: 'three'}, /spec\.replicas/],
  'an unknown quorum': [{ha: {quorum: 'one'}}, /spec\.ha\.quorum/],
  'equal election times': [
    {ha: {electionTimeoutMs: {min: 500, max: 500}}},
    /electionTimeoutMs\.min must be below max/,
  ],
  'a priority by name': [{ha: {priorities: {first: 1}}}, /priorities are named by ordinal/],
  "the operator's own setting": [
    {settings: {'svc.ha.enabled': 'false'}},
    /settings holds a key of the operator's own/,
  ],
  'half the name of a setting': [{settings: {txRetries: '3'}}, /settings are named in full/],
  'two beginnings': [
    {bootstrap: {initialize: {databases: []}, recovery: {url: 'https://example.org/a'}}},
    /bootstrap needs either initialize or recovery/,
  ],
  'two sources': [
    {bootstrap: {recovery: {url: 'https://example.org/a', backupName: 'b'}}},
    /exactly one of backupName, claim and url/,
  ],
  'a log without a size': [
    {storage: {size: '1Gi', raft: {separate: true}}},
    /storage\.raft\.size is given when/,
  ],
  'a volume for backups of neither kind': [
    {backups: {volume: {}}},
    /backups\.volume needs either size or sharedClaim/,
  ],
  'an address without databases': [
    {bootstrap: {recovery: {url: 'https://example.org/a'}}},
    /bootstrap\.recovery\.url needs databases/,
  ],
  'keys without a Secret': [{tls: {mode: 'Secret'}}, /tls\.secretName is given when/],
};

/** Changes of a cluster with the shortest spec; without words they are taken. */
export const changes: Readonly<Record<string, readonly [Fields, RegExp | undefined]>> = {
  'a later patch': [{version: '26.11.3'}, undefined],
  'a later minor': [{version: '27.1.0'}, undefined],
  'an earlier minor': [{version: '26.10.9'}, /version cannot go below/],
  'more members': [{replicas: 5}, undefined],
  'a larger volume': [{storage: {size: '11Gi'}}, undefined],
  'a smaller volume': [{storage: {size: '9Gi'}}, /storage\.size cannot shrink/],
  'another storage class': [{storage: {storageClass: 'other'}}, /storageClass cannot change/],
  'another port': [{ha: {raftPort: 2500}}, /raftPort cannot change/],
  'another beginning': [
    {bootstrap: {initialize: {databases: ['shop']}}},
    /bootstrap cannot change/,
  ],
  'a log on a volume of its own': [
    {storage: {raft: {separate: true, size: '1Gi'}}},
    /storage\.raft\.separate cannot change/,
  ],
  'TLS from now on': [{tls: {mode: 'Operator'}}, /tls\.mode cannot be switched on or off/],
  'another name': [{clusterName: 'other'}, /clusterName cannot change/],
};

const nightly = {clusterRef: {name: 'kept'}, schedule: '0 3 * * *'};

/** Schedules of backups. */
export const schedules: Readonly<Record<string, readonly [Fields, RegExp | undefined]>> = {
  'every night': [nightly, undefined],
  'every ten seconds': [{...nightly, schedule: '*/10 * * * * *'}, undefined],
  'no schedule': [{...nightly, schedule: undefined}, /spec\.schedule: Required value/],
  'a schedule of four fields': [{...nightly, schedule: '0 3 * *'}, /spec\.schedule/],
  'two ways of retention': [
    {...nightly, retention: {maxFiles: 3, tiered: {daily: 7}}},
    /retention needs either maxFiles or tiered/,
  ],
};

/** Changes that are refused: kind, spec before, spec then. */
export const laterChanges: readonly (readonly [string, Fields, Fields, RegExp])[] = [
  ['SvcBackupSchedule', nightly, {clusterRef: {name: 'other'}}, /clusterRef cannot change/],
  [
    'SvcBackup',
    {clusterRef: {name: 'kept'}},
    {clusterRef: {name: 'other'}},
    /a backup cannot change once it is asked for/,
  ],
];

export const nameTooLong = /metadata\.name has more than \d+ characters/;
