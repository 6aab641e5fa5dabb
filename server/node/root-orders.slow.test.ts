/**
 * One root, servers in PID namespaces of their own, in every order of start, kill and freeze: one
 * works on it, the others are refused before they open anything, and what was acknowledged is
 * there. A frozen server holds its root, and one that is frozen in the middle of its start either
 * has it then or is refused when it goes on.
 *
 * `make root-orders` runs every order of three steps, alone and as a member; `make test` some of
 * them.
 */
import assert from 'node:assert/strict';
import {rm} from 'node:fs/promises';
import {availableParallelism} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {eventually} from '#server/testing/time/eventually.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  canUnshare,
  type GivenSettings,
  ownPids,
  type StartedServer,
  StartedServers,
  startedHost,
} from '#server/testing/worlds/started-servers.ts';

const steps = ['start', 'both', 'start and freeze', 'kill', 'freeze', 'thaw', 'end'] as const;
type Step = (typeof steps)[number];

/** What may stand behind what: a step that has nothing to act on is no order of its own. */
const mayFollow: Readonly<Record<Step, readonly Step[]>> = {
  start: ['start', 'both', 'start and freeze', 'kill', 'freeze', 'end'],
  both: ['start', 'both', 'start and freeze', 'kill', 'freeze', 'end'],
  'start and freeze': ['start', 'both', 'start and freeze', 'kill', 'thaw'],
  kill: ['start', 'both', 'start and freeze'],
  freeze: ['start', 'both', 'start and freeze', 'kill', 'thaw'],
  thaw: ['start', 'both', 'start and freeze', 'kill', 'freeze', 'end'],
  end: ['start', 'both', 'start and freeze'],
};
const stepsOfOrder = 3;
const some = 60;
/** Milliseconds into a start at which it is frozen, in turns. */
const moments = [0, 40, 90, 150, 220, 300, 400, 550] as const;

function ordersFrom(begun: readonly Step[]): readonly (readonly Step[])[] {
  if (begun.length === stepsOfOrder) return [begun];
  const last = begun.at(-1);
  const next = last === undefined ? mayFollow.end : mayFollow[last];
  return next.flatMap(step => ordersFrom([...begun, step]));
}

const every = ordersFrom([]);
const servers = new StartedServers('root-orders');
after(() => servers.close());

class Order {
  readonly #name: string;
  readonly #settings: GivenSettings;
  readonly #freezesAt: number;
  #all: StartedServer[] = [];
  readonly #frozen = new Set<StartedServer>();
  /** What the launcher of one that was killed says is nothing of the server. */
  readonly #killed = new Set<StartedServer>();
  #rows = 0;
  #hasDatabase = false;

  constructor(name: string, settings: GivenSettings, freezesAt: number) {
    this.#name = name;
    this.#settings = settings;
    this.#freezesAt = freezesAt;
  }

