/**
 * The table of faults from outside: what hostile clients, damaged files and full disks do, and what
 * holds it on every surface. A cell is a probe that runs here, the test elsewhere that holds it, or
 * the reason why the surface cannot meet the fault. A row without a surface fails.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {after, before, test} from 'node:test';
import {
  chunkBombs,
  compressedBombs,
  dripsOfHead,
  endedLogins,
  foreignOrigins,
  foreignSessions,
  headBombs,
  oddPaths,
  pipelined,
  type Probe,
  repeatedHeaders,
  silence,
  slowBody,
  smuggled,
  wrongLengths,
} from './hostile-bytes.ts';
import {
  brokenFrames,
  endlessFrames,
  halfFrame,
  pingFlood,
  requestsBehindUpgrade,
} from './hostile-frames.ts';
import {type Surface, SurfaceWorld, surfaces} from './surfaces.ts';

/** The test that holds a cell: its file, and words of its name. */
interface Held {
  readonly file: string;
  readonly name: string;
}

type Cell = Probe | Held | string;

/** A fault that comes over a connection. */
type Row = Readonly<Record<Surface, Cell>> & {
  /** Whether it runs on the server whose deadlines are short. */
  readonly isSlow?: boolean;
};

function held(file: string, name: string): Held {
  return {file: `server/${file}`, name};
}

function everywhere(probe: Cell, others: Partial<Record<Surface, Cell>> = {}): Row {
  const cells = Object.fromEntries(surfaces.map(surface => [surface, probe]));
  return {...(cells as Record<Surface, Cell>), ...others};
}

const noBody = 'its request has no body';
const noSession = 'it knows no transaction sessions';
const limits = 'protocols/http/http.limits.test.ts';
const lane = 'protocols/http/raw-http/raw-http-listener.test.ts';
const sockets = 'protocols/http/websocket/websockets.test.ts';
const badInput = 'testing/fuzz/fuzz-bad-input.slow.test.ts';

/** F18 to F21 and what else comes over a connection. */
const rows: Readonly<Record<string, Row>> = {
  'F18 slow headers': {...everywhere(dripsOfHead), isSlow: true},
  'F18 silent and half-open connections': {...everywhere(silence), isSlow: true},
  'F18 slow bodies': {...everywhere(slowBody, {ws: halfFrame}), isSlow: true},
  'F18 readers that stop reading': {
    raw: held(lane, 'a reader that stops reading is let go'),
    node: held(limits, 'a reader that stops reading is dropped'),
    tls: held(lane, 'a reader that stops reading is let go'),
    mcp: held(lane, 'a reader that stops reading is let go'),
    ws: held(sockets, 'a reader that falls too far behind'),
    prometheus: held(badInput, 'slow, half-open and deaf clients'),
  },
  'F18 pings whose pongs nobody reads': everywhere('it has no pings', {ws: pingFlood}),
  'F19 heads without end': everywhere(headBombs),
  'F19 deep and long bodies': everywhere(held(badInput, 'every malformed request is refused'), {
    raw: held(limits, 'malformed bodies are refused with their place'),
    mcp: held('protocols/mcp/agent-server.test.ts', 'a message that nests too deeply'),
    ws: held(sockets, 'messages that mean nothing are answered'),
    prometheus: noBody,
  }),
  'repeated headers': everywhere(repeatedHeaders),
  'smuggled requests': everywhere(smuggled),
  'pipelined requests': everywhere(pipelined, {ws: requestsBehindUpgrade}),
  'chunk bombs': everywhere(chunkBombs, {ws: endlessFrames}),
  'wrong lengths': everywhere(wrongLengths, {ws: brokenFrames}),
  'compressed bombs': everywhere(compressedBombs, {ws: brokenFrames, prometheus: noBody}),
  'F20 traversal and encodings in paths': everywhere(oddPaths),
  'hostile origins': everywhere(foreignOrigins),
  'ended logins': everywhere(endedLogins),
  'ended and foreign sessions': everywhere(foreignSessions, {
    mcp: held('protocols/mcp/running-requests.test.ts', 'in the conversation of another'),
    ws: held(sockets, 'is let go when he is no user any more'),
    prometheus: noSession,
  }),
};

