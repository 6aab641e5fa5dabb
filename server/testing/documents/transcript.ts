/**
 * Plays the transcripts of a document on a real terminal: what stands behind a prompt is typed, the
 * rest is what the screen shows.
 *
 * A block that begins with `$ bin/svc ...` starts a console; the blocks behind it go on in it. What
 * ends in `^C` is not entered but broken off by that key.
 */
import {join} from 'node:path';
import {keys, PseudoTerminal} from '../terminal/pseudo-terminal.ts';
import type {Block} from './blocks.ts';

const repository = join(import.meta.dirname, '../../..');
const prompt = /^([a-z]+(?::[a-z]+)?[*!]?> | +[-'"`*]> )(.*)$/;

export interface Played {
  readonly block: Block;
  /** What the block says, without the line that starts the program. */
  readonly documented: string;
  readonly shown: string;
}

interface Step {
  readonly block: Block;
  readonly prompt: string;
  readonly typed: string;
}

/** Plays all blocks, in their order; each console is to end with the last line typed in it. */
export async function playTranscripts(
  blocks: readonly Block[],
  environment: Readonly<Record<string, string>>,
): Promise<Played[]> {
  const played: Played[] = [];
  const starts = blocks.flatMap(({text}, index) => (text.startsWith('$ ') ? [index] : []));
  for (const [index, start] of starts.entries()) {
    const session = blocks.slice(start, starts[index + 1]);
    played.push(...(await playSession(session, environment)));
  }
  return played;
}

async function playSession(
  blocks: readonly Block[],
  environment: Readonly<Record<string, string>>,
): Promise<Played[]> {
  const steps = blocks.flatMap(stepsOf);
  const [first = ''] = blocks[0]?.text.split('\n') ?? [];
  const [program = '', ...words] = first.slice(2).split(' ');
  const terminal = new PseudoTerminal([join(repository, program), ...words], environment);
  const rows = new Map<Block, number>();
  try {
    for (const [index, {block, typed, prompt: begun}] of steps.entries()) {
      if (index === 0) await terminal.sees(() => terminal.current === begun.trimEnd(), begun);
      if (!rows.has(block)) rows.set(block, index === 0 ? 0 : rowOf(terminal));
      const next = steps[index + 1];
      if (typed.endsWith('^C')) terminal.press(typed.slice(0, -2), keys.ctrlC);
      else terminal.press(typed, keys.enter);
      if (next === undefined) await terminal.ended();
      else await terminal.prompts(next.prompt);
    }
    const lines = terminal.text.split('\n');
    return blocks.map((block, index) => {
      const after = blocks[index + 1];
      return {
        block,
        documented: block.text.replace(/^\$ .*\n/, ''),
        shown: lines.slice(rows.get(block), after && rows.get(after)).join('\n'),
      };
    });
  } finally {
    terminal.dispose();
  }
}

function stepsOf(block: Block): Step[] {
  return block.text.split('\n').flatMap(line => {
    const [, begun, typed] = prompt.exec(line) ?? [];
    return begun === undefined || typed === undefined ? [] : [{block, prompt: begun, typed}];
  });
}

function rowOf(terminal: PseudoTerminal): number {
  return terminal.text.split('\n').length - 1;
}