  async run(step: Step): Promise<void> {
    if (step === 'start') await this.#start();
    else if (step === 'both') await Promise.all([this.#start(), this.#start()]);
    else if (step === 'start and freeze') await this.#startAndFreeze();
    else if (step === 'kill') await this.#end('SIGKILL');
    else if (step === 'end') await this.#end('SIGTERM');
    else if (step === 'freeze') await this.#freeze();
    else await this.thaw();
    await this.settled();
  }

  async #start(): Promise<StartedServer> {
    const server = await servers.start(this.#name, this.#settings, ownPids);
    this.#all.push(server);
    return server;
  }

  async #startAndFreeze(): Promise<void> {
    const server = await this.#start();
    await eventually('it has begun', () => server.isBegun || server.hasEnded);
    await new Promise(resolve => setTimeout(resolve, this.#freezesAt));
    if (server.hasEnded || !server.isBegun) return;
    server.signal('SIGSTOP');
    this.#frozen.add(server);
  }

  /** Ends the one that was started last, frozen or not. */
  async #end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const server = this.#all.findLast(one => !one.hasEnded);
    if (server === undefined) return;
    if (signal === 'SIGKILL') this.#killed.add(server);
    if (server.isBegun) server.signal(signal);
    if (signal === 'SIGTERM' && this.#frozen.has(server)) server.signal('SIGCONT');
    this.#frozen.delete(server);
    await server.untilEnded();
  }

  async #freeze(): Promise<void> {
    for (const server of this.#all.filter(one => !one.hasEnded && one.isBegun)) {
      server.signal('SIGSTOP');
      this.#frozen.add(server);
    }
    await Promise.resolve();
  }

  thaw(): Promise<void> {
    for (const server of this.#frozen) if (server.isBegun) server.signal('SIGCONT');
    this.#frozen.clear();
    return Promise.resolve();
  }

  /** Servers that can go on have become ready or have ended; at most one works. */
  async settled(): Promise<void> {
    const awake = this.#all.filter(server => !this.#frozen.has(server));
    await eventually('every server works or has ended', async () => {
      for (const server of awake) if (!server.hasEnded && !(await server.isReady())) return false;
      return true;
    });
    const working = awake.filter(server => !server.hasEnded);
    assert.ok(working.length <= 1, `${working.length} servers work on one root`);
    const ended = awake.filter(server => server.hasEnded && !this.#killed.has(server));
    for (const {process} of ended) {
      const wasRefused = /another server works on .* already/.test(process.log);
      const didWork = /server\.ready|cluster\.leader/.test(process.log);
      assert.ok(!(wasRefused && didWork), process.log);
      assert.ok(wasRefused || didWork || process.ended !== 1, process.log);
    }
    this.#all = this.#all.filter(server => !server.hasEnded);
    const [holder] = working;
    if (holder !== undefined) await this.#insertAt(holder);
  }

  /** Nothing that was acknowledged is lost. */
  async #insertAt(server: StartedServer): Promise<void> {
    const client = server.client();
    try {
      if (!this.#hasDatabase) {
        await client.createDatabase('d');
        await client.command('d', 'CREATE DOCUMENT TYPE V');
        this.#hasDatabase = true;
      }
      await client.command('d', 'INSERT INTO V SET n = 1');
      this.#rows += 1;
      const {result} = await client.query('d', 'SELECT count(*) AS n FROM V');
      assert.deepEqual(result, [{n: this.#rows}]);
    } finally {
      client.close();
    }
  }

  async close(): Promise<void> {
    for (const {process} of this.#all) await process.kill();
    await rm(join(servers.folder, this.#name), {recursive: true, force: true});
  }
}

const skip = canUnshare() ? false : 'needs the right to make a PID namespace';
/** Which of the orders are run: each so many. */
const share = Number(process.env['ROOT_ORDERS'] ?? some);
/** Orders at once, each on a root of its own: one alone waits for most of its time. */
const concurrency = 3 * availableParallelism();

for (const kind of ['alone', 'a member']) {
  const title = `${kind}: in every order of steps one server works on a root`;
  test(title, {skip, concurrency}, async t => {
    const runs = [...every.entries()].filter(([at]) => at % share === 0);
    await Promise.all(
      runs.map(([at, order]) => t.test(order.join(', '), () => runOrder(kind, at, order))),
    );
  });
}

async function runOrder(kind: string, at: number, order: readonly Step[]): Promise<void> {
  const raftPort = await freePort();
  const member = {
    'svc.server.name': 'svc_0',
    'svc.ha.enabled': true,
    'svc.ha.serverList': `${startedHost}:${raftPort}`,
    'svc.ha.raftPort': raftPort,
    'svc.server.readinessRequiresHA': true,
  };
  const name = `${kind.replace(' ', '-')}-${at}`;
  const moment = moments[at % moments.length] ?? 0;
  const run = new Order(name, kind === 'alone' ? {} : member, moment);
  try {
    for (const step of order) await run.run(step);
    // Whoever is frozen still goes on, and somebody can work in the end.
    await run.thaw();
    await run.settled();
    await run.run('start');
  } finally {
    await run.close();
  }
}
