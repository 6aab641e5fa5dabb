/**
 * Whether work gives the thread away: by the processor time of its longest turn, which a busy
 * machine does not stretch.
 */

/**
 * Processor milliseconds of the longest turn of this thread's event loop until `work` ends, in
 * whichever way.
 *
 * @param onTurn - Called after each turn, with its number from 0.
 */
export async function longestTurn(
  work: Promise<unknown>,
  onTurn: (turn: number) => void = () => {},
): Promise<number> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  void work.then(end, end);
  let longest = 0;
  for (let turn = 0; !isDone; turn += 1) {
    const start = process.threadCpuUsage();
    await new Promise(resolve => setImmediate(resolve));
    const {user, system} = process.threadCpuUsage(start);
    longest = Math.max(longest, (user + system) / 1_000);
    onTurn(turn);
  }
  return longest;
}
