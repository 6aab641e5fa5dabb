/** The version of this build; a test holds it equal to package.json's. */
export const version = '26.11.1';
