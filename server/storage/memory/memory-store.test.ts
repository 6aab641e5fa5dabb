/**
 * The memory twin keeps the contract of store.ts; its power losses are in memory-store.crash.
 * Holds invariant D2.
 */
import {testStoreContract} from '../store.contract.ts';
import {createMemoryStore} from './memory-store.ts';
import {InMemoryDisk} from './shelf.ts';

const shelf = new InMemoryDisk();

testStoreContract({
  name: 'memory',
  path: name => `/${name}`,
  open: async (directory, options) => createMemoryStore({shelf, path: `/${directory}`, ...options}),
  end: () => {},
});
