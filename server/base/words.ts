/** Lists of words that are written as one text: a dictionary of 200 fits on a page. */

/** The words of a text as a union. */
export type Word<
  Text extends string,
  Before extends string = never,
> = Text extends `${infer First} ${infer Rest}` ? Word<Rest, Before | First> : Before | Text;

/** The words of a text, between single spaces; the compiler knows each of them. */
export function words<const Text extends string>(text: Text): readonly Word<Text>[] {
  return text.split(' ') as Word<Text>[];
}
