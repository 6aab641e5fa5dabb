/** What vector-space.ts uses of WebAssembly; the types of Node.js name no more than a memory. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: SharedArrayBuffer;
    /** Grows by this many pages; answers how many there were. */
    grow(pages: number): number;
  }
  const Memory: new (shape: {
    readonly initial: number;
    readonly maximum: number;
    readonly shared?: boolean;
  }) => Memory;
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(
      module: Module,
      imports: Readonly<Record<string, Readonly<Record<string, Memory>>>>,
    );
    readonly exports: Readonly<Record<string, unknown>>;
  }
  function validate(bytes: Uint8Array): boolean;
}
