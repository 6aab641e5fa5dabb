/**
 * What somebody sees: the characters of a program on a terminal, as lines of a screen.
 *
 * It knows the control sequences that node:readline and our own lines use (return, line feed,
 * backspace, moves of the cursor, erasing); colours are ignored, anything else is a failure, so
 * that a test does not judge a screen that was misread. The screen is as high as what was written:
 * lines do not scroll away.
 */
import {assert} from '#server/base/assert.ts';

const escape = '\u001b';
const sequence = /^\u001b\[(\??[\d;]*)([A-Za-z])/;

export class Screen {
  readonly #columns: number;
  readonly #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  /** The begin of a sequence whose rest has not come yet. */
  #rest = '';

  constructor(columns: number) {
    this.#columns = columns;
  }

  /** The lines, without blanks at their ends and without empty lines at the end. */
  get text(): string {
    return this.#lines
      .map(line => line.join('').trimEnd())
      .join('\n')
      .trimEnd();
  }

  /** The line that the cursor is on, up to its end. */
  get current(): string {
    return this.#line(this.#row).join('').trimEnd();
  }

  write(text: string): void {
    let rest = this.#rest + text;
    this.#rest = '';
    while (rest !== '') {
      if (rest.startsWith(escape)) {
        const match = sequence.exec(rest);
        if (match === null && rest.length < 12) {
          this.#rest = rest;
          return;
        }
        const [whole = '', parameter = '', command = ''] = match ?? [];
        assert(whole !== '', `a control sequence that the screen knows: ${JSON.stringify(rest)}`);
        this.#control(command, parameter);
        rest = rest.slice(whole.length);
      } else {
        const [letter = ''] = rest;
        this.#put(letter);
        rest = rest.slice(letter.length);
      }
    }
  }

  #put(letter: string): void {
    if (letter === '\r') this.#column = 0;
    else if (letter === '\n') this.#move(this.#row + 1, this.#column);
    else if (letter === '\b') this.#move(this.#row, this.#column - 1);
    else if (letter === '\u0007') return;
    else {
      if (this.#column >= this.#columns) this.#move(this.#row + 1, 0);
      const line = this.#line(this.#row);
      while (line.length < this.#column) line.push(' ');
      line[this.#column] = letter;
      this.#column += 1;
    }
  }

  #control(command: string, parameter: string): void {
    const number = parameter === '' ? undefined : Number(parameter.split(';')[0]);
    const steps = number ?? 1;
    const line = this.#line(this.#row);
    switch (command) {
      case 'A':
        return this.#move(this.#row - steps, this.#column);
      case 'B':
        return this.#move(this.#row + steps, this.#column);
      case 'C':
        return this.#move(this.#row, this.#column + steps);
      case 'D':
        return this.#move(this.#row, this.#column - steps);
      case 'G':
        return this.#move(this.#row, steps - 1);
      case 'J':
        assert(number === undefined || number === 0, 'only what is below is erased');
        line.length = Math.min(line.length, this.#column);
        this.#lines.length = this.#row + 1;
        return;
      case 'K':
        assert(number === undefined || number === 0, 'only the rest of a line is erased');
        line.length = Math.min(line.length, this.#column);
        return;
      case 'm':
        return;
      default:
        assert(false, `the screen knows no sequence ${parameter}${command}`);
    }
  }

  #move(row: number, column: number): void {
    this.#row = Math.max(0, row);
    this.#column = Math.max(0, Math.min(column, this.#columns - 1));
    this.#line(this.#row);
  }

  #line(row: number): string[] {
    while (this.#lines.length <= row) this.#lines.push([]);
    return this.#lines[row] ?? [];
  }
}
