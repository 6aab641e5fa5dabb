/**
 * A console on a terminal: lines are edited by node:readline, whole statements are carried out one
 * after the other, and the keys that end things end the right one.
 *
 * Ctrl-C ends the statement that runs, or clears what is typed; it never leaves. Ctrl-D on an empty
 * line leaves, and asks first when a transaction is open. What is typed while a statement runs is
 * carried out after it.
 */
import {createInterface, type Interface} from 'node:readline';
import {reasonOf} from '#server/base/errors.ts';
import {type Input, type Output, print} from '../command.ts';
import type {ConsoleSession} from './console-session.ts';
import {completeConsole} from './console-completion.ts';
import {failureText} from './failure-text.ts';
import {History, historyMax, historyPath} from './history.ts';
import {runMetaCommand} from './meta-commands.ts';
import {type ConsoleInput, StatementReader} from './statement-reader.ts';

/** What a console on a terminal is given. */
export interface TerminalOptions {
  readonly session: ConsoleSession;
  readonly input: Input;
  readonly output: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Runs until the person leaves; answers the exit code. */
export async function runTerminal(options: TerminalOptions): Promise<number> {
  const {session, output, environment} = options;
  const history = new History();
  const {version} = await session.client.serverInfo();
  await print(
    output,
    `Svc ${String(version)} at ${session.client.url}; :help lists the commands, Ctrl-D leaves\n`,
  );
  try {
    history.load(historyPath(environment));
  } catch (error) {
    await print(output, `what you type is not remembered: ${reasonOf(error)}\n`);
  }
  // Reading ends at Ctrl-D; whoever then decides to stay begins another one.
  do {
    await new Reading(options, history).ended;
    await print(output, '\n');
  } while (session.hasTransaction && !(await mayLeave(options)));
  return 0;
}

/** Asks what becomes of the open transaction; false: the person stays. */
async function mayLeave({session, input, output}: TerminalOptions): Promise<boolean> {
  const question = 'A transaction is open. Commit it, roll it back, or stay? [c/r/s] ';
  const answer = await ask(input, output, question);
  try {
    if (/^c(?:ommit)?$/i.test(answer)) await session.commit();
    else if (/^r(?:ollback|oll back)?$/i.test(answer)) await session.rollback();
    else return false;
    return true;
  } catch (error) {
    const said = failureText(error, undefined);
    if (said === undefined) throw error;
    await print(output, `error: ${said}`);
    return false;
  }
}

/** One line; empty when there is none to come. Input that has ended for good rolls back. */
function ask(input: Input, output: Output, question: string): Promise<string> {
  const {promise, resolve} = Promise.withResolvers<string>();
  const lines = createInterface({input, output, terminal: true, historySize: 0});
  lines.once('close', () => resolve(input.readableEnded ? 'r' : ''));
  lines.question(question, answer => {
    resolve(answer.trim());
    lines.close();
  });
  return promise;
}

type CompleterAnswer = (error: Error | null, found: [string[], string]) => void;

/** One stretch of reading lines, from the first prompt to Ctrl-D or `:quit`. */
class Reading {
  /** Settles when the person asks to leave and nothing runs any more. */
  readonly ended: Promise<void>;
  readonly #session: ConsoleSession;
  readonly #output: Output;
  readonly #history: History;
  readonly #reader: StatementReader;
  readonly #lines: Interface;
  readonly #end = Promise.withResolvers<void>();
  /** The list in which node looks for what Up recalls; it holds our entries and nothing else. */
  #recalled: string[];
  /** Lines that were typed and are not carried out yet. */
  #waiting: string[] = [];
  #isBusy = false;
  #isClosed = false;

  constructor({session, input, output}: TerminalOptions, history: History) {
    this.ended = this.#end.promise;
    this.#session = session;
    this.#output = output;
    this.#history = history;
    this.#reader = new StatementReader(() => session.language);
    this.#recalled = [...history.entries];
    this.#lines = createInterface({
      input,
      output,
      terminal: true,
      history: this.#recalled,
      historySize: historyMax,
      completer: (line: string, answer: CompleterAnswer) => {
        void completeConsole(session, this.#reader.pending, line).then(({candidates, typed}) =>
          answer(null, [[...candidates], typed]),
        );
      },
    });
    // Node remembers single lines, of passwords too; we remember whole statements.
    this.#lines.on('history', recalled => {
      this.#recalled = recalled;
      this.#recall();
    });
    this.#lines.on('SIGINT', () => this.#interrupt());
    this.#lines.on('line', line => {
      // A recalled statement comes back with all its lines at once.
      this.#waiting.push(...line.split(/\r\n?|\n/));
      if (!this.#isBusy) this.#work().catch(this.#end.reject);
    });
    this.#lines.on('close', () => {
      this.#isClosed = true;
      if (!this.#isBusy) this.#end.resolve();
    });
    this.#prompt();
  }

  /** Carries out the lines that wait, then asks for the next or ends. */
  async #work(): Promise<void> {
    this.#isBusy = true;
    try {
      for (let line = this.#waiting.shift(); line !== undefined; line = this.#waiting.shift()) {
        for (const input of this.#reader.feed(line)) await this.#carryOut(input);
      }
    } finally {
      this.#isBusy = false;
    }
    if (this.#isClosed) this.#end.resolve();
    else this.#prompt();
  }

  async #carryOut(input: ConsoleInput): Promise<void> {
    const session = this.#session;
    const {kind, text} = input;
    this.#history.add(typedText(input, session.language));
    this.#recall();
    try {
      if (kind === 'statement') await session.run(text);
      else if ((await runMetaCommand(text, {session, history: this.#history})) === 'quit') {
        this.#waiting = [];
        this.#lines.close();
      }
    } catch (error) {
      const said = failureText(error, kind === 'statement' ? text : undefined);
      if (said === undefined) throw error;
      await print(this.#output, `error: ${said}`);
    }
  }

  /** Ctrl-C: whatever goes on ends, the console does not. */
  #interrupt(): void {
    this.#waiting = [];
    if (this.#session.interrupt()) {
      this.#output.write('^C\n');
      return;
    }
    const wasTyping = this.#reader.open !== undefined || this.#lines.line !== '';
    this.#reader.clear();
    // What was typed stays to be read, and is gone from the line.
    this.#lines.write(null, {ctrl: true, name: 'e'});
    this.#output.write(wasTyping ? '^C\n' : '^C (Ctrl-D or :quit leaves)\n');
    this.#lines.write(null, {ctrl: true, name: 'u'});
    this.#prompt();
  }

  #recall(): void {
    this.#recalled.splice(0, this.#recalled.length, ...this.#history.entries);
  }

  /** Where a statement goes on, the prompt says what is open. */
  #prompt(): void {
    const {prompt} = this.#session;
    const {open} = this.#reader;
    const mark = open === 'statement' ? '-' : open;
    this.#lines.setPrompt(open === undefined ? prompt : `${mark}> `.padStart(prompt.length));
    this.#lines.prompt(true);
  }
}

/** Writes an input so that it could be typed again. */
function typedText({kind, text}: ConsoleInput, language: string): string {
  if (kind === 'command') return `:${text}`;
  return language === 'sqlscript' ? `${text}\n;` : `${text};`;
}
