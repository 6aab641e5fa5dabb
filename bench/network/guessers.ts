/**
 * The clients of `crowd.ts` who guess passwords without a pause, on a thread of their own that
 * gives way to the server and to those who read, as other machines would.
 */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import {lowerPriority} from '#server/node/threads/priority.ts';

interface Guessing {
  readonly url: string;
  readonly guessers: number;
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

async function guessAll({url, guessers}: Guessing, isOver: () => boolean): Promise<number> {
  let answers = 0;
  const guessOne = async (who: number): Promise<void> => {
    for (let turn = 0; !isOver(); turn += 1) {
      const pair = Buffer.from(`user${who}:guess-${turn}`).toString('base64');
      const answer = await fetch(`${url}/api/v1/databases`, {
        headers: {authorization: `Basic ${pair}`},
      });
      await answer.arrayBuffer();
      assert.ok([401, 403, 503].includes(answer.status), `a guess was answered ${answer.status}`);
      answers += 1;
    }
  };
  await Promise.all(Array.from({length: guessers}, (_, who) => guessOne(who)));
  return answers;
}

if (!isMainThread) {
  lowerPriority('background');
  let isOver = false;
  parentPort?.once('message', () => (isOver = true));
  parentPort?.postMessage(await guessAll(workerData as Guessing, () => isOver));
}
