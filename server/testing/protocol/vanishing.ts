/**
 * Clients that vanish. Whoever waits hears of a client that is gone between two turns of the event
 * loop and at no other moment, however many awaits a turn runs through. So a request is first
 * counted in turns, from its first byte to its answer, and then cut short in every one of them, and
 * once more when its answer has come. `make vanish` takes them all, but of one that waits for a
 * clock, whose turns are thousands and idle, 200 that are spread over it; else it is a few of each.
 */
import {eventually} from '../time/eventually.ts';

const takesAll = process.env['VANISH'] === 'all';
const cutsMax = takesAll ? 200 : 6;
/** What clients had open is looked at behind so many of them. */
const cutsAtOnce = 100;

/** A client with all open that it shall leave behind, and one thing to ask for. */
export interface ReadyClient {
  /** Resolves when the request has left. */
  send(): Promise<void>;
  /** Resolves when it is answered. @throws when it is refused. */
  answered(): Promise<void>;
  vanish(): void;
}

/** What is open, by its name. */
export type OpenCounts = () => object;

/** What is opened, with a note when it is and when it is closed first. */
export async function noted<T extends {close(): void}>(
  opening: Promise<T>,
  note: (change: 1 | -1) => void,
): Promise<T> {
  const opened = await opening;
  const close = opened.close.bind(opened);
  note(1);
  opened.close = () => {
    opened.close = close;
    note(-1);
    close();
  };
  return opened;
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** How many turns pass until it is answered. */
async function turnsOf(client: ReadyClient): Promise<number> {
  let isAnswered = false;
  await client.send();
  const answering = client.answered().finally(() => {
    isAnswered = true;
  });
  // Its failure is told below.
  answering.catch(() => {});
  let turns = 0;
  for (; !isAnswered; turns += 1) await turn();
  await answering;
  client.vanish();
  return turns;
}

/** The turns in which a request is cut short: all, or so many from the first to the last. */
function cuts(turns: number): readonly number[] {
  const count = Math.min(turns + 1, cutsMax);
  const at = (cut: number): number => Math.round((cut * turns) / Math.max(1, count - 1));
  return [...new Set(Array.from({length: count}, (_one, cut) => at(cut)))];
}

async function allIsGivenBack(open: OpenCounts): Promise<void> {
  await eventually(
    'all that clients had open is given back',
    () => Object.values(open()).every(count => count === 0),
    {told: () => JSON.stringify(open())},
  );
}

/** Lets clients vanish in the turns of one request; says how many turns and clients there were. */
export async function vanishInTurns(
  ready: () => Promise<ReadyClient>,
  open: OpenCounts,
): Promise<{readonly turns: number; readonly clients: number}> {
  const turns = await turnsOf(await ready());
  const taken = cuts(turns);
  for (const [count, at] of taken.entries()) {
    const client = await ready();
    await client.send();
    for (let left = at; left > 0; left -= 1) await turn();
    client.vanish();
    if ((count + 1) % cutsAtOnce === 0) await allIsGivenBack(open);
  }
  await allIsGivenBack(open);
  return {turns, clients: taken.length};
}
