/**
 * The optional modules that this build is without: none, where it runs from its sources.
 *
 * `SVC_BUILD_WITHOUT=mcp node bin/prepare.mjs` makes a bundle in which this list is that one, and
 * the module's own file says that there is none.
 */
export const builtWithout: readonly string[] = [];
