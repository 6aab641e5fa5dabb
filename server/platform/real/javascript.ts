/**
 * JavaScript by QuickJS, compiled to WebAssembly: it reaches nothing but its own memory.
 *
 * Memory is that of the module, 64 MiB for all sandboxes: the interpreter's own limit counts
 * pieces and not their sizes. Time is bounded twice. The interpreter asks between its steps whether
 * the thread has worked for as long as a call may (time in which others had the processor counts
 * on the clock alone, so that a busy machine refuses little); a loop inside of one step (a search
 * in a long text, a list of four thousand million holes) does not ask. So each call also runs
 * under node's watchdog, which ends it some time later whatever it does.
 * Invariant: a module that was ended in the middle of a call, or broke down by itself, is never
 * entered again; a new one takes its place.
 */
import {createContext, Script} from 'node:vm';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';
import {Refusal} from '#server/base/errors.ts';
import type {JavaScriptEngine, JavaScriptSandbox, JavaScriptWorld} from '../javascript.ts';
import {threadCpuMs} from './clock.ts';

const stackBytesMax = 256 << 10;
/** Pages of 64 KiB: what the module needs, and what all of its sandboxes share. */
const pagesMin = 256;
const pagesMax = 1_024;
/** How much later than the interpreter the watchdog ends a call. */
const watchdogMsMore = 400;
/** How much longer on the clock than of the processor a call may take: others work meanwhile. */
const clockShare = 5;
/** What reading a program may take: nothing of it runs, and the interpreter may be cold. */
const readMsMax = 1_000;

interface Module {
  readonly quickjs: QuickJSWASMModule;
  isBroken: boolean;
}

type Evaluation = ReturnType<QuickJSContext['evalCode']>;

/** Loads the interpreter, once for the process: what it takes is not given back. */
export async function loadJavaScript(): Promise<JavaScriptEngine> {
  let module = await loadModule();
  const watchdog = new Watchdog();
  return {
    open(world): JavaScriptSandbox {
      if (module.isBroken) throw startsAnew();
      const breakDown = (): void => {
        module.isBroken = true;
        void loadModule().then(loaded => {
          module = loaded;
        });
      };
      return new Sandbox(module, world, watchdog, breakDown);
    },
  };
}

async function loadModule(): Promise<Module> {
  const {default: loaded} = await import('@jitl/quickjs-wasmfile-release-sync');
  // Its types are those of another kind of module than node loads.
  const variant = loaded as unknown as QuickJSSyncVariant;
  const wasmMemory = new WebAssembly.Memory({initial: pagesMin, maximum: pagesMax});
  const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(variant, {wasmMemory}));
  return {quickjs, isBroken: false};
}

function startsAnew(): Refusal {
  return new Refusal(
    'javascript.failed',
    'the interpreter of JavaScript starts anew because a program broke it: try again',
  );
}

/** Ends work that does not end by itself. Cost: a tenth of a millisecond, for its thread. */
class Watchdog {
  readonly #place: {work: (() => unknown) | undefined} = {work: undefined};
  readonly #call = new Script('work()');

  constructor() {
    createContext(this.#place);
  }

  /** The answer of `work`; undefined when it was ended in the middle. */
  run<T>(work: () => T, timeoutMs: number): {readonly answer: T} | undefined {
    let answer: {readonly answer: T} | undefined;
    this.#place.work = () => {
      answer = {answer: work()};
    };
    try {
      this.#call.runInContext(this.#place, {timeout: timeoutMs});
    } catch (error) {
      // An error of the place's own world, so no instance of ours.
      const {code} = (error ?? {}) as {readonly code?: unknown};
      if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      return undefined;
    } finally {
      this.#place.work = undefined;
    }
    return answer;
  }
}

class Sandbox implements JavaScriptSandbox {
  readonly #module: Module;
  readonly #world: JavaScriptWorld;
  readonly #watchdog: Watchdog;
  readonly #breakDown: () => void;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #ask: QuickJSHandle;
  readonly #programs: QuickJSHandle[] = [];
  #deadline = Number.POSITIVE_INFINITY;
  #clockDeadline = Number.POSITIVE_INFINITY;
  /** How many calls stand in each other: what a program asks may call another program. */
  #calls = 0;
  /** What `answer` threw: it comes out of the call whatever the program makes of it. */
  #thrown: {readonly error: unknown} | undefined;

  constructor(module: Module, world: JavaScriptWorld, watchdog: Watchdog, breakDown: () => void) {
    this.#module = module;
    this.#world = world;
    this.#watchdog = watchdog;
    this.#breakDown = breakDown;
    this.#runtime = module.quickjs.newRuntime();
    this.#runtime.setMaxStackSize(stackBytesMax);
    this.#runtime.setInterruptHandler(() => this.#isEnded());
    this.#context = this.#runtime.newContext();
    this.#ask = this.#context.newFunction('ask', question => this.#answer(question));
    this.#setWorld();
  }