/** Faults that come by files, disks and questions, and by what holds them. */
const others: Readonly<Record<string, readonly Held[]>> = {
  'damaged configuration files': [
    held('node/configuration.test.ts', 'a file that is no JSON object is refused with its path'),
    held('security/security.test.ts', 'a hand edit counts after a reload, and a broken one'),
    held('node/files.e2e.test.ts', 'users and groups that are written into their files'),
    held('protocols/mcp/policy.test.ts', 'a document with one fault is refused as a whole'),
    held('node/keys/key-store.test.ts', 'one that cannot be used is reported and left'),
    held('node/keys/trust-store.test.ts', 'a store without a certificate that can be read'),
    held('node/backup/backup.e2e.test.ts', 'a configuration that cannot be used is told'),
  ],
  'a full disk under the log': [
    held('testing/faults/full-disk.slow.test.ts', 'a disk that is full at once'),
    held('testing/faults/full-disk.slow.test.ts', 'below the least free space'),
    held(
      'testing/faults/full-disk-cluster.slow.test.ts',
      'is full at once, and it goes on by itself',
    ),
  ],
  'a full disk under the events': [
    held('monitoring/server-events.test.ts', 'a disk that takes no line is told once'),
    held('monitoring/query-profiler.test.ts', 'a run that cannot be kept is answered'),
  ],
  'F20 traversal in names of databases, backups and files': [
    held('node/backup/backup.e2e.test.ts', 'names that lead elsewhere are refused'),
    held('node/backup/exchange-bad-input.e2e.test.ts', 'refused, with nothing left: the name'),
    held('monitoring/server-events.test.ts', 'only files of events are read'),
  ],
  'F21 addresses inside': [
    held('node/backup/exchange-bad-input.e2e.test.ts', 'are not connected to'),
    held('node/backup/exchange-bad-input.e2e.test.ts', 'redirects inside is not followed'),
    held('session/behaviour/cypher/load-csv.test.ts', 'no private address, whatever its name'),
  ],
  'F22 canary secrets': [
    held('node/monitoring/secrets.e2e.test.ts', 'a secret is told to nobody'),
    held('node/monitoring/telemetry.e2e.test.ts', 'nothing of a statement or a password'),
  ],
  'F23 timing of users': [held('testing/timing/timing.test.ts', 'checks of both kinds')],
  'F24 operation, principal and protocol': [
    held('protocols/http/access-matrix.e2e.test.ts', 'every route'),
    held('protocols/mcp/permission-matrix.test.ts', 'what a call is answered'),
  ],
};

const shortMillis = 300;
let usual: SurfaceWorld;
let hasty: SurfaceWorld;
before(async () => {
  usual = await SurfaceWorld.open();
  hasty = await SurfaceWorld.open({
    'svc.network.socketTimeout': shortMillis,
    'svc.network.keepAliveTimeout': shortMillis,
  });
});
after(async () => {
  await usual.close();
  await hasty.close();
});

for (const [name, row] of Object.entries(rows)) {
  for (const surface of surfaces) {
    const cell = row[surface];
    if (typeof cell !== 'function') continue;
    test(`${name}: ${surface}`, async () => {
      await cell(row.isSlow === true ? hasty : usual, surface);
    });
  }
}

const repository = resolve(import.meta.dirname, '../../..');

test('every test that a cell names is there', () => {
  const cells = Object.values(rows).flatMap(row => surfaces.map(at => row[at]));
  const named = [...cells, ...Object.values(others).flat()].filter(
    cell => typeof cell === 'object',
  );
  assert.ok(named.length > 20);
  for (const {file, name} of named) {
    const text = readFileSync(join(repository, file), 'utf8');
    assert.ok(text.includes(name), `${file} has no test '${name}'`);
  }
});
