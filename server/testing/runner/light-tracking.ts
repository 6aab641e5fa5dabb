/**
 * Has node's test runner find out by an AsyncLocalStorage which test a call belongs to: where
 * `after` is called in a test, or an error is thrown that nobody catches. Left to itself it follows
 * each promise and callback of the process by hooks, which gives each an id, an entry in a map and
 * a callback for when it is collected: a sixth of the processor time of what simulates.
 */
import asyncHooks, {AsyncLocalStorage, AsyncResource, type HookCallbacks} from 'node:async_hooks';
import {syncBuiltinESMExports} from 'node:module';

type Run = (...given: readonly unknown[]) => unknown;

interface Scopes {
  runInAsyncScope: (
    this: AsyncResource,
    run: Run,
    self?: unknown,
    ...given: readonly unknown[]
  ) => unknown;
}

/** Is called before anything loads `node:test`, which takes these functions once. */
export function trackLightly(): void {
  const {createHook, executionAsyncId} = asyncHooks;
  const scopes: Scopes = AsyncResource.prototype;
  const {runInAsyncScope} = scopes;
  const ids = new AsyncLocalStorage<number>();
  let callbacks: HookCallbacks = {};
  const hook = {enable: () => hook, disable: () => hook};
  Object.assign(asyncHooks, {
    createHook: (given: HookCallbacks) => {
      callbacks = given;
      return hook;
    },
    executionAsyncId: () => ids.getStore() ?? executionAsyncId(),
  });
  process.getBuiltinModule('node:test');
  Object.assign(asyncHooks, {createHook, executionAsyncId});
  scopes.runInAsyncScope = function (run, self, ...given) {
    // Tests, suites and what runs around them are of classes that extend it.
    if (this.constructor === AsyncResource) return runInAsyncScope.call(this, run, self, ...given);
    const id = this.asyncId();
    callbacks.init?.(id, '', 0, this);
    // Within the scope, which begins with the storages of where the test was made.
    const within = (): unknown => ids.run(id, () => Reflect.apply(run, self, given));
    return runInAsyncScope.call(this, within);
  };
  syncBuiltinESMExports();
}