  program(source: string): (input: string) => string {
    const context = this.#context;
    const program = this.#enter(() => context.evalCode(source, 'program'), 'unwatched');
    this.#programs.push(program);
    return input => {
      using text = context.newString(input);
      using output = this.#enter(
        () => context.callFunction(program, context.undefined, text, this.#ask),
        'watched',
      );
      return context.getString(output);
    };
  }

  close(): void {
    // A module that broke down is left to the collector with all that is in it.
    if (this.#module.isBroken) return;
    try {
      for (const program of this.#programs) program.dispose();
      this.#ask.dispose();
      this.#context.dispose();
      this.#runtime.dispose();
    } catch {
      // What a program did to the interpreter shows when its memory is given back.
      this.#breakDown();
    }
  }

  /** The time and the chance that programs see are the ones given. */
  #setWorld(): void {
    const context = this.#context;
    const {now, random} = this.#world;
    using chance = context.newFunction('chance', () => context.newNumber(random()));
    using world = context.unwrapResult(context.evalCode(worldSource, 'world'));
    using time = context.newNumber(now);
    const set = context.callFunction(world, context.undefined, time, chance);
    context.unwrapResult(set).dispose();
  }

  #answer(question: QuickJSHandle): QuickJSHandle {
    try {
      return this.#context.newString(this.#world.answer(this.#context.getString(question)));
    } catch (error) {
      this.#thrown = {error};
      throw error;
    }
  }

  #isEnded(): boolean {
    if (this.#thrown !== undefined || this.#isLate) return true;
    return this.#world.isEnded();
  }

  get #isLate(): boolean {
    return threadCpuMs() > this.#deadline || performance.now() > this.#clockDeadline;
  }

  /**
   * Runs the interpreter and gives what it answered.
   *
   * @param care - The watchdog costs more than a call; what only reads a program needs none.
   * @throws {Refusal}
   */
  #enter(work: () => Evaluation, care: 'watched' | 'unwatched'): QuickJSHandle {
    if (this.#module.isBroken) throw startsAnew();
    const callMsMax = care === 'watched' ? this.#world.callMsMax : readMsMax;
    const isOutermost = this.#calls === 0;
    if (isOutermost) {
      this.#deadline = threadCpuMs() + callMsMax;
      this.#clockDeadline = performance.now() + clockShare * callMsMax;
    }
    this.#calls += 1;
    try {
      const timeoutMs = clockShare * callMsMax + watchdogMsMore;
      const isWatched = isOutermost && care === 'watched';
      const done = isWatched ? this.#watchdog.run(work, timeoutMs) : {answer: work()};
      if (done !== undefined) return this.#unwrapped(done.answer);
      this.#breakDown();
      throw this.#tookTooLong();
    } catch (error) {
      if (error instanceof Refusal || this.#thrown?.error === error) throw error;
      this.#breakDown();
      const reason = String(error).slice(0, failureLengthMax);
      throw new Refusal('javascript.failed', `a program broke the interpreter: ${reason}`);
    } finally {
      this.#calls -= 1;
      if (isOutermost) this.#thrown = undefined;
    }
  }

  #unwrapped(result: Evaluation): QuickJSHandle {
    if (result.error === undefined && this.#thrown === undefined) return result.value;
    const handle = result.error ?? result.value;
    const seen: unknown = this.#context.dump(handle);
    handle.dispose();
    if (this.#thrown !== undefined) throw this.#thrown.error;
    if (this.#isLate) throw this.#tookTooLong();
    throw new Refusal('javascript.failed', `JavaScript: ${failureText(seen)}`);
  }

  #tookTooLong(): Refusal {
    const {callMsMax} = this.#world;
    const message = `a call of JavaScript took more than ${callMsMax} ms`;
    return new Refusal('javascript.failed', message, {detail: {callMsMax}});
  }
}

const failureLengthMax = 500;

function failureText(seen: unknown): string {
  // Out of memory, the interpreter has none for an error either.
  if (seen === null) return 'memory ran out, or null was thrown';
  const {name, message} = (seen ?? {}) as {readonly name?: unknown; readonly message?: unknown};
  const text =
    typeof message === 'string'
      ? `${typeof name === 'string' ? name : 'Error'}: ${message}`
      : `${String(JSON.stringify(seen))} was thrown`;
  return text.slice(0, failureLengthMax);
}

/** A Date and a Math.random in the language of the programs that know nothing else. */
const worldSource = `(now, chance) => {
  const Inner = Date;
  function Given(...parts) {
    if (new.target === undefined) return new Inner(now).toString();
    return Reflect.construct(Inner, parts.length === 0 ? [now] : parts, new.target);
  }
  Object.defineProperty(Given, 'name', {value: 'Date'});
  Object.defineProperty(Given, 'prototype', {value: Inner.prototype});
  Given.now = () => now;
  Given.parse = Inner.parse;
  Given.UTC = Inner.UTC;
  Inner.prototype.constructor = Given;
  Object.defineProperty(globalThis, 'Date', {value: Given, writable: true, configurable: true});
  Math.random = () => chance();
}`;
