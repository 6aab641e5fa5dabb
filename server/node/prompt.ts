/** Asks a question on the terminal without showing what is typed. */
import type {Input, Output} from '#server/commands/command.ts';

const enter = new Set(['\r', '\n', '\u0004']);
const backspace = new Set(['\u007f', '\b']);

export async function askHidden(
  streams: {readonly stdin: Input; readonly stderr: Output},
  question: string,
): Promise<string> {
  const {stdin, stderr} = streams;
  stderr.write(question);
  stdin.setRawMode?.(true);
  stdin.resume();
  try {
    return await readLine(stdin);
  } finally {
    stdin.setRawMode?.(false);
    stdin.pause();
    stderr.write('\n');
  }
}

function readLine(stdin: Input): Promise<string> {
  return new Promise((resolve, reject) => {
    let typed = '';
    const finish = (settle: () => void): void => {
      stdin.off('data', take);
      settle();
    };
    const take = (chunk: Buffer | string): void => {
      for (const character of chunk.toString()) {
        if (character === '\u0003') {
          finish(() => reject(new Error('interrupted')));
          return;
        }
        if (enter.has(character)) {
          finish(() => resolve(typed));
          return;
        }
        typed = backspace.has(character) ? typed.slice(0, -1) : typed + character;
      }
    };
    stdin.on('data', take);
  });
}
