/** The one part of WebAssembly that we name ourselves; node's types leave it out. */
declare namespace WebAssembly {
  class Memory {
    /** Sizes are counted in pages of 64 KiB. */
    constructor(size: {readonly initial: number; readonly maximum: number});
  }
}
