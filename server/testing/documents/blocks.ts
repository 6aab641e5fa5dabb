/**
 * Reads the fenced blocks of a document, and compares what a block says it prints with what was
 * printed: how README.md and docs/ are held to the program.
 *
 * A block of commands or statements may be followed by one of output (`text` or `json`). In
 * documented output `...` stands for anything within a line, and alone in its line for any lines.
 */

export interface Block {
  /** What stands behind the opening fence: `sh`, `sql`, `json`, `text`. */
  readonly language: string;
  readonly text: string;
  /** Line of its first content line, from 1. */
  readonly line: number;
}

/** Something to run, and what it is documented to print; undefined: nothing is said. */
export interface Example {
  readonly block: Block;
  readonly output: string | undefined;
}

/** The fenced blocks of a document, in order. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: {language: string; line: number; lines: string[]} | undefined;
  for (const [index, text] of markdown.split('\n').entries()) {
    const fence = /^```(\w*)\s*$/.exec(text);
    if (fence === null) {
      open?.lines.push(text);
    } else if (open === undefined) {
      open = {language: fence[1] ?? '', line: index + 2, lines: []};
    } else {
      blocks.push({language: open.language, line: open.line, text: open.lines.join('\n')});
      open = undefined;
    }
  }
  return blocks;
}

/** The blocks of some languages, each with the output block that follows it directly. */
export function examplesOf(markdown: string, ...languages: string[]): Example[] {
  const blocks = blocksOf(markdown);
  return blocks.flatMap((block, index) => {
    if (!languages.includes(block.language)) return [];
    const next = blocks[index + 1];
    const isOutput = next?.language === 'text' || next?.language === 'json';
    return [{block, output: isOutput ? next.text : undefined}];
  });
}

/** Whether `actual` is what the document says; white space at line ends does not count. */
export function printsAs(documented: string, actual: string): boolean {
  const pattern = documented
    .trim()
    .split('\n')
    .map(line => (line.trim() === '...' ? '(?:.*\\n)*?' : `${linePattern(line.trimEnd())}[ ]*\\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${actual.trim().replaceAll('\r\n', '\n')}\n`);
}

function linePattern(line: string): string {
  return line
    .split('...')
    .map(part => part.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&'))
    .join('.*');
}
