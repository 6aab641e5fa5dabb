/**
 * Runs cases of the openCypher suite, each in a database of its own; one worker of several.
 *
 * In-process: a session service over a real engine. What a case needs of a server is its session;
 * the routes have tests of their own. To make and drop a store takes most of a case's time, and a
 * language does not see which one it is, so that most cases have the memory twin under them.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {type MessagePort, parentPort, workerData} from 'node:worker_threads';
import {Machine} from '#server/simulation/machine.ts';
import {SimulatedDisk} from '#server/simulation/simulated-disk.ts';
import {SimulatedStores} from '#server/simulation/simulated-stores.ts';
import type {Value} from '#server/model/value.ts';
import type {InlineEngineOptions} from '../worlds/inline-engine.ts';
import {root, ServiceWorld, type TestDatabase} from '../worlds/service-world.ts';
import {runCase} from './opencypher-case.ts';
import type {Case} from './opencypher-gherkin.ts';
import {proceduresOf} from './opencypher-procedure.ts';

export interface WorkerTask {
  /** The cases that run over RocksDB. */
  readonly onDisk: readonly Case[];
  readonly inMemory: readonly Case[];
  /** Where the named graphs lie. */
  readonly graphs: string;
}

export interface CaseOutcome {
  readonly name: string;
  readonly lines: readonly string[];
}

async function runText(
  database: TestDatabase,
  text: string,
  parameters: ReadonlyMap<string, Value>,
): Promise<string> {
  const cursor = await database.service.run(root, {
    ...database.request(text),
    language: 'cypher',
    parameters,
  });
  const pieces: string[] = [];
  try {
    for (let piece = await cursor.next(); piece; piece = await cursor.next()) {
      pieces.push(piece.toString('utf8'));
    }
  } finally {
    cursor.close();
  }
  return `[${pieces.join('')}]`;
}

function inMemory(): InlineEngineOptions {
  const machine = new Machine();
  return {stores: new SimulatedStores(machine), disk: new SimulatedDisk(machine)};
}

/** Runs cases, each in a database of its own of one world over such an engine. */
async function runCases(
  port: MessagePort,
  graphs: string,
  cases: readonly Case[],
  engine: () => InlineEngineOptions,
): Promise<void> {
  const world = await ServiceWorld.open({}, engine());
  try {
    for (const one of cases) {
      const procedures = proceduresOf(one);
      const own =
        procedures.length === 0 ? world : await ServiceWorld.open({}, {procedures, ...engine()});
      const database = await own.database([]);
      let lines: readonly string[];
      try {
        lines = await runCase(one, {
          run: (text, parameters) => runText(database, text, parameters),
          prepare: async (text, parameters) => {
            await runText(database, `EXPLAIN ${text}`, parameters);
          },
          graph: name => readFileSync(join(graphs, `${name}.cypher`), 'utf8'),
        });
      } catch (error) {
        lines = [`failed: ${error instanceof Error ? (error.stack ?? error.message) : error}`];
      }
      if (own === world) await world.service.dropDatabase(root, database.name);
      else await own.close();
      const outcome: CaseOutcome = {name: one.name, lines};
      port.postMessage(outcome);
    }
  } finally {
    await world.close();
  }
}

async function main(
  port: MessagePort,
  {onDisk, inMemory: others, graphs}: WorkerTask,
): Promise<void> {
  await runCases(port, graphs, onDisk, () => ({}));
  await runCases(port, graphs, others, inMemory);
}

if (parentPort !== null) await main(parentPort, workerData as WorkerTask);
