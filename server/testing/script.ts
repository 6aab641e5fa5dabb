/**
 * Scripts as tests: files of inputs and the outputs they should have, readable as transcripts.
 *
 *     command arguments
 *     input, one line or several
 *     ----
 *     output
 *
 * Blocks are separated by an empty line; an output may hold none, and lines that start with `#`
 * between blocks are comments. With `REWRITE=1` in the environment the outputs found are written
 * into the file instead of compared, so that a review sees a change of behaviour as a diff.
 */

import assert from 'node:assert/strict';
import {readFileSync, writeFileSync} from 'node:fs';
import {test} from 'node:test';

export interface ScriptCase {
  readonly command: string;
  readonly args: readonly string[];
  readonly input: string;
}

interface Block extends ScriptCase {
  readonly head: string;
  readonly comments: readonly string[];
  readonly output: string;
  readonly line: number;
}

/** Registers one test for each block of the file; `run` gives the output of a case. */
export function testScript(file: URL, run: (script: ScriptCase) => string): void {
  const blocks = parseBlocks(readFileSync(file, 'utf8'));
  const name = file.pathname.slice(file.pathname.lastIndexOf('/') + 1);
  if (process.env['REWRITE'] === '1') {
    writeFileSync(file, blocks.map(block => blockText(block, run(block).trimEnd())).join('\n'));
    return;
  }
  for (const block of blocks) {
    test(`${name}:${block.line}: ${block.head} ${block.input.slice(0, 60)}`, () => {
      assert.equal(run(block).trimEnd(), block.output);
    });
  }
}

function parseBlocks(text: string): readonly Block[] {
  const lines = text.split('\n');
  const blocks: Block[] = [];
  let at = 0;
  const until = (stop: (line: string) => boolean): string[] => {
    const start = at;
    while (at < lines.length && !stop(lines[at] ?? '')) at++;
    return lines.slice(start, at);
  };
  for (;;) {
    const comments = until(line => line !== '' && !line.startsWith('#'));
    const head = lines[at];
    if (head === undefined) return blocks;
    const line = ++at;
    const input = until(each => each === '----').join('\n');
    at++;
    const output = until(each => each === '').join('\n');
    const [command = '', ...args] = head.split(' ');
    blocks.push({command, args, input, head, comments, output, line});
  }
}

function blockText(block: Block, output: string): string {
  const comments = block.comments.filter((line, i) => line !== '' || i > 0);
  const notes = comments.length === 0 ? '' : `${comments.join('\n')}\n`;
  assert(!output.includes('\n\n'), 'an output has no empty line');
  return `${notes}${block.head}\n${block.input}\n----\n${output}\n`;
}
