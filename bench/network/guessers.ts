/**
 * The clients of `crowd.ts` who guess passwords without a pause, on a thread of their own that
 * gives way to the server and to those who read, as other machines would.
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {Agent, get, type IncomingMessage} from 'node:http';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {lowerPriority} from '#server/node/threads/priority.ts';

interface Guessing {
  readonly url: string;
  readonly guessers: number;
  /** Whether each comes from an address of its own. */
  readonly apart: boolean;
}

/** Guesses until `end` is called, which answers how many guesses were answered. */
export function guess(guessing: Guessing): {readonly end: () => Promise<number>} {
  const worker = new Worker(new URL(import.meta.url), {workerData: guessing});
  return {
    end: async () => {
      worker.postMessage('end');
      const [answers] = (await once(worker, 'message')) as [number];
      return answers;
    },
  };
}

async function guessAll(guessing: Guessing, isOver: () => boolean): Promise<number> {
  let answers = 0;
  const guessOne = async (who: number): Promise<void> => {
    const localAddress = guessing.apart ? `127.0.1.${who + 1}` : '127.0.0.1';
    const agent = new Agent({keepAlive: true, localAddress});
    for (let turn = 0; !isOver(); turn += 1) {
      const status = await statusOf(guessing.url, agent, `user${who}:guess-${turn}`);
      assert.ok([401, 403, 503].includes(status), `a guess was answered ${status}`);
      answers += 1;
    }
    agent.destroy();
  };
  await Promise.all(Array.from({length: guessing.guessers}, (_, who) => guessOne(who)));
  return answers;
}

async function statusOf(url: string, agent: Agent, auth: string): Promise<number> {
  const asked = get(`${url}/api/v1/databases`, {agent, auth});
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode ?? 0;
}

if (!isMainThread) {
  lowerPriority('background');
  let isOver = false;
  parentPort?.once('message', () => (isOver = true));
  parentPort?.postMessage(await guessAll(workerData as Guessing, () => isOver));
}
